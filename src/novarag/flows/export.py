"""Writing what a filter kept as a training set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novarag.calls import simulated_note
from novarag.defaults import EXPORT
from novarag.errors import UsageError
from novarag.flows.events import FileWritten, silent
from novarag.prose import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from novarag.flows.events import EventListener
    from novarag.sft.exporting import ExportOptions
    from novarag.strategies import Strategy

_FEW = 50  # examples; below, nobody should expect anything


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """How many examples of one kind of group there are, and of how many questions."""

    kind: str | None  # None where nobody knows
    examples: int
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCount:
    """How many examples a split holds, of how many questions, and how many of each kind."""

    name: str
    examples: int
    questions: int
    kinds: tuple[KindCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Export:
    """A training set as it was written.

    `rejected` counts the examples that were left out, by reason. `warnings` say what a model cannot
    learn from this set. `card` is what card.json holds.
    """

    place: Path
    model: str
    formats: tuple[str, ...]
    splits: tuple[SplitCount, ...]
    rejected: Mapping[str, int]
    warnings: tuple[str, ...]
    card: Mapping[str, Any]

    def __repr__(self) -> str:
        lines = [f"Export of replies of {self.model!r} at {str(self.place)!r}"]
        lines += [
            f"{split.name}: {split.examples:,} examples of {split.questions:,} questions"
            for split in self.splits
        ]
        lines += [f"rejected {count:,}: {reason}" for reason, count in self.rejected.items()]
        return "\n  ".join([*lines, f"formats: {', '.join(self.formats)}", *self.warnings])


def export_training_set(
    filtered: str | Path,
    out: str | Path,
    *,
    formats: str | Sequence[str] | None = None,
    label_only: bool = False,
    tokenizer: str | Path | None = None,
    max_length: int | None = None,
    dev: float = EXPORT.dev,
    seed: int = EXPORT.seed,
    source: str | None = None,
    base: str | None = None,
    levels: int = EXPORT.levels,
    strategies: str | Strategy | Sequence[str | Strategy] = (),
    on_event: EventListener = silent,
) -> Export:
    """Write what a filter kept as a training set, with a data card.

    `filtered` is the folder that `filter_trials` wrote. `out` is a folder that is new, empty, or an
    earlier export, which is replaced.

    Args:
        filtered: The folder with the kept trials.
        out: The folder to write.
        formats: canonical, llama-factory or openai, or several of them; all by default.
        label_only: Teach answer and confidence alone, without the steps.
        tokenizer: Folder or name of the model's tokenizer, to reject what is too long.
        max_length: Longest sample in tokens, 2048 by default; needs a tokenizer.
        dev: Share of questions to set aside in a dev split; 0 for none.
        seed: Seed of the dev split.
        source: Name of the model whose replies to export, if there are several.
        base: The model that is trained, for the LLaMA-Factory files: a folder, or a name on the
            hub.
        levels: Levels of confidence, 10 or 101, that targets of the alignments `share` and
            `teacher` are written in.
        strategies: Strategies of your own that were asked with: objects, or
            "package.module:OBJECT".
        on_event: Hears what was written.
    """
    from novarag.sft.exporting import ExportOptions
    from novarag.sft.formats import FORMATS
    from novarag.sft.lengths import MAX_LENGTH, load_ruler

    if max_length is not None and tokenizer is None:
        raise UsageError.saying("`max_length` counts tokens, so it needs `tokenizer`")
    longest = max_length or MAX_LENGTH
    options = ExportOptions(
        formats=(formats,) if isinstance(formats, str) else tuple(formats or FORMATS),
        label_only=label_only,
        ruler=None if tokenizer is None else load_ruler(str(tokenizer), longest=longest),
        dev=dev,
        seed=seed,
        base=base,
        levels=levels,
    )
    return write_export(
        filtered, out, options, model=source, strategies=strategies, on_event=on_event
    )


def write_export(
    filtered: str | Path,
    out: str | Path,
    options: ExportOptions,
    *,
    model: str | None = None,
    strategies: str | Strategy | Sequence[str | Strategy] = (),
    on_event: EventListener = silent,
) -> Export:
    """Write a training set whose options were checked before, as a pipeline does."""
    from novarag.runs import read_groups
    from novarag.sft.exporting import export
    from novarag.sft.filtered_trials import read_filtered

    place = _folder(out, "out")
    source = read_filtered(_folder(filtered, "filtered"), model=model, read_groups=read_groups)
    facts = export(source, place, options, strategies=_known(strategies))
    on_event(FileWritten(place))
    return Export(
        place=place,
        model=source.model,
        formats=tuple(facts["formats"]),
        splits=tuple(_splits(facts["examples"])),
        rejected={row["reason"]: row["count"] for row in facts["rejected"]},
        warnings=tuple(_warnings(facts)),
        card=facts,
    )


def _folder(given: object, name: str) -> Path:
    if not isinstance(given, (str, Path)):
        raise TypeError(f"{name} must be the path of a folder, not {type(given).__name__}")
    return Path(given)


def _splits(rows: Iterable[Mapping[str, Any]]) -> Iterator[SplitCount]:
    """Gather the counts of the card: of each split in all, then by kind."""
    rows = list(rows)
    for whole in (row for row in rows if row["all"]):
        kinds = (row for row in rows if not row["all"] and row["split"] == whole["split"])
        yield SplitCount(
            name=whole["split"],
            examples=whole["examples"],
            questions=whole["questions"],
            kinds=tuple(
                KindCount(kind=r["kind"], examples=r["examples"], questions=r["questions"])
                for r in kinds
            ),
        )


def _warnings(facts: Mapping[str, Any]) -> Iterator[str]:
    """Say what a model cannot learn from this set."""
    from novarag.taxonomy import GroupKind

    yield from simulated_note(facts["model"])
    there = {row["kind"] for row in facts["examples"]}
    for kind in [str(kind) for kind in GroupKind if str(kind) not in there]:
        yield f"no example of the kind {kind}: it cannot be learnt"
    total = sum(row["examples"] for row in facts["examples"] if row["all"])
    if total < _FEW:
        yield f"{total:,} examples are too few to train on"
    if facts["dev_share"] and "dev" not in {row["split"] for row in facts["examples"]}:
        yield say("no question fell to the dev split; give a larger `dev`")
    if facts["lengths"] is None:
        yield (
            "lengths were not checked, and a trainer may cut the confidence off a long sample; give"
            " the tokenizer to reject those"
        )


def _known(own: str | Strategy | Sequence[str | Strategy]) -> dict[str, Strategy]:
    """List the strategies by name, with the caller's own among them."""
    from novarag.strategies import STRATEGIES, Strategy, find_strategy

    several = [own] if isinstance(own, (str, Strategy)) else list(own)
    for one in several:
        if not isinstance(one, (str, Strategy)):
            raise TypeError(
                "strategies must be Strategy objects or 'package.module:OBJECT', not"
                f" {type(one).__name__}"
            )
    return STRATEGIES | {found.name: found for found in map(find_strategy, several)}
