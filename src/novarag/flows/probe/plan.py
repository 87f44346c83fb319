"""What a probe asks: which questions, which variants of their passages, how many calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.errors import DataError, UsageError
from novarag.probes.profiles import PROFILES
from novarag.probes.variants import VARIANTS, VariantContext, contradictions_in, passages_of
from novarag.prose import join_prose, say
from novarag.runner.sources import as_group
from novarag.seeding import stable_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.probes.profiles import ProbeProfile
    from novarag.records import Passage, PassageGroup

    GroupRows = str | Path | Iterable[PassageGroup | Mapping[str, object]]

ORIGINAL, REPEAT, CONTRADICTION = "original", "repeat", "contradiction"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """The questions of a probe in the order of its seed, and what their variants are made from.

    One more question leaves those before it as they are, so that a probe can be made larger.
    `available` is how many questions there are, `left_out` how many rows ask one again.
    """

    profile: ProbeProfile
    groups: tuple[PassageGroup, ...]
    context: VariantContext
    seed: int
    name: str
    available: int
    left_out: int

    @property
    def calls(self) -> int:
        """The most calls that all questions take."""
        return len(self.groups) * self.profile.calls

    def samples(self) -> dict[str, int]:
        """Return how many replies each variant is asked for; repeats are more of the original."""
        counts = dict(self.profile.samples)
        repeats = counts.pop(REPEAT, 0)
        return counts | {ORIGINAL: counts.get(ORIGINAL, 0) + repeats}

    def make(self, variant: str, context: VariantContext | None = None) -> Iterator[PassageGroup]:
        """Make a variant of every question where it can be made."""
        for group in self.groups:
            made = VARIANTS[variant].make(group, context or self.context, seed=self.seed)
            if made is not None:
                yield made


def make_plan(
    groups: GroupRows,
    profile: ProbeProfile,
    *,
    questions: int | None = None,
    refuse_above: int | None = None,
    contradictions: GroupRows | None = None,
    seed: int = 0,
) -> ProbePlan:
    """Choose questions by seed, one group each; refuse a plan that takes more calls than it may."""
    source = Path(groups).name if isinstance(groups, (str, Path)) else "groups"
    first: dict[str, PassageGroup] = {}
    everything = list(iter_rows(groups))
    for group in everything:
        name = group.question.id
        first.setdefault(name, replace(group, id=name))
    if not first:
        raise DataError("there are no groups.", hint="give a file with rows.", source=source)
    if questions is not None and questions < 1:
        raise UsageError.saying("`question_count` begins at 1, not {}", questions)
    chosen = sorted(first.values(), key=lambda g: stable_hash(str(seed), "probe", g.question.id))
    against = contradictions_in(everything)
    if contradictions is not None:
        against = contradictions_in(_pools(contradictions)) | against
    made = ProbePlan(
        profile=profile,
        groups=tuple(chosen[:questions]),
        context=VariantContext(passages=passages_of(everything), contradictions=against),
        seed=seed,
        name=source,
        available=len(first),
        left_out=len(everything) - len(first),
    )
    check_calls(made, refuse_above)
    return made


def check_calls(plan: ProbePlan, refuse_above: int | None) -> None:
    """Refuse a plan of more calls than it may take, and name the largest that fits."""
    if refuse_above is None or plan.calls <= refuse_above:
        return
    if refuse_above < 1:
        raise UsageError.saying("`refuse_above` is {} calls, which asks nothing", refuse_above)
    fits = {name: refuse_above // profile.calls for name, profile in PROFILES.items()}
    choices = [
        say("`question_count={}`", n) for name, n in fits.items() if name == plan.profile.name and n
    ]
    choices += [
        say("`profile={}` for {:,}", name, min(n, len(plan.groups)))
        for name, n in fits.items()
        if n and PROFILES[name].calls < plan.profile.calls
    ]
    advice = join_prose(", or ", choices) if choices else ""
    raise UsageError.saying(
        "{} calls about each of {:,} questions are {:,}, over the {:,} of `refuse_above`: {}{}",
        plan.profile.calls,
        len(plan.groups),
        plan.calls,
        refuse_above,
        "give " if choices else "the least is 3 calls for one question",
        advice,
    )


def iter_rows(groups: GroupRows) -> Iterator[PassageGroup]:
    """Read groups from a file, or take groups and rows of cells as they are."""
    from novarag.datasets.groups import iter_groups, parse_group

    if isinstance(groups, (str, Path)):
        yield from iter_groups(groups)
        return
    for number, group in enumerate(groups, start=1):
        if isinstance(group, Mapping):
            yield parse_group(group, source="groups", row_number=number)
        else:
            yield as_group(group)


def _pools(given: GroupRows) -> Iterator[PassageGroup]:
    """Read passages that contradict: of a file, of rows, or of a run of noise."""
    from novarag.answers.opening.answers import run_at

    run = run_at(given)
    if run is None:
        return iter_rows(given)
    from novarag.flows.drafts import iter_pools

    return iter_pools(run)


def by_count(samples: Mapping[str, int]) -> dict[int, list[str]]:
    """Put together the variants that are asked for as many replies.

    >>> by_count({"original": 2, "shuffle": 1, "irrelevant": 1})
    {2: ['original'], 1: ['shuffle', 'irrelevant']}
    """
    found: dict[int, list[str]] = defaultdict(list)
    for variant, count in samples.items():
        if count:
            found[count].append(variant)
    return dict(found)


def given_against(plan: ProbePlan, answers: Mapping[str, str]) -> dict[str, Passage]:
    """Return the given contradictions that do contradict what the system answered itself."""
    from novarag.probes.matching import agreeing

    found = {}
    for group in plan.groups:
        question = group.question
        answer, passage = answers.get(question.id), plan.context.contradictions.get(question.id)
        if answer is None or passage is None:
            continue
        first, second = agreeing([answer, passage.claim], question)
        if first != second:
            found[question.id] = passage
    return found


def to_write_against(plan: ProbePlan, answers: Mapping[str, str]) -> list[PassageGroup]:
    """Say what contradictions are to be written against: the answers that the system gave itself.

    Each question comes with that answer as the accepted one, beside the first passage that holds
    it. No label is needed; a question whose answer stands in no passage is left out.
    """
    from novarag.grading import contains, normalize
    from novarag.taxonomy import PassageKind

    found: list[PassageGroup] = []
    for group in plan.groups:
        answer = answers.get(group.question.id)
        words = "" if answer is None else normalize(answer)
        held = [p for p in group.passages if words and contains(normalize(p.text), words)]
        if answer is not None and held:
            question = replace(group.question, answers=(answer,))
            gold = replace(held[0], kind=PassageKind.GOLD, facet=None, claim=None)
            found.append(replace(group, question=question, passages=(gold,), order=None))
    return found
