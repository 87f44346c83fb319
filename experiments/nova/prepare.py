"""Make the questions and the warm-up rows of the NOVA proof from the shared data, without a model.

    python -m experiments.nova.prepare OUT [--form FORM] [--data DATA] [--tokenizer FOLDER]

The same data and seed give the same bytes. `facts.json` has the budget of questions by split, the
counts and the checksums.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import orjson

from experiments.nova.drills import Exchange, drill_rows, families
from experiments.nova.plan import GRADED, PLANS, READER, SEED
from experiments.nova.splits import (
    check_disjoint,
    counts,
    dealt,
    gold_runs,
    place_of,
    plain,
    runs_of,
    split,
)
from experiments.nova.warmup import fault_of, fits, make_rows
from experiments.nova.windows import shorten, stated
from novarag.datasets import load_benchmark, load_groups
from novarag.errors import DataError
from novarag.flows.benchmark import retrieved_pools
from novarag.flows.group import write_groups
from novarag.grouping import assemble
from novarag.noise.group_build import GroupBuild
from novarag.noise.groups import retrieved_groups
from novarag.records import AnswerForm
from novarag.seeding import rng_for
from novarag.sft.formats import canonical_row, json_line
from novarag.sft.lengths import load_ruler
from novarag.taxonomy import GroupKind, PassageKind

if TYPE_CHECKING:
    from experiments.nova.plan import Plan

ASKED = Path(__file__).with_name("results") / "asked.txt"
SETS = ("hotpotqa", "nq", "bamboogle")
SIZES = (3, 5)
MEND = "look at the data: it is not what this was written for."


def main() -> None:
    """Read the arguments and make all files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, help="folder for the files")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("NOVARAG_DATA", "../shared/data"))
    )
    parser.add_argument("--tokenizer", help="folder or name: count tokens")
    parser.add_argument("--form", choices=list(PLANS), default="nova")
    given = parser.parse_args()
    facts = prepare(given.out, given.data, PLANS[given.form], given.tokenizer)
    print(orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode())


def prepare(out: Path, data: Path, plan: Plan, tokenizer: str | None = None) -> dict[str, object]:
    """Make the groups and the warm-up rows, prove that they share no question, write them."""
    clean = Clean(out, data, plan)
    found = Found(out, data, clean, plan)
    learnt, tests = _learnt(clean, found, plan), _tests(clean, found, plan)
    check_disjoint(
        {n: [g.question for g in groups] for n, groups in learnt.items()},
        {n: [g.question for g in groups] for n, groups in tests.items() if n != "test-released"},
    )
    chosen = {"reader-dev": _reader(learnt["dev"], found), "graded": _graded(learnt["own"])}
    groups = {**learnt, **tests, **chosen}
    for name, made in groups.items():
        if name != "warm":
            write_groups(GroupBuild(groups=made), out / "groups" / f"{name}.jsonl")
    rows = _warmup(clean, found, plan)
    for part, made in enumerate(rows, start=1):
        _write_rows([row for _, _, row in made], out / f"warmup-{part}" / "train.jsonl")
    facts = {
        "made_by": "python -m experiments.nova.prepare",
        "seed": SEED,
        "plan": plan.name,
        "form": plan.form,
        "budget": budget(groups),
        "groups": {name: counts(made) for name, made in groups.items()},
        "left_out": clean.left_out | found.left_out,
        "warmup": [_about_rows(made, tokenizer) for made in rows],
        "sha256": {
            str(path.relative_to(out)): sha256(path.read_bytes()).hexdigest()
            for folder in ("groups", "nova-clean", *(f"warmup-{i + 1}" for i in range(plan.parts)))
            for path in sorted((out / folder).glob("*.jsonl"))
        },
    }
    (out / "facts.json").write_bytes(orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n")
    return facts


def budget(groups):
    """Count the questions of every split, and how many of them it shares with none before it."""
    seen: set[str] = set()
    counted = []
    for name, made in groups.items():
        names = {g.question.id for g in made}
        counted.append({"split": name, "questions": len(names), "new": len(names - seen),
                     "groups": len(made)})  # fmt: skip
        seen |= names
    return counted


class Clean:
    """The groups of nova-clean in windows, by split and size, and which questions were asked."""

    def __init__(self, out, data, plan):
        place = out / "nova-clean"
        if not (place / "README.md").exists():
            command = [
                "paper",
                "nova-clean",
                "--out",
                str(place),
                "--data",
                str(data),
                "--no-audit",
            ]
            subprocess.run([sys.executable, "-m", "novarag", *command], check=True,
                           stdout=sys.stderr)  # fmt: skip
        self.left_out = Counter()
        self.asked = set(ASKED.read_text().split())
        self.released = {
            (name, k): load_benchmark(name, k=k, data=data) for name in SETS for k in SIZES
        }
        released = [g.question for groups in self.released.values() for g in groups]
        self.texts_asked = {plain(q.text) for q in released if q.id in self.asked}
        self.test = {k: self._short(place, SETS, "test", k) for k in SIZES}
        self.train = {k: self._short(place, SETS[:1], "train", k) for k in SIZES}
        self.dev = {k: self._short(place, SETS[:1], "dev", k) for k in SIZES}
        # Every question of the benchmark's test files, whether its groups can be cut or not.
        self.texts = {plain(q.text) for q in released}
        self.gold = gold_runs(
            g for name in SETS for g in load_groups(place / f"{name}-test-k3.jsonl")
        )
        names = {g.question.id for g in self.train[3]}
        self.split = split(names, plan.clean, SEED)

    def _short(self, place, names, part, k):
        groups = [g for n in names for g in load_groups(place / f"{n}-{part}-k{k}.jsonl")]
        return short(groups, self.left_out, f"nova-clean {part}")

    def of(self, name):
        """Return the groups of a split of the training questions, by size."""
        chosen = self.split[name]
        return {k: [g for g in self.train[k] if g.question.id in chosen] for k in SIZES}


class Found:
    """Groups of really retrieved passages in windows, by split and size."""

    def __init__(self, out, data, clean, plan):
        self.left_out = Counter()
        pools = retrieved_pools(out / "retrieved.db", data=data)
        tested = [p for p in pools["test"] if plain(p.question.text) not in clean.texts]
        tested = [p for p in tested if p.question.form is AnswerForm.OPEN]
        tested = sorted(tested, key=lambda p: place_of(SEED, p.question.id))
        gold = clean.gold | _gold_runs(tested)
        self.pools = {"test": tested}
        for name in ("train", "dev"):
            self.pools[name] = [p for p in pools[name] if self._is_apart(p, clean, gold)]
        self.groups = {name: self._built(self.pools[name]) for name in self.pools}
        names = {g.question.id for g in self.groups["train"][3]}
        self.split = split(names, plan.found, SEED)

    def _is_apart(self, pool, clean, gold):
        """Leave out what test questions know: a question, or words of a gold passage."""
        if plain(pool.question.text) in clean.texts:
            self.left_out["retrieved: a question of the tests"] += 1
            return False
        known = (p for p in pool.passages if p.kind is PassageKind.GOLD)
        if not all(gold.isdisjoint(runs_of(p.text)) for p in known):
            self.left_out["retrieved: words of a test question's gold passage"] += 1
            return False
        return pool.question.form is AnswerForm.OPEN

    def _built(self, pools):
        exchange = Exchange((p.question for p in pools), SEED)
        more = [_with_misleading(pool, exchange) for pool in pools]
        return {
            k: short(retrieved_groups(more, k=k, seed=SEED).groups, self.left_out, "retrieved")
            for k in SIZES
        }

    def of(self, name, chosen):
        """Return the groups of some questions, by size."""
        return {k: [g for g in self.groups[name][k] if g.question.id in chosen] for k in SIZES}

    def drilled(self):
        """Return what the warm-up's questions have: gold, and what was found without the answer."""
        chosen = self.split["warm"]
        pools = [p for p in self.pools["train"] if p.question.id in chosen]
        gold = {p.question.id: [x for x in p.passages if x.kind is PassageKind.GOLD] for p in pools}
        near = [g for g in retrieved_groups(pools, k=5).groups if g.kind is GroupKind.IRRELEVANT]
        return [replace(g, passages=(*gold[g.question.id], *g.passages)) for g in near]


def short(groups, left_out, name):
    """Cut groups to windows; open questions alone, and what cannot be cut is counted."""
    made = []
    for group in groups:
        if group.question.form is not AnswerForm.OPEN or not fits(group):
            left_out[f"{name}: not an open question with a short answer"] += 1
        elif (cut := shorten(group)) is None:
            left_out[f"{name}: no window with the answer, or two alike"] += 1
        else:
            made.append(cut)
    return made


def _gold_runs(pools):
    """Return every run of words of what is gold in some pools."""
    texts = {p.text for pool in pools for p in pool.passages if p.kind is PassageKind.GOLD}
    return set().union(*map(runs_of, texts))


def _with_misleading(pool, exchange):
    """Add the gold passage with another answer, last; nothing where that cannot be done."""
    gold = next((p for p in pool.passages if stated(p.text, pool.question)), None)
    false = exchange.misleading(gold, pool.question) if gold else None
    return pool if false is None else replace(pool, passages=(*pool.passages, false))


def _learnt(clean, found, plan):
    """Make what is learnt from or chosen on; `warm` stands for the questions of the warm-up."""
    warm = [
        g for k in SIZES for g in (*clean.of("warm")[k], *found.of("train", found.split["warm"])[k])
    ]
    made = {"warm": warm}
    for name in ("sample", "own"):
        made[name] = dealt(clean.of(name), SEED, each=True)
        made[name] += dealt(found.of("train", found.split[name]), SEED)
    every = {g.question.id for k in SIZES for g in found.groups["dev"][k]}
    dev = dealt(clean.dev, SEED, each=True) + dealt(found.of("dev", every), SEED)
    made["dev"] = sorted(dev, key=lambda g: place_of(SEED, g.question.id))[: plan.dev]
    return made


def _tests(clean, found, plan):
    """Make what is measured: fresh questions, those that were asked before, retrieved, released."""
    fresh = {k: [g for g in clean.test[k] if g.question.id not in clean.asked] for k in SIZES}
    old = {k: [g for g in clean.test[k] if g.question.id in clean.asked] for k in SIZES}
    names = {g.question.id for k in SIZES for g in fresh[k]}
    released = {
        k: short(
            [_shuffled(g) for (_, size), groups in clean.released.items() if size == k
             for g in groups if g.question.id in names],
            clean.left_out, "released",
        )
        for k in SIZES
    }  # fmt: skip
    order = [p.question.id for p in found.pools["test"]]
    known = {g.question.id for g in found.groups["test"][3]}
    chosen = set([n for n in order if n in known and n not in clean.asked][: plan.retrieved])
    return {
        "test-clean": dealt(fresh, SEED, each=plan.each_kind)[: plan.fresh],
        "test-retrieved": dealt(found.of("test", chosen), SEED),
        "test-asked": dealt(old, SEED)[: plan.more],
        "test-released": dealt(released, SEED)[: plan.more],
    }


def _shuffled(group):
    """Put the passages of a released group in any order: in the files gold often stands first."""
    return assemble(group.question, group.passages, seed=SEED, id=f"{group.id}/released")


def _reader(dev, found):
    """Take dev questions with gold among three passages."""
    names = {g.question.id for g in dev}
    even = [g for g in found.groups["dev"][3] if g.kind is GroupKind.CONSISTENT]
    even = sorted(even, key=lambda g: place_of(SEED, g.question.id))
    return [g for g in even if g.question.id in names][:READER]


def _graded(own):
    """Take one group of each of some training questions, to be graded for a calibration."""
    names = sorted({g.question.id for g in own}, key=lambda name: place_of(SEED + 1, name))
    chosen = {name: rank for rank, name in enumerate(names[: max(GRADED)])}
    made = dealt({0: [g for g in own if g.question.id in chosen]}, SEED)
    return sorted(made, key=lambda g: chosen[g.question.id])


def _warmup(clean, found, plan):
    """Make the parts of the warm-up; every row is what our own readers read back."""
    exchange = Exchange((p.question for p in found.pools["train"]), SEED)
    made = families(found.drilled(), exchange)
    made.sort(key=lambda f: place_of(SEED, f.question.id))
    forms = make_rows(dealt(clean.of("warm"), SEED, each=True), plan.form)
    parts = []
    for part, count in enumerate(plan.drills):
        rows = drill_rows(made, SEED + 100 * part, count=count, forms=plan.drill_forms)
        rows += forms if not part else []
        rows = [row for row in rows if row[1] is None or not fault_of(*row)]
        rng_for(SEED, "warm-up", str(part)).shuffle(rows)
        parts.append(rows)
    return parts


def _about_rows(made, tokenizer):
    rows = [row for _, _, row in made]
    counted = {
        "rows": len(rows),
        "questions": len({r.question for r in rows}),
        "kinds": dict(sorted(Counter(r.kind for r in rows).items())),
        "passages": dict(sorted(Counter(str(len(g.passages)) for g, _, _ in made).items())),
        "forms": dict(sorted(Counter(str(name or "plain words") for _, name, _ in made).items())),
        "confidence": "masked in the training: no number is learnt",
    }
    if tokenizer:
        ruler = load_ruler(tokenizer)
        whole = [ruler.measure(row)[0] for row in rows]
        if faults := [fault for row in rows if (fault := ruler.measure(row)[1])]:
            raise DataError(
                f"{len(faults)} rows are not fit for the tokenizer: {faults[0]}.", hint=MEND
            )
        said = [len(ruler.tokenizer(r.completion)["input_ids"]) for r in rows]
        counted["tokens"] = _spread(whole)
        counted["completion_tokens"] = _spread(said)
    return counted


def _spread(numbers):
    return {"total": sum(numbers), "median": median(numbers), "most": max(numbers)}


def _write_rows(rows, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json_line(canonical_row(row)) + b"\n" for row in rows))


if __name__ == "__main__":
    main()
