"""The trainings, a part at a time, and the weights of whoever is asked."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from math import cos, pi
from typing import TYPE_CHECKING

import orjson

from experiments.nova_qwen import adapters, questions
from experiments.nova_qwen.arms import arm_rows, as_judged, filter_of, kept_trials
from experiments.nova_qwen.looks import GROUPS, Look, is_over, last_sound
from experiments.nova_qwen.plan import BASE, FLOAT, ROWS, SAMPLE, parts, strategy_of
from experiments.nova_qwen.serving import ROOT
from experiments.nova_qwen.training import ALPHA, RANK
from novarag.errors import DataError
from novarag.flows.group import write_groups
from novarag.noise.group_build import GroupBuild
from novarag.taxonomy import GroupKind

if TYPE_CHECKING:
    from pathlib import Path

    from experiments.nova_qwen.proof import Bench
    from experiments.nova_qwen.store import Store

RATE = 2e-4
"""The highest learning rate; it falls from part to part as a cosine does, to a tenth."""
INT8 = ROOT / ".ci" / "vllm" / "int8.py"


def rate_of(part: int, count: int) -> float:
    """Return the learning rate of a part.

    >>> f"{rate_of(0, 8):.1e}", f"{rate_of(7, 8):.1e}"
    ('2.0e-04', '2.7e-05')
    """
    return RATE * (0.1 + 0.9 * (1 + cos(pi * part / count)) / 2)


def rows_file(store: Store, arm: str) -> Path:
    """Name the file of an arm's training rows."""
    return store.place / "rows" / f"{arm}.jsonl.gz"


def adapter_file(store: Store, arm: str) -> Path:
    """Name the file of an arm's adapter as it is so far."""
    return store.place / "adapters" / f"{arm}.npz"


def make_rows(bench: Bench, arm: str) -> list[dict]:
    """Read the rows of an arm, or make them from what was sampled and write them down."""
    path = rows_file(bench.store, arm)
    if not path.exists():
        trials = bench.store.read(SAMPLE)
        known = set(trials["group"])
        groups = [g for g in questions.groups_of(bench.build, SAMPLE.split) if g.id in known]
        judged = filter_of(trials, rows=ROWS)
        rows = arm_rows(arm, trials, groups, rows=ROWS, judged=judged)
        kinds = dict(sorted(Counter(row["kind"] for row in rows).items()))
        with bench.store.whole(path) as draft, gzip.GzipFile(draft, "wb", mtime=0) as file:
            file.writelines(orjson.dumps(row) + b"\n" for row in rows)
        bench.store.log(rows=arm, count=len(rows), kinds=kinds, judged=judged)
    with gzip.open(path, "rb") as file:
        return [orjson.loads(line) for line in file]


def has_rows_for_all(store: Store, *, rows: int) -> bool:
    """Say whether what was sampled so far holds the rows of a training.

    The arms differ in the number and not in how many replies are left, so one speaks for all.
    """
    try:
        trials = store.read(SAMPLE)
        judged = as_judged(trials, filter_of(trials, rows=rows))
        return kept_trials("brier", judged, rows=rows).height >= rows
    except DataError:  # nothing was sampled, or nothing is left of it
        return False


def progress(store: Store, arm: str) -> tuple[int, list[Look], bool]:
    """Say from the log how many rows an arm has learnt from, its looks, and whether it is done."""
    done = [row for row in store.rows() if row.get("stage") == f"train-{arm}" and "part" in row]
    looks = [Look(*look) for row in done for look in row["looks"]]
    learnt = sum(row["rows"] for row in done)
    return learnt, looks, any(row["over"] or learnt >= row["of"] for row in done)


def train_arm(bench: Bench, arm: str) -> None:
    """Go on with the training of an arm until its rows, or its looks, end it."""
    learnt, looks, over = progress(bench.store, arm)
    if over:
        return
    rows = make_rows(bench, arm)
    plan = parts(len(rows))
    for number, part in enumerate(plan):
        if part.start < learnt:
            continue
        bench.check()
        bench.end()  # a training wants all memory
        took = train_part(
            bench, arm, [rows[i] for i in part], part.start, rate_of(number, len(plan))
        )
        looks += [Look(*look) for look in took["looks"]]
        over = is_over(looks)
        kept = keep(bench, arm, last_sound(looks) if over else part.stop)
        bench.store.log(
            stage=f"train-{arm}", part=number, rows=len(part), of=len(rows), over=over, kept=kept,
            **took,
        )  # fmt: skip
        if over:
            return


def train_part(bench: Bench, arm: str, rows: list[dict], learnt: int, rate: float) -> dict:
    """Train on some rows, in a process of its own; return what it took and saw."""
    folder = bench.build / "training" / arm
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    groups = [
        g for g in questions.groups_of(bench.build, "dev") if g.kind is not GroupKind.IRRELEVANT
    ]
    write_groups(GroupBuild(groups=groups[-GROUPS:]), folder / "looked.jsonl")
    before, after = adapter_file(bench.store, arm), folder / "looks"
    after.mkdir(exist_ok=True)
    began, spent = time.monotonic(), _spent()
    done = subprocess.run(
        [sys.executable, "-m", "experiments.nova_qwen.training", folder, folder / "looked.jsonl",
         bench.server.folder / "qwen", before, after, "--rate", str(rate), "--learnt", str(learnt),
         "--strategy", strategy_of(arm)],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    said = json.loads(done.stdout.decode().strip().splitlines()[-1])
    return {
        "looks": said["looks"], "loss": said["losses"][-1], "tokens": said["tokens"],
        "wall_s": round(time.monotonic() - began), "cpu_s": round(_spent() - spent),
    }  # fmt: skip


def keep(bench: Bench, arm: str, rows: int) -> int:
    """Put the adapter of the look after so many rows into `results/`; return what stands there.

    Where another machine made that look, what stands there already is the nearest there is.
    """
    place = adapter_file(bench.store, arm)
    found = bench.build / "training" / arm / "looks" / f"{rows}.npz"
    if found.exists():
        with bench.store.whole(place) as draft:
            draft.write_bytes(found.read_bytes())
    if not place.exists():
        raise SystemExit(f"{arm}: no look was sound; lower the rate, and begin it again")
    return int(adapters.read(place)[1]["learnt"])


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def weights_of(who: str, build: Path, vllm: Path, store: Store) -> Path:
    """Return the folder that is served for somebody: all in int8 but the base in float32."""
    base = vllm / "qwen"
    if who == FLOAT:
        return base
    out = vllm / "qwen-int8" if who == BASE else build / "models" / who
    words: list[object] = [vllm / "venv" / "bin" / "python", INT8, base, out]
    if who != BASE:
        if not progress(store, who)[2]:
            raise SystemExit(f"{who} is not trained yet")
        settings = {"r": RANK, "lora_alpha": ALPHA}
        adapter = build / "training" / who / "peft"
        adapters.write_peft(adapter_file(store, who), adapter, base=base.name, settings=settings)
        words.append(adapter)
    if not out.exists():
        subprocess.run([str(word) for word in words], check=True)
    return out
