"""`novarag run show`: what is in a run, what failed and why, and some replies."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.calls import read_detail
from novarag.cli.console import screen
from novarag.cli.options import ForeignStrategy, RunArgument, parse_price
from novarag.cli.translate import said
from novarag.formatting import fixed_percent, whole_percent
from novarag.texts import plain_text

if TYPE_CHECKING:
    from typing import Any

    from novarag.runs import Summary

_ASKED = frozenset({"--per-request"})
"""Flags of `ask` that stored failures speak of."""


def show(
    run: RunArgument,
    replies: Annotated[int, typer.Option(min=0, help="How many replies to show.")] = 10,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print every trial as a line of JSON instead.")
    ] = False,
    strategy: ForeignStrategy = None,
    price: Annotated[
        str | None, typer.Option(help="IN:OUT, money per million tokens, to sum up the bill.")
    ] = None,
) -> None:
    """Show what is in a run, what failed and why, and some replies."""
    from novarag.flows.runs import iter_trial_tables, summarise
    from novarag.runs import some_trials

    with screen() as on_event:
        if jsonl:
            for table in iter_trial_tables(run, strategy=strategy, on_event=on_event):
                sys.stdout.write(table.write_ndjson())
            return
        seen = summarise(run, strategy=strategy, on_event=on_event)
    _describe(seen)
    _bill(seen, price)
    _failures(seen)
    for row in some_trials(seen, replies):
        print(_reply(row))


def _line(name: str, text: str) -> None:
    print(f"{name:<10} {text}")


def _describe(seen: Summary) -> None:
    manifest, counts = seen.manifest, seen.counts
    settings, sampling = manifest.settings, manifest.settings.sampling
    revision = f" @ {plain_text(settings.revision)}" if settings.revision else ""
    _line("model", plain_text(settings.model) + revision)
    template = plain_text(settings.template_hash[:12])
    _line("strategy", f"{plain_text(settings.strategy)}, template {template}")
    _line("sampling", f"{settings.samples} a group, temperature {sampling.temperature:g}")
    source = plain_text(manifest.source)
    _line("groups", f"{manifest.groups:,} of {manifest.questions:,} questions, {source}")
    shards = len(manifest.parts)
    state = f"; {seen.left:,} requests left" if seen.unfinished else ""
    _line("shards", f"{shards - len(seen.unfinished):,} of {shards:,} finished{state}")
    for owner in seen.owners:
        _line("", plain_text(owner))
    trials, graded = counts.get("trials", 0), counts.get("graded", 0)
    unread = counts.get("unread", 0)
    right = fixed_percent(counts["right"] / graded) if graded else ""
    share = f", {right} of {graded:,} graded are right" if graded else ""
    _line("trials", f"{trials:,}, {unread:,} unread{share}")
    for flaw, count in seen.flaws.most_common():
        _line("", f"{count:,} unread: {plain_text(flaw)}")


def _bill(seen: Summary, price: str | None) -> None:
    counts = seen.counts
    outcomes = counts.get("outcomes", {})
    listed = ", ".join(f"{n:,} {name}" for name, n in sorted(outcomes.items(), key=lambda x: -x[1]))
    _line("attempts", f"{counts.get('attempts', 0):,}: {listed}" if listed else "none")
    prompt, completion = counts.get("prompt_tokens", 0), counts.get("completion_tokens", 0)
    cost = parse_price(price)
    money = f", about {cost.of(prompt, completion):,.2f}" if cost else ""
    _line("tokens", f"{prompt:,} of prompts, {completion:,} of replies{money}")


def _failures(seen: Summary) -> None:
    reasons: dict[str, list[tuple[str, int]]] = {}
    for (outcome, detail), count in seen.given_up.most_common():
        reasons.setdefault(outcome, []).append((detail, count))
    for outcome, details in reasons.items():
        total = sum(count for _, count in details)
        such = plain_text(said(read_detail(details[0][0]), _ASKED))
        _line("failed", f"{total:,} requests: {outcome}; such as: {such}")


def _reply(row: dict[str, Any]) -> str:
    if row["flaw"] is not None:
        verdict = f"unread: {plain_text(row['flaw'])}"
    elif row["answer"] is None:
        verdict = "passages"
    else:
        grade = {True: "right", False: "wrong", None: "not graded"}[row["correct"]]
        answer = plain_text(row["answer"], longest=60)
        verdict = f"{answer} at {whole_percent(row['confidence'])}, {grade}"
    ending = plain_text(" ".join(row["reply"].split())[-160:])
    where = f"{plain_text(row['question'], longest=40)} #{row['sample']}"
    return f"\n{where}: {verdict}\n  … {ending}"
