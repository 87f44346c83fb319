"""Options that stand for the fields of a record: one place says them for all verbs."""

from dataclasses import fields

import pytest
import typer

from novarag import Access, Columns
from novarag.cli import app
from novarag.cli.access import ONE_PROCESS, SHARDS_ALONE
from novarag.cli.expansion import expand
from novarag.cli.tables import GRADES
from novarag.cli.verbs import VERBS

FIELDS = {field.name: field.default for field in fields(Access)}
WITHOUT = {
    "paper reproduce": ONE_PROCESS,
    "run experiment": SHARDS_ALONE,
    "train build": SHARDS_ALONE,
}
ASKING = ("ask", "probe", "attack", "run estimate", "train noise", *WITHOUT)


def command(path):
    found = typer.main.get_command(app)
    for name in path.split():
        found = found.get_command(None, name)
    return found


@pytest.mark.parametrize("verb", ASKING)
def test_a_verb_that_asks_has_the_options_of_access_with_its_defaults(verb):
    found = {p.name: p.default for p in command(verb).params if p.name in FIELDS}
    wanted = {n: v for n, v in FIELDS.items() if n not in WITHOUT.get(verb, ())}
    assert found == wanted


READING = {
    "measure": {"weight"}, "calibrate": set(), "gate": set(), "apply": set(),
    "compare": {"weight", "signal", "state"}, "grading pick": GRADES,
}  # fmt: skip


@pytest.mark.parametrize(("verb", "without"), READING.items())
def test_a_verb_that_reads_tables_has_the_options_of_columns_with_its_defaults(verb, without):
    wanted = {field.name: getattr(Columns(), field.name) for field in fields(Columns)}
    wanted |= {name: None for name, value in wanted.items() if value in ((), {})}  # not given
    found = {p.name: p.default for p in command(verb).params if p.name in wanted}
    assert found == {name: value for name, value in wanted.items() if name not in without}


def test_an_option_of_access_says_the_same_in_every_verb():
    said = {}
    for verb in VERBS:
        for param in command(verb).params:
            if param.name in FIELDS and param.param_type_name == "option":
                said.setdefault(param.name, set()).add(param.help)
    assert {name: len(words) for name, words in said.items()} == dict.fromkeys(FIELDS, 1)


def test_the_record_is_built_and_own_parameters_stay():
    seen = []

    @expand("record", {"low": (int, 1), "high": (int, 9)}, dict)
    def verb(name: str, record, loud: bool = False) -> None:
        seen.append((name, record, loud))

    assert list(verb.__annotations__) == ["name", "loud", "low", "high"]
    verb(name="x", loud=True, low=3, high=4)
    assert seen == [("x", {"low": 3, "high": 4}, True)]
