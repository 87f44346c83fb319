"""Two runs of equal settings, files swapped between them, and who says so.

Three sorts of runs, two of each: one that is finished, one that was stopped in the middle, one of
noise with its pools. The model's replies differ from call to call, so equal runs hold different
replies under the same requests: what is believed of the other run is a wrong result.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, cycle, islice
from typing import TYPE_CHECKING, Any

from novarag import NovaragError
from novarag.calls import Attempt, CallError, Outcome, Reply, Usage
from novarag.flows.drafts import iter_pools, sort_drafts
from novarag.noise import NoisePlan
from novarag.records import Completion, Passage, PassageGroup, Question
from novarag.runs import (
    Job,
    ProgressBoard,
    Settings,
    drive,
    open_run,
    open_store,
    plan,
    run_shard,
    settle,
    summarize,
)
from novarag.strategies import NOVA
from novarag.taxonomy import PassageKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random

SHARDS, QUESTIONS = 3, 3  # questions a shard
WAYS = ("into the first", "into the second", "exchanged")
NOISING = NoisePlan(noises=("counterfactual",), candidates=1, keep=1)
_CALLS = count()


class Model:
    """Never says the same twice; `most` is how many replies it has."""

    def __init__(self, most: int | None = None) -> None:
        self.left = most

    async def __aenter__(self) -> Model:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        if self.left == 0:
            raise CallError(Outcome.DENIED, "enough")
        self.left = None if self.left is None else self.left - 1
        call = next(_CALLS)
        tell(Attempt(id=f"{call:x}", endpoint="model"))
        year = 1500 + call
        text = f"Answer: {year}\nConfidence: {call % 101}%"
        if "passage" in prompt and '"answer"' in prompt:
            text = f'[{{"passage": "It was lit by Jones in {year}.", "answer": "{year}"}}]'
        completions = (Completion(text=text, model="m"),)
        return Reply(
            completions=completions, usage=Usage(prompt=1, completion=1), attempt=f"{call:x}"
        )


def groups() -> list[PassageGroup]:
    return [
        PassageGroup(
            question=Question(id=f"q{i}", text=f"When was light {i} lit?", answers=("1871",)),
            passages=(Passage(text=f"Light {i} shone in 1871.", kind=PassageKind.GOLD),),
        )
        for i in range(SHARDS * QUESTIONS)
    ]


def job_in(place: Path | str, noising: NoisePlan | None = None) -> Job:
    asking = noising or NOVA
    named = NOVA.template.hash if noising is None else noising.fingerprint
    given = groups() if noising is None else list(noising.requests(groups()))
    settings = Settings(
        strategy=asking.name, template_hash=named, model="m", shard_size=QUESTIONS, noise=noising
    )
    store = open_store(place)
    manifest = plan(store, lambda: given, settings, name="g", source_hash="1")
    return Job(store=store, manifest=manifest, strategy=asking, concurrency=1, patience=0.3)


def go_on(job: Job) -> list[str]:
    """Ask what is left, and return what is told."""
    results = asyncio.run(drive(job, Model, board=ProgressBoard(), stop=asyncio.Event()))
    return [line for result in results for line in result.damage]


def _finished(place: Path | str) -> None:
    go_on(job_in(place))


def _stopped(place: Path | str) -> None:
    """Leave one shard finished and two that were stopped."""
    job = job_in(place)
    asyncio.run(run_shard(job, 0, Model()))
    for shard in (1, 2):
        with suppress(CallError):
            asyncio.run(run_shard(job, shard, Model(most=2)))


def _noise(place: Path | str) -> None:
    go_on(job_in(place, NOISING))
    sort_drafts(open_run(place), NOISING)


SORTS: dict[str, Callable[[Path | str], None]] = {
    "finished": _finished, "stopped": _stopped, "noise": _noise,
}  # fmt: skip


# — what is read of a run, with what is told —


def _shown(place: str, _: NoisePlan | None) -> tuple[Any, list[str]]:
    job_strategy = open_run(place).settings.noise or NOVA
    seen = summarize(place, job_strategy)
    return (seen.counts, seen.unfinished, seen.settled), seen.damage


def _opened(place: str, _: NoisePlan | None) -> tuple[Any, list[str]]:
    found = open_run(place)
    return (found.finished, found.trials_table().rows(), found.dead_table.rows()), []


def _recovered(place: str, noising: NoisePlan | None) -> tuple[Any, list[str]]:
    found = open_run(place)
    job = Job(store=found.store, manifest=found.manifest, strategy=noising or NOVA, patience=0.3)
    results = asyncio.run(settle(job))
    told = [line for result in results for line in result.damage]
    pending = [result.counts.get("pending") for result in results]
    return (pending, open_run(place).trials_table().rows()), told


def _asked(place: str, noising: NoisePlan | None) -> tuple[Any, list[str]]:
    """Go on as `ask` does, and return the replies that were there before."""
    begun = _replies(place)
    told: list[str] = []
    job = job_in(place, noising)
    told += go_on(job)
    return {key: text for key, text in _replies(place).items() if key in begun}, told


def _replies(place: str) -> dict[str, str]:
    """Return the replies that `show` would print, by group."""
    from novarag.runs import trial_tables

    found = open_run(place)
    job = Job(store=found.store, manifest=found.manifest, strategy=found.settings.noise or NOVA)
    return {row[0]: row[1] for t in trial_tables(job) for row in t.select("group", "reply").rows()}


def _pooled(place: str, noising: NoisePlan | None) -> tuple[Any, list[str]]:
    return None if noising is None else list(iter_pools(open_run(place))), []


READERS = {
    "open": _opened, "show": _shown, "pools": _pooled, "recover": _recovered, "ask": _asked,
}  # fmt: skip


# — two runs and what is swapped —


@dataclass
class Pair:
    """Two equal runs of one sort, as they were made, and the folders in which files are swapped."""

    base: Path
    sort: str
    scheme: str = ""

    def make(self) -> None:
        for name in ("a", "b"):
            SORTS[self.sort](self.place(name))
            shutil.copytree(self.base / name, self.base / f"{name}-kept")

    def place(self, name: str) -> str:
        return f"{self.scheme}{self.base / name}"

    @property
    def noising(self) -> NoisePlan | None:
        return NOISING if self.sort == "noise" else None

    def restore(self) -> None:
        for name in ("a", "b"):
            shutil.rmtree(self.base / name)
            shutil.copytree(self.base / f"{name}-kept", self.base / name)

    def read(self, name: str, reader: str) -> tuple[Any, list[str]]:
        """Read with one reader, and leave the folder as it was before."""
        here, saved = self.base / name, self.base / "saved"
        shutil.copytree(here, saved)
        try:
            return READERS[reader](self.place(name), self.noising)
        finally:
            shutil.rmtree(here)
            saved.rename(here)

    def sets(self) -> dict[str, list[str]]:
        """Name sets of files that are swapped together: each alone, and what belongs together."""
        files = sorted(
            {
                path.relative_to(self.base / name).as_posix()
                for name in ("a", "b")
                for path in (self.base / name).rglob("*")
                if path.is_file() and path.suffix != ".lock"
            }
        )
        different = [f for f in files if self._bytes("a", f) != self._bytes("b", f)]
        found = {file: [file] for file in different}
        for shard in range(SHARDS):
            of_shard = [f for f in different if f"/{shard:05}" in f]
            if of_shard:
                found[f"all of shard {shard}"] = of_shard
        for kind in ("journal", "leases", "shards", "trials"):
            found[f"all of {kind}"] = [f for f in different if f.startswith(f"{kind}/")]
        found["pools and their seal"] = [
            f for f in different if f.startswith(("drafts", "pool/", "passages/"))
        ]
        found["all but the manifest"] = [f for f in different if f != "manifest.json"]
        return {name: chosen for name, chosen in found.items() if chosen}

    def _bytes(self, name: str, file: str) -> bytes | None:
        path = self.base / name / file
        return path.read_bytes() if path.is_file() else None

    def swap(self, files: list[str], way: str) -> list[str]:
        """Put files of one run into the other; return the runs that hold another's files."""
        first = {file: self._bytes("a", file) for file in files}
        second = {file: self._bytes("b", file) for file in files}
        if way != "into the second":
            self._put("a", second)
        if way != "into the first":
            self._put("b", first)
        return {"into the first": ["a"], "into the second": ["b"]}.get(way, ["a", "b"])

    def _put(self, name: str, contents: dict[str, bytes | None]) -> None:
        for file, content in contents.items():
            path = self.base / name / file
            if content is None:
                path.unlink()
            else:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)


@dataclass(frozen=True, slots=True)
class Swap:
    """Which files of which sort of run go which way."""

    sort: str
    files: str
    way: str


def swaps(pairs: dict[str, Pair], times: int, rng: Random) -> Iterator[Swap]:
    """Draw swaps, sort by sort; every set of files comes before one comes again."""
    left: dict[str, list[str]] = {sort: [] for sort in pairs}
    for sort in islice(cycle(pairs), times):
        if not left[sort]:
            left[sort] = list(pairs[sort].sets())
            rng.shuffle(left[sort])
        yield Swap(sort, left[sort].pop(), rng.choice(WAYS))


def problems(pair: Pair, swap: Swap, pristine: dict[tuple[str, str], Any]) -> list[str]:
    """Do one swap; say where it went unnoticed, or what was taken from the other run."""
    pair.restore()
    found = []
    for name in pair.swap(pair.sets()[swap.files], swap.way):
        noticed = False
        for reader in READERS:
            try:
                result, told = pair.read(name, reader)
            except NovaragError:
                noticed = True
                continue
            noticed = noticed or bool(told)
            if result != pristine[name, reader] and not told:
                found.append(f"{reader} believes {swap}")
        if not noticed:
            found.append(f"nobody notices {swap}")
    return found


def pristine_of(pair: Pair) -> dict[tuple[str, str], Any]:
    """Read both runs with everybody before anything is swapped; nobody may tell of damage."""
    found = {}
    for name in ("a", "b"):
        for reader in READERS:
            result, told = pair.read(name, reader)
            assert not told, told
            found[name, reader] = result
    return found
