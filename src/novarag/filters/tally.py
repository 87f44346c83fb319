"""Count what each stage kept and dropped, by model, by kind of group, and by reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.taxonomy import GroupKind
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNKNOWN = "unknown"
"""The kind under which groups are counted whose kind nobody knows."""

_SHOWN = 4  # models that a `repr` shows
_KINDS = (*(kind.value for kind in GroupKind), UNKNOWN)


@dataclass(slots=True, repr=False)
class FilterTally:
    """How many trials came in, and how many each stage dropped for which reason."""

    stages: tuple[str, ...]
    total: Counter[tuple[str, ...]] = field(default_factory=Counter)
    dropped: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def __repr__(self) -> str:
        """Show how many trials came in and how many each stage left."""
        left = ", ".join(f"{stage} {self.kept(stage):,}" for stage in ("total", *self.stages))
        models = ", ".join(plain_text(model) for model in self.models[:_SHOWN])
        more = f" and {len(self.models) - _SHOWN:,} more" if len(self.models) > _SHOWN else ""
        return f"Tally({left};\n  of {models or 'no model'}{more})"

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> FilterTally:
        """Read back what `counts` and `all_reasons` told."""
        tally = cls(tuple(facts["stages"]))
        for row in facts["counts"]:
            if row["kind"] is not None and row["stage"] == "total":
                tally.total[row["model"], row["kind"]] = row["kept"]
        for row in facts["reasons"]:
            if row["kind"] is not None:
                names = row["model"], row["kind"], row["stage"], row["reason"]
                tally.dropped[names] = row["count"]
        return tally

    def count_in(self, trials: pl.DataFrame) -> None:
        """Count trials that come in."""
        self.total.update(_counts(trials, ["model", "kind"]))

    def count_out(self, dropped: pl.DataFrame) -> None:
        """Count trials that a stage dropped; the columns `stage` and `reason` say which and why."""
        self.dropped.update(_counts(dropped, ["model", "kind", "stage", "reason"]))

    @property
    def models(self) -> list[str]:
        """Return the models, sorted."""
        return sorted({model for model, _ in self.total})

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of group that came in, in their usual order."""
        found = {kind for _, kind in self.total}
        return [kind for kind in _KINDS if kind in found]

    def kept(self, stage: str, *, model: str | None = None, kind: str | None = None) -> int:
        """Count what is left after a stage, or what came in (`total`)."""
        came = sum(
            n for (m, k), n in self.total.items() if model in {None, m} and kind in {None, k}
        )
        before = ("total", *self.stages).index(stage)
        gone = set(self.stages[:before])
        return came - sum(
            n
            for (m, k, s, _), n in self.dropped.items()
            if s in gone and model in {None, m} and kind in {None, k}
        )

    def reasons(
        self, stage: str, *, model: str | None = None, kind: str | None = None
    ) -> list[tuple[str, int]]:
        """List why a stage dropped trials and how many, the most frequent first."""
        found: Counter[str] = Counter()
        for (m, k, s, reason), n in self.dropped.items():
            if s == stage and model in {None, m} and kind in {None, k}:
                found[reason] += n
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))

    def counts(self) -> Iterator[dict[str, object]]:
        """Yield a row for each model, kind (None for all kinds) and stage."""
        for model in self.models:
            for kind in (None, *self.kinds):
                for stage in ("total", *self.stages):
                    kept = self.kept(stage, model=model, kind=kind)
                    yield {"model": model, "kind": kind, "stage": stage, "kept": kept}

    def all_reasons(self) -> Iterator[dict[str, object]]:
        """Yield a row for each model, kind (None for all kinds), stage and reason."""
        for model in self.models:
            for kind in (None, *self.kinds):
                for stage in self.stages:
                    for reason, count in self.reasons(stage, model=model, kind=kind):
                        yield {
                            "model": model, "kind": kind, "stage": stage, "reason": reason,
                            "count": count,
                        }  # fmt: skip


def _counts(trials: pl.DataFrame, by: list[str]) -> dict[tuple[str, ...], int]:
    found = trials.group_by(by).len().with_columns(pl.col("kind").fill_null(UNKNOWN))
    return {tuple(names): count for *names, count in found.iter_rows()}
