"""An export from beginning to end: examples, checks, splits, files, card."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from novarag.atomic import whole_folder
from novarag.defaults import EXPORT
from novarag.errors import UnknownNameError, UsageError
from novarag.sft import card
from novarag.sft.examples import make_examples
from novarag.sft.export_folder import CARD, MADE_BY, README, check_free, seal_card, write_file
from novarag.sft.export_split import sift, split
from novarag.sft.formats import FORMATS, ExportBundle, lines, rejected_row
from novarag.sft.lengths import MAX_LENGTH
from novarag.sft.levels import ConfidenceLevels
from novarag.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from novarag.sft.examples import TrainingExample
    from novarag.sft.export_split import ExportSplit
    from novarag.sft.filtered_trials import FilteredTrials
    from novarag.sft.lengths import TokenRuler
    from novarag.strategies import Strategy

REJECTED = "rejected.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What an export is to hold; `ruler` is the tokenizer, and without one no length is checked."""

    formats: Sequence[str] = tuple(FORMATS)
    label_only: bool = False
    ruler: TokenRuler | None = None
    dev: float = EXPORT.dev
    seed: int = 0
    base: str | None = None
    levels: int = EXPORT.levels

    def __post_init__(self) -> None:
        if unknown := [name for name in self.formats if name not in FORMATS]:
            raise UnknownNameError(unknown[0], FORMATS)
        ConfidenceLevels(self.levels)


def export(
    filtered: FilteredTrials,
    out: Path,
    options: ExportOptions,
    *,
    strategies: Mapping[str, Strategy] = STRATEGIES,
) -> dict[str, Any]:
    """Write the kept trials of one model as a folder to train on, and return its data card."""
    check_free(out)
    examples = make_examples(
        filtered.kept, filtered.groups, strategies=strategies, label_only=options.label_only,
        levels=ConfidenceLevels(options.levels) if filtered.is_written else None,
    )  # fmt: skip
    sifted = sift(examples, label_only=options.label_only, ruler=options.ruler)
    _not_empty(sifted)
    splits = split(sifted.fit, dev=options.dev, seed=options.seed)
    facts = _facts(filtered, options, sifted, splits)
    longest = options.ruler.longest if options.ruler else MAX_LENGTH
    bundle = ExportBundle(splits=splits, base=options.base, longest=longest)
    files = [file for name in dict.fromkeys(options.formats) for file in FORMATS[name](bundle)]
    files.append((REJECTED, lines(map(rejected_row, sifted.rejected))))
    with whole_folder(out, check_free) as draft:
        written = sorted((write_file(draft, *file) for file in files), key=lambda f: f.name)
        facts["files"] = card.file_facts(written)
        facts["files"] += card.file_facts([write_file(draft, README, [card.card_markdown(facts)])])
        facts = seal_card(facts)
        write_file(draft, CARD, [card.card_json(facts)])
    return facts


def _not_empty(sifted: ExportSplit) -> None:
    if not sifted.fit:
        said = "; ".join(
            f"{r['count']:,}: {r['reason']}" for r in card.count_reasons(sifted.rejected)
        )
        raise UsageError(f"every example was rejected, so there is nothing to export ({said})")


def _facts(
    filtered: FilteredTrials,
    options: ExportOptions,
    sifted: ExportSplit,
    splits: Mapping[str, Sequence[TrainingExample]],
) -> dict[str, Any]:
    return {
        "made_by": MADE_BY,
        "version": version("novarag"),
        "model": filtered.model,
        "strategies": sorted({trial.strategy for trial in filtered.kept}),
        "formats": list(dict.fromkeys(options.formats)),
        "label_only": options.label_only,
        "dev_share": options.dev,
        "seed": options.seed,
        **({"levels": options.levels} if filtered.is_written else {}),
        "examples": card.count_examples(splits),
        "rejected": card.count_reasons(sifted.rejected),
        "lengths": card.describe_lengths(sifted.fit, options.ruler),
        "funnel": card.funnel_of(filtered.tally, filtered.model),
        "licence": "to be filled in",
    }
