"""The shortcut auditor: can the group be told from surface alone?

Each cue is given to a classifier that is fitted on some questions and judged on others. A cue that
beats "always say the most common group" by more than a margin is a shortcut: a model trained on
such data can learn the cue in place of reading.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from novarag.defaults import GROUP
from novarag.errors import UsageError
from novarag.noise.surface import CUES, Surface
from novarag.seeding import rng_for, stable_hash
from novarag.stats.logistic import fit
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from novarag.records import PassageGroup

MARGIN = GROUP.margin
_FOLDS, _REPLICATES, _LEVEL = 5, 1000, 95
_UNLIKELY = 0.05
_SHARED = 20  # questions; a passage that more of them have is no link between them
_MOST = 3000  # questions; more make the audit slower, not wiser
_NAMED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How well one cue tells one group from the others; `kind` None means all groups at once.

    `low` and `high` bound by how much it beats the majority class, with 95 % confidence; `luck` is
    the probability of such an excess where there is nothing to find.
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

    @property
    def excess(self) -> float:
        """By how much the cue beats the majority class."""
        return self.accuracy - self.majority


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Audit:
    """What every cue gives away."""

    findings: tuple[Finding, ...]
    margin: float
    groups: int
    questions: int
    left_out: int

    @property
    def shortcuts(self) -> tuple[Finding, ...]:
        """The findings that beat the majority by more than the margin, and not by luck.

        With so many findings some are lucky, so each must be as unlikely as their number asks.
        """
        enough = _UNLIKELY / max(len(self.findings), 1)
        return tuple(f for f in self.findings if f.excess > self.margin and f.luck < enough)

    def worst(self, cue: str) -> Finding:
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
            worst = self.worst(cue)
            yield (
                f"{cue:<15} {worst.kind or 'all groups':<15} told in {worst.accuracy:.1%}, by"
                f" chance {worst.majority:.1%}: {100 * worst.excess:+.1f} points"
                f" ({100 * worst.low:+.1f} to {100 * worst.high:+.1f})"
            )
        for finding in self.shortcuts:
            if finding.kind is not None:
                said = "; ".join(finding.telling)
                such = ", ".join(plain_text(name, longest=40) for name in finding.examples)
                which = f"{finding.cue} tells the {finding.kind} group"
                yield f"shortcut: {which} by {said}; such as {such}"
        cues = list(dict.fromkeys(f.cue for f in self.shortcuts))
        verdict = f"shortcuts in {', '.join(cues)}" if cues else "no cue"
        yield f"{verdict} beyond {100 * self.margin:g} points"


def audit(groups: Sequence[PassageGroup], *, margin: float = MARGIN, seed: int = 0) -> Audit:
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
    surface, asked = Surface(known), _Asked(known, names, kinds, seed)
    findings = [f for cue, look in CUES.items() for f in asked.findings(cue, *look(surface))]
    return Audit(
        findings=tuple(findings), margin=margin, groups=len(known), questions=len(names),
        left_out=len(groups) - len(known),
    )  # fmt: skip


class _Asked:
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
        rng = np.random.default_rng(seed)
        share = np.full(len(names), 1 / len(names))
        self.weights = rng.multinomial(len(names), share, size=_REPLICATES).astype(float)

    def findings(self, cue: str, table: NDArray[np.float64], names: list[str]) -> list[Finding]:
        chances, slopes = self._cross_fit(table)
        said = chances.argmax(axis=1)
        found = [self._finding(cue, None, said == self.truth, self._majority(self.truth))]
        for i, kind in enumerate(self.kinds):
            is_kind = self.truth == i
            hits = (chances[:, i] > 0.5) == is_kind
            told = _telling(slopes[i], names)
            sure = np.argsort(-np.where(hits & is_kind, chances[:, i], -1))[:_NAMED]
            named = tuple(str(self.groups[j].id or self.groups[j].question.id) for j in sure)
            found.append(self._finding(cue, kind, hits, self._majority(is_kind), told, named))
        return found

    def _cross_fit(
        self, table: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        chances = np.zeros((len(table), len(self.kinds)))
        slopes = np.zeros((len(self.kinds), table.shape[1]))
        for fold in range(self.folds):
            test = self.fold == fold
            model = fit(table[~test], self.truth[~test], len(self.kinds))
            chances[test] = model.chances(table[test])
            slopes += model.slopes / self.folds
        return chances, slopes

    def _majority(self, truth: NDArray[np.int64] | NDArray[np.bool_]) -> NDArray[np.bool_]:
        values, counts = np.unique(truth, return_counts=True)
        return np.asarray(truth == values[counts.argmax()])

    def _finding(
        self, cue: str, kind: str | None, hits: NDArray[np.bool_], majority: NDArray[np.bool_],
        telling: tuple[str, ...] = (), examples: tuple[str, ...] = (),
    ) -> Finding:  # fmt: skip
        gain = np.bincount(self.question, weights=hits.astype(float) - majority)
        rows = np.bincount(self.question)
        spread = (self.weights @ gain) / (self.weights @ rows)
        low, high = np.percentile(spread, [(100 - _LEVEL) / 2, (100 + _LEVEL) / 2])
        error = max(float(spread.std()), 1e-9)
        luck = float(ndtr(-(hits.mean() - majority.mean()) / error))
        return Finding(
            cue=cue, kind=kind, accuracy=float(hits.mean()), majority=float(majority.mean()),
            low=float(low), high=float(high), luck=luck, telling=telling, examples=examples,
        )  # fmt: skip


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
    """Name what speaks most for or against a group."""
    strongest = np.argsort(-np.abs(slopes))[:_NAMED]
    return tuple(f"{'more' if slopes[i] > 0 else 'less'}: {names[i]}" for i in strongest)
