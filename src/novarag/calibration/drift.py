"""Whether answers still look like those that a calibration was fitted on, with a stated error.

Looked at are shares: of each evidence state, and of confidences stated below some percents. The
calibration's own data bound each share (exact binomial, all bounds together). Against each bound
bets are laid on every answer: a likelihood ratio of a share beyond the bound. As long as shares are
inside, no bet is expected to win, so the stake of 1, spread over bets and over the answers at which
each begins, is ever multiplied by 200 with a chance of at most 1 in 200 (Ville's inequality),
however long one looks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from math import exp, inf, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from novarag.formatting import whole_percent
from novarag.stats.beta import beta_quantile
from novarag.taxonomy import EvidenceState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.calibration.reference import DriftReference
    from novarag.stats.arrays import Floats

FALSE_ALARM = 0.01
"""The chance that answers like the calibration's own ever raise an alarm."""

FALSE_WARNING = 0.1
"""The chance that they ever raise a warning."""

SURE = 0.95
"""The chance that an alarm comes within the stated number of answers."""

QUIET, WARNING, ALARM = "quiet", "warning", "alarm"
STATES = (*map(str, EvidenceState), "")
CUTS = (50, 70, 80, 90, 95, 100)  # fixed, so that they do not depend on the data they bound

_BOUNDS = FALSE_ALARM / 2  # the part of the error that the bounds may take
_LIMIT = 1 / (FALSE_ALARM - _BOUNDS)
_WARN = 1 / (FALSE_WARNING - _BOUNDS)
_BEYOND = (0.3, 0.7, 1.5)  # how far beyond its bound a bet expects a share, in log-odds
_AT_ONCE = 0.5  # of the stake, on a drift that is there from the first answer
_HORIZON = 100  # answers; the rest of the stake goes down as 1/log from there
_BINS = len(CUTS) + 1
_CELLS = (len(STATES) + 1) * _BINS  # the last state is any other
_NUMBER = {state: i for i, state in enumerate(STATES)}
_RECENT = 500  # answers of which an alarm says the share; bets do not go by it
_LATELY = 10_000  # questions of which a second answer does not count
_TILTS = np.geomspace(0.01, 3.0, 60)


def cell_of(percent: float, state: str) -> int:
    """Number the kind of an answer: its evidence state, and where its confidence lies."""
    return _NUMBER.get(state, len(STATES)) * _BINS + bisect_right(CUTS, percent)


class WatchedShare(NamedTuple):
    """A share that is watched: what it is called, and the kinds of answers that count."""

    name: str
    cells: Floats


def events() -> list[WatchedShare]:
    """List the shares that are watched."""
    state, place = np.divmod(np.arange(_CELLS), _BINS)
    by_state = [
        WatchedShare(
            f"evidence {name}" if name else "no evidence state", (state == i).astype(float)
        )
        for i, name in enumerate(STATES)
    ]
    by_cut = [
        WatchedShare(f"stated below {cut} %", (place <= i).astype(float))
        for i, cut in enumerate(CUTS)
    ]
    return by_state + by_cut


class DriftBet(NamedTuple):
    """What is bet on: a share, above or below what the calibration's own data allow."""

    event: int
    above: bool
    bound: float


class DriftTest:
    """The bets against one reference, put together once."""

    def __init__(self, reference: DriftReference) -> None:
        self.reference = reference
        self.shares = shares_of(reference.counts)
        self.events = events()
        self.bets, ratios = _bets(self.events, self.shares, reference.rows)
        self.ratios: Floats = np.ascontiguousarray(np.array(ratios).reshape(-1, _CELLS).T)
        self.stake = 1 / max(len(self.bets), 1)

    def needed(self, shares: Floats, *, after: int = 0) -> int | None:
        """Return within how many answers of other shares an alarm comes, with a chance of 95 %.

        `after` is how many answers came before. None where no bet wins by such answers. The chance
        is bounded (Chernoff), not estimated: it is of the best bet alone, which begins as they do.
        """
        if not self.bets:
            return None
        height = log(_LIMIT / (self.stake * _begins(after)))
        logs = np.log(self.ratios)
        gains = -np.log(np.tensordot(np.exp(-_TILTS[:, None, None] * logs), shares, (1, 0)))
        wanted = (_TILTS * height - log(1 - SURE))[:, None]
        counts = np.divide(wanted, gains, out=np.full_like(gains, inf), where=gains > 0)
        least = float(counts.min())
        return int(np.ceil(least)) if least < inf else None


def _bets(
    watched: list[WatchedShare], shares: Floats, rows: int
) -> tuple[list[DriftBet], list[list[float]] | list[Floats]]:
    level = _BOUNDS / (2 * len(watched))
    bets, ratios = [], []
    for number, event in enumerate(watched):
        hits = round(float(shares @ event.cells) * rows)
        for above, bound in zip((False, True), _bounds(hits, rows, level), strict=True):
            if not 0 < bound < 1:
                continue
            for beyond in _BEYOND:
                odds = bound / (1 - bound) * exp(beyond if above else -beyond)
                other = odds / (1 + odds)
                hit, miss = other / bound, (1 - other) / (1 - bound)
                bets.append(DriftBet(number, above, bound))
                ratios.append(np.where(event.cells > 0, hit, miss))
    return bets, ratios


def _bounds(hits: int, rows: int, level: float) -> tuple[float, float]:
    """Return the least and the greatest share by Clopper and Pearson, each at a level."""
    low = 0.0 if hits == 0 else beta_quantile(level, hits, rows - hits + 1)
    high = 1.0 if hits >= rows else beta_quantile(1 - level, hits + 1, rows - hits)
    return low, high


def shares_of(counts: Mapping[str, Mapping[int, float]]) -> Floats:
    """Return the share of each kind of answer, of counts by state and stated percent."""
    found = np.zeros(_CELLS)
    for state, levels in counts.items():
        for percent, n in levels.items():
            found[cell_of(percent, state)] += n
    total = found.sum()
    return found / total if total else found


def less_confident(reference: DriftReference, points: int) -> Floats:
    """Return the shares that follow where all confidences are stated so many points lower."""
    moved: dict[str, dict[int, float]] = {}
    for state, levels in reference.counts.items():
        for percent, n in levels.items():
            to = moved.setdefault(state, {})
            lower = min(max(percent - points, 0), 100)
            to[lower] = to.get(lower, 0) + n
    return shares_of(moved)


def more_of_state(reference: DriftReference, state: str, share: float) -> Floats:
    """Return the shares that follow where a state has another share, and the rest as it was."""
    shares = shares_of(reference.counts)
    own = events()[_NUMBER[state]].cells > 0
    had = shares[own].sum()
    alike = shares[own] / had if had else _evenly(shares)
    rest = shares[~own] / (1 - had) if had < 1 else np.full((~own).sum(), 1 / (~own).sum())
    out = np.empty_like(shares)
    out[own], out[~own] = share * alike, (1 - share) * rest
    return out


def _evenly(shares: Floats) -> Floats:
    """Let a state that was not seen have the confidences of all others."""
    return np.asarray(shares.reshape(-1, _BINS).sum(axis=0))


def _begins(after: int) -> float:
    """Return the part of the stake that is laid on a drift from the next answer on."""
    if after == 0:
        return _AT_ONCE
    left = (1 - _AT_ONCE) * log(_HORIZON)
    return left / log(after - 1 + _HORIZON) - left / log(after + _HORIZON)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftState:
    """How a watch stands: quiet, warning or alarm; after how many answers; and in a sentence.

    An alarm stays; `since` is the answer that raised it. `evidence` is what a stake of 1 has
    become. `notices` says within how many answers some drifts would raise an alarm.
    """

    state: str
    answers: int
    reference: int
    evidence: float
    sentence: str
    since: int | None = None
    notices: Mapping[str, int | None]
    false_alarm: float = FALSE_ALARM


class DriftWatch:
    """Watches the answers of one model, one at a time, against the reference of its calibration."""

    def __init__(self, test: DriftTest) -> None:
        self.test = test
        self.answers = 0
        self.since: int | None = None
        self._worth = np.zeros(len(test.bets))
        self._evidence = 1.0
        self._recent: deque[int] = deque(maxlen=_RECENT)
        self._asked: dict[int, None] = {}
        self._noticed: tuple[int, dict[str, int | None]] = (-1, {})

    @classmethod
    def of(cls, reference: DriftReference) -> DriftWatch:
        """Begin to watch."""
        return cls(DriftTest(reference))

    def see(self, confidence: float, state: str, question: int | None = None) -> None:
        """Take note of one answer that could be read, by its stated confidence and its state.

        `question` is a number of the question: one that was asked lately counts once, as in the
        reference. Answers to one question depend on each other, and would raise false alarms.
        """
        if question is not None and self._asked_lately(question):
            return
        cell = cell_of(int(confidence * 100 + 0.5), state)
        self._recent.append(cell)
        before = self.answers
        self.answers = before + 1
        if self.since is not None:
            return
        worth = self._worth
        worth += _begins(before)
        worth *= self.test.ratios[cell]
        self._evidence = self.test.stake * float(worth.sum()) + _left(before + 1)
        if self._evidence >= _LIMIT:
            self.since = self.answers

    def _asked_lately(self, question: int) -> bool:
        asked = self._asked
        if question in asked:
            return True
        asked[question] = None
        if len(asked) > _LATELY:
            del asked[next(iter(asked))]
        return False

    def state(self) -> DriftState:
        """Say how it stands."""
        state = ALARM if self.since else WARNING if self._evidence >= _WARN else QUIET
        return DriftState(
            state=state,
            answers=self.answers,
            reference=self.test.reference.rows,
            evidence=self._evidence,
            sentence=self._sentence(state),
            since=self.since,
            notices=self.notices(),
        )

    def notices(self) -> dict[str, int | None]:
        """Say within how many answers from now on some drifts would raise an alarm.

        The number grows slowly with the answers before, so it is made for the next power of two.
        """
        doublings = self.answers.bit_length()
        if self._noticed[0] != doublings:
            self._noticed = doublings, self._notices(2**doublings - 1)
        return self._noticed[1]

    def _notices(self, after: int) -> dict[str, int | None]:
        reference = self.test.reference
        weak = str(EvidenceState.INSUFFICIENT)
        had = float(self.test.shares @ self.test.events[_NUMBER[weak]].cells)
        more = more_of_state(reference, weak, min(had + 0.2, 1.0))
        lower = less_confident(reference, 10)
        return {
            "insufficient evidence in 20 percentage points more of the answers": self.test.needed(
                more, after=after
            ),
            "confidence stated 10 percentage points lower": self.test.needed(lower, after=after),
        }

    def _sentence(self, state: str) -> str:
        test = self.test
        seen = f"{self.answers:,} answers seen, beside {test.reference.rows:,} {test.reference.of}"
        if state == QUIET or not self._recent:
            return f"nothing unlike the calibration's own data ({seen})"
        bet = test.bets[int(self._worth.argmax())]
        event = test.events[bet.event]
        now = float(event.cells[list(self._recent)].mean())
        then = float(test.shares @ event.cells)
        bound = f"{'at most' if bet.above else 'at least'} {whole_percent(bet.bound)}"
        found = (
            f"{event.name}: {whole_percent(now)} of the last {len(self._recent):,} answers, {bound}"
            f" would do; {whole_percent(then)} in the calibration's own data"
        )
        at = f" since answer {self.since:,}" if self.since else ""
        return f"answers differ from the calibration's own data{at} ({found}; {seen})"


def _left(answers: int) -> float:
    """Return the part of the stake that is not laid yet."""
    return (1 - _AT_ONCE) * log(_HORIZON) / log(answers - 1 + _HORIZON)
