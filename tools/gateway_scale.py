"""The arithmetic of a gateway at scale, from figures measured here and assumptions named as such.

Prints the tables of docs/gateway-scale.md from docs/evidence/gateway-inputs.json; --write puts
them there. A figure that nobody has recorded yet stays open, and with it what follows from it.
"""

import argparse
import json
from dataclasses import dataclass
from math import ceil
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gateway-scale.md"
INPUTS = ROOT / "docs" / "evidence" / "gateway-inputs.json"
BEGIN, END = "<!-- python -m tools.gateway_scale -->", "<!-- end -->"
DAYS = {"1 million": 10**6, "100 million": 10**8, "1 billion": 10**9}
DAY = 86_400
OPEN = "not measured yet"

ASSUMED = {
    "peak": (3.0, "times the mean at the busiest moment of a day"),
    "busy": (0.6, "share of a core that a process may use at the peak"),
    "zones": (3.0, "zones, of which one may be away at the peak"),
    "model_seconds": (2.0, "seconds that a model takes for a reply"),
    "kept_days": (30.0, "days that rows of the audit are kept"),
}


@dataclass(frozen=True)
class Sized:
    """What so many answers a day take."""

    mean: float
    peak: float
    in_flight: float
    cores: float | None
    processes: int | None
    memory_gb: float | None
    database_cores: float | None
    databases: int | None
    audit_gb_a_day: float | None
    audit_tb_kept: float | None


def times(*factors):
    """Multiply; what is not known makes the product unknown."""
    made = 1.0
    for factor in factors:
        if factor is None:
            return None
        made *= factor
    return made


def size(answers, measured, assumed):
    """Work out what a number of answers a day takes; `measured` may lack figures (None)."""
    mean = answers / DAY
    peak = mean * assumed["peak"]
    in_flight = peak * assumed["model_seconds"]
    cores = times(peak, measured["cpu_us_per_request"], 1e-6)
    spare = assumed["zones"] / max(assumed["zones"] - 1, 1)
    processes = None if cores is None else max(ceil(cores / assumed["busy"] * spare), 2)
    idle = times(processes, measured["memory_mb_idle"], 1e-3)
    running = times(in_flight, measured["memory_kb_in_flight"], 1e-6)
    rows = measured["database_rows_per_second"]
    stored = times(answers, measured["database_bytes_per_row"], 1e-9)
    return Sized(
        mean=mean,
        peak=peak,
        in_flight=in_flight,
        cores=cores,
        processes=processes,
        memory_gb=None if idle is None or running is None else idle + running,
        database_cores=times(peak, measured["database_cpu_us_per_row"], 1e-6),
        databases=None if rows is None else max(ceil(peak / rows), 1),
        audit_gb_a_day=stored,
        audit_tb_kept=times(stored, assumed["kept_days"], 1e-3),
    )


TITLES = {
    "mean": "answers a second, mean", "peak": "answers a second, peak",
    "in_flight": "requests in flight at the peak", "cores": "cores of gateways at the peak",
    "processes": "processes, one zone away", "memory_gb": "memory of all processes, GB",
    "database_cores": "cores of PostgreSQL at the peak", "databases": "databases",
    "audit_gb_a_day": "rows of the audit, GB a day", "audit_tb_kept": "rows that are kept, TB",
}  # fmt: skip


def number(value):
    if value is None:
        return OPEN
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def tables(inputs, assumed):
    """Write the tables: what was measured, what was assumed, what follows."""
    measured = {name: entry["value"] for name, entry in inputs.items()}
    lines = ["| measured | | by |", "|---|---:|---|"]
    lines += [
        f"| {entry['means']} | {number(entry['value'])} | `{entry['command']}` |"
        for entry in inputs.values()
    ]
    lines += ["", "| assumed | |", "|---|---:|"]
    lines += [f"| {why} | {assumed[name]:g} |" for name, (_, why) in ASSUMED.items()]
    lines += ["", "| answers a day | " + " | ".join(DAYS) + " |", "|---|" + "---:|" * len(DAYS)]
    sized = [size(answers, measured, assumed) for answers in DAYS.values()]
    lines += [
        f"| {title} | " + " | ".join(number(getattr(one, name)) for one in sized) + " |"
        for name, title in TITLES.items()
    ]
    return lines


def put(page, lines):
    """Return a page with its tables replaced."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the page has no {BEGIN} … {END}")
    return "\n".join([before + BEGIN, "", *lines, "", END + after])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    for name, (value, why) in ASSUMED.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=value, help=why)
    options = vars(parser.parse_args(arguments))
    inputs = json.loads(INPUTS.read_text("utf-8"))
    lines = tables(inputs, {name: options[name] for name in ASSUMED})
    if options["write"]:
        PAGE.write_text(put(PAGE.read_text("utf-8"), lines), "utf-8")
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
