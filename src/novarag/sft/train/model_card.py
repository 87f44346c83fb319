"""The model card: what was trained on what, how it went, and what nobody should expect of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novarag.atomic import write_whole
from novarag.sft.card import TrustedMarkdown, funnel_text, table
from novarag.sft.train.settings import LINEAR, shown
from novarag.texts import escape_markdown as md

if TYPE_CHECKING:
    from pathlib import Path

README = "README.md"
TAUGHT = {
    "nova": "to judge each passage and the passages together, to apply the rules of NOVA, and to"
    " state the confidence that its own sampled replies earned",
    "soft": "to judge each passage and the passages together, to apply the rules of NOVA, and to"
    " state as confidence the share of its own sampled replies that were right",
    "share": "to judge each passage and the passages together, to apply the rules of NOVA, and to"
    " state as confidence, in levels, the share of its own sampled replies that were right",
    "teacher": "to judge each passage and the passages together, to apply the rules of NOVA, and to"
    " state as confidence, in levels, what a calibration fitted on other questions gives its reply",
    "unjudged": "on replies of its own that were held to no judgment; their data card names the"
    " alignment",
    "own-replies": "on replies of its own, right and wrong, of which none was filtered out",
    "label-only": "to state an answer and a confidence, without steps or judgments",
    "other": "what its rows say: the folder had no data card",
}
LIMITS = (
    "Confidence was fitted on the samples counted above. On other questions, passages, languages or"
    " prompts it must be measured anew: `novarag ask`, then `novarag measure`.",
    "A low confidence under conflict or without evidence is a habit of this training, not"
    " knowledge that the answer is wrong.",
    "The adapter belongs to its base model, tokenizer and chat template;"
    " `novarag train serve` refuses others.",
    "The losses above say how well the rows were learnt, nothing about calibration.",
)


def write_card(facts: dict[str, Any], out: Path) -> None:
    """Write the model card beside the weights."""
    write_whole(out / README, card_text(facts).encode("utf-8"))


def card_text(facts: dict[str, Any]) -> str:
    """Write the facts of a training for people; no foreign text can change the page."""
    parts = [
        _front(),
        f"# {md(facts['base']['name'])}, taught {_variant(facts)}",
        f"A LoRA adapter (`adapter/`), made by `novarag train fit` {facts['version']}. The model"
        f" was taught {TAUGHT[facts['variant']]}.",
        "## Data",
        table(
            ("split", "kind of group", "examples", "questions"),
            [
                (r["split"], _kind(r), r["examples"], r["questions"]) for r in facts["examples"]
            ],
        ),
        table(
            ("file", "SHA-256"), [(f["name"], f["sha256"]) for f in facts["data"]["files"]]
        ),
        _left_out(facts),
        "### The funnel before",
        _funnel(facts["data"]["card"]),
        "## Settings",
        "Marked `paper` where the NOVA paper states it, `assumed` where it does not, `set` where"
        " this training chose otherwise. No parity with the paper is claimed.",
        table(
            ("setting", "value", "from"),
            [
                (TrustedMarkdown(f"`{one['name']}`"), _value(one), TrustedMarkdown(one["said"]))
                for one in facts["settings"]
            ],
        ),
        "## How it went",
        _went(facts),
        "## Limits",
        "\n".join(f"- {line}" for line in LIMITS),
        "## Licence",
        "To be filled in by whoever shares this: the base model's licence, and that of the data.",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _front() -> str:
    """Lead with what hubs look for; the base is left out, as its place is this machine's."""
    return "---\nlibrary_name: peft\npipeline_tag: text-generation\ntags:\n- lora\n- novarag\n---"


def _variant(facts: dict[str, Any]) -> str:
    return "by rows of one's own" if facts["variant"] == "other" else str(facts["variant"])


def _kind(row: dict[str, Any]) -> str:
    return "all" if row["all"] else row["kind"] or "not known"


def _value(setting: dict[str, Any]) -> str:
    """Show a value as it is, but for layers that somebody else named."""
    value, said = setting["value"], shown(setting["value"])
    return said if isinstance(value, list) and set(value) - set(LINEAR) else TrustedMarkdown(said)


def _left_out(facts: dict[str, Any]) -> str:
    rows = [
        (row["split"], TrustedMarkdown(row["reason"]), row["count"]) for row in facts["left_out"]
    ]
    return table(("split", "left out because", "samples"), rows)


def _funnel(card: dict[str, Any] | None) -> str:
    if card is None:
        return "Not known: the folder had no data card."
    return funnel_text(card["funnel"])


def _went(facts: dict[str, Any]) -> str:
    losses, dev = facts["losses"], facts["dev_losses"]
    few = max(1, len(losses) // 10)
    first, last = (
        sum(row["loss"] for row in part) / len(part) for part in (losses[:few], losses[-few:])
    )
    said = (
        f"{len(losses):,} steps in {facts['precision']}: mean loss {first:.3f} over the first"
        f" {few:,}, {last:.3f} over the last {few:,}."
    )
    held = ", ".join(f"{row['loss']:.3f} after step {row['step']:,}" for row in dev)
    more = f" Loss on the dev split: {held}." if held else " There was no dev split."
    packages = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return f"{said}{more} The curve is in `report.html`.\n\nPackages: {packages}."
