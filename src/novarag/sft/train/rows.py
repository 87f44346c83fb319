"""What a model is trained on: the canonical rows of an export, checked one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from novarag.checksums import digest
from novarag.errors import DataError, UsageError
from novarag.filters.options import WRITTEN
from novarag.prose import say
from novarag.sft.examples import TrainingExample
from novarag.sft.export_folder import CARD, MADE_BY, card_is_whole
from novarag.sft.levels import NO_NUMBER
from novarag.sft.train.scored import number_place
from novarag.texts import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from novarag.sft.lengths import TokenRuler

SPLITS = ("train", "dev")
OTHERWISE = "the chat template begins an answer otherwise than it asks for one"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDataset:
    """The samples of an export by split, with the hashes of its files and its data card."""

    splits: dict[str, tuple[TrainingExample, ...]]
    files: tuple[dict[str, str], ...]
    card: dict[str, Any] | None

    @property
    def variant(self) -> str:
        """Name what is taught: `nova`, `soft`, `label-only`, … or `other` rows without a card."""
        if self.card is None:
            return "other"
        if self.card.get("label_only"):
            return "label-only"
        settings = self.card["funnel"].get("settings", {})
        if settings.get("unfiltered"):
            return "own-replies"
        if settings.get("unjudged"):
            return "unjudged"
        alignment = settings.get("alignment")
        return str(alignment) if alignment in {"soft", *WRITTEN} else "nova"

    @property
    def is_filtered(self) -> bool:
        """Say whether a card tells that replies were dropped for what they say."""
        if self.card is None:
            return False
        return not self.card["funnel"].get("settings", {}).get("unfiltered", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundSamples:
    """The samples of a split that can be trained on, and how many were left out for a reason."""

    examples: tuple[TrainingExample, ...]
    left_out: dict[str, int]

    def where(self, fit: Callable[[TrainingExample], bool], *, otherwise: str) -> SoundSamples:
        """Leave out, for one reason, what does not fit."""
        kept = tuple(example for example in self.examples if fit(example))
        gone = len(self.examples) - len(kept)
        return SoundSamples(
            examples=kept, left_out=self.left_out | ({otherwise: gone} if gone else {})
        )


def read_dataset(folder: Path) -> ExportedDataset:
    """Read the canonical files of an export; a folder with `train.jsonl` alone will do."""
    if not (folder / "train.jsonl").is_file():
        raise UsageError.saying(
            "{} holds no train.jsonl; name a folder that"
            " `export_training_set(formats='canonical')` wrote",
            folder,
        )
    paths = {name: folder / f"{name}.jsonl" for name in SPLITS}
    there = {name: path for name, path in paths.items() if path.is_file()}
    raw = {name: path.read_bytes() for name, path in there.items()}
    hashes = {f"{name}.jsonl": digest(content) for name, content in raw.items()}
    card = _card(folder / CARD)
    if card is not None:
        _check_files(card, hashes)
    return ExportedDataset(
        splits={name: tuple(_examples(content, f"{name}.jsonl")) for name, content in raw.items()},
        files=tuple({"name": name, "sha256": known} for name, known in hashes.items()),
        card=card,
    )


def _card(path: Path) -> dict[str, Any] | None:
    """Return the data card of an export as it was written, or None if there is none of ours."""
    if not path.is_file():
        return None
    try:
        stored: Any = parse_json(path.read_bytes())
    except ValueError as error:
        raise _altered(CARD) from error
    if not isinstance(stored, dict) or (stored.get("made_by") != MADE_BY and "seal" not in stored):
        return None
    if not card_is_whole(stored):
        raise _altered(CARD)
    return {name: fact for name, fact in stored.items() if name != "seal"}


def _check_files(card: dict[str, Any], hashes: dict[str, str]) -> None:
    """Raise `DataError` where rows are not those that the data card tells of."""
    known = {file["name"]: file["sha256"] for file in card["files"]}
    for name in (f"{split}.jsonl" for split in SPLITS):
        if known.get(name) != hashes.get(name):
            raise _altered(name)


def _altered(source: str) -> DataError:
    return DataError(
        say("the file is damaged: it is not what `export_training_set(...)` wrote."),
        hint=say(
            "run the same `export_training_set(...)` again; or, to train on the rows as they"
            " are, take {} away.",
            CARD,
        ),
        source=source,
    )


def _examples(content: bytes, source: str) -> Iterable[TrainingExample]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield _example(line, source, number)


def _example(line: bytes, source: str, number: int) -> TrainingExample:
    try:
        row = orjson.loads(line)
        return TrainingExample(
            prompt=_said(row["prompt"], "user"),
            completion=_said(row["completion"], "assistant"),
            question=str(row.get("question", "")),
            group=str(row.get("group", "")),
            kind=row.get("kind"),
            answer="",
            confidence=float(row.get("confidence") or 0),
            correct=row.get("correct"),
            target=None if row.get("target") is None else float(row["target"]),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            "is not a prompt of a user and a completion of an assistant.",
            hint=say("export again with `export_training_set(formats='canonical')`."),
            source=source,
            row=number,
        ) from error


def _said(messages: Sequence[dict[str, str]], role: str) -> str:
    """Return the one message of that role."""
    (message,) = messages
    if message["role"] != role or not isinstance(message["content"], str):
        raise ValueError(role)
    return message["content"]


def sound(
    examples: Iterable[TrainingExample], ruler: TokenRuler, *, numbered: bool = False
) -> SoundSamples:
    """Leave out, and count, what the model's own tokenizer says cannot be learnt as it is.

    With `numbered`, what states no plain number as its confidence is left out, too.
    """
    fit, reasons = [], Counter[str]()
    for example in examples:
        reason = example.fault or ruler.measure(example)[1]
        if reason is None and not ruler.begins_as_asked(example):
            reason = OTHERWISE
        if reason is None and numbered and number_place(ruler, example) is None:
            reason = NO_NUMBER
        if reason is None:
            fit.append(example)
        else:
            reasons[reason] += 1
    return SoundSamples(examples=tuple(fit), left_out=dict(reasons.most_common()))
