"""Simulated trials, read and graded, for the funnel: every reason to drop one occurs."""

from __future__ import annotations

from random import Random

import polars as pl

from novarag.calls import Sampling
from novarag.checksums import digest
from novarag.records import Passage, PassageGroup, Question
from novarag.rows import READ, TRIALS, lay_out
from novarag.runs.finished import write_tables
from novarag.runs.group_table import write_groups
from novarag.runs.manifest import Manifest, Part, Settings, groups_name, write_manifest
from novarag.runs.store import open_store
from novarag.runs.tables import ATTEMPTS, DEAD
from novarag.strategies import NOVA
from novarag.taxonomy import PassageKind

KINDS = ("counterfactual", "consistent", "irrelevant")
TRUTH = {
    "counterfactual": ["highly relevant", "highly relevant", "irrelevant"],
    "consistent": ["highly relevant", "relevant", "irrelevant"],
    "irrelevant": ["irrelevant", "relevant", "irrelevant"],
}
STATE = {"counterfactual": "conflicting", "consistent": "consistent", "irrelevant": "insufficient"}
SCHEMA = {**READ, "reply": TRIALS["reply"]}


def simulate(questions, *, samples=16, models=("alpha", "beta"), seed=0):
    """Rows for every model, question, kind and sample, in a run's order."""
    rng = Random(seed)
    return [
        _trial(rng, model, f"q{q}", kind, sample)
        for model in models
        for q in range(questions)
        for kind in KINDS
        for sample in range(samples)
    ]


def _trial(rng, model, question, kind, sample):
    row = dict.fromkeys(SCHEMA)
    known = rng.random() > 0.03
    row |= {"question": question, "group": f"{question}/{kind}", "strategy": "nova", "model": model}
    row |= {"sample": sample, "kind": kind, "reply": _reply(rng)}
    if rng.random() < 0.1:
        return row | {"flaw": rng.choice(["no answer found", "no confidence found"])}
    row["confidence"] = rng.choice([0, 5, 10, 20, 30, 50, 70, 80, 90, 95.5, 100]) / 100
    row["answer"], row["abstained"] = "x", False
    row["correct"] = None if rng.random() < 0.02 else rng.random() < 0.5
    row["rule_step"] = rng.choice([True, True, True, False, None])
    if rng.random() < 0.05:
        return row | {"judgments": rng.choice([None, []])}
    said = [
        rng.choice(["highly relevant", "irrelevant", c]) if rng.random() < 0.15 else c
        for c in TRUTH[kind]
    ]
    row["judgments"] = said
    row["evidence"] = rng.choice([STATE[kind]] * 6 + [*STATE.values(), None])
    if known:
        row["passages_judged"] = 3
        row["passages_right"] = sum(a == b for a, b in zip(said, TRUTH[kind], strict=True))
        if row["evidence"] is not None and rng.random() > 0.02:
            row["group_judged"] = 1
            row["group_right"] = int(row["evidence"] == STATE[kind])
    return row


def _reply(rng):
    parts = [
        "Step 1: x",
        rng.choice(["Step 4", "step 4", "Step 5"]),
        rng.choice(["Rules", "the rules", "law"]),
    ]
    return "\n".join(parts)


def table(rows):
    return pl.DataFrame(rows, schema=SCHEMA)


def write_run(folder, rows, *, questions=10, sampling=None, asks="What of {}?"):
    """Write rows of one model as a finished run, so many questions a shard."""
    store, parts, tables = open_store(folder), [], []
    asked = list(dict.fromkeys(row["question"] for row in rows))
    for start in range(0, len(asked), questions):
        chosen = set(asked[start : start + questions])
        here = [row for row in rows if row["question"] in chosen]
        names = dict.fromkeys((row["question"], row["group"], row["kind"]) for row in here)
        content = write_groups([(group, _group(q, group, kind, asks)) for q, group, kind in names])
        store.write(groups_name(len(parts)), content, durable=False)
        parts.append(Part(questions=len(chosen), groups=len(names), sha256=digest(content)))
        tables.append(table(here).with_columns(**_others()).select(list(TRIALS)))
    settings = Settings(
        strategy="nova", template_hash=NOVA.template.hash, model=rows[0]["model"],
        samples=max(row["sample"] for row in rows) + 1, sampling=sampling or Sampling(),
    )  # fmt: skip
    manifest = Manifest(
        settings=settings, source="x", source_hash="0", repeated=0, parts=tuple(parts)
    )
    for shard, frame in enumerate(tables):
        finish(store, shard, manifest.run, frame)
    write_manifest(store, manifest)


def finish(store, shard, run, trials):
    """Write the tables of a shard that nobody asked, and mark it as finished."""
    empty = {"attempts": lay_out([], ATTEMPTS), "dead": lay_out([], DEAD)}
    write_tables(store, shard, run, {"trials": trials, **empty}, {"dead": 0})


def _others():
    missing = {name: dtype for name, dtype in TRIALS.items() if name not in SCHEMA}
    return {name: pl.lit(None, dtype=dtype) for name, dtype in missing.items()} | {
        "prompt_hash": pl.col("group"),
        "request": pl.col("group"),
    }


def _group(question, name, kind, asks):
    kinds = {"counterfactual": "gci", "consistent": "gri", "irrelevant": "iri"}[kind]
    names = {"g": "gold", "c": "counterfactual", "r": "relevant", "i": "irrelevant"}
    return PassageGroup(
        id=name,
        question=Question(id=question, text=asks.format(question), answers=("x",)),
        passages=tuple(Passage(text=f"{k} {name}", kind=PassageKind(names[k])) for k in kinds),
    )
