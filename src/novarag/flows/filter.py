"""Filter the trials of runs down to a training set, and count what is dropped and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novarag.defaults import FILTER
from novarag.flows.events import Advanced, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.flows.events import Tell
    from novarag.runs import Run

    Place = str | Path | Run


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterResult:
    """What filtering kept, and the tally of all that was dropped, by stage and reason."""

    place: Path
    trials: int
    groups: int
    tally: dict[str, Any]

    def __repr__(self) -> str:
        """Show what is kept, and how many trials each stage left."""
        from novarag.filters import Tally

        head = f"FilterResult({str(self.place)!r}: {self.trials:,} trials of {self.groups:,} groups"
        return f"{head};\n  {Tally.of(self.tally)!r})"


def filter_trials(
    runs: Place | Sequence[Place],
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
    tell: Tell = silent,
) -> FilterResult:
    """Pour the trials of runs, one for each model, through the funnel into a folder.

    `common` keeps groups that are kept for every model (by default where there are several runs;
    a number says for how many). With the alignments `share` and `teacher`, `export` writes the
    target into the kept reply as its confidence. `unfiltered` keeps every reply that could be read
    and was graded, right and wrong, to train the confidence alone on. `unjudged` leaves out the
    stages of judgments and rules, for replies that judge no passage. `tolerate_mismatch` and
    `drop_longest` are flags of the authors' released filter: one passage may be called relevant
    where it is irrelevant, or the other way round; and of each group's replies that share is
    dropped, the longest first. `partial_runs` takes runs that are not finished as far as they go.
    """
    from novarag.filters import Options
    from novarag.flows.filtering import filter_runs
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
        tell(Advanced("filtering", done, total))

    found = filter_runs(
        sources, Path(out), options, tell=advance,
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
