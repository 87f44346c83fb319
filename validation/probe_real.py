"""Probe several systems with the same questions, and put their cards side by side.

Usage: python -m validation.probe_real --model URL=NAME [--model URL=NAME ...] [--questions 150]
Any server that `ask` takes will do, and simulated:NAME needs none. Questions come from the
benchmark: of each one a group with the gold passage and noise, contradictions from its
counterfactual passages. The labels are used at the end alone, to say what was true beside what was
proved. `--check` asserts what is known of simulated respondents, and needs no server.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from novarag import Access, PassageKind, grade, load_benchmark, load_groups, probe
from novarag.formatting import points
from novarag.probes import RELATIONS, RelationVerdict
from novarag.report.probe import probe_verdict, proved_points
from novarag.taxonomy import Grade
from tests.support.machine import described

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag import PassageGroup, ProbeResult

SIMULATED = ("simulated:base", "simulated:tuned", "simulated:tuned-without-parametric-fallback")


def supported_first(groups: Iterable[PassageGroup]) -> list[PassageGroup]:
    """Put groups first that hold a gold passage and no contradiction: those are probed."""

    def place(group: PassageGroup) -> int:
        kinds = group.kinds or ()
        return PassageKind.GOLD not in kinds or PassageKind.COUNTERFACTUAL in kinds

    found = sorted(groups, key=place)
    asked = {g.question.id for g in found if not place(g)}
    return [group for group in found if group.question.id in asked]


def true_gap(result: ProbeResult, variants: Sequence[str]) -> float | None:
    """Return mean confidence less the share of right answers, by the labels; sides count alike."""
    own = ("original", "repeat")
    sides = [own, *((v,) for v in variants)]
    gaps = []
    for side in sides:
        said = [
            (reply.confidence, grade(reply.answer, one.question) is Grade.RIGHT)
            for one in result.replies
            for variant in side
            for reply in one.replies.get(variant, ())
            if reply is not None
        ]
        if not said:
            return None
        gaps.append(fmean(stated - right for stated, right in said))
    return fmean(gaps)


def cell(result: ProbeResult, name: str) -> str:
    """Say the verdict and the score of one relation."""
    found = next((f for f in result.card.findings if f.relation.name == name), None)
    if found is None:
        return "not asked"
    score = found.score
    return f"{found.verdict} {points(score.value)} ({points(score.low)} to {points(score.high)})"


def table(results: Sequence[ProbeResult]) -> list[str]:
    """Lay the cards out side by side, as Markdown."""
    names = [result.system for result in results]
    lines = [f"| relation | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for name in RELATIONS:
        row = [cell(result, name) for result in results]
        if set(row) != {"not asked"}:
            lines.append(f"| `{name}` | {' | '.join(row)} |")
    for number, name in enumerate(row.relation for row in proved_points(results[0].card)):
        second = RELATIONS[name].second
        row = []
        for result in results:
            rows = proved_points(result.card)
            truth = true_gap(result, second)
            proved = f"{100 * rows[number].points:.1f}" if number < len(rows) else "–"
            row.append(f"{proved} of {points(truth)}")
        lines.append(f"| points proved of true over-confidence, {name} | {' | '.join(row)} |")
    facts = [f"{r.card.unread} of {r.card.replies}, {sum(r.dead.values())}" for r in results]
    lines.append(f"| unread replies, failed calls | {' | '.join(facts)} |")
    return lines


def check(results: Sequence[ProbeResult]) -> None:
    """Assert what is known of the simulated respondents, whose truth is known."""
    base, tuned, fallback = results
    assert base.broken, "base breaks every rule"
    assert not tuned.broken, tuned.broken
    assert {"falls:lost-support"} <= set(fallback.broken), fallback.broken
    for result in results:
        for row in proved_points(result.card):
            truth = true_gap(result, RELATIONS[row.relation].second)
            assert truth is not None
            assert row.points <= max(0.0, truth) + 0.05, (result.system, row, truth)
    print("checked: verdicts as known, and no more proved than is true")


def record(results: Sequence[ProbeResult], place: Path, machine: str) -> None:
    """Write down what was found, for who reads it later."""
    systems = [
        {
            "system": r.system,
            "line": probe_verdict(r.card).line,
            "relations": {
                f.relation.name: {"verdict": str(f.verdict), **asdict(f.score)}
                for f in r.card.findings
            },
            "cannot_tell": sum(f.verdict is RelationVerdict.CANNOT_TELL for f in r.card.findings),
            "calls": r.cost.calls,
        }
        for r in results
    ]
    place.write_text(json.dumps({"machine": machine, "systems": systems}, indent=1), "utf-8")


def main() -> int:
    """Probe each system, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", action="append", default=[], help="URL=NAME, or simulated:NAME")
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--profile", default="standard")
    parser.add_argument("--strategy", default="vanilla")
    parser.add_argument("--dataset", default="nq")
    parser.add_argument("--groups", type=Path, help="groups of one's own, not the benchmark's")
    parser.add_argument("--structured", action="append", default=[], metavar="NAME",
                        help="hold the replies of this model to their form")  # fmt: skip
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("build/probe-real"))
    parser.add_argument("--check", action="store_true", help="simulated respondents, asserted")
    given = parser.parse_args()
    models = list(SIMULATED) if given.check else given.model
    if not models:
        parser.error("give --model URL=NAME, or --check")
    groups = supported_first(
        load_groups(given.groups) if given.groups else load_benchmark(given.dataset)
    )
    source = given.groups.stem if given.groups else given.dataset
    results = []
    for model in models:
        called = model.rpartition("=")[2]
        name = called.replace("/", "_").replace(":", "_")
        out = given.out / f"{source}-{given.profile}-{given.questions}" / name
        results.append(
            probe(
                groups, model, profile=given.profile, question_count=given.questions,
                strategy=given.strategy, max_tokens=given.max_tokens, out=out,
                structured=called in given.structured,
                access=Access(concurrency=given.concurrency),
            )
        )  # fmt: skip
        print(f"{results[-1].system}: {probe_verdict(results[-1].card).line} {out}/probe.html")
    machine = described()
    held = f"; held to the form: {', '.join(given.structured)}" if given.structured else ""
    head = f"{source}, {given.questions} questions, profile {given.profile}{held}; {machine}"
    page = "\n".join([head, "", *table(results), ""])
    print(f"\n{page}")
    (given.out / "cards.md").write_text(page, "utf-8")
    record(results, given.out / "cards.json", machine)
    if given.check:
        check(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
