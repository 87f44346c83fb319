"""The shortcut auditor: can the group be told from surface alone?

Each cue is given to a classifier that is fitted on some questions and judged on others. A cue that
beats "always say the most common group" by more than a margin is a shortcut: a model trained on
such data can learn the cue in place of reading.

Many comparisons are made, so intervals are those of all of them at once, and a shortcut must be
beyond the margin with an interval above zero.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.defaults import GROUP
from novarag.errors import UsageError
from novarag.formatting import fixed_percent, hundredths, points, span, whole_percent
from novarag.noise.surface import CUES, GroupSurface
from novarag.seeding import rng_for, stable_hash
from novarag.stats.corrections import MaxStatistic, standard_errors
from novarag.stats.logistic import fit
from novarag.stats.separation import separation
from novarag.taxonomy import GroupKind, PassageKind
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from novarag.noise.surface import Cue
    from novarag.records import PassageGroup

MARGIN = GROUP.margin
LEVEL = 0.95
"""The confidence with which all intervals of an audit hold at once."""
_FOLDS = 5  # a cue is told by what four fifths of the questions taught
_SHARED = 20  # questions; a passage that more of them have is no link between them
_MOST = 3000  # questions; more make the audit slower, not wiser
_BEST = 40  # columns that are kept of a sparse cue
_NAMED = 4  # groups and columns that a finding names


@dataclass(frozen=True, slots=True, kw_only=True)
class CueFinding:
    """How well one cue tells one group from the others; `kind` None means all groups at once.

    `low` and `high` bound by how much it beats the majority class, with 95 % confidence for all
    findings at once; `luck` is the probability that any of them looks as good where there is
    nothing to find. `auroc` is the chance that a group of the kind is ranked before another.
    A finding that does not gate is reported, and is never a shortcut.
    """

    cue: str
    kind: str | None
    accuracy: float
    majority: float
    low: float
    high: float
    luck: float
    telling: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    auroc: float | None = None
    gates: bool = True

    @property
    def excess(self) -> float:
        """By how much the cue beats the majority class."""
        return self.accuracy - self.majority

    @property
    def points(self) -> str:
        """The excess and its interval, in points."""
        return f"{points(self.excess)} points ({span(self.low, self.high, points)})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ShortcutAudit:
    """What every cue gives away.

    `topical` is the share of groups without evidence that hold a passage relevant to their
    question; None where there are no such groups.
    """

    findings: tuple[CueFinding, ...]
    margin: float
    groups: int
    questions: int
    left_out: int
    topical: float | None = None

    @property
    def compared(self) -> tuple[CueFinding, ...]:
        """The findings that may be shortcuts; intervals and luck take their number into account."""
        return tuple(f for f in self.findings if f.gates)

    @property
    def shortcuts(self) -> tuple[CueFinding, ...]:
        """The findings that beat the majority by more than the margin, with intervals above zero.

        The intervals hold for all findings at once, so that none is called out for its luck.
        """
        return tuple(f for f in self.compared if f.excess > self.margin and f.low > 0)

    def worst(self, cue: str) -> CueFinding:
        """Return the finding of a cue that gives away most."""
        return max((f for f in self.findings if f.cue == cue), key=lambda f: f.excess)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        """Write one line for each cue, what gives a shortcut away, and the verdict."""
        yield f"{self.groups:,} groups of {self.questions:,} questions were audited"
        if self.left_out:
            yield f"left out: {self.left_out:,} groups without kinds, or beyond the sample"
        for cue in dict.fromkeys(f.cue for f in self.findings):
            yield _line(self.worst(cue))
        yield from self._reported()
        for finding in self.shortcuts:
            if finding.kind is not None:
                said = "; ".join(finding.telling)
                such = ", ".join(plain_text(name, longest=40) for name in finding.examples)
                which = f"{finding.cue} tells the {finding.kind} group"
                yield f"shortcut: {which} by {said}; such as {such}"
        yield self._verdict()

    def _reported(self) -> Iterator[str]:
        """Say how well cues that do not gate rank each kind before the others."""
        ranked = [f for f in self.findings if not f.gates and f.auroc is not None]
        for cue in dict.fromkeys(f.cue for f in ranked):
            said = ", ".join(f"{f.kind} {f.auroc:.2f}" for f in ranked if f.cue == cue)
            yield (
                f"{cue} alone ranks each group before the others with AUROC: {said}; evidence is"
                " about its question, so this is reported and does not gate"
            )
        if self.topical is not None:
            yield (
                f"{whole_percent(self.topical)} of the groups without evidence hold a passage"
                " relevant to their question"
            )

    def _verdict(self) -> str:
        """Say in one line what was found, by which rule, and the largest of all comparisons."""
        cues = list(dict.fromkeys(f.cue for f in self.shortcuts))
        tried = len(dict.fromkeys(f.cue for f in self.compared))
        largest = max(self.shortcuts or self.compared, key=lambda f: f.excess)
        return (
            f"{'shortcuts in ' + ', '.join(cues) if cues else 'no shortcut'}: a shortcut beats"
            f" chance by more than {hundredths(self.margin, decimals=None)} points and has an"
            f" interval above 0 ({whole_percent(LEVEL)} for all {len(self.compared)} comparisons of"
            f" {tried} cues at once, by max-statistic bootstrap); the largest is {largest.cue},"
            f" {largest.points}"
        )


def _line(worst: CueFinding) -> str:
    figures = f"told in {fixed_percent(worst.accuracy)}, by chance {fixed_percent(worst.majority)}"
    return f"{worst.cue:<15} {worst.kind or 'all groups':<15} {figures}: {worst.points}"


def audit(
    groups: Sequence[PassageGroup], *, margin: float = MARGIN, seed: int = 0
) -> ShortcutAudit:
    """Try every cue on groups whose kinds are known."""
    known = [g for g in groups if g.kind is not None and g.passages]
    names = sorted({g.question.id for g in known})
    if len(names) > _MOST:
        chosen = set(rng_for(seed, "audit").sample(names, _MOST))
        known, names = [g for g in known if g.question.id in chosen], sorted(chosen)
    if groups and not known:
        raise UsageError(f"none of {len(groups):,} groups has passages whose kinds are all known")
    kinds = sorted({str(g.kind) for g in known})
    if len(kinds) < 2 or len(names) < 2 * _FOLDS:
        raise UsageError(
            f"an audit needs two kinds of groups and {2 * _FOLDS} questions;"
            f" here are {len(kinds)} and {len(names)}"
        )
    surface, asked = GroupSurface(known), _AuditedGroups(known, names, kinds, seed)
    seen = [look for name, cue in CUES.items() for look in asked.looks(name, cue, surface)]
    return ShortcutAudit(
        findings=tuple(asked.findings(seen)), margin=margin, groups=len(known),
        questions=len(names), left_out=len(groups) - len(known), topical=_topical(known),
    )  # fmt: skip


def _topical(groups: Sequence[PassageGroup]) -> float | None:
    """Return the share of groups without evidence that hold a passage on their topic."""
    none = [g for g in groups if g.kind is GroupKind.IRRELEVANT]
    held = sum(any(p.kind is PassageKind.RELEVANT for p in g.passages) for g in none)
    return held / len(none) if none else None


class _AuditedGroups:
    """The groups' kinds, and the questions they belong to."""

    def __init__(
        self, groups: list[PassageGroup], names: list[str], kinds: list[str], seed: int
    ) -> None:
        self.groups, self.kinds = groups, kinds
        place = {name: i for i, name in enumerate(names)}
        self.question = np.array([place[g.question.id] for g in groups])
        self.truth = np.array([kinds.index(str(g.kind)) for g in groups])
        cluster = _clusters(groups)
        fold = _folds(set(cluster.values()), seed)
        self.folds = max(fold.values()) + 1
        largest = Counter(cluster.values()).most_common(1)[0][1]
        if self.folds < 2 or largest > len(names) / 2:
            raise UsageError(
                f"{largest:,} of {len(names):,} questions share passages with each other: too few"
                " are left to judge on"
            )
        self.fold = np.array([fold[cluster[g.question.id]] for g in groups])
        self.seed = seed

    def looks(self, name: str, cue: Cue, surface: GroupSurface) -> Iterator[_CueReading]:
        """Judge a cue: on all groups at once, then on each kind against the others."""
        table, names = cue.look(surface)
        best = _BEST if cue.sparse else table.shape[1]
        if cue.evidence:
            yield from self._evidence(name, table, names)
            return
        every = np.ones(len(self.truth), dtype=np.bool_)
        chances, slopes = self._cross_fit(table, self.truth, self.fold, best)
        said = chances.argmax(axis=1)
        yield _CueReading(name, None, cue.gates, every, said == self.truth, _majority(self.truth))
        for i, kind in enumerate(self.kinds):
            is_kind = self.truth == i
            hits = (chances[:, i] > 0.5) == is_kind
            yield _CueReading(
                name, kind, cue.gates, every, hits, _majority(is_kind),
                telling=_telling(slopes[i], names),
                examples=self._surest(chances[:, i], hits & is_kind),
                auroc=separation(chances[is_kind, i], chances[~is_kind, i]),
            )  # fmt: skip

    def _evidence(
        self, name: str, table: NDArray[np.float64], names: list[str]
    ) -> Iterator[_CueReading]:
        """Tell counterfactual from consistent groups, both of which hold evidence."""
        kind = str(GroupKind.COUNTERFACTUAL)
        if not {kind, str(GroupKind.CONSISTENT)}.issubset(self.kinds):
            return
        misleading = self.truth == self.kinds.index(kind)
        seen = misleading | (self.truth == self.kinds.index(str(GroupKind.CONSISTENT)))
        truth = misleading[seen].astype(np.int64)
        found, slopes = self._cross_fit(table[seen], truth, self.fold[seen], table.shape[1])
        chance = np.zeros(len(misleading))
        chance[seen] = found[:, 1]
        hits = seen & ((chance > 0.5) == misleading)
        majority = np.zeros(len(misleading), dtype=np.bool_)
        majority[seen] = _majority(truth)
        yield _CueReading(
            name, kind, True, seen, hits, majority,
            telling=_telling(slopes[1], names), examples=self._surest(chance, hits & misleading),
            auroc=separation(chance[misleading], chance[seen & ~misleading]),
        )  # fmt: skip

    def _surest(self, chance: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[str, ...]:
        """Name the groups that were told right most surely."""
        sure = np.argsort(-np.where(right, chance, -1), kind="stable")[:_NAMED]
        return tuple(str(self.groups[j].id or self.groups[j].question.id) for j in sure)

    def _cross_fit(
        self,
        table: NDArray[np.float64],
        truth: NDArray[np.int64],
        folds: NDArray[np.int64],
        best: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        kinds = int(truth.max()) + 1
        chances = np.zeros((len(table), kinds))
        slopes = np.zeros((kinds, table.shape[1]))
        for fold in range(self.folds):
            test = folds == fold
            kept = _most_telling(table[~test], truth[~test], best)
            model = fit(table[~test][:, kept], truth[~test], kinds)
            chances[test] = model.chances(table[test][:, kept])
            slopes[:, kept] += model.slopes / self.folds
        return chances, slopes

    def findings(self, looks: Sequence[_CueReading]) -> Iterator[CueFinding]:
        """Give every look the interval that its number among the gating ones asks for."""
        rows = np.array([np.bincount(self.question, weights=look.seen) for look in looks])
        gains = np.array(
            [
                np.bincount(self.question, weights=look.hits.astype(float) - look.majority)
                for look in looks
            ]
        )
        total = rows.sum(axis=1, keepdims=True)
        moved = ((gains - gains.sum(axis=1, keepdims=True) / total * rows) / total).T
        width = MaxStatistic(moved[:, [look.gates for look in looks]], seed=self.seed)
        wide, errors = width.width(LEVEL), standard_errors(moved)
        for look, error in zip(looks, errors.tolist(), strict=True):
            accuracy = float(look.hits[look.seen].mean())
            majority = float(look.majority[look.seen].mean())
            excess = accuracy - majority
            yield CueFinding(
                cue=look.cue, kind=look.kind, accuracy=accuracy, majority=majority,
                low=excess - wide * error, high=excess + wide * error,
                luck=width.luck(excess, error), telling=look.telling, examples=look.examples,
                auroc=look.auroc, gates=look.gates,
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _CueReading:
    """Which of the groups seen a cue got right, and which the majority class would have."""

    cue: str
    kind: str | None
    gates: bool
    seen: NDArray[np.bool_]
    hits: NDArray[np.bool_]
    majority: NDArray[np.bool_]
    telling: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    auroc: float | None = None


def _majority(truth: NDArray[np.int64] | NDArray[np.bool_]) -> NDArray[np.bool_]:
    values, counts = np.unique(truth, return_counts=True)
    return np.asarray(truth == values[counts.argmax()])


def _most_telling(
    table: NDArray[np.float64], truth: NDArray[np.int64], best: int
) -> NDArray[np.int64]:
    """Choose the columns whose means differ most between kinds, seen from the fitted rows alone."""
    if table.shape[1] <= best:
        return np.arange(table.shape[1])
    centred = table - table.mean(axis=0)
    between = np.zeros(table.shape[1])
    for kind in np.unique(truth):
        rows = centred[truth == kind]
        between += len(rows) * rows.mean(axis=0) ** 2
    score = between / np.maximum((centred**2).sum(axis=0), 1e-9)
    return np.sort(np.argsort(-score.round(9), kind="stable")[:best])


def _clusters(groups: Sequence[PassageGroup]) -> dict[str, str]:
    """Name a cluster for each question; questions that share a passage are in one.

    A classifier that has seen a passage beside another question would be judged on its memory.
    """
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.setdefault(name, name) != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    owners: dict[str, set[str]] = {}
    for group in groups:
        for passage in group.passages:
            owners.setdefault(passage.text, set()).add(group.question.id)
    for questions in owners.values():
        first, *others = sorted(questions)
        if len(questions) <= _SHARED:  # what is everywhere tells nobody anything
            for other in others:
                root[find(other)] = find(first)
    return {group.question.id: find(group.question.id) for group in groups}


def _folds(clusters: set[str], seed: int) -> dict[str, int]:
    """Deal clusters out to folds in an order that only their names decide."""

    def luck(cluster: str) -> int:
        return stable_hash(str(seed), cluster, errors="replace")

    return {name: i % _FOLDS for i, name in enumerate(sorted(clusters, key=luck))}


def _telling(slopes: NDArray[np.float64], names: list[str]) -> tuple[str, ...]:
    """Name what speaks most for or against a group; of equal columns the first."""
    strongest = np.argsort(-np.abs(slopes).round(9), kind="stable")[:_NAMED]
    return tuple(f"{'more' if slopes[i] > 0 else 'less'}: {names[i]}" for i in strongest)
