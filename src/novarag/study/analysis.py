"""What ratings say: means with intervals, agreement of the raters, and tests between systems."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from novarag.defaults import MEASURE
from novarag.errors import DataError
from novarag.stats.agreement import alpha, coincidences, kappa
from novarag.stats.corrections import bonferroni, holm
from novarag.stats.figure import Figure
from novarag.stats.ranks import dunn, friedman, kruskal_wallis, wilcoxon
from novarag.stats.resampling import draws, interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from novarag.stats.agreement import Level
    from novarag.stats.arrays import Floats
    from novarag.stats.ranks import RankTest
    from novarag.study.ratings import StudyRatings
    from novarag.study.rubric import Criterion


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterCount:
    """How much a rater rated, and how much is missing."""

    name: str
    rated: int
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """Cohen's kappa of two raters over the `n` ratings both gave."""

    one: str
    other: str
    kappa: float
    quadratic: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreement:
    """Krippendorff's alpha of all raters, and Cohen's kappa of each pair with its mean."""

    ordinal: Figure
    interval: Figure
    kappa: float
    quadratic: float
    pairs: tuple[PairAgreement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemContrast:
    """Two systems on one criterion: their paired difference, and both tests of it.

    `dunn` takes ratings for independent, as the paper did; `wilcoxon` pairs them by question.
    """

    one: str
    other: str
    difference: Figure
    dunn: float
    dunn_bonferroni: float
    wilcoxon: float
    wilcoxon_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionReport:
    """All that is known of one criterion; `concordance` is Kendall's W, the size of the effect."""

    criterion: Criterion
    means: Mapping[str, Figure]
    spreads: Mapping[str, float]
    agreement: RaterAgreement
    kruskal: RankTest
    friedman: RankTest | None
    concordance: float | None
    contrasts: tuple[SystemContrast, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StudyReport:
    """Everything that was found, and how."""

    sheet: str
    systems: tuple[str, ...]
    questions: int
    points: int
    raters: tuple[RaterCount, ...]
    criteria: tuple[CriterionReport, ...]
    agreement: RaterAgreement
    simulated: bool
    models: tuple[str, ...]
    replicates: int
    seed: int

    @property
    def made_up(self) -> bool:
        """Whether a simulated respondent wrote any of the replies that were rated."""
        return any(model.startswith("simulated:") for model in self.models)

    def __repr__(self) -> str:
        lines = [f"StudyReport: {self.questions:,} questions, {len(self.raters):,} raters"]
        lines += [
            f"{found.criterion.title}: "
            + ", ".join(f"{name} {mean.value:.2f}" for name, mean in found.means.items())
            for found in self.criteria
        ]
        return "\n  ".join(lines)


def analyse(
    ratings: StudyRatings, *, replicates: int = MEASURE.replicates, seed: int = MEASURE.seed
) -> StudyReport:
    """Analyse ratings; intervals come from drawing whole questions again."""
    key, scores = ratings.key, ratings.scores
    if np.isnan(scores).all():
        raise DataError(
            "there is not a single rating in these files.", hint="wait for the raters to save some."
        )
    weights = np.concatenate(
        list(draws(len(key.entries), replicates, seed=seed, width=key.rubric.points**2))
    )
    desk = _RatedQuestions(ratings, weights)
    return StudyReport(
        sheet=key.sheet,
        systems=key.systems,
        questions=len(key.entries),
        points=key.rubric.points,
        raters=tuple(_count(name, part) for name, part in zip(ratings.raters, scores, strict=True)),
        criteria=tuple(desk.report(c) for c in range(len(key.rubric.criteria))),
        agreement=desk.agree(scores),
        simulated=ratings.simulated,
        models=key.models,
        replicates=replicates,
        seed=seed,
    )


def _count(name: str, scores: Floats) -> RaterCount:
    missing = int(np.isnan(scores).sum())
    return RaterCount(name=name, rated=scores.size - missing, missing=missing)


@dataclass(frozen=True, slots=True)
class _RatedQuestions:
    """Ratings, and the same drawn questions for every figure."""

    ratings: StudyRatings
    weights: Floats

    def report(self, place: int) -> CriterionReport:
        systems = self.ratings.key.systems
        scores = self.ratings.scores[..., place]  # rater, question, system
        samples = [given[~np.isnan(given)] for given in scores.transpose(2, 0, 1)]
        blocks, kept = _blocks(scores)
        test = friedman(blocks) if kept.any() else None
        return CriterionReport(
            criterion=self.ratings.key.rubric.criteria[place],
            means={name: self._mean(scores[..., i]) for i, name in enumerate(systems)},
            spreads={
                name: float(np.std(s, ddof=1)) if s.size > 1 else np.nan
                for name, s in zip(systems, samples, strict=True)
            },
            agreement=self.agree(scores),
            kruskal=kruskal_wallis(samples),
            friedman=test,
            concordance=None if test is None else test.statistic / (test.n * test.freedom),
            contrasts=self._contrasts(samples, blocks, kept),
        )

    def _mean(self, scores: Floats) -> Figure:
        """Return the mean of all ratings of a system, whoever gave them."""
        total, count = np.nansum(scores, axis=0), (~np.isnan(scores)).sum(axis=0)
        return self._figure(lambda w: _over(w @ total, w @ count), int(count.sum()))

    def _figure(self, of: Callable[[Floats], Floats], n: int) -> Figure:
        """Compute a figure of weights of questions, and its interval from drawn ones."""
        ones = np.ones((1, self.weights.shape[1]))
        return Figure(float(of(ones)[0]), *interval(of(self.weights)), n)

    def agree(self, scores: Floats) -> RaterAgreement:
        """Say how far raters agree; scores are led by rater and question."""
        points, names = self.ratings.key.rubric.points, self.ratings.raters
        raters, questions = scores.shape[:2]
        units = np.moveaxis(scores, 0, -1).reshape(-1, raters)
        met = coincidences(units, points).reshape(questions, -1, points * points).sum(axis=1)
        n = round(float(met.sum()))

        def draw(level: Level) -> Figure:
            return self._figure(lambda w: alpha((w @ met).reshape(-1, points, points), level), n)

        pairs = tuple(
            _pair(names[i], names[j], units[:, [i, j]], points)
            for i, j in combinations(range(raters), 2)
        )
        return RaterAgreement(
            ordinal=draw("ordinal"),
            interval=draw("interval"),
            kappa=_mean_of([p.kappa for p in pairs]),
            quadratic=_mean_of([p.quadratic for p in pairs]),
            pairs=pairs,
        )

    def _contrasts(
        self, samples: list[Floats], blocks: Floats, kept: NDArray[np.bool_]
    ) -> tuple[SystemContrast, ...]:
        systems = self.ratings.key.systems
        raw = dunn(samples)
        paired = wilcoxon(blocks) if kept.any() else np.full(raw.size, np.nan)
        found = []
        for at, (i, j) in enumerate(combinations(range(len(systems)), 2)):
            apart = np.zeros(kept.size)
            apart[kept] = blocks[:, i] - blocks[:, j]

            def shift(w: Floats, apart: Floats = apart) -> Floats:
                return _over(w @ apart, w @ kept)

            found.append(
                SystemContrast(
                    one=systems[i], other=systems[j],
                    difference=self._figure(shift, int(kept.sum())),
                    dunn=float(raw[at]), dunn_bonferroni=float(bonferroni(raw)[at]),
                    wilcoxon=float(paired[at]), wilcoxon_holm=float(holm(paired)[at]),
                )
            )  # fmt: skip
        return tuple(found)


def _blocks(scores: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Average over raters, question by question; say which questions have a row.

    Only raters who rated every system on a question count there, since a severe rater who left one
    out would lift it above the others.
    """
    whole = np.asarray(~np.isnan(scores).any(axis=2))  # rater, question
    kept = np.asarray(whole.any(axis=0))
    total = np.where(whole[..., None], scores, 0).sum(axis=0)
    return total[kept] / whole.sum(axis=0)[kept, None], kept


def _pair(one: str, other: str, units: Floats, points: int) -> PairAgreement:
    a, b = units.T
    return PairAgreement(
        one=one,
        other=other,
        kappa=kappa(a, b, points=points),
        quadratic=kappa(a, b, points=points, quadratic=True),
        n=int((~np.isnan(units).any(axis=1)).sum()),
    )


def _mean_of(values: list[float]) -> float:
    known = [v for v in values if not np.isnan(v)]
    return float(np.mean(known)) if known else np.nan


def _over(total: Floats, count: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / count)
