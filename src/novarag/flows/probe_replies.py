"""Asking for the variants of a probe's questions: each as a run, so that nothing is asked twice.

Variants that are asked for as many replies share a run. Questions stand in folders by their place
in the plan, `replies/000000-000150`: a larger probe adds a folder and keeps what is there.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING

from novarag.calls import Cost
from novarag.errors import Unfinished, UsageError
from novarag.flows.events import silent
from novarag.flows.jobs import Source, check_server, is_structured, plan_job, run_job
from novarag.flows.probe_plan import (
    CONTRADICTION,
    ORIGINAL,
    REPEAT,
    by_count,
    given_against,
    to_write_against,
)
from novarag.probes.replies import Probed
from novarag.probes.variants import Context, contradictions_in, variant_id
from novarag.runs import Memory, Settings, frame_secret, open_run, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from novarag.calls import Sampling
    from novarag.flows.access import ModelAccess
    from novarag.flows.events import Tell
    from novarag.flows.looping import Stop
    from novarag.flows.probe_plan import Plan
    from novarag.ports import Asking
    from novarag.records import Flaw, Passage, PassageGroup, Response
    from novarag.runs import Run, Store
    from novarag.strategies import Strategy

    Samples = dict[int, Response | None]

_RANGE = re.compile(r"([0-9]{6})-([0-9]{6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class HowAsked:
    """What is asked and how its replies are read: a strategy, or an application's form."""

    asking: Asking
    name: str
    template_hash: str
    framed: Strategy | None = None  # whose labels are framed by a secret of each run

    def of(self, store: Store) -> tuple[Asking, str | None]:
        """Return what asks in one run, and the secret of its frames."""
        if self.framed is None:
            return self.asking, None
        from novarag.strategies.frames import fresh_secret

        secret = frame_secret(store, fresh_secret)
        return self.framed.framed(secret), secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Everything that replies are asked with; without a `folder` they are kept in memory."""

    asking: HowAsked
    model: ModelAccess
    writer: ModelAccess | None
    sampling: Sampling
    structured: bool | None
    shard_size: int
    revision: str | None
    folder: Path | None
    on_event: Tell = silent
    stop: Stop | None = None
    _memory: dict[str, Memory] = field(default_factory=dict)

    async def ask(self, plan: Plan) -> Replies:
        """Ask for all that a plan has, or find it; `Unfinished` where that was stopped."""
        found = Replies(plan=plan)
        parts = list(self._parts(plan))
        places = [self._open(f"{name}/n{count}") for name, part in parts for count in _runs(part)]
        await self._check(places)
        held = is_structured(self.structured, self.asking.asking, self.model, *places)
        asker = replace(self, structured=held)  # settled once: all variants are asked alike
        for name, part in parts:
            await asker._part(name, part, found)
        return found

    async def _check(self, places: Sequence[Store]) -> None:
        """See that the servers are there, before a folder is begun."""
        await check_server(self.model, *places)
        if self.writer is not None:
            await check_server(self.writer, *places)

    def _parts(self, plan: Plan) -> Iterator[tuple[str, Plan]]:
        """Cut the questions where an earlier, smaller probe ended."""
        size, ends = len(plan.groups), self._ends()
        if ends and ends[-1] > size:
            raise UsageError(
                f"{self.folder} was begun with {ends[-1]:,} questions; give `questions={ends[-1]}`"
                " or more, or another `out`"
            )
        for first, last in pairwise(sorted({0, *ends, size})):
            part = replace(plan, groups=plan.groups[first:last])
            yield f"replies/{first:06}-{last:06}", part

    def _ends(self) -> list[int]:
        place = None if self.folder is None else self.folder / "replies"
        if place is None or not place.is_dir():
            return []
        found = filter(None, (_RANGE.fullmatch(path.name) for path in place.iterdir()))
        return sorted(int(match[2]) for match in found)

    async def _part(self, name: str, plan: Plan, found: Replies) -> None:
        """Ask about some of the questions: what needs no writing first."""
        for count, variants in _runs(plan).items():
            made = [group for variant in variants for group in plan.make(variant)]
            await self._run(f"{name}/n{count}", count, made, plan.name, found)
        wanted = plan.samples().get(CONTRADICTION, 0)
        if wanted:
            context = await self._contradictions(name, plan, found)
            made = list(plan.make(CONTRADICTION, context))
            place = f"{name}/{CONTRADICTION}-n{wanted}-{_digest(made)}"
            await self._run(place, wanted, made, plan.name, found)

    async def _contradictions(self, name: str, plan: Plan, found: Replies) -> Context:
        """Take the contradictions that are given, and have the others written."""
        answers = found.answers()
        known = given_against(plan, answers)
        left = {q: answer for q, answer in answers.items() if q not in known}
        groups = to_write_against(plan, left) if self.writer is not None else []
        if groups:
            known |= await self._write(f"{name}/written-{_digest(groups)}", groups)
        return replace(plan.context, contradictions=known)

    async def _write(self, place: str, groups: list[PassageGroup]) -> dict[str, Passage]:
        """Have a model write passages against the answers that were given; `noise` checks them."""
        from novarag.calls import Sampling
        from novarag.flows.drafts import iter_pools
        from novarag.flows.noise import write_noise
        from novarag.noise import Noising

        assert self.writer is not None  # noqa: S101 - asked for only where there is one
        noising = Noising(noises=("counterfactual",), candidates=2, keep=1)
        settings = Settings(
            strategy=noising.name, template_hash=noising.fingerprint, model=self.writer.name,
            sampling=Sampling(max_tokens=1024), shard_size=self.shard_size, noise=noising,
        )  # fmt: skip
        source = Source(groups=lambda: noising.requests(groups), name="answers", hash="")
        store = self._open(place)
        done = await write_noise(
            source, settings, store, self.writer, on_event=self.on_event, stop=self.stop
        )
        if done.tally is None:
            raise Unfinished(store.place, stopped=done.run.stopped)
        return contradictions_in(iter_pools(open_run(store)))

    async def _run(
        self, place: str, count: int, groups: list[PassageGroup], name: str, found: Replies
    ) -> None:
        if not groups:
            return
        store = self._open(place)
        asking, secret = self.asking.of(store)
        settings = Settings(
            strategy=self.asking.name, template_hash=self.asking.template_hash,
            model=self.model.name, revision=self.revision, samples=count, per_request=1,
            sampling=self.sampling, shard_size=self.shard_size, frame=secret,
            structured=bool(self.structured),
        )  # fmt: skip
        source = Source(groups=partial(iter, groups), name=name, hash="")
        job = plan_job(asking, source, settings, store, self.model, on_event=self.on_event)
        done = await run_job(job, self.model, on_event=self.on_event, stop=self.stop)
        if not done.finished or (self.stop is not None and self.stop.is_set()):
            raise Unfinished(store.place, stopped=done.stopped)
        found.take(open_run(store), groups)

    def _open(self, name: str) -> Store:
        if self.folder is None:
            return self._memory.setdefault(name, Memory())
        return open_store(self.folder / name)


def _runs(plan: Plan) -> dict[int, list[str]]:
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
class Replies:
    """The replies of a probe as they come: what was read, what was not, what it took."""

    plan: Plan
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

    def probed(self) -> list[Probed]:
        """Put the replies of each question together, by variant."""
        own = self.plan.profile.samples.get(ORIGINAL, 0)
        wanted = self.plan.samples()
        return [
            Probed(question=group.question, replies=self._of(group, wanted, own))
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
