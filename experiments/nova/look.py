"""Runs beside each other, by kind of group: a quick look at dev questions while choosing.

python -m experiments.nova.look RUN...
"""

import sys
from pathlib import Path

import polars as pl

from tests.support.machine import described

HEAD = ("run", "kind", "groups", "read", "right", "confidence", "passages judged right", "group")


def rows(place):
    """Yield what one run says, a row for each kind of group."""
    found = pl.concat([pl.read_parquet(f) for f in sorted((place / "trials").glob("*.parquet"))])
    for (kind,), part in sorted(found.group_by("kind")):
        judged = part["passages_judged"].sum(), part["group_judged"].sum()
        right = part["passages_right"].sum(), part["group_right"].sum()
        yield (
            place.name, kind, part.height, share(part["flaw"].is_null().sum(), part.height),
            share(part["correct"].fill_null(False).sum(), part.height),
            "–" if (stated := part["confidence"].mean()) is None else f"{stated:.2f}",
            *(share(*pair) for pair in zip(right, judged, strict=True)),
        )  # fmt: skip


def share(part, whole):
    """Write a share of a hundred."""
    return f"{100 * part / whole:.0f} %" if whole else "–"


if __name__ == "__main__":
    print(f"{described()}\n")
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
    for place in map(Path, sys.argv[1:]):
        for row in rows(place):
            print("| " + " | ".join(map(str, row)) + " |")
