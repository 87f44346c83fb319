"""That a key which the server echoes reaches neither the disk nor the screen, and that it is noted.

NOVARAG_SPELLINGS=all writes it in all 200 spellings, these tests in a few.
Everything on the disk, tables read as tables, and all that was printed is searched.
"""

import json
import os

import polars as pl
import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.web.redaction import MARK, REMARK
from tests.support.spellings import KEY, leaking, leaks, size_of, spellings

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
ALL = tuple(spellings()) if os.environ.get("NOVARAG_SPELLINGS") == "all" else ()
NAMES = ALL or (
    "plain",
    "all json twice",
    "third percent",
    "base64 third",
    "spaces",
    "second half hex",
)
ALONE = ("location", "models")  # places that end a run: each spelling is given one of its own


def questions(file, numbers):
    """Write a file of groups, one about lighthouse i for each number i."""
    rows = (
        {"id": f"q{i}", "question": f"When was lighthouse {i} lit?", "answers": ["1871"],
         "passages": [{"text": f"Lighthouse {i} was lit in 1871."}]}
        for i in numbers
    )  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def ask(file, url, out):
    """Run `novarag ask`, and return all that was printed."""
    words = ["ask", str(file), "--model", f"{url}=chaos", "--out", str(out), "--logprobs"]
    done = CliRunner().invoke(app, [*words, "--attempts", "1"])
    return done.output + repr(done.exception)


def held(folder):
    """Return everything that a folder holds as one text, tables as JSON."""
    texts = []
    for file in folder.rglob("*"):
        if file.suffix == ".parquet":
            table = pl.read_parquet(file)
            texts += [str(cell) for row in table.rows() for cell in row]
            texts.append("".join(t for c in table for t in _joined(c)))
        elif file.is_file():
            texts.append(file.read_bytes().decode("utf-8", "replace"))
    return "\n".join(texts)


def _joined(column):
    if column.dtype != pl.List(pl.String):
        return []
    return ["".join(cell) for cell in column.drop_nulls().to_list()]


def leaked(place, written, folder):
    """Name the spellings that reached the disk or the screen, and count the marks that stand there."""
    texts, names = list(written.values()), list(written)
    numbers = range(len(texts))
    runs = [[i] for i in numbers] if place in ALONE else [list(numbers)]
    seen, marks = [], 0
    for count, some in enumerate(runs):
        own = [texts[some[0]]] if place == "models" else texts
        with leaking(place, own) as url:
            out = folder / f"{place}-{count}"
            said = ask(questions(folder / f"{place}-{count}.jsonl", some), url, out)
        found = said + (held(out) if out.exists() else "")
        marks += found.count(MARK)
        for i in some:
            spelled = texts[i] if place != "location" else texts[i].lower()
            shown = found if place != "location" else found.lower()
            if any(
                leaks(s, size_of(names[i]), shown) for s in {spelled, json.dumps(spelled)[1:-1]}
            ):
                seen.append(names[i])
    return seen, marks


@pytest.mark.parametrize("place", ["content", "reasoning", "tokens", "error"])
def test_an_echoed_key_is_neither_on_the_disk_nor_on_the_screen(place, tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", KEY)
    written = {name: spellings()[name](KEY) for name in NAMES}
    seen, marks = leaked(place, written, tmp_path)
    assert seen == []
    assert marks >= len(written)
    ledger = pl.read_parquet(next(tmp_path.glob("*/attempts/*.parquet")))
    answered = ledger.filter(pl.col("outcome") == "answered")["detail"].to_list()
    assert answered == ([] if place == "error" else [REMARK] * len(written))


@pytest.mark.parametrize("place", ["location", "models"])
def test_what_ends_a_run_says_no_key(place, tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", KEY)
    written = {name: spellings()[name](KEY) for name in ALL or ("plain", "all wide")}
    seen, marks = leaked(place, written, tmp_path)
    assert seen == []
    assert marks >= len(written)


def test_a_reply_without_the_key_has_no_remark(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", KEY)
    leaked("content", {"none": "nothing of the kind"}, tmp_path)
    ledger = pl.read_parquet(next(tmp_path.glob("*/attempts/*.parquet")))
    assert ledger["detail"].to_list() == [None]
