"""Asking for the variants of a probe's questions: each as a run, so that nothing is asked twice.

Variants that are asked for as many replies share a run. Questions stand in folders by their place
in the plan, `replies/000000-000150`: a larger probe adds a folder and keeps what is there.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.calls import Cost, Sampling
from novarag.errors import UsageError
from novarag.flows.probe.plan import (
    CONTRADICTION,
    ORIGINAL,
    REPEAT,
    by_count,
    given_against,
    to_write_against,
)
from novarag.probes.replies import ProbeReplies
from novarag.probes.variants import VariantContext, contradictions_in, variant_id
from novarag.runner.asking import noise_mode
from novarag.runner.sources import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from novarag.flows.probe.plan import ProbePlan
    from novarag.records import Flaw, Passage, PassageGroup, Response
    from novarag.runner.asking import AskingMode, SamplingPlan
    from novarag.runner.runner import Runner
    from novarag.runs import Run

    Samples = dict[int, Response | None]

_RANGE = re.compile(r"([0-9]{6})-([0-9]{6})")  # first and last question, as folders are named


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantAsker:
    """Who is asked for variants, and how; `writer` writes the contradictions that are missing."""

    mode: AskingMode
    runner: Runner
    writer: Runner | None
    samples: SamplingPlan
    structured: bool | None

    async def ask(self, plan: ProbePlan) -> VariantReplies:
        """Ask for all that a plan has, or find it."""
        found = VariantReplies(plan=plan)
        parts = list(self._parts(plan))
        places = [f"{name}/n{count}" for name, part in parts for count in _runs(part)]
        for runner in filter(None, (self.runner, self.writer)):
            await runner.check(*places)  # both, before the first is paid
        held = self.runner.is_structured(self.structured, self.mode.asking, *places)
        samples = replace(self.samples, structured=held)  # once: all variants are asked alike
        asker = replace(self, samples=samples)
        for name, part in parts:
            await asker._part(name, part, found)
        return found

    def _parts(self, plan: ProbePlan) -> Iterator[tuple[str, ProbePlan]]:
        """Cut the questions where an earlier, smaller probe ended."""
        size, ends = len(plan.groups), self._ends()
        if ends and ends[-1] > size:
            raise UsageError.saying(
                "{} was begun with {:,} questions; give `question_count={}` or more, or another"
                " `out`",
                self.runner.folder,
                ends[-1],
                ends[-1],
            )
        for first, last in pairwise(sorted({0, *ends, size})):
            part = replace(plan, groups=plan.groups[first:last])
            yield f"replies/{first:06}-{last:06}", part

    def _ends(self) -> list[int]:
        folder = self.runner.folder
        place = None if folder is None else Path(folder) / "replies"
        if place is None or not place.is_dir():
            return []
        found = filter(None, (_RANGE.fullmatch(path.name) for path in place.iterdir()))
        return sorted(int(match[2]) for match in found)

    async def _part(self, name: str, plan: ProbePlan, found: VariantReplies) -> None:
        """Ask about some of the questions: what needs no writing first."""
        for count, variants in _runs(plan).items():
            made = [group for variant in variants for group in plan.make(variant)]
            await self._run(f"{name}/n{count}", count, made, found)
        wanted = plan.samples().get(CONTRADICTION, 0)
        if wanted:
            context = await self._contradictions(name, plan, found)
            made = list(plan.make(CONTRADICTION, context))
            place = f"{name}/{CONTRADICTION}-n{wanted}-{_digest(made)}"
            await self._run(place, wanted, made, found)

    async def _contradictions(
        self, name: str, plan: ProbePlan, found: VariantReplies
    ) -> VariantContext:
        """Take the contradictions that are given, and have the others written."""
        answers = found.answers()
        known = given_against(plan, answers)
        left = {q: answer for q, answer in answers.items() if q not in known}
        groups = [] if self.writer is None else to_write_against(plan, left)
        if self.writer is not None and groups:
            known |= await self._write(self.writer, f"{name}/written-{_digest(groups)}", groups)
        return replace(plan.context, contradictions=known)

    async def _write(
        self, writer: Runner, place: str, groups: list[PassageGroup]
    ) -> dict[str, Passage]:
        """Have a model write passages against the answers that were given; `noise` checks them."""
        from novarag.flows.drafts import iter_pools, sort_drafts
        from novarag.noise import NoisePlan

        noising = NoisePlan(noises=("counterfactual",), candidates=2, keep=1)
        samples = replace(self.samples, sampling=Sampling(max_tokens=1024), structured=False)
        run = await writer.ask(
            source_of(noising.requests(groups), name="answers"), noise_mode(noising),
            place=place, samples=replace(samples, per_request=None, revision=None),
        )  # fmt: skip
        sort_drafts(run, noising)
        return contradictions_in(iter_pools(run))

    async def _run(
        self, place: str, count: int, groups: list[PassageGroup], found: VariantReplies
    ) -> None:
        if groups:
            sampling = replace(self.samples.sampling, n=count)
            done = await self.runner.attempt(
                source_of(groups, name=found.plan.name), self.mode, place=place,
                samples=replace(self.samples, sampling=sampling),
            )  # fmt: skip
            found.take(done.settled_run(), groups)


def _runs(plan: ProbePlan) -> dict[int, list[str]]:
    """Return the variants that need nothing from earlier replies, by their number of replies."""
    samples = plan.samples()
    return by_count({v: n for v, n in samples.items() if v != CONTRADICTION})


def _digest(groups: Sequence[PassageGroup]) -> str:
    """Name a run by what follows from earlier replies, so that other replies begin another."""
    parts = [
        text
        for group in groups
        for text in (group.question.id, *group.question.answers, *(p.text for p in group.passages))
    ]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]


@dataclass(slots=True, kw_only=True)
class VariantReplies:
    """The replies of a probe as they come: what was read, what was not, what it took."""

    plan: ProbePlan
    said: dict[str, Samples] = field(default_factory=lambda: defaultdict(dict))
    made: dict[str, PassageGroup] = field(default_factory=dict)
    flaws: Counter[Flaw] = field(default_factory=Counter)
    dead: Counter[str] = field(default_factory=Counter)
    cost: Cost = field(default_factory=Cost)

    def take(self, run: Run, groups: Sequence[PassageGroup]) -> None:
        """Take in a finished run."""
        self.made |= {str(group.id): group for group in groups}
        for trial in run.trials(graded=False):
            self.said[str(trial.group.id)][trial.sample] = trial.response
            if trial.flaw is not None:
                self.flaws[trial.flaw] += 1
        self.dead.update(run.dead_table["outcome"].to_list() if run.dead else ())
        self.cost += run.cost

    def answers(self) -> dict[str, str]:
        """Return the first answer that was read to each question as it is."""
        found = {}
        for group in self.plan.groups:
            samples = self.said.get(variant_id(group, ORIGINAL), {})
            read = (r for _, r in sorted(samples.items()) if r is not None)
            first = next(read, None)
            if first is not None:
                found[group.question.id] = first.answer
        return found

    def probed(self) -> list[ProbeReplies]:
        """Put the replies of each question together, by variant."""
        own = self.plan.profile.samples.get(ORIGINAL, 0)
        wanted = self.plan.samples()
        return [
            ProbeReplies(question=group.question, replies=self._of(group, wanted, own))
            for group in self.plan.groups
        ]

    def _of(
        self, group: PassageGroup, wanted: Mapping[str, int], own: int
    ) -> dict[str, list[Response | None]]:
        found: dict[str, list[Response | None]] = {}
        for variant in wanted:
            for sample, reply in sorted(self.said.get(variant_id(group, variant), {}).items()):
                again = variant == ORIGINAL and sample >= own
                found.setdefault(REPEAT if again else variant, []).append(reply)
        return found

    def variants(self) -> Iterator[tuple[PassageGroup, str, PassageGroup]]:
        """Yield each question, the name of a variant, and what that variant made of it."""
        for group in self.plan.groups:
            for variant in self.plan.samples():
                made = self.made.get(variant_id(group, variant))
                if made is not None:
                    yield group, variant, made

    def unmade(self) -> dict[str, int]:
        """Count for each variant the questions of which it could not be made."""
        asked = {v: sum(variant_id(g, v) in self.made for g in self.plan.groups)
                 for v in self.plan.samples()}  # fmt: skip
        return {v: len(self.plan.groups) - n for v, n in asked.items() if n < len(self.plan.groups)}
