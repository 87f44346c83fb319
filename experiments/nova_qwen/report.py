"""The tables, from the replies in `results/` alone: every system on the test questions.

    python -m experiments.nova_qwen.report BUILD

Beside prompts and arms stand the likelihood of the base's answers, calibrations of it from 100 and
300 graded training questions, word overlap and a constant. BUILD holds the groups.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import novarag
from experiments.nova.page import rows as lines_of
from experiments.nova.plan import GRADED
from experiments.nova.report import WANTED, table
from experiments.nova.tables import COLUMNS, with_size
from experiments.nova_qwen import choices, questions
from experiments.nova_qwen.arms import ARMS
from experiments.nova_qwen.hours import plan_of
from experiments.nova_qwen.plan import PROMPTS, graded, test
from experiments.nova_qwen.store import Store
from novarag.answers.opening.beside import overlap_table
from novarag.answers.opening.columns import Columns
from novarag.flows.calibrate import apply_calibration
from novarag.taxonomy import GroupKind

if TYPE_CHECKING:
    from collections.abc import Iterator

LIKELIHOOD = "likelihood"
SHOWN = {
    "brier": "brier (the paper's)", "state": "state (ours)", "teacher": "teacher (ours)",
    "label-only": "label-only (the paper's baseline)",
}  # fmt: skip
"""How the tables call the arms."""
PLACES = {"test": "test", "test-asked-of-others": "again"}
"""The splits that are tested, and how the names of their stages begin."""
TITLES = {
    "all": "Every system", "k": "By number of passages", "kind": "By kind of group",
    "against": "What was chosen, against the others", "against base": "The base's `vanilla`, against the others",
    "against calibration": "The calibration with likelihood, against the others",
}  # fmt: skip


def systems(store: Store, split: str) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the answers of every system to a split, by its name in the tables."""
    stages = {a.name: a for a in test() if a.split == split}
    first = PLACES[split]
    for name in PROMPTS:
        if asking := stages.get(f"{first}-{name}"):
            yield f"base, {name}", store.read(asking)
    for arm in ARMS:
        yield SHOWN[arm], store.read(stages[f"{first}-{arm}"])
    for name, asking in zip(("vanilla", "compact"), graded(), strict=True):
        said = store.read(stages[f"{first}-{name}"])
        yield f"{LIKELIHOOD}, base {name}", said.with_columns(confidence=pl.col(LIKELIHOOD))
        yield from calibrations(name, store.read(asking), said)


def calibrations(name: str, known: pl.DataFrame, said: pl.DataFrame) -> Iterator:
    """Yield answers with calibrated confidences, from few graded questions and more."""
    for count in GRADED:
        for signal in (None, LIKELIHOOD):
            columns = Columns(question="question", signal=signal)
            made = novarag.calibrate(known.head(count), columns=columns)
            table = apply_calibration(said, made, columns=columns)
            more = f", {signal}" if signal else ""
            yield (
                f"base {name} + calibration ({count}{more})",
                table.with_columns(confidence=pl.col("calibrated")),
            )


def answers(store: Store, build: Path, split: str) -> pl.DataFrame:
    """Put the answers of every system to a split in one table, with sizes and word overlaps."""
    found = [
        made.select(COLUMNS).with_columns(system=pl.lit(name))
        for name, made in systems(store, split)
    ]
    overlaps = overlap_table(questions.groups_of(build, split))
    whole = with_size(pl.concat(found, how="vertical_relaxed"))
    return whole.join(overlaps, on="group", how="left", maintain_order="left")


def page(store: Store, build: Path) -> str:
    """Write all tables down."""
    final = SHOWN[str(choices.chosen(store, choices.ARM))]
    lines = [f"Chosen on dev questions: {final}; the prompt it is held against is"
             f" {choices.chosen(store, choices.PROMPT)}."]  # fmt: skip
    for split in PLACES:
        whole = answers(store, build, split)
        parts = {split: whole}
        if split == "test":
            evident = whole.filter(pl.col("kind") != str(GroupKind.IRRELEVANT))
            parts[f"{split}, groups with evidence alone"] = evident
        for name, rows in parts.items():
            found = table(rows, final)
            wanted = [part for part in TITLES if found.get(part)]
            for part in wanted if name == "test" else ("all", "against"):
                lines += [
                    "",
                    f"## {name}: {TITLES[part]}",
                    "",
                    *lines_of(found[part], part, WANTED),
                ]
    lines += ["", "## What it took", "", plan_of(store)]
    return "\n".join(lines) + "\n"


def write(store: Store, build: Path) -> None:
    """Write the tables beside the replies."""
    with store.whole(store.place / "tables.md") as draft:
        draft.write_text(page(store, build), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    write(Store(), parser.parse_args().build)
