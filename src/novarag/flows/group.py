"""From pools of passages to groups that are asked or trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.atomic import write_whole
from novarag.config.pipeline import GroupSettings
from novarag.errors import UsageError
from novarag.flows.inputs import iter_given
from novarag.noise.group_build import THREE_GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.flows.inputs import GroupsInput
    from novarag.noise.group_build import GroupBuild
    from novarag.records import PassageGroup

_DEFAULT = GroupSettings()


def group_passages(
    pool: GroupsInput,
    out: str | Path | None = None,
    *,
    mix: str = _DEFAULT.mix,
    k: int = _DEFAULT.k,
    gold_at: int | None = None,
    one_each: bool = _DEFAULT.one_each,
    seed: int = 0,
    audit: bool = _DEFAULT.audit,
    margin: float = _DEFAULT.margin,
) -> GroupBuild:
    """Draw passages into groups of `k`, shuffled, and look for shortcuts in training groups.

    Args:
        pool: Questions with labelled passages: a file (JSONL, Parquet, CSV), `PassageGroup`
            objects, or the folder of a finished run of noise.
        out: A .jsonl file for the groups, written whatever the audit finds; None keeps them in
            memory.
        mix: "training" (the three groups of each question), "one-gold" (the same three with one
            gold passage, as the paper has them), or a named mix such as "gold+counterfactual".
        k: Passages in a group.
        gold_at: Place of the gold passage, counted from 1, in a named mix that has one; None
            shuffles it with the others.
        one_each: Keep one of the groups of each question, the kinds in turn; for "training" and
            "one-gold".
        seed: Seed of the passages that are drawn, and of their order.
        audit: Look for shortcuts in the groups of "training" and "one-gold".
        margin: By how much a cue may beat the most common group, as a share of one, before it is a
            shortcut.
    """
    if out is not None and Path(out).suffix != ".jsonl":
        raise UsageError(f"{out} must end in .jsonl")
    if mix not in THREE_GROUPS and one_each:
        raise UsageError.saying("`one_each` belongs to the training groups")
    if mix in THREE_GROUPS and gold_at is not None:
        raise UsageError.saying("`gold_at` belongs to the mixes with one gold passage")
    from novarag.noise.groups import build_groups

    found = build_groups(_pools(pool), mix, k=k, gold_at=gold_at, one_each=one_each, seed=seed)
    check_built(found)
    if out is not None:
        write_groups(found, Path(out))
    return audited(found, margin) if mix in THREE_GROUPS and audit else found


def check_built(found: GroupBuild) -> None:
    """Complain where no group could be built, with the reasons."""
    if found.groups:
        return
    reasons = [f"{n:,} questions: {why}" for why, n in found.short.most_common()]
    reasons += [f"{n:,} passages: {why}" for why, n in found.faults.most_common()]
    said = "; ".join(reasons) or "there are no questions"
    raise UsageError.saying(
        "there are no groups to build: {}. Passages that a model wrote are marked with"
        ' "provenance": "generated"; `make_noise()` writes them.',
        said,
    )


def write_groups(found: GroupBuild, out: Path) -> None:
    """Write groups as JSON lines, whole or not at all; there must be some."""
    from novarag.datasets.groups import group_lines

    check_built(found)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, group_lines(found.groups))


def audited(found: GroupBuild, margin: float) -> GroupBuild:
    """Audit groups, where there are enough to judge."""
    from novarag.noise.audit import audit

    try:
        return replace(found, audit=audit(found.groups, margin=margin))
    except UsageError as error:
        return replace(found, unaudited=str(error))


def _pools(pool: GroupsInput) -> Iterator[PassageGroup]:
    from novarag.answers.opening.answers import run_at

    run = run_at(pool)
    if run is None:
        return iter_given(pool)
    from novarag.flows.drafts import iter_pools

    return iter_pools(run)
