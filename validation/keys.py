"""That no key reaches a disk or a screen: 200 spellings in six places, and 100,000 clean replies.

Usage: python -m validation.keys [--replies N]. For each place a server echoes the key of the request
in every spelling; `ask` runs against it as a user would run it. Then everything on the disk, tables
read as tables, and everything printed is searched for what the server wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import polars as pl
from typer.testing import CliRunner

from novarag.web.redaction import MARK, REMARK, Secrets
from tests.support.grammar import KINDS, reply
from tests.support.spellings import KEY, PLACES, leaking, leaks, size_of, spellings

if TYPE_CHECKING:
    from collections.abc import Iterable

ALONE = ("location", "models")  # places that end a run: each spelling is given one of its own


def questions(file: Path, numbers: Iterable[int]) -> Path:
    """Write a file of groups, one about lighthouse i for each number i."""
    rows = (
        {"id": f"q{i}", "question": f"When was lighthouse {i} lit?", "answers": ["1871"],
         "passages": [{"text": f"Lighthouse {i} was lit in 1871."}]}
        for i in numbers
    )  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def ask(file: Path, url: str, out: Path) -> str:
    """Run `novarag ask`, and return all that was printed."""
    from novarag.cli import app

    words = ["ask", str(file), "--model", f"{url}=chaos", "--out", str(out), "--logprobs"]
    done = CliRunner().invoke(app, [*words, "--attempts", "1"])
    return done.output + repr(done.exception)


def held(folder: Path) -> str:
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


def _joined(column: pl.Series) -> list[str]:
    if column.dtype != pl.List(pl.String):
        return []
    return ["".join(cell) for cell in column.drop_nulls().to_list()]


def leaked(place: str, written: dict[str, str], folder: Path) -> tuple[list[str], int]:
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


def unchanged(count: int) -> tuple[int, float]:
    """Count the clean replies that were changed, and the microseconds that one took."""
    rng, secrets, changed, took = random.Random(18), Secrets([KEY]), 0, 0.0
    for number in range(count):
        text = reply(rng, KINDS[number % len(KINDS)])
        began = process_time()
        clean = secrets.redact(text)
        took += process_time() - began
        changed += clean != text
    return changed, took / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=100_000)
    options = parser.parse_args()
    os.environ["NOVARAG_API_KEY"] = KEY
    written = {name: spell(KEY) for name, spell in spellings().items()}
    total = 0
    for place in PLACES:
        with tempfile.TemporaryDirectory() as folder:
            seen, marks = leaked(place, written, Path(folder))
        total += len(seen)
        print(f"{place}: {len(written)} spellings, {marks} marks, leaked: {seen or 0}", flush=True)
    changed, took = unchanged(options.replies)
    print(f"{options.replies:,} replies without the key: {changed} changed, {took:.1f} us each")
    print(f"leaked {total} of {len(written) * len(PLACES):,}; the remark is {REMARK!r}")
    sys.exit(bool(total or changed))


if __name__ == "__main__":
    main()
