"""The arithmetic of large runs, from figures measured here and assumptions that are named as such.

`--measure` runs a few thousand trials against the chaos server and prints the measured inputs as
JSON; without it the tables of docs/scale.md are printed from docs/evidence/scale-inputs.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

SIZES = {"384K": 384_000, "160M": 160_000_000, "10B": 10_000_000_000}
SAMPLES = 16
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- python -m tools.scale -->", "<!-- end -->"
INPUTS = Path(__file__).parents[1] / "docs" / "evidence" / "scale-inputs.json"

_FIXED = 30  # bytes of a row of trials besides its reply: far less than the reply

ASSUMED = {
    "prompt_tokens": (900, "tokens of a NOVA prompt with three passages of about 100 words"),
    "reply_tokens": (370, "tokens of a NOVA reply"),
    "gpu_tokens": (5_000, "reply tokens a second of an 8B model on one data-centre GPU, batched"),
    "gpu_hour": (2.5, "money for a GPU-hour"),
    "price_in": (0.15, "money for a million prompt tokens of a small model's API"),
    "price_out": (0.60, "money for a million reply tokens of the same"),
    "compression": (3, "times that zstd shrinks real replies; the measured ones repeat themselves"),
    "days": (7, "days the run may take"),
}


def measure(trials: int) -> dict[str, float]:
    """Ask the chaos server for some trials and measure what one costs us."""
    from benchmarks.asking_speed import ours, planned
    from novarag.runs import tune_gc
    from tests.support.chaos.serving import chaos

    tune_gc()
    with tempfile.TemporaryDirectory() as folder, chaos() as url:
        began = time.process_time()
        job = planned(trials // SAMPLES, 64, 0, folder, samples=SAMPLES)
        manifest = job.manifest
        planning = (time.process_time() - began) / manifest.groups
        began = time.process_time()
        asyncio.run(ours(url, job))
        asking = (time.process_time() - began) / manifest.trials
        sizes = {
            name: sum(f.stat().st_size for f in Path(folder, name).iterdir())
            for name in ("journal", "trials", "attempts", "groups")
        }
        characters = sum(len(r) for r in _replies(folder))
    return {
        "cpu_us_per_trial": asking * 1e6,
        "plan_us_per_group": planning * 1e6,
        "reply_characters": characters / manifest.trials,
        "journal_bytes_per_trial": sizes["journal"] / manifest.trials,
        "parquet_bytes_per_trial": (sizes["trials"] + sizes["attempts"]) / manifest.trials,
        "groups_bytes_per_group": sizes["groups"] / manifest.groups,
    }


def _replies(folder: str) -> list[str]:
    import polars as pl

    return pl.read_parquet(f"{folder}/trials/*.parquet", columns=["reply"])["reply"].to_list()


def number(value: float, unit: str = "") -> str:
    """Round to what one can use.

    >>> number(1234567, "B"), number(0.0123)
    ('1.2 MB', '0.012')
    """
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if unit and value >= size:
            scaled = value / size
            return (
                f"{scaled:.0f} {prefix}{unit}" if scaled >= 10 else f"{scaled:.2g} {prefix}{unit}"
            )
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def table(measured: dict[str, float], assumed: dict[str, float]) -> list[str]:
    """Return the arithmetic as a Markdown table."""
    rows: dict[str, list[str]] = {}
    longer = assumed["reply_tokens"] * 4 / measured["reply_characters"]
    for trials in SIZES.values():
        groups, requests = trials / SAMPLES, trials / SAMPLES
        replies = trials * assumed["reply_tokens"]
        prompts = requests * assumed["prompt_tokens"]
        gpu_hours = replies / assumed["gpu_tokens"] / 3600
        seconds = assumed["days"] * 86_400
        cells = {
            "questions": number(groups),
            "requests": number(requests),
            "reply tokens": number(replies),
            "GPU-hours": number(gpu_hours),
            f"GPUs for {assumed['days']:g} days": number(max(gpu_hours / (seconds / 3600), 1)),
            "requests a second": number(requests / seconds),
            "client cores": number(
                max(trials * measured["cpu_us_per_trial"] / 1e6 / seconds, 0.01)
            ),
            "journal": number(trials * measured["journal_bytes_per_trial"] * longer, "B"),
            "tables": number(
                trials * (assumed["reply_tokens"] * 4 / assumed["compression"] + _FIXED), "B"
            ),
            "shards": number(-(-groups // 1000)),
            "planning": number(groups * measured["plan_us_per_group"] / 1e6 / 3600) + " h",
            "planning memory": number(groups * 32, "B"),
            "money, own GPUs": number(gpu_hours * assumed["gpu_hour"]),
            "money, API": number(
                (prompts * assumed["price_in"] + replies * assumed["price_out"]) / 1e6
            ),
        }
        for name, cell in cells.items():
            rows.setdefault(name, []).append(cell)
    head = [
        "| | " + " | ".join(f"{name} trials" for name in SIZES) + " |",
        "|---|" + "---:|" * len(SIZES),
    ]
    return head + [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]


def inputs(measured: dict[str, float]) -> list[str]:
    """Return the inputs, each marked as measured or assumed."""
    lines = ["| input | value | |", "|---|---:|---|"]
    lines += [
        f"| {name.replace('_', ' ')} | {value:.4g} | measured |" for name, value in measured.items()
    ]
    lines += [
        f"| {name.replace('_', ' ')} | {value:g} | assumed: {why} |"
        for name, (value, why) in ASSUMED.items()
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--trials", type=int, default=64_000)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scale.md")
    for name, (value, why) in ASSUMED.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=value, help=why)
    options = vars(parser.parse_args())
    if options["measure"]:
        json.dump(
            {k: round(v, 3) for k, v in measure(options["trials"]).items()}, sys.stdout, indent=2
        )
        return
    measured = json.loads(INPUTS.read_text("utf-8"))
    tables = [*inputs(measured), "", *table(measured, {k: options[k] for k in ASSUMED})]
    if not options["write"]:
        print("\n".join(tables))
        return
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text("\n".join([before + BEGIN, "", *tables, "", END + after]), "utf-8")


if __name__ == "__main__":
    main()
