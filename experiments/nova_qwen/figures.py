"""What the replies in `results/` say: form kept, right by kind, judged rightly, how the number does.

    python -m experiments.nova_qwen.figures [STAGE…]

Unread replies are wrong and unsure, as a system does not gain by saying nothing.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import polars as pl

from experiments.nova_qwen.plan import AS_FLOAT, askings, look
from experiments.nova_qwen.store import Store
from novarag.calibration.fit_calibration import score_confidences
from novarag.grading import normalize
from novarag.taxonomy import GroupKind

KINDS = tuple(str(kind) for kind in GroupKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one table of replies; `right` is by kind, `judged` the share of groups whose
    state is written as it is, `passages` that of passages; None where a strategy judges nothing."""

    groups: int
    read: float
    accuracy: float
    right: dict[str, float | None]
    judged: float | None
    passages: float | None
    confidence: float
    by_kind: dict[str, float | None]
    brier: float
    constant: float
    auroc: float | None
    within: float | None
    likelihood: float | None


def figures(table: pl.DataFrame) -> Figures:
    """Measure a table of replies."""
    right = pl.col("correct").fill_null(value=False)
    stated = table.with_columns(correct=right, confidence=pl.col("confidence").fill_null(0.0))
    rate = float(stated["correct"].mean())
    evident = stated.filter(pl.col("kind") != str(GroupKind.IRRELEVANT))
    known = stated.filter(pl.col("likelihood").is_not_null())
    return Figures(
        groups=table["group"].n_unique(),
        read=float((table["flaw"].is_null() & table["confidence"].is_not_null()).mean()),
        accuracy=rate,
        right=_by_kind(stated, "correct"),
        judged=_share(table, "group_right", "group_judged"),
        passages=_share(table, "passages_right", "passages_judged"),
        confidence=float(stated["confidence"].mean()),
        by_kind=_by_kind(stated, "confidence"),
        brier=_score(stated, "confidence").brier,
        constant=rate * (1 - rate),
        auroc=_score(stated, "confidence").auroc,
        within=_score(evident, "confidence").auroc if evident.height else None,
        likelihood=_score(known, "likelihood").auroc if known.height else None,
    )


def _by_kind(table: pl.DataFrame, column: str) -> dict[str, float | None]:
    found = dict(table.group_by("kind").agg(pl.col(column).cast(pl.Float64).mean()).iter_rows())
    return {kind: found.get(kind) for kind in KINDS}


def _share(table: pl.DataFrame, right: str, judged: str) -> float | None:
    """Say which share was judged rightly; what was not judged at all is wrong.

    A strategy that never judges has no such share.
    """
    if not table[judged].sum():
        return None
    whole = table[judged].max() if judged == "group_judged" else None
    if whole is not None:
        return float(table[right].fill_null(0).sum() / (whole * table.height))
    return float(table[right].fill_null(0).sum() / table[judged].fill_null(0).sum())


def _score(table: pl.DataFrame, column: str):
    values = table[column].to_numpy().astype(float)
    return score_confidences(
        values, table["correct"].to_numpy().astype(bool), np.ones(table.height)
    )


def markdown(found: dict[str, Figures]) -> str:
    """Lay figures out as a table, a row a stage."""
    lines = [
        "| stage | groups | read | right | right in "
        + " / ".join(KINDS)
        + " | groups judged rightly"
        " | passages | mean confidence | in each kind | Brier (a constant) | AUROC"
        " | with evidence alone | likelihood's |",
        "|" + "---|" * 13,
    ]
    lines += [
        f"| {name} | {f.groups} | {f.read:.2f} | {f.accuracy:.2f} | {_three(f.right)} | {_one(f.judged)}"
        f" | {_one(f.passages)} | {f.confidence:.2f} | {_three(f.by_kind)}"
        f" | {f.brier:.3f} ({f.constant:.3f}) | {_one(f.auroc)} | {_one(f.within)} | {_one(f.likelihood)} |"
        for name, f in found.items()
    ]
    return "\n".join(lines)


def _one(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _three(values: dict[str, float | None]) -> str:
    return " / ".join(_one(values[kind]) or "-" for kind in KINDS)


def agreement(one: pl.DataFrame, other: pl.DataFrame) -> str:
    """Say how far two tables of greedy replies to the same groups say the same."""
    both = one.join(other, on="group", suffix="_other")
    if not both.height:
        return "no group was asked of both"
    answer = [
        normalize(a or "") == normalize(b or "")
        for a, b in both.select("answer", "answer_other").iter_rows()
    ]
    state = both["evidence"].eq_missing(both["evidence_other"])
    right = both["correct"].fill_null(value=False) == both["correct_other"].fill_null(value=False)
    return (
        f"of {both.height} groups, int8 and float32 give the same answer in {sum(answer)}, the same"
        f" state in {state.sum()}, the same grade in {right.sum()}"
    )


def main() -> None:
    """Print the figures of the stages that have replies."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    wanted = parser.parse_args().stages
    store = Store()
    there = [
        a for a in askings() if store.file(a, 0).parent.exists() and a.name in (wanted or [a.name])
    ]
    print(markdown({a.name: figures(store.read(a)) for a in there}))
    compact = next(a for a in look() if a.strategy == AS_FLOAT.strategy)
    if {AS_FLOAT, compact} <= set(there):
        print(agreement(store.read(compact), store.read(AS_FLOAT)))


if __name__ == "__main__":
    main()
