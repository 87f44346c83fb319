"""Replies of a real server through every door, as they come by default: is each of them read?

Usage: python -m validation.held_served [--url URL=NAME] [--replies 200]

The server is that of `make vllm`. `ask`, `answer`, `probe`, `attack` and a gateway are used as they
are, without a word about forms, on groups of the NOVA benchmark. Prints for each door how many
replies there were and how many could be read, and some free replies of `ask` beside them. Exits
with 1 where a reply by default could not be read, or a run does not say that the server holds them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from novarag import Access, Answerer, Sampling, ask, attack, open_run, probe
from novarag.attacks import shipped_suite
from tests.support.gateways import gateway_at, post, settings
from tests.support.machine import described
from validation.attacks.asked import some_groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag import PassageGroup

PATIENT = Access(timeout=1800, concurrency=32)
LONGEST = 160  # characters of a passage: the forms are tried, not the reading


@dataclass
class Door:
    """What came through one door."""

    name: str
    replies: int = 0
    flaws: Counter[str] = field(default_factory=Counter)
    holds: set[bool | None] = field(default_factory=set)

    @property
    def read(self) -> int:
        """How many replies could be read."""
        return self.replies - self.flaws.total()

    def take(self, *flaws: str | None) -> None:
        """Take in replies by what was wrong with each, if anything was."""
        self.replies += len(flaws)
        self.flaws.update(str(flaw) for flaw in flaws if flaw is not None)

    def take_runs(self, folder: Path) -> None:
        """Take in all runs of a folder."""
        for manifest in sorted(folder.rglob("manifest.json")):
            run = open_run(manifest.parent)
            self.holds.add(run.manifest.holds)
            self.take(*(trial.flaw for trial in run.trials(graded=False)))


def asked(groups: Sequence[PassageGroup], url: str, place: Path) -> Door:
    """Ask by short replies, and some by reasons and by judgments of every passage."""
    some = len(groups) // 12
    parts = {"cot": groups[:some], "nova": groups[some : 2 * some], "vanilla": groups[2 * some :]}
    door = Door("ask")
    for strategy, part in parts.items():
        if part:
            ask(part, strategy, url, out=place / strategy, access=PATIENT)
    door.take_runs(place)
    return door


def asked_freely(groups: Sequence[PassageGroup], url: str, place: Path) -> Door:
    """Ask for free text; it has no form that would end it, so that it needs a limit."""
    how = Sampling(max_tokens=120)
    ask(groups, "vanilla", url, out=place, sampling=how, structured=False, access=PATIENT)
    door = Door("ask --no-structured")
    door.take_runs(place)
    return door


def answered(groups: Sequence[PassageGroup], url: str) -> Door:
    """Answer one by one, every other question with frames."""

    async def all_of(*, frame: bool) -> list[str | None]:
        some = groups[frame::2]
        async with Answerer(url, strategy="vanilla", frame=frame, access=PATIENT) as answerer:
            found = await asyncio.gather(*(answerer.answer_group_async(g) for g in some))
            return [one.flaw for one in found]

    door = Door("answer")
    for frame in (False, True):
        door.take(*asyncio.run(all_of(frame=frame)))
    return door


def probed(groups: Sequence[PassageGroup], url: str, place: Path) -> Door:
    """Probe questions: three replies each."""
    probe(groups, url, profile="quick", strategy="vanilla", out=place, access=PATIENT)
    door = Door("probe")
    door.take_runs(place / "replies")
    return door


def attacked(groups: Sequence[PassageGroup], url: str, place: Path) -> Door:
    """Attack groups under the defences of the default, by an order and by a harmless passage."""
    suite = [a for a in shipped_suite() if a.is_control][:1]
    suite += [a for a in shipped_suite() if a.name == "never-wrong"]
    attack(groups, url, strategy="vanilla", suite=suite, places=["last"], out=place, access=PATIENT)
    door = Door("attack")
    door.take_runs(place / "runs")
    return door


def through_gateway(groups: Sequence[PassageGroup], url: str, place: Path) -> Door:
    """Ask a gateway whose settings say nothing of forms."""
    address, _, name = url.partition("=")

    async def all_of() -> list[dict[str, object]]:
        path = place / "gateway.toml"
        text = settings(f"{address}/v1", more="timeout = 1800", model='strategy = "vanilla"')
        path.write_text(text.replace('"llama"', json.dumps(name)) + "[limits]\ndeadline = 1800\n")
        async with gateway_at(path) as client:
            bodies = [
                {
                    "model": "support",
                    "messages": [{"role": "user", "content": group.question.text}],
                    "novarag": {"passages": [passage.text for passage in group.passages]},
                }
                for group in groups
            ]
            found = await asyncio.gather(*(post(client, body) for body in bodies))
        return [body["novarag"] for _, _, body in found]

    door = Door("gateway")
    place.mkdir()
    door.take(*(verdict["flaw"] for verdict in asyncio.run(all_of())))
    return door


def short_groups(count: int) -> list[PassageGroup]:
    """Return groups of the benchmark, their passages cut short."""
    return [
        replace(group, passages=tuple(replace(p, text=p.text[:LONGEST]) for p in group.passages))
        for group in some_groups(count)
    ]


def doors(url: str, replies: int, place: Path) -> Iterator[Door]:
    """Ask for so many replies through all doors together."""
    share = max(replies // 20, 1)
    groups = short_groups(replies)
    found = 0
    for door, some in (
        (lambda g: asked(g, url, place / "asked"), 7 * share),
        (lambda g: answered(g, url), 4 * share),
        (lambda g: probed(g, url, place / "probed"), share),
        (lambda g: attacked(g, url, place / "attacked"), max(share // 5, 1)),
    ):
        came = door(groups[:some])
        found += came.replies
        yield came
    yield through_gateway(groups[: max(replies - found, 1)], url, place / "gateway")


def said(door: Door) -> str:
    """Say what came through a door."""
    flaws = "".join(f"; {count} {flaw}" for flaw, count in door.flaws.most_common())
    return f"  {door.name:<22} {door.replies:>4} replies, {door.read:>4} read{flaws}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8411=base")
    parser.add_argument("--replies", type=int, default=200)
    given = parser.parse_args()
    print(described(given.url.partition("=")[2]))
    held = []
    with tempfile.TemporaryDirectory(prefix="novarag-") as folder:
        for door in doors(given.url, given.replies, Path(folder)):
            print(said(door), flush=True)
            held.append(door)
        few = short_groups(max(given.replies // 10, 1))
        print(said(asked_freely(few, given.url, Path(folder) / "free")))
    total, read = sum(d.replies for d in held), sum(d.read for d in held)
    known = set().union(*(door.holds for door in held))
    print(f"by default {read} of {total} replies are read; manifests say holds = {sorted(known)}")
    return 0 if read == total >= given.replies and known == {True} else 1


if __name__ == "__main__":
    sys.exit(main())
