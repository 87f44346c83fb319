"""Write down what came of a funnel: one page for people, Markdown for reviews, and its picture."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from novarag.calls import simulated_note
from novarag.filters import FilterTally
from novarag.formatting import fixed_percent, span
from novarag.presets import paper_figures
from novarag.report.forest import standalone
from novarag.report.sankey import draw_funnel
from novarag.report.templating import open_template, render_page, write_texts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_WORDS = {
    "rules": {
        "stated": "the evidence state follows from the classes, and a step applies the rules",
        "keyword": 'the reply mentions "rules" and the step after the passages (the paper)',
    },
    "alignment": {
        "brier": "the least Brier score of each group asked; ties by seeded luck",
        "soft": "nearest to the share of the group's samples that are right; ties by seeded luck",
        "share": "drawn by seeded luck; the share of the group's samples that are right is to be"
        " written into the reply",
        "teacher": "drawn by seeded luck; the probability of a calibration, fitted on other"
        " questions, is to be written into the reply",
    },
    "balance": {
        "uniform": "as many groups of each kind as of the rarest that is left",
        "downsample-consistent": "consistent groups cut to as many as irrelevant ones (the paper)",
        "none": "left as it is",
    },
}


def stage_rows(facts: Mapping[str, Any], model: str) -> list[dict[str, Any]]:
    """List, for each stage, what is left of a model's trials, and the span of the paper's shares.

    The paper's stages are ours, so their shares stand side by side.
    """
    tally = FilterTally.of(facts)
    rows: list[dict[str, Any]] = []
    for i, stage in enumerate(("total", *tally.stages)):
        kept = tally.kept(stage, model=model)
        before = rows[-1]["kept"] if rows else kept
        shares = paper_shares(i)
        low, high = min(shares), max(shares)
        rows.append(
            {
                "stage": stage,
                "kept": kept,
                "share": fixed_percent(kept / max(tally.kept("total", model=model), 1)),
                "step": fixed_percent(kept / before) if before and rows else "",
                "kinds": [tally.kept(stage, model=model, kind=kind) for kind in tally.kinds],
                "paper": fixed_percent(low) if low == high else span(low, high),
                "skipped": _is_skipped(stage, facts["settings"]),
            }
        )
    return rows


def _is_skipped(stage: str, settings: Mapping[str, Any]) -> bool:
    if stage in {"judgment", "rules"}:
        return bool(settings.get("unfiltered") or settings.get("unjudged"))
    alone = stage == "common" and settings["common"] <= 1
    return alone or (stage == "balance" and settings["balance"] == "none")


def funnel_finding(tally: FilterTally, model: str) -> str:
    """Say which stage dropped the most of a model's trials."""
    stages = ("total", *tally.stages)
    kept = [tally.kept(stage, model=model) for stage in stages]
    lost = [before - after for before, after in pairwise(kept)]
    if not lost or not kept[0] or max(lost) == 0:
        return f"{kept[-1]:,} of {kept[0]:,} trials are kept"
    worst = lost.index(max(lost))
    return (
        f"{kept[-1]:,} of {kept[0]:,} trials are kept; the most, {lost[worst]:,}, fell at the stage"
        f" {stages[worst + 1]!r}"
    )


def funnel_notes(facts: Mapping[str, Any]) -> list[str]:
    """Say in plain sentences what was kept, and what one should know before using it."""
    tally = FilterTally.of(facts)
    lines = []
    for run in facts["runs"]:
        model, name, last = run["model"], run["name"], tally.stages[-1]
        kept, total = tally.kept(last, model=model), tally.kept("total", model=model)
        lines.append(
            f"{model}: {kept:,} of {total:,} trials are kept"
            f" ({fixed_percent(kept / max(total, 1))})."
        )
        gone = [k for k in tally.kinds if not tally.kept("common", model=model, kind=k)]
        if gone and kept and facts["settings"]["balance"] != "none":
            lines.append(f"{model}: of the kind {' and '.join(gone)} nothing is left to balance.")
        if run["structured"]:
            lines.append(
                f"{name}: all {total:,} replies were held to a format by structured output."
            )
        if run["missing_shards"]:
            lines.append(
                f"{name}: {run['missing_shards']:,} shards are not finished and not counted."
            )
        if run["dead_requests"]:
            lines.append(f"{name}: {run['dead_requests']:,} requests failed and brought no trial.")
    models = dict.fromkeys(run["model"] for run in facts["runs"])
    lines += [note for model in models for note in simulated_note(model)]
    lines += _alignment_notes(facts)
    if not any(run["structured"] for run in facts["runs"]):
        lines.append("No reply was held to the format by structured output.")
    return lines


def _alignment_notes(facts: Mapping[str, Any]) -> list[str]:
    """Say what a teacher's targets are worth, and that nothing was filtered where that is so."""
    lines = [
        f"{taught['model']}: the teacher's targets, fitted on other questions for each of"
        f" {taught['questions']:,} (from {', '.join(taught['signals'])}), have a Brier score of"
        f" {taught['brier']:.3f} on {taught['replies']:,} replies."
        for taught in facts.get("teachers", [])
    ]
    if facts["settings"].get("unfiltered"):
        lines.append("Unfiltered: every reply that was read and graded stays, right and wrong.")
    if facts["settings"].get("unjudged"):
        lines.append("Unjudged: replies were held to no judgment of passages and to no rule.")
    return lines


def _reason_rows(tally: FilterTally, model: str) -> list[dict[str, Any]]:
    return [
        {
            "stage": stage,
            "reason": reason,
            "count": count,
            "kinds": [
                dict(tally.reasons(stage, model=model, kind=kind)).get(reason, 0)
                for kind in tally.kinds
            ],
        }
        for stage in tally.stages
        for reason, count in tally.reasons(stage, model=model)
    ]


def _settings(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    chosen = facts["settings"]
    lines = [
        (name.capitalize(), f"{chosen[name]}: {words[chosen[name]]}")
        for name, words in _WORDS.items()
    ]
    common = (
        f"groups kept for all {chosen['common']} models"
        if chosen["common"] > 1
        else "not asked for"
    )
    return [*lines, ("Common", common), ("Seed", str(chosen["seed"]))]


def write_funnel_report(facts: Mapping[str, Any], folder: Path, *, version: str) -> list[Path]:
    """Write report.html, report.md and a picture for each model; `told` is the tally as written."""
    tally = FilterTally.of(facts)
    pictures = {model: f"funnel-{i}.svg" for i, model in enumerate(tally.models, start=1)}
    parts: dict[str, Any] = {
        "facts": facts, "tally": tally, "version": version, "summary": funnel_notes(facts),
        "rows": lambda model: stage_rows(facts, model),
        "reasons": lambda model: _reason_rows(tally, model),
        "draw_funnel": draw_funnel, "finding": lambda model: funnel_finding(tally, model),
        "pictures": pictures, "percent": fixed_percent,
        "retention": retention(), "cites": CITES, "settings": _settings(facts),
    }  # fmt: skip
    texts = {
        "report.html": render_page("funnel.html.j2", **parts),
        "report.md": open_template("funnel.md.j2", escape=False).render(parts),
        **{name: standalone(draw_funnel(tally, model)) for model, name in pictures.items()},
    }
    for old in folder.glob("funnel-*.svg"):
        old.unlink()
    return write_texts(folder, texts)


CITES = "NOVA: Noise-aware Verbal Confidence Calibration, table 'Training data statistics'"
_SHORT = {
    "DeepSeek-R1-Distill-Llama-8B": "DS-R1-Llama",
    "DeepSeek-R1-Distill-Qwen-7B": "DS-R1-Qwen",
    "Llama-3.1-8B-Instruct": "Llama-3.1",
    "Qwen2.5-7B-Instruct": "Qwen-2.5",
}
"""What that table calls the paper's models."""


@lru_cache(maxsize=1)
def retention() -> Mapping[str, tuple[int, ...]]:
    """Return the counts of each of the paper's models: in total, then kept after each stage."""
    kept = paper_figures("train-statistics")
    lines = kept.group_by("model", maintain_order=True).agg("value").iter_rows()
    return MappingProxyType({_SHORT[model]: tuple(map(int, counts)) for model, counts in lines})


def paper_shares(stage: int) -> list[float]:
    """Return the share each of the paper's models kept after a stage; 0 is the total."""
    return [counts[stage] / counts[0] for counts in retention().values()]
