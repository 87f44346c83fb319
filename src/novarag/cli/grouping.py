"""The verbs that make groups and look for shortcuts in them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.atomic import write_whole
from novarag.errors import UnknownName, UsageError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from novarag.noise.audit import Audit
    from novarag.noise.training import Yield
    from novarag.records import PassageGroup

TRAINING = "training"
_BLOCK = 1000  # questions that are built together; they lend passages to each other
_Margin = Annotated[
    float,
    typer.Option(min=0, max=1, help="By how much a cue may beat the most common group."),
]


def group(
    pool: Annotated[
        Path,
        typer.Argument(
            help="Questions with labelled passages (JSONL, Parquet, CSV), or a run of noise."
        ),
    ],
    out: Annotated[Path, typer.Option(help="File for the groups: .jsonl.")],
    mix: Annotated[
        str,
        typer.Option(
            help="training (the three groups of each question), gold-only, gold+counterfactual,"
            " gold+relevant, gold+irrelevant, counterfactual-only, relevant-only or"
            " irrelevant-only."
        ),
    ] = TRAINING,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Passages in a group.")] = 3,
    gold_at: Annotated[
        int | None, typer.Option(min=1, help="Place of the gold passage; default: shuffled.")
    ] = None,
    one_each: Annotated[
        bool,
        typer.Option("--one-each", help="Of the training groups, one for each question, in turn."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of draws and shuffles.")] = 0,
    audited: Annotated[
        bool, typer.Option("--audit/--no-audit", help="Look for shortcuts in training groups.")
    ] = True,
    margin: _Margin = 0.05,
) -> None:
    """Draw passages into groups, shuffled, and fail if a group can be told by its looks."""
    if out.suffix != ".jsonl":
        raise UsageError(f"{out} must end in .jsonl")
    if mix != TRAINING and one_each:
        raise UsageError("--one-each belongs to the training groups")
    if mix == TRAINING and gold_at is not None:
        raise UsageError("--gold-at belongs to the mixes with one gold passage")
    found = build_groups(_pools(pool), mix, k=k, gold_at=gold_at, seed=seed)
    if one_each:
        found.groups = list(in_turn(found.groups))
    write_groups(found, out)
    describe(found)
    code = gate(found, margin) if mix == TRAINING and audited else 0
    if code:
        print(
            f"wrote {out}, but a model trained on it could learn the shortcut: use more questions"
        )
        print("or other passages, or raise --margin if you accept it")
    else:
        print(f"wrote {out}; next: novarag ask {out} --model URL=NAME --samples 16 --out run")
    sys.exit(code)


def gate(found: Yield, margin: float) -> int:
    """Audit training groups, where there are enough to judge; return the exit code."""
    try:
        return _report(found.groups, margin)
    except UsageError as error:
        print(f"not audited: {error}")
        return 0


def build_groups(
    pools: Iterable[PassageGroup], mix: str, *, k: int, gold_at: int | None = None, seed: int = 0
) -> Yield:
    """Draw one named mix, or the three training groups, from every pool that allows it."""
    from novarag.noise.training import Yield, merge_pools, training_groups

    found, merged = Yield(), merge_pools(pools)
    blocks = max(len(merged) // _BLOCK, 1)
    for i in range(blocks):
        block = merged[len(merged) * i // blocks : len(merged) * (i + 1) // blocks]
        if mix == TRAINING:
            part = training_groups(block, k=k, seed=seed)
        else:
            part = _drawn(block, mix, k=k, gold_at=gold_at, seed=seed)
        found.groups += part.groups
        found.faults += part.faults
        found.short += part.short
    return found


def _drawn(
    block: list[PassageGroup], name: str, *, k: int, gold_at: int | None, seed: int
) -> Yield:
    from dataclasses import replace

    from novarag.grouping import MIXES, find_mix
    from novarag.noise.training import Yield, sound_pool

    if name not in MIXES:
        raise UnknownName(name, [TRAINING, *MIXES])
    mix = find_mix(name, k=k, gold_at=gold_at)
    found = Yield()
    for given in block:
        pool = sound_pool(given, found.faults)
        try:
            drawn = mix.draw(pool.question, pool.passages, seed=seed)
        except UsageError as error:
            found.short[str(error).partition(" has ")[2]] += 1
        else:
            at = "" if gold_at is None else f"-gold{gold_at}"
            found.groups.append(replace(drawn, id=f"{pool.question.id}/{name}-k{k}{at}"))
    return found


def in_turn(groups: Iterable[PassageGroup]) -> Iterator[PassageGroup]:
    """Take one group of each question, the kinds in turn."""
    from novarag.taxonomy import GroupKind

    kinds = list(GroupKind)
    places: dict[str, int] = {}
    for given in groups:
        place = places.setdefault(given.question.id, len(places))
        if given.kind is kinds[place % len(kinds)]:
            yield given


def group_lines(found: Yield) -> bytes:
    """Lay groups out as JSON lines."""
    from novarag.datasets.groups import group_line

    return b"".join(map(group_line, found.groups))


def write_groups(found: Yield, out: Path) -> None:
    """Write groups as JSON lines, whole or not at all."""
    if not found.groups:
        reasons = [f"{n:,} questions: {why}" for why, n in found.short.most_common()]
        reasons += [f"{n:,} passages: {why}" for why, n in found.faults.most_common()]
        told = "; ".join(reasons) or "there are no questions"
        raise UsageError(
            f"there are no groups to build: {told}. Passages that a model wrote are marked with"
            ' "provenance": "generated"; `novarag noise` writes them.'
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, group_lines(found))


def describe(found: Yield) -> None:
    """Say what was built, and what was left out and why."""
    kinds = Counter(str(g.kind) for g in found.groups)
    told = ", ".join(f"{n:,} {kind}" for kind, n in sorted(kinds.items()))
    questions = len({g.question.id for g in found.groups})
    print(f"{len(found.groups):,} groups of {questions:,} questions: {told}")
    for fault, count in found.faults.most_common():
        print(f"left out: {count:,} passages: {fault}")
    for reason, count in found.short.most_common():
        print(f"left out: {count:,} questions: {plain_text(reason)}")


def _pools(path: Path) -> Iterator[PassageGroup]:
    from novarag.datasets import iter_groups

    if not (path / "manifest.json").is_file():
        return iter_groups(path)
    from novarag.flows.drafts import iter_pools
    from novarag.runs import open_run

    return iter_pools(open_run(path))


def audit(
    groups: Annotated[
        Path, typer.Argument(help="Groups with labelled passages: JSONL, Parquet or CSV.")
    ],
    margin: _Margin = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Try to tell each group from the looks of its passages alone; fail where that succeeds."""
    from novarag.datasets import load_groups

    sys.exit(_report(load_groups(groups), margin, seed=seed, as_json=as_json))


def _report(
    groups: list[PassageGroup], margin: float, *, seed: int = 0, as_json: bool = False
) -> int:
    from novarag.noise.audit import audit as audited

    found = audited(groups, margin=margin, seed=seed)
    if as_json:
        import orjson

        told = {
            "margin": margin, "groups": found.groups, "questions": found.questions,
            "left_out": found.left_out, "findings": found.findings,
            "shortcuts": sorted({f.cue for f in found.shortcuts}),
        }  # fmt: skip
        print(orjson.dumps(told).decode())
    else:
        print_audit(found)
    return 1 if found.shortcuts else 0


def print_audit(found: Audit) -> None:
    """Print one line for each cue, and what gives a shortcut away."""
    print(f"{found.groups:,} groups of {found.questions:,} questions were audited")
    if found.left_out:
        print(f"left out: {found.left_out:,} groups without kinds, or beyond the sample")
    for cue in dict.fromkeys(f.cue for f in found.findings):
        worst = found.worst(cue)
        print(
            f"{cue:<15} {worst.kind or 'all groups':<15} told in {worst.accuracy:.1%}, by chance"
            f" {worst.majority:.1%}: {100 * worst.excess:+.1f} points"
            f" ({100 * worst.low:+.1f} to {100 * worst.high:+.1f})"
        )
    for finding in found.shortcuts:
        if finding.kind is None:
            continue
        said = "; ".join(finding.telling)
        such = ", ".join(plain_text(name, longest=40) for name in finding.examples)
        print(f"shortcut: {finding.cue} tells the {finding.kind} group by {said}; such as {such}")
    cues = list(dict.fromkeys(f.cue for f in found.shortcuts))
    verdict = f"shortcuts in {', '.join(cues)}" if cues else "no cue"
    print(f"{verdict} beyond {100 * found.margin:g} points")
