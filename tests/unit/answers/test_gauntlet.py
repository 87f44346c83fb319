"""The gauntlet: tables that tools wrote, each read by the first command and held to its truth.

`tests/gauntlet/manifest.json` says of each table which tool of which version wrote it with which
command, what is typed behind its name (`first`), what the first command prints where it asks for
something (`second`), and what the table truly holds. A table that is read otherwise than it was
written is a silent misreading.
"""

import json
import shlex
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import typer

from novarag.answers.opening.answers import read_answers
from novarag.answers.opening.columns import Columns
from novarag.cli import app
from novarag.cli.tables import _OPTIONS, make_columns
from novarag.cli.translate import flag_of, said
from novarag.errors import NovaragError
from novarag.metrics import measure_table

PLACE = Path("tests/gauntlet")
FLAGS = frozenset(flag_of(field.name) for field in fields(Columns))
KNOWN = json.loads((PLACE / "manifest.json").read_text("utf-8"))


class Outcome(NamedTuple):
    """Which command measured a table (0: none), and whether it was read as it was written."""

    command: int
    right: bool


def take(table, words):
    """Open a table by the options of `novarag measure`, parsed as the command line does."""
    group = typer.main.get_command(app)
    verb = group.get_command(click.Context(group), "measure")
    given = verb.make_context("measure", ["x", *words], resilient_parsing=False).params
    names = [*make_columns.__kwdefaults__, *_OPTIONS]
    columns = make_columns(**{name: given[name] for name in names if name in given})
    return read_answers(str(PLACE / table["file"]), columns=columns).table


def run(table, truths=KNOWN["truths"]):
    command, words = 1, table["first"]
    try:
        found = take(table, words)
    except NovaragError as error:
        advice = said(error.prose, FLAGS)
        if not table["second"] or shlex.join(table["second"]) not in advice:
            return Outcome(0, right=False)
        command, found = 2, take(table, [*words, *table["second"]])
    measure_table(found, replicates=100)
    rows = [list(row) for row in found.select("confidence", "correct").rows()]
    return Outcome(
        command, rows == [pytest.approx(row, abs=1e-9) for row in truths[table["truth"]]]
    )


@pytest.mark.parametrize(
    ("by_hand", "commands"), [(False, {1: 93, 2: 4}), (True, {1: 5, 2: 2})], ids=["tools", "hand"]
)
def test_tables_are_measured_by_the_first_command_and_none_is_misread(by_hand, commands):
    done = {table["file"]: run(table) for table in KNOWN["tables"] if table["by_hand"] is by_hand}
    assert [file for file, outcome in done.items() if not outcome.right] == []
    assert Counter(outcome.command for outcome in done.values()) == commands


def test_a_misreading_is_seen():
    table = next(one for one in KNOWN["tables"] if one["file"] == "csv_null.csv")
    truth = KNOWN["truths"][table["truth"]]
    assert run(table).right
    assert not run(table, {table["truth"]: [[0.5, truth[0][1]], *truth[1:]]}).right


def test_every_table_is_kept_with_what_made_it():
    files = [one["file"] for one in KNOWN["tables"]]
    assert sorted([*files, "manifest.json"]) == sorted(path.name for path in PLACE.iterdir())
    assert all(one["tool"] and (one["version"] or one["by_hand"]) for one in KNOWN["tables"])
    assert max(path.stat().st_size for path in PLACE.iterdir()) < 50_000
