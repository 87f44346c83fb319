"""Filter the trials of runs down to a training set, and count what is dropped and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novarag.defaults import FILTER
from novarag.flows.events import PartsProgress, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.flows.events import EventListener
    from novarag.flows.sources import RunPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterResult:
    """What filtering kept, and the tally of all that was dropped, by stage and reason."""

    place: Path
    trials: int
    groups: int
    tally: dict[str, Any]

    def __repr__(self) -> str:
        """Show what is kept, and how many trials each stage left."""
        from novarag.filters import FilterTally

        head = f"FilterResult({str(self.place)!r}: {self.trials:,} trials of {self.groups:,} groups"
        return f"{head};\n  {FilterTally.of(self.tally)!r})"


def filter_trials(
    runs: RunPlace | Sequence[RunPlace],
    out: str | Path,
    *,
    rules: str = FILTER.rules,
    alignment: str = FILTER.alignment,
    common: bool | int | None = None,
    balance: str = FILTER.balance,
    seed: int = FILTER.seed,
    unfiltered: bool = False,
    unjudged: bool = False,
    tolerate_mismatch: bool = False,
    drop_longest: float = FILTER.drop_longest,
    partial_runs: bool = False,
    on_event: EventListener = silent,
) -> FilterResult:
    """Filter the trials of runs, one for each model, into a folder.

    Args:
        runs: Finished runs, one for each model: folders, `s3://` addresses or `Run` objects.
        out: A folder for what is kept, what is dropped, the tally and a report; an earlier result
            there is replaced.
        rules: How replies are held to the rules: "stated", by what was read, or "keyword", by the
            paper's key words.
        alignment: The target: of each group's replies the one with the nearest confidence is kept.
            "brier" is right or wrong, "soft" the share of samples that are right. With "share", the
            same share, and "teacher", a cross-fitted probability, one reply is drawn, and
            `export_training_set` writes the target into it as its confidence.
        common: Keep groups that are kept for every model (a number says for how many); None does so
            where there are several runs.
        balance: How the kinds of groups are balanced: "uniform", all as the rarest;
            "downsample-consistent", no more consistent groups than irrelevant ones; "none".
        seed: Seed of ties between replies, of the groups that a balance keeps, and of a teacher's
            folds.
        unfiltered: Keep every reply that could be read and was graded, right and wrong, to train
            the confidence alone on.
        unjudged: Leave out the stages of judgments and rules, for replies that judge no passage.
        tolerate_mismatch: Forgive one passage that a reply calls relevant where it is irrelevant,
            or the other way round: a flag of the authors' released filter.
        drop_longest: Share of each group's replies to drop, the longest first: a flag of the
            authors' released filter.
        partial_runs: Take runs that are not finished as far as they go.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.filters import Options
    from novarag.flows.filter_runs import filter_runs
    from novarag.flows.sources import open_sources
    from novarag.report.funnel import write_funnel_report
    from novarag.runs import Run
    from novarag.version import __version__

    places = [runs] if isinstance(runs, (str, Path, Run)) else list(runs)
    options = Options(
        rules=rules, alignment=alignment, balance=balance, seed=seed, unfiltered=unfiltered,
        unjudged=unjudged, tolerate_mismatch=tolerate_mismatch, drop_longest=drop_longest,
        common=_common(common, len(places)),
    )  # fmt: skip
    sources = open_sources(places, partial=partial_runs)
    total, done = 2 * sum(len(source.finished) for source in sources), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        on_event(PartsProgress("filtering", done, total))

    found = filter_runs(
        sources, Path(out), options, on_event=advance,
        finish=partial(write_funnel_report, version=__version__),
    )  # fmt: skip
    return FilterResult(
        place=Path(out), trials=found.trials, groups=found.groups, tally=found.summary
    )


def _common(common: bool | int | None, runs: int) -> int:
    """Say for how many models a group must be kept."""
    if common is None:
        return max(1, runs)
    if isinstance(common, bool):
        return runs if common else 1
    return common
