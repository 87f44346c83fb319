"""How fast is the funnel, and how big? Read trials at 1M and 10M, beside a bare Polars expression.

Usage: python -m benchmarks.funnel_speed [--sizes 1000000 10000000] [--folder DIR]
       python -m benchmarks.funnel_speed --sizes 20000 100000 500000      (a minute or two)

A run is made up in a temporary folder, with about 1.6 kB of reply a trial, and deleted afterwards.
Each measurement is a process of its own: its CPU seconds, user and system, and its peak memory.
What a process takes to start is measured too, and taken off before costs at two sizes are compared:
with it, a cost that grows as the square of the size could look as if it fell.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from novarag.calls import Sampling
from novarag.checksums import digest
from novarag.filters import Options
from novarag.flows.filter_runs import pour
from novarag.flows.harvest import HarvestedTables
from novarag.flows.sources import open_sources
from novarag.rows import TRIALS, parquet_bytes
from novarag.runs.finished import table_name
from novarag.runs.manifest import Manifest, Part, Settings, groups_name, write_manifest
from novarag.runs.store import open_store
from tests.support.simulated import finish

QUESTIONS, SAMPLES = 1000, 16
KINDS = np.array(["counterfactual", "consistent", "irrelevant"])
STATES = np.array(["conflicting", "consistent", "insufficient"])
CLASSES = {
    "counterfactual": ["highly relevant", "highly relevant", "irrelevant"],
    "consistent": ["highly relevant", "relevant", "irrelevant"],
    "irrelevant": ["irrelevant", "relevant", "irrelevant"],
}
SHARD = QUESTIONS * len(KINDS) * SAMPLES
NAMES = {"stages": "stages", "replies": "replies of the kept", "bare": "bare Polars"}
LIMIT_CPU = {"stages": 60.0, "replies": 120.0}  # seconds at ten million, beyond the start
LIMIT_MB, LIMIT_RATIO, LIMIT_POWER = 500.0, 2.0, 1.15
Found = dict[str, dict[str, float]]


# — a run to filter —


def corpus(rng: np.random.Generator) -> str:
    words = [
        "".join(chr(97 + c) for c in rng.integers(0, 26, n)) for n in rng.integers(2, 11, 5000)
    ]
    return " ".join(words[i] for i in rng.integers(0, len(words), 400_000))


def trials(rng: np.random.Generator, shard: int, text: str) -> pl.DataFrame:
    """Read trials of one shard; as many fall at each stage as with the paper's models, roughly."""
    ids = np.array([f"{shard:08x}{q:016x}" for q in range(QUESTIONS)])
    question = np.repeat(ids, len(KINDS) * SAMPLES)
    kind = np.tile(np.repeat(np.arange(3), SAMPLES), QUESTIONS)
    n = question.size
    read, classed = rng.random(n) < 0.92, rng.random(n) < 0.98
    right, judged, stated = rng.random(n) < 0.42, rng.random(n) < 0.95, rng.random(n) < 0.98
    said = pl.Series([CLASSES[k] for k in KINDS])
    starts = rng.integers(0, len(text) - 2000, n)
    sizes = rng.integers(1200, 2000, n)
    null = pl.lit(None, dtype=pl.String)
    flag = {name: pl.Series(v) for name, v in (("read", read), ("classed", read & classed))}
    frame = pl.DataFrame(
        {
            "question": question,
            "kind": KINDS[kind],
            "sample": np.tile(np.arange(SAMPLES, dtype=np.int32), QUESTIONS * 3),
            "confidence": rng.integers(0, 21, n) / 20,
            "correct": rng.random(n) < 0.5,
            "evidence": STATES[kind],
            "judgments": said.gather(kind),
            "passages_right": np.where(right, 3, 2).astype(np.int16),
            "group_right": judged.astype(np.int16),
            "rule_step": rng.random(n) < 0.9,
            "reply": [text[a : a + b] for a, b in zip(starts, sizes, strict=True)],
            "stated": stated,
            **flag,
        }
    )
    filled = frame.with_columns(
        group=pl.concat_str("question", pl.lit("/"), "kind"),
        strategy=pl.lit("nova"),
        model=pl.lit("some-lab/some-model-8b-instruct"),
        answer=pl.when("read").then(pl.lit("1871")),
        flaw=pl.when(~pl.col("read")).then(pl.lit("no confidence found")),
        abstained=pl.lit(value=False),
        passages_judged=pl.when("classed").then(pl.lit(3, dtype=pl.Int16)),
        group_judged=pl.when("classed", "stated").then(pl.lit(1, dtype=pl.Int16)),
        truncated=pl.lit(value=False),
        reasoning=null,
        request=pl.concat_str(pl.lit("r-"), "question", "kind"),
        prompt_hash=pl.concat_str(pl.lit("0123456789abcdef0123456789abcdef"), "question", "kind"),
        tokens=pl.lit(None, dtype=pl.List(pl.String)),
        logprobs=pl.lit(None, dtype=pl.List(pl.Float64)),
        alternatives=pl.lit(None, dtype=TRIALS["alternatives"]),
        **{c: pl.when("read").then(c) for c in ("confidence", "correct", "rule_step")},
        **{c: pl.when("classed").then(c) for c in ("judgments", "passages_right")},
        **{c: pl.when("classed", "stated").then(c) for c in ("evidence", "group_right")},
    )
    return filled.select(pl.col(name).cast(dtype) for name, dtype in TRIALS.items())


def groups(frame: pl.DataFrame) -> bytes:
    """Groups of three short passages, laid out as a run lays them out."""
    named = frame.select("group", id="question").unique(maintain_order=True)
    passage = pl.struct(
        text=pl.lit("The light was lit in 1871. " * 12), kind=pl.lit("gold"),
        facet=pl.lit(None, dtype=pl.String), claim=pl.lit(None, dtype=pl.String),
        provenance=pl.lit("original"), source=pl.lit(None, dtype=pl.String),
        flags=pl.lit([], dtype=pl.List(pl.String)),
    )  # fmt: skip
    return parquet_bytes(
        named.select(
            "group",
            pl.lit("When was it lit?").alias("question"),
            "id",
            pl.lit(["1871"]).alias("answers"),
            pl.lit("open").alias("form"),
            pl.lit([0, 1, 2]).alias("order"),
            pl.lit([], dtype=pl.List(pl.String)).alias("flags"),
            pl.concat_list(passage, passage, passage).alias("passages"),
        )
    )


def make_run(folder: Path, size: int) -> None:
    rng = np.random.default_rng(size)
    text, store, parts = corpus(rng), open_store(folder), []
    for shard in range(-(-size // SHARD)):
        frame = trials(rng, shard, text).head(size - shard * SHARD)
        content = groups(frame)
        (folder / "trials").mkdir(parents=True, exist_ok=True)
        frame.write_parquet(folder / table_name("trials", shard), compression="zstd")
        (folder / "groups").mkdir(exist_ok=True)
        (folder / groups_name(shard)).write_bytes(content)
        asked = frame.select("question", "group").unique()
        parts.append(
            Part(
                questions=asked["question"].n_unique(), groups=asked.height, sha256=digest(content)
            )
        )
    settings = Settings(
        strategy="nova",
        template_hash="0",
        model="some-lab/some-model-8b-instruct",
        samples=SAMPLES,
        sampling=Sampling(),
    )
    manifest = Manifest(
        settings=settings, source="made up", source_hash="0", repeated=0, parts=tuple(parts)
    )
    for shard in range(len(parts)):
        finish(store, shard, manifest.run, pl.read_parquet(folder / table_name("trials", shard)))
    write_manifest(store, manifest)


# — what is measured —


def stages(run: Path, out: Path) -> dict[str, float]:
    kept, tally = pour(open_sources([str(run)]), out, Options())
    kept.write_parquet(out / "kept.parquet")
    return {"kept": kept.height, "trials": tally.kept("total")}


def replies(run: Path, out: Path) -> dict[str, float]:
    kept = pl.read_parquet(out / "kept.parquet")
    harvest = HarvestedTables(open_sources([str(run)]), out / "fetched")
    for _ in harvest.gather(kept):
        pass
    harvest.finish()
    return {"kept": kept.height}


READ = [
    "question", "group", "kind", "strategy", "model", "sample", "confidence", "correct", "flaw",
    "evidence", "judgments", "passages_judged", "passages_right", "group_judged", "group_right",
    "rule_step",
]  # fmt: skip
ASKED = ["model", "strategy", "question", "group"]


def bare(run: Path, out: Path) -> dict[str, float]:
    """The same work as one would write it in Polars for this once: no checks, no stable luck."""
    (out / "dropped").mkdir(parents=True)
    total, left, counts = 0, [], []
    col, lit = pl.col, pl.lit
    highly = col("judgments").list.count_matches("highly relevant")
    fits = (
        ((col("evidence") == "insufficient") & (highly == 0))
        | ((col("evidence") == "consistent") & (highly >= 1))
        | ((col("evidence") == "conflicting") & (highly >= 2))
    )
    reason = (
        pl.when(col("flaw").is_not_null()).then(pl.concat_str(lit("format: "), "flaw"))
        .when(col("judgments").list.len().fill_null(0) == 0).then(lit("format: no passage classes"))
        .when(col("passages_judged").is_null()).then(lit("judgment: nothing known to judge by"))
        .when(col("passages_right") != col("passages_judged")).then(lit("judgment: a passage is misjudged"))
        .when(col("group_right") != col("group_judged")).then(lit("judgment: the group is misjudged"))
        .when(col("evidence").is_null()).then(lit("rules: no group judgment"))
        .when(~fits).then(lit("rules: the group judgment does not follow"))
        .when(~col("rule_step").fill_null(value=False)).then(lit("rules: no step applies the rules"))
        .when(col("correct").is_null()).then(lit("alignment: not graded"))
    )  # fmt: skip
    score = (col("confidence") - col("correct").cast(pl.Float64)) ** 2
    for shard, file in enumerate(sorted((run / "trials").iterdir())):
        frame = (
            pl.read_parquet(file, columns=READ).with_row_index("row").with_columns(reason=reason)
        )
        total += frame.height
        within = frame.filter(col("reason").is_null()).with_columns(
            score=score, luck=pl.struct("group", "sample").hash(0)
        )
        best = within.group_by(ASKED).agg(pl.all().sort_by("score", "luck").first())
        worse = frame.with_columns(
            reason=pl.when(col("reason").is_null() & ~col("row").is_in(best["row"].implode()))
            .then(lit("alignment: another response is better aligned"))
            .otherwise("reason")
        ).filter(col("reason").is_not_null())
        dropped = worse.select("question", "group", "kind", "model", "sample", "reason")
        dropped.write_parquet(out / "dropped" / f"{shard:05}.parquet", compression="zstd")
        counts.append(worse.group_by("model", "kind", "reason").len())
        left.append(best.select("question", "group", "kind", "model", "sample", "luck"))
    rest = pl.concat(left)
    least = rest.group_by("kind").len()["len"].min()
    kept = rest.filter(col("luck").rank("ordinal").over("kind") <= least)
    pl.concat(counts).group_by("model", "kind", "reason").sum()
    return {"kept": kept.height, "trials": total}


def start(_run: Path, _out: Path) -> dict[str, float]:
    """Do nothing: what is left is to start Python and import all this."""
    return {}


WORK = {"start": start, "stages": stages, "replies": replies, "bare": bare}


def peak_mb() -> float:
    """Peak memory of this process; `ru_maxrss` would begin with that of its parent."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def one(what: str, run: str, out: str) -> None:
    began = time.monotonic()
    facts = WORK[what](Path(run), Path(out))
    used = resource.getrusage(resource.RUSAGE_SELF)
    facts |= {
        "cpu": used.ru_utime + used.ru_stime,
        "mb": peak_mb(),
        "seconds": time.monotonic() - began,
    }
    print(json.dumps(facts))


def measured(what: str, run: Path, out: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.funnel_speed", "--one", what, str(run), str(out)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def at(size: int, base: Path) -> Found:
    run, out, plain = base / "run", base / "out", base / "bare"
    make_run(run, size)
    disk = sum(f.stat().st_size for f in run.rglob("*") if f.is_file())
    begun = measured("start", run, out)["cpu"]
    found = {name: measured(name, run, plain if name == "bare" else out) for name in NAMES}
    print(f"{size:,} trials, {disk / 1e9:.2f} GB on disk; a process starts in {begun:.1f} CPU-s:")
    for name, facts in found.items():
        facts["net"] = facts["cpu"] - begun
        print(
            f"  {NAMES[name]:<20} {facts['cpu']:6.1f} CPU-s,"
            f" {facts['net'] / size * 1e6:5.2f} us a trial beyond the start,"
            f" {facts['seconds']:6.1f} s, peak {facts['mb']:4.0f} MB, {facts['kept']:,} kept",
            flush=True,
        )
    print(f"  ratio to bare Polars {found['stages']['cpu'] / found['bare']['cpu']:.2f}", flush=True)
    for folder in (run, out, plain):
        shutil.rmtree(folder)
    return found


def slope(small: tuple[int, float], large: tuple[int, float]) -> float:
    """Return the power of the size that a cost grows by between two sizes.

    >>> slope((10, 2.0), (100, 20.0)), slope((10, 2.0), (100, 200.0))
    (1.0, 2.0)
    """
    if small[1] <= 0 or large[1] <= 0:
        return math.nan  # too quick to be told from the start of a process
    return math.log(large[1] / small[1]) / math.log(large[0] / small[0])


def judge(found: dict[int, Found]) -> dict[str, bool]:
    """Say what holds at the largest size, and between the two largest; both read and fetched."""
    *_, before, largest = sorted(found) if len(found) > 1 else [0, *found]
    verdicts = {}
    for name in ("stages", "replies"):
        facts, limit = found[largest][name], LIMIT_CPU[name] * largest / 10_000_000
        title = NAMES[name]
        words = f"{title}, CPU seconds at {largest:,}: {facts['net']:.1f}, at most {limit:.1f}"
        verdicts[words] = facts["net"] <= limit
        words = f"{title}, peak memory: {facts['mb']:.0f} MB, at most {LIMIT_MB:.0f}"
        verdicts[words] = facts["mb"] <= LIMIT_MB
        if before:
            pairs = [(size, found[size][name]["net"]) for size in (before, largest)]
            power = slope(*pairs)
            words = f"{title}, from {before:,} to {largest:,} the cost grows as size to the power"
            verdicts[f"{words} {power:.2f}, at most {LIMIT_POWER}"] = power <= LIMIT_POWER
    ratio = found[largest]["stages"]["cpu"] / found[largest]["bare"]["cpu"]
    verdicts[f"ratio to bare Polars: {ratio:.2f}, at most {LIMIT_RATIO:.0f}"] = ratio <= LIMIT_RATIO
    return verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path, help="where to put the runs; needs about 12 GB")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(*options.one)
        return
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores,"
        f" Python {platform.python_version()}, Polars {pl.__version__}"
    )
    found = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for size in sorted(set(options.sizes)):
            found[size] = at(size, Path(folder))
    verdicts = judge(found)
    for words, holds in verdicts.items():
        print(f"{'holds' if holds else 'FAILS'}: {words}")
    sys.exit(0 if all(verdicts.values()) else 1)


if __name__ == "__main__":
    main()
