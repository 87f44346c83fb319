"""Altered files of a run, a filter's folder, an export: refused, mended or without effect.

Bytes are flipped, files cut short and exchanged, at random; then whatever reads the folder must
refuse with an error that names what to run, say what it found and mended, or give exactly what the
untouched folder gives. Nothing altered is ever believed.
"""

import asyncio
import os
import re
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import polars as pl
import pytest

from novarag import CallError, NovaragError, Outcome
from novarag.answers.opening.answers import read_answers
from novarag.calls import Attempt, Reply, Usage
from novarag.filters import Options
from novarag.flows.drafts import iter_pools, sort_drafts
from novarag.flows.draws import follow_ups, iter_estimates
from novarag.flows.filter_runs import filter_runs
from novarag.flows.reread import reread_run as reread
from novarag.flows.sources import open_sources
from novarag.flows.study import read_replies
from novarag.llm.simulated import open_simulated
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
    read_groups,
    run_shard,
    settle,
    summarize,
    trial_tables,
)
from novarag.sft.exporting import ExportOptions, export
from novarag.sft.filtered_trials import read_filtered
from novarag.sft.train.rows import read_dataset
from novarag.strategies import NOVA
from novarag.taxonomy import PassageKind
from novarag.uncertainty import METHODS

FLIPS = int(os.environ.get("NOVARAG_FLIPS", "60"))
FIX = re.compile(
    r"`(novarag )?(recover|ask|noise|make_noise|filter|filter_trials|export|export_training_set|reread)"
    r"\b[^`]*`|put it back"
)
"""What an error names to run, as a function or as a verb."""
SHAPES = {
    "counterfactual": (PassageKind.GOLD, PassageKind.COUNTERFACTUAL),
    "consistent": (PassageKind.GOLD, PassageKind.IRRELEVANT),
    "irrelevant": (PassageKind.IRRELEVANT, PassageKind.IRRELEVANT),
}
GROUPS = [
    PassageGroup(
        id=f"q{i}/{name}",
        question=Question(id=f"q{i}", text=f"In which year was light {i} lit?", answers=("1871",)),
        passages=tuple(
            Passage(text=f"Light {i} {n}: {kind}.", kind=kind, claim=CLAIMS.get(kind))
            for n, kind in enumerate(kinds)
        ),
    )
    for CLAIMS in [{PassageKind.COUNTERFACTUAL: "1884"}]
    for i in range(9)
    for name, kinds in SHAPES.items()
]
CANDIDATES = (
    '[{"passage": "Light was lit by Jones in 1884.", "answer": "1884"},'
    ' {"passage": "Light was lit in 1890.", "answer": "1890"}]'
)


class Scripted:
    """Gives one text, as often as it is asked; refuses the prompts that hold a word."""

    def __init__(self, text, refused=None):
        self.text, self.refused = text, refused

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def complete(self, prompt, sampling, *, key, tell):
        tell(Attempt(id=key, endpoint="here"))
        if self.refused is not None and self.refused in prompt:
            tell(Attempt(id=key, endpoint="here", outcome=Outcome.REFUSED, detail="no"))
            raise CallError(Outcome.DENIED, "no")
        came = tuple(Completion(text=self.text, model="m") for _ in range(sampling.n))
        return Reply(completions=came, usage=Usage(prompt=2, completion=3), attempt=key)


# — what is read, and by whom —


def begun(place, strategy, groups, model="m", **changed):
    settings = Settings(strategy=strategy.name, model=model, shard_size=3, **changed)
    store = open_store(place)
    return Job(
        store=store,
        manifest=plan(store, lambda: groups, settings, name="x", source_hash="1"),
        strategy=strategy,
        concurrency=1,
    )


def make_run(place):
    asked = {"template_hash": NOVA.template.hash, "samples": 4, "model": "simulated:tuned"}
    job = begun(place, NOVA, GROUPS, **asked)
    connect = partial(open_simulated, "tuned", GROUPS)
    asyncio.run(drive(job, connect, board=ProgressBoard(), stop=asyncio.Event()))


def make_half(place):
    """Leave one shard finished, one cut short, one begun and stopped at its first request."""
    job = begun(place, NOVA, GROUPS, template_hash=NOVA.template.hash, samples=2)
    text = "Answer: 1871\nConfidence: 70%"
    asyncio.run(run_shard(job, 0, Scripted(text)))
    for shard, word in ((1, "light 4"), (2, "light 7")):
        with suppress(CallError):
            asyncio.run(run_shard(job, shard, Scripted(text, word)))


def make_noise(place):
    noising = NoisePlan(noises=("counterfactual", "irrelevant"), candidates=2, keep=1)
    questions = [replace(g, passages=g.passages[:1]) for g in GROUPS[1::3]]
    groups = list(noising.requests(questions))
    job = begun(place, noising, groups, template_hash=noising.fingerprint, noise=noising)
    asyncio.run(
        drive(job, lambda: Scripted(CANDIDATES), board=ProgressBoard(), stop=asyncio.Event())
    )
    sort_drafts(open_run(place), noising)


def make_filtered(place, run):
    filter_runs(open_sources([str(run)]), place, Options(balance="none"))


def make_export(place, filtered):
    export(read_filtered(filtered, read_groups=read_groups), place, ExportOptions(dev=0.3))


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def measured(run):
    found = read_answers(run)
    return found.table.rows(), found.notes


def filtered_again(run):
    with TemporaryDirectory() as folder:
        make_filtered(Path(folder) / "out", run)
        return contents(Path(folder) / "out")


def estimated(run):
    draw = open_run(run)
    need = METHODS["verbal"].needs[0]
    tables = iter_estimates({need: draw}, [METHODS["verbal"]], "nova")
    return pl.concat(tables).rows(), follow_ups(draw), draw.cost


def studied(other, run):
    return read_replies([str(other), str(run)], questions=4)


def shown(run):
    """Say what `show` says; what it found damaged is told apart."""
    seen = summarize(run, NOVA)
    told = (seen.counts, seen.flaws, seen.given_up, seen.unfinished, seen.settled)
    return told, seen.damage


def printed(run):
    opened, damage = open_run(run), []
    job = Job(store=opened.store, manifest=opened.manifest, strategy=NOVA)
    return [table.rows() for table in trial_tables(job, damage.append)], damage


def read_again(run):
    found = reread(open_run(run), NOVA)
    table = open_run(run).trials_table().rows()
    return (found.trials, found.changed, found.counts, table), found.mended


def recovered(run):
    opened = open_run(run)
    job = Job(store=opened.store, manifest=opened.manifest, strategy=NOVA)
    found = asyncio.run(settle(job))
    damage = [line for result in found for line in result.damage]
    finished = [result.finished for result in found]
    return (finished, opened.manifest, open_run(run).trials_table().rows()), damage


def opened(run):
    found = open_run(run)
    return found.finished, found.counts, list(found.trials()), found.dead_table.rows()


def exported(filtered):
    with TemporaryDirectory() as folder:
        make_export(Path(folder) / "out", filtered)
        return contents(Path(folder) / "out")


def trained_on(folder):
    found = read_dataset(folder)
    card = {name: fact for name, fact in found.card.items() if name != "licence"}
    return found.splits, found.files, card


def pooled(run):
    return list(iter_pools(open_run(run)))


def sorted_again(run):
    tally = sort_drafts(open_run(run), open_run(run).settings.noise)
    return tally, contents(run / "pool"), contents(run / "passages")


@dataclass
class Kept:
    """A folder, what it held, who reads it, and what each read when it was untouched."""

    folder: Path
    readers: dict
    files: dict
    pristine: dict

    def restore(self):
        now = contents(self.folder)
        for name in now.keys() - self.files.keys():
            (self.folder / name).unlink()
        for name, content in self.files.items():
            if now.get(name) != content:
                (self.folder / name).write_bytes(content)


def kept(folder, **readers):
    found = Kept(folder, readers, contents(folder), {})
    for name, read in readers.items():
        found.pristine[name] = _split(name, read(folder))
        found.restore()
    return found


TELLING = {"shown", "printed", "reread", "recover", "noise"}
"""Readers that also say what they found, or write anew what they can."""


def _split(name, found):
    return found if name in TELLING - {"noise"} else (found, [])


def make_world(base):
    """Make one folder of each sort, and read it once with everybody."""
    run, other = base / "run", base / "other"
    make_run(run)
    shutil.copytree(run, other)
    make_half(base / "half")
    make_noise(base / "noise")
    make_filtered(base / "filtered", run)
    make_export(base / "export", base / "filtered")
    return [
        kept(
            run, open=opened, measure=measured, filter=filtered_again, estimate=estimated,
            study=partial(studied, other), shown=shown, printed=printed, reread=read_again,
            recover=recovered,
        ),
        kept(base / "half", open=opened, measure=measured, shown=shown, printed=printed),
        kept(base / "noise", pools=pooled, noise=sorted_again),
        kept(base / "filtered", export=exported),
        kept(base / "export", train=trained_on),
    ]  # fmt: skip


# — what is altered, and what comes of it —


def alter(folder, rng):
    """Flip a byte of a file, cut it short, or exchange it with another; say what was done."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.stat().st_size]
    path = rng.choice(files)
    name, before = path.relative_to(folder).as_posix(), path.read_bytes()
    how = rng.choices(("flip", "cut", "swap"), (6, 2, 2))[0]
    if how == "swap":
        near = [p for p in files if p != path and p.parent == path.parent]
        other = rng.choice(near or files)
        path.write_bytes(other.read_bytes())
        other.write_bytes(before)
        return f"swap {name} with {other.relative_to(folder).as_posix()}"
    where = rng.randrange(len(before))
    if how == "cut":
        path.write_bytes(before[:where])
        return f"cut {name} at {where}"
    flipped = before[where] ^ (1 << rng.randrange(8))
    path.write_bytes(before[:where] + bytes([flipped]) + before[where + 1 :])
    return f"flip {name} at {where}"


def outcome(what, name):
    """Read with one reader: refused, mended, the same, or believed."""
    try:
        found, told = _split(name, what.readers[name](what.folder))
    except NovaragError as error:
        return "refused" if FIX.search(str(error)) else f"refused without a fix: {error}"
    same, _ = what.pristine[name]
    if found == same:
        return "mended" if told else "same"
    return "told" if told and all(FIX.search(line) for line in told) else "BELIEVED"


def altered(world, flips, seed=0):
    """Alter files of a world so many times; count what came of each reading, list what is wrong."""
    rng, counts, wrong = Random(seed), Counter(), []
    for _ in range(flips):
        what = rng.choices(world, (5, 1, 2, 2, 2))[0]
        for name in what.readers:
            state = rng.getstate()
            done = alter(what.folder, rng)
            rng.setstate(state)
            found = outcome(what, name)
            counts[name, found.split(":")[0]] += 1
            if found not in {"same", "mended", "refused", "told"}:
                wrong.append(f"{name} after {done} in {what.folder.name}: {found}")
            what.restore()
        alter(what.folder, rng)  # moves the generator on
        what.restore()
    return counts, wrong


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("world"))


def test_nothing_altered_is_believed(world):
    counts, wrong = altered(world, FLIPS)
    assert not wrong, "\n".join(wrong)
    came = Counter()
    for (_, found), count in counts.items():
        came[found] += count
    assert came["refused"] > FLIPS / 2
    assert {"same", "mended"} <= came.keys()


TRIALS_READ = ("open", "measure", "filter", "estimate", "study", "shown", "printed", "reread")
MUST_REFUSE = [
    *(("run", f"{kind}/00001", name) for kind in ("trials", "shards") for name in TRIALS_READ),
    *(("run", "manifest", name) for name in TRIALS_READ),
    *(("run", "groups/00001", name) for name in ("open", "filter", "estimate", "study", "reread")),
    *(("run", "dead/00001", name) for name in ("open", "shown", "reread")),
    *(("noise", file, "pools") for file in ("manifest", "drafts", "pool/00001")),
    *(("filtered", file, "export") for file in ("kept", "groups", "tally", "seal")),
    *(("export", file, "train") for file in ("train", "dev", "card")),
]


@pytest.mark.parametrize(("folder", "file", "name"), MUST_REFUSE)
def test_whoever_reads_a_file_refuses_it_altered(world, folder, file, name):
    """The rule that the random alterations sample, held against each reader and file once."""
    what = next(part for part in world if part.folder.name == folder)
    path = next(p for p in what.folder.glob(f"{file}.*"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    try:
        assert outcome(what, name) == "refused"
    finally:
        what.restore()


def test_the_machinery_would_see_a_believer(world):
    """A reader that checks nothing is caught."""
    what = replace(world[0], readers={"open": lambda _: 1}, pristine={"open": (0, [])})
    assert outcome(what, "open") == "BELIEVED"
