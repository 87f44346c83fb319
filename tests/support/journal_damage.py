"""Damage to the journals of a run that was killed, class by class, and who says so.

A run of three shards was stopped twice in each and then killed: its last heartbeat is older than
the end of its journals. What lies beyond the heartbeat is the second that nobody vouches for.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING

import polars as pl

from novarag.calls import Attempt, CallError, Outcome, Reply, Sampling, Usage
from novarag.errors import StorageError
from novarag.records import Completion, Passage, PassageGroup, Question
from novarag.runs import (
    Job,
    ProgressBoard,
    Settings,
    drive,
    open_store,
    plan,
    run_shard,
    settle,
    summarize,
)
from novarag.runs.journal import journal_name
from novarag.runs.lease import lease_name, mark_in, read_lease
from novarag.runs.log_frames import Chain
from novarag.strategies import NOVA

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

SHARDS, QUESTIONS = 3, 8  # questions a shard
_NUMBERS = count()


class Model:
    """Replies from the prompt alone; `most` is how many replies it has."""

    def __init__(self, most: int | None = None) -> None:
        self.asked, self.most = 0, most

    async def __aenter__(self) -> Model:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        if self.asked == self.most:
            raise CallError(Outcome.DENIED, "enough")
        self.asked += 1
        attempt = f"{next(_NUMBERS):x}"
        tell(Attempt(id=attempt, endpoint="model"))
        text = f"Answer: 1871\nConfidence: {len(prompt) % 101}%"
        completions = tuple(Completion(text=text, model="m") for _ in range(sampling.n))
        return Reply(completions=completions, usage=Usage(prompt=1, completion=1), attempt=attempt)


def _groups(word: str) -> list[PassageGroup]:
    return [
        PassageGroup(
            question=Question(id=f"q{i}", text=f"When was {word} {i} lit?", answers=("1871",)),
            passages=(Passage(text=f"Light {i} shone in 1871."),),
        )
        for i in range(SHARDS * QUESTIONS)
    ]


def job_in(place: str, word: str = "lighthouse") -> Job:
    settings = Settings(
        strategy="nova", template_hash=NOVA.template.hash, model="m", shard_size=QUESTIONS,
        sampling=Sampling(temperature=1.0),
    )  # fmt: skip
    store, groups = open_store(place), partial(_groups, word)
    manifest = plan(store, groups, settings, name="g", source_hash=word)
    return Job(store=store, manifest=manifest, strategy=NOVA, concurrency=1, patience=0.3)


@dataclass
class Killed:
    """A killed run in a folder, what its journals and heartbeats were before, and its end."""

    folder: Path
    scheme: str = ""

    def make(self) -> None:
        """Ask two replies of each shard twice; then two more, with the heartbeat left behind."""
        job = job_in(f"{self.scheme}{self.folder / 'run'}")
        for session in range(3):
            for shard in range(SHARDS):
                beat = job.store.read(lease_name(shard))
                with suppress(CallError):
                    asyncio.run(run_shard(job, shard, Model(most=2)))
                if session == 2:
                    job.store.write(lease_name(shard), beat)
            shutil.copytree(self.folder / "run", self.folder / f"older{session}")
        for name, word in (("other", "lamp"), ("equal", "lighthouse")):
            other = job_in(f"{self.scheme}{self.folder / name}", word)
            for shard in range(SHARDS):
                with suppress(CallError):
                    asyncio.run(run_shard(other, shard, Model(most=4)))
        shutil.copytree(self.folder / "run", self.folder / "work")
        asyncio.run(drive(self.work(), Model, board=ProgressBoard(), stop=asyncio.Event()))

    def work(self) -> Job:
        return job_in(f"{self.scheme}{self.folder / 'work'}")

    def fresh(self) -> Path:
        """Put the killed run in the place where it is damaged next."""
        shutil.rmtree(self.folder / "work")
        return shutil.copytree(self.folder / "run", self.folder / "work")

    @cached_property
    def whole(self) -> pl.DataFrame:
        self.fresh()
        asyncio.run(drive(self.work(), Model, board=ProgressBoard(), stop=asyncio.Event()))
        return self.trials()

    def trials(self) -> pl.DataFrame:
        files = sorted((self.folder / "work" / "trials").glob("*.parquet"))
        return pl.concat([pl.read_parquet(file) for file in files])


# — what is done to the journal of a shard, in `work` —


def records(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def _safe(killed: Killed, shard: int) -> tuple[list[bytes], list[bytes]]:
    """Return the records that the heartbeat vouches for, and those after it."""
    size = mark_in(read_lease(killed.work().store, shard)).size
    content = (killed.folder / "work" / journal_name(shard)).read_bytes()
    return content[:size].splitlines(keepends=True), content[size:].splitlines(keepends=True)


def _rewrite(killed: Killed, shard: int, lines: list[bytes]) -> None:
    (killed.folder / "work" / journal_name(shard)).write_bytes(b"".join(lines))


def _cut_between(killed: Killed, shard: int, rng: Random) -> None:
    safe, _ = _safe(killed, shard)
    _rewrite(killed, shard, safe[: rng.randrange(len(safe))])


def _cut_anywhere(killed: Killed, shard: int, rng: Random) -> None:
    safe = b"".join(_safe(killed, shard)[0])
    _rewrite(killed, shard, [safe[: rng.randrange(len(safe) - 1)]])


def _cut_after_heartbeat(killed: Killed, shard: int, rng: Random) -> None:
    safe, after = _safe(killed, shard)
    _rewrite(killed, shard, safe + after[: rng.randrange(len(after))])


def _swap(killed: Killed, shard: int, rng: Random) -> None:
    other = rng.choice([s for s in range(SHARDS) if s != shard])
    a, b = (killed.folder / "work" / journal_name(s) for s in (shard, other))
    first, second = a.read_bytes(), b.read_bytes()
    a.write_bytes(second)
    b.write_bytes(first)


def _of_another_run(killed: Killed, shard: int, _: Random) -> None:
    _rewrite(killed, shard, records(killed.folder / "other" / journal_name(shard)))


def _pair_of_an_equal_run(killed: Killed, shard: int, _: Random) -> None:
    """Put journal and lease of a run of the same settings in the place of both."""
    for name in (journal_name(shard), lease_name(shard)):
        theirs = (killed.folder / "equal" / name).read_bytes()
        (killed.folder / "work" / name).write_bytes(theirs)


def _splice(killed: Killed, shard: int, rng: Random) -> None:
    """Put a piece of another journal of this run or another between two records or over some."""
    run = rng.choice(["run", "other", "equal"])
    choice = [s for s in range(SHARDS) if run != "run" or s != shard]
    piece = records(killed.folder / run / journal_name(rng.choice(choice)))
    start = rng.randrange(len(piece))
    piece = piece[start : start + 1 + rng.randrange(4)]
    safe, after = _safe(killed, shard)
    where = rng.randrange(len(safe))
    over = rng.choice([0, len(piece)])
    _rewrite(killed, shard, [*safe[:where], *piece, *(safe + after)[where + over :]])


def _foreign_head(killed: Killed, shard: int, rng: Random) -> None:
    """Put the beginning of this journal before the end of another of the run."""
    other = rng.choice([s for s in range(SHARDS) if s != shard])
    safe, _ = _safe(killed, shard)
    rest = records(killed.folder / "run" / journal_name(other))
    where = 1 + rng.randrange(len(safe) - 1)
    _rewrite(killed, shard, [*safe[:where], *rest[where:]])


def _doubled(killed: Killed, shard: int, rng: Random) -> None:
    safe, after = _safe(killed, shard)
    lines = safe + after
    which, where = rng.randrange(len(lines)), rng.randrange(len(lines) + 1)
    _rewrite(killed, shard, [*lines[:where], lines[which], *lines[where:]])


def _removed(killed: Killed, shard: int, rng: Random) -> None:
    safe, after = _safe(killed, shard)
    start = rng.randrange(len(safe))
    gone = min(1 + rng.randrange(3), len(safe) - start)
    _rewrite(killed, shard, [*safe[:start], *safe[start + gone :], *after])


def _moved(killed: Killed, shard: int, rng: Random) -> None:
    safe, after = _safe(killed, shard)
    a, b = sorted(rng.sample(range(len(safe)), 2))
    safe[a], safe[b] = safe[b], safe[a]
    _rewrite(killed, shard, safe + after)


def _older_self(killed: Killed, shard: int, _: Random) -> None:
    _rewrite(killed, shard, records(killed.folder / "older0" / journal_name(shard)))


def _older_self_that_went_on(killed: Killed, shard: int, _: Random) -> None:
    """Put an older journal back, behind the heartbeat's back, and go on with it for long."""
    work = killed.folder / "work"
    beat = (work / lease_name(shard)).read_bytes()
    for name in (journal_name(shard), lease_name(shard)):
        (work / name).write_bytes((killed.folder / "older0" / name).read_bytes())
    with suppress(CallError):
        asyncio.run(run_shard(killed.work(), shard, Model(most=5)))
    (work / lease_name(shard)).write_bytes(beat)


def _no_lease(killed: Killed, shard: int, rng: Random) -> None:
    _cut_between(killed, shard, rng)
    (killed.folder / "work" / lease_name(shard)).unlink()
    if not records(killed.folder / "work" / journal_name(shard)):
        _rewrite(killed, shard, _first(killed, shard))


def _first(killed: Killed, shard: int) -> list[bytes]:
    return records(killed.folder / "run" / journal_name(shard))[:1]


def _lease_of_another(killed: Killed, shard: int, rng: Random) -> None:
    _cut_between(killed, shard, rng)
    other = rng.choice([s for s in range(SHARDS) if s != shard])
    beat = (killed.folder / "run" / lease_name(other)).read_bytes()
    (killed.folder / "work" / lease_name(shard)).write_bytes(beat)


def _older_pair(killed: Killed, shard: int, _: Random) -> None:
    for name in (journal_name(shard), lease_name(shard)):
        older = (killed.folder / "older0" / name).read_bytes()
        (killed.folder / "work" / name).write_bytes(older)


def _flipped(killed: Killed, shard: int, rng: Random) -> None:
    safe, after = _safe(killed, shard)
    content = bytearray(b"".join(safe))
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    _rewrite(killed, shard, [bytes(content), *after])


# — on an object store: segments —


def _segments(killed: Killed, shard: int) -> list[Path]:
    return sorted((killed.folder / "work" / journal_name(shard)).iterdir())


def _segment_lost(killed: Killed, shard: int, rng: Random) -> None:
    size, found, total = mark_in(read_lease(killed.work().store, shard)).size, [], 0
    for segment in _segments(killed, shard):
        total += segment.stat().st_size
        found += [segment] if total <= size else []
    rng.choice(found).unlink()


def _segments_swapped(killed: Killed, shard: int, rng: Random) -> None:
    a, b = rng.sample(_segments(killed, shard), 2)
    first, second = a.read_bytes(), b.read_bytes()
    a.write_bytes(second)
    b.write_bytes(first)


def _segment_of_another(killed: Killed, shard: int, rng: Random) -> None:
    other = rng.choice([s for s in range(SHARDS) if s != shard])
    piece = rng.choice(_segments(killed, other)).read_bytes()
    rng.choice(_segments(killed, shard)).write_bytes(piece)


def _segment_doubled(killed: Killed, shard: int, rng: Random) -> None:
    one = rng.choice(_segments(killed, shard))
    one.with_name(f"{99:08}-copy").write_bytes(one.read_bytes())


Damage = "Callable[[Killed, int, Random], None]"
NOTICED: dict[str, Damage] = {
    "cut between two records": _cut_between, "cut anywhere": _cut_anywhere,
    "two journals swapped": _swap, "the journal of another run": _of_another_run,
    "journal and lease of an equal run": _pair_of_an_equal_run,
    "a piece of another journal": _splice, "the end of another journal": _foreign_head,
    "a record doubled": _doubled, "records removed": _removed, "two records exchanged": _moved,
    "an older self": _older_self, "an older self that went on": _older_self_that_went_on,
    "cut, and the lease deleted": _no_lease,
    "cut, and the lease of another shard": _lease_of_another, "a bit flipped": _flipped,
}  # fmt: skip
SEGMENTS: dict[str, Damage] = {
    "object store: a segment lost": _segment_lost,
    "object store: two segments swapped": _segments_swapped,
    "object store: a segment of another shard": _segment_of_another,
    "object store: a segment doubled": _segment_doubled,
}
OUTSIDE: dict[str, Damage] = {
    "cut in the last second": _cut_after_heartbeat,
    "journal and lease both older": _older_pair,
}


# — who says so —


def told_by_all(killed: Killed, shard: int, model: Model) -> dict[str, bool]:
    """Ask `show`, `recover` and `ask` in turn whether they name the journal of the shard."""
    return {
        "show": _names(lambda: summarize(killed.work().store, NOVA).damage, shard),
        "recover": _names(lambda: _lines(settle(killed.work())), shard),
        "ask": _names(lambda: _lines(_go_on(killed, model)), shard),
    }


def _names(look: Callable[[], list[str]], shard: int) -> bool:
    try:
        lines = look()
    except StorageError as error:  # of two that were swapped the first is named, and its own shard
        return f"shard {shard};" in str(error) or journal_name(shard) in str(error)
    return any(name in line for line in lines for name in (journal_name(shard), lease_name(shard)))


def _lines(results) -> list[str]:
    return [line for result in asyncio.run(results) for line in result.damage]


def _go_on(killed: Killed, model: Model):
    return drive(killed.work(), lambda: model, board=ProgressBoard(), stop=asyncio.Event())


def replies_in(killed: Killed) -> int:
    """Count the replies in the journals as they stand, each once."""
    job, found = killed.work(), set()
    for shard in range(SHARDS):
        content = job.store.read_log(journal_name(shard)) or b""
        for piece in Chain(job.manifest.run, shard).scan(content):
            payload = getattr(piece, "payload", b"")
            if b'"event":"reply"' in payload:
                found.add(payload.partition(b'"key":"')[2][:32])
    return len(found)


def damaged(
    kinds: dict[str, Damage], killed: Killed, times: int, rng: Random
) -> dict[str, Counter[str]]:
    """Do each kind of damage in turn, and count who noticed and what came of the run."""
    tallies: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    whole = killed.whole
    for number in range(times):
        kind = list(kinds)[number % len(kinds)]
        tally, shard = tallies[kind], rng.randrange(SHARDS)
        killed.fresh()
        before = _snapshot(killed)
        while _snapshot(killed) == before:
            kinds[kind](killed, shard, rng)
        there, model = replies_in(killed), Model()
        told = told_by_all(killed, shard, model)
        tally["done"] += 1
        tally["noticed"] += all(told.values())
        for who, said in told.items():
            tally[f"missed by {who}"] += not said
        finished = len(list((killed.folder / "work" / "shards").glob("*.json"))) == SHARDS
        tally["finished"] += finished
        if finished:
            tally["tables that differ"] += not killed.trials().equals(whole)
            tally["asked other than was lost"] += model.asked != SHARDS * QUESTIONS - there
    return tallies


def _snapshot(killed: Killed) -> dict[str, bytes]:
    work = killed.folder / "work"
    return {str(p): p.read_bytes() for p in work.rglob("*") if p.is_file()}
