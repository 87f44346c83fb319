"""What each road costs: processor hours and graded answers to make it, tokens for each answer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from experiments.nova.choosing import COMMANDS, choice_of
from experiments.nova.plan import GRADED, PLANS
from experiments.nova.tables import METHODS, PROMPTS, trained
from novarag.runs import open_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from experiments.nova.plan import Plan

_ALIGNED = ("--out runs/sample ", "--out filtered-{0} ", "--out export-{0} ", "--out models/{0} ")
_CONFIDENT = ("--out runs/own ", "--out filtered-own-", "--out export-own-")


def hours(commands: Iterable[Mapping[str, Any]], parts: Iterable[str]) -> float:
    """Add up the processor hours of the commands that hold one of some words, and of their server.

    Processor hours, since other work shares the machine; those of killed commands count.

    >>> took = {"command": "novarag ask g --out runs/own --x", "cpu_s": 600, "server_cpu_s": 1200}
    >>> hours([took], ["runs/own "])
    0.5
    """
    wanted = list(parts)
    took = (row for row in commands if "cpu_s" in row)
    mine = (row for row in took if any(word in f"{row['command']} " for word in wanted))
    return sum(row["cpu_s"] + row.get("server_cpu_s", 0) for row in mine) / 3600


def costs(build: Path, final: str) -> list[dict[str, Any]]:
    """Say for each system that was tested what it took beyond the warm-up, and for an answer."""
    rows = [json.loads(line) for line in (build / COMMANDS).read_text().splitlines()]
    tokens = _tokens(build)
    graded = _graded(build)
    asking = (*(name for name in PROMPTS if name in tokens), *METHODS.values())
    table = [_row(system, 0.0, 0, tokens.get(system), final) for system in asking]
    for system, run in trained(build).items():
        if system not in tokens:
            continue
        who = re.sub(r"-(nova|vanilla|label-only)$", "", run)
        spent, seen = _chain(rows, build, who, graded)
        table.append(_row(system, spent, seen, tokens.get(system), final))
    for strategy, base in (("vanilla", "base, vanilla"), ("nova", "base, NOVA prompt")):
        if base not in tokens:
            continue
        asked = [f"--out runs/train-warm-{strategy}-graded-few "]
        for count in GRADED:
            spent = hours(rows, asked)
            asked.append(f"--out runs/train-warm-{strategy}-graded-more ")
            for more in ("", ", likelihood"):
                name = f"base {strategy} + calibration ({count}{more})"
                table.append(_row(name, spent, count, tokens.get(base), final))
    return table


def worth(against: Iterable[Mapping[str, Any]], made: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Divide what each system gains in Brier score over the base's `vanilla` by what it took."""
    took = {row["system"]: row for row in made}
    table = []
    for row in against:
        cost, gain = took.get(row["against"]), row.get("brier")
        if cost is None or gain is None or not cost["graded answers"]:
            continue
        each = {name: _over(gain, cost[name] / unit) for name, unit in (
            ("graded answers", 100), ("processor hours", 1),
        )}  # fmt: skip
        table.append({
            "system": row["against"], "lower Brier score than base, vanilla": gain,
            "for 100 graded answers": each["graded answers"],
            "for a processor hour": each["processor hours"],
        })  # fmt: skip
    return table


def _over(gain: Mapping[str, float], by: float) -> dict[str, float] | None:
    return {name: value / by for name, value in gain.items()} if by else None


def _row(
    system: str, spent: float, graded: int, tokens: Mapping[str, float] | None, final: str
) -> dict[str, Any]:
    table = {"system": system, "chosen": "yes" if system == final else ""}
    table |= {"processor hours": round(spent, 2), "graded answers": graded}
    return table | {
        name: (tokens or {}).get(name, "–") for name in ("tokens read", "tokens written")
    }


def _chain(
    rows: list[dict[str, Any]], build: Path, who: str, graded: Mapping[str, int]
) -> tuple[float, int]:
    """Return the hours and the graded answers behind a trained system."""
    if not who.startswith("confident"):
        kept = "brier" if who == "label-only" else who
        words = [word.format(who) for word in _ALIGNED] + [f"--out filtered-{kept} "]
        return hours(rows, words), graded.get("sample", 0)
    stages = ["confident-1"] if who == "confident-1" else ["confident-1", "confident-2"]
    words = [f"--out models/{name} " for name in stages]
    if _plan(build).number_alone:
        spent, seen = _chain(rows, build, "teacher", graded)
        return spent + hours(rows, words), seen
    spent, seen = _chain(rows, build, choice_of(build, "alignment") or "brier", graded)
    return spent + hours(rows, [*_CONFIDENT, *words]), seen + graded.get("own", 0)


def _plan(build: Path) -> Plan:
    facts = json.loads((build / "facts.json").read_text())
    return PLANS[facts.get("plan", facts["form"])]


def _graded(build: Path) -> dict[str, int]:
    """Count the questions whose answers were graded for the trainings."""
    facts = json.loads((build / "facts.json").read_text())
    return {row["split"]: row["questions"] for row in facts["budget"]}


def _tokens(build: Path) -> dict[str, dict[str, float]]:
    """Return the mean tokens of an answer to the fresh test questions of nova-clean."""
    table = {}
    for system, run in (PROMPTS | trained(build)).items():
        place = build / "runs" / f"test-{run}-clean"
        if place.exists():
            table[system] = _mean_tokens(open_run(place).counts)
    return table


def _mean_tokens(counts: Mapping[str, Any]) -> dict[str, float]:
    trials = max(counts.get("trials", 0), 1)
    pairs = (("tokens read", "prompt_tokens"), ("tokens written", "completion_tokens"))
    return {name: round(counts.get(key, 0) / trials, 1) for name, key in pairs}
