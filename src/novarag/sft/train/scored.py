"""Samples whose confidence is scored: each with its target, and the tokens that decide its level.

A loss of this kind looks at one place: the token that says which level of confidence is stated, and
the tokens that end its number and, where that is near, the reply. The level that stands in a
sample is only what those last tokens follow; samples take turns through all levels, so that each is
learnt to be ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.prose import say
from novarag.sft.levels import COUNTS, NO_NUMBER, number_span, write_level
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from novarag.sft.examples import TrainingExample
    from novarag.sft.lengths import TokenRuler
    from novarag.sft.levels import ConfidenceLevels

NOT_GRADED = "it has neither a target nor a grade"
NO_LEVEL = "its level is not the one token that it is elsewhere"


def target_of(example: TrainingExample) -> float | None:
    """Return what the confidence should be: the row's target, or whether its answer is right.

    None where neither is known.
    """
    if example.target is not None:
        return example.target
    return None if example.correct is None else float(example.correct)


def take_turns(
    examples: Iterable[TrainingExample], levels: ConfidenceLevels
) -> Iterator[TrainingExample]:
    """Write the levels in turn into the completions; `fault` says where one cannot be scored."""
    for number, example in enumerate(examples):
        target = target_of(example)
        made = write_level(example.completion, levels, number % levels.count)
        if target is None or not 0 <= target <= 1:
            yield replace(example, fault=NOT_GRADED)
        elif made is None:
            yield replace(example, fault=NO_NUMBER)
        else:
            yield replace(example, completion=made)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelTokens:
    """The token of each level, and the tokens that end number and reply after it."""

    tokens: tuple[int, ...]
    rest: tuple[int, ...]

    def fit(self, example: TrainingExample, ruler: TokenRuler) -> bool:
        """Say whether the number of a sample is a level's token and the same end."""
        found = number_place(ruler, example)
        said = () if found is None else found.ended
        return said[:1] != () and said[0] in self.tokens and said[1:] == self.rest


def level_tokens(
    example: TrainingExample, ruler: TokenRuler, levels: ConfidenceLevels
) -> LevelTokens:
    """Find the token of each level; raise `UsageError` unless one token says which it is."""
    found = []
    for level in range(levels.count):
        made = write_level(example.completion, levels, level)
        place = number_place(ruler, replace(example, completion=made or ""))
        if place is None:
            raise UsageError(f"{NO_NUMBER}: {plain_text(example.completion, longest=80)!r}")
        found.append(place)
    numbers = [place.ended for place in found]
    for one, other in pairwise(sorted(range(levels.count), key=lambda i: numbers[i])):
        if numbers[one][0] == numbers[other][0] or numbers[one][1:] != numbers[other][1:]:
            shown = (
                f"{levels.digits[i]} is {_pieces(ruler, found[i].number)}"
                for i in sorted((one, other))
            )
            fewer = levels.count == COUNTS[0]
            raise UsageError.saying(
                "the tokenizer {!r} does not say each of {} levels by one token of its own ({});"
                " {}",
                ruler.name,
                levels.count,
                ", ".join(shown),
                say("train with `loss='text'`") if fewer else say("give `levels=10`"),
            )
    return LevelTokens(tokens=tuple(number[0] for number in numbers), rest=numbers[0][1:])


def _pieces(ruler: TokenRuler, tokens: Sequence[int]) -> str:
    return "|".join(plain_text(str(ruler.tokenizer.decode([token])).strip()) for token in tokens)


_NEAR = 4  # tokens: a percent sign, the end of a turn, a line break


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPlace:
    """A sample's tokens in the chat template; `first` to `last` (left out) hold its number."""

    tokens: tuple[int, ...]
    first: int
    last: int

    @property
    def end(self) -> int:
        """Return where the sample ends, if that is near; else the place after the next token.

        A model that learns numbers and not what follows them writes digits without end.
        """
        near = len(self.tokens) - self.last <= _NEAR
        return len(self.tokens) if near else self.last + 1

    @property
    def number(self) -> tuple[int, ...]:
        """Return the tokens of the number alone."""
        return self.tokens[self.first : self.last]

    @property
    def ended(self) -> tuple[int, ...]:
        """Return the tokens of the number and those that end it."""
        return self.tokens[self.first : self.end]


def number_place(ruler: TokenRuler, example: TrainingExample) -> NumberPlace | None:
    """Find the tokens of the number; None where the completion states no plain number.

    A token that holds a part of the number and something else, such as the space before it, counts.
    """
    span = number_span(example.completion)
    if span is None:
        return None
    text = ruler.templated(example)
    if not getattr(ruler.tokenizer, "is_fast", False):
        raise UsageError(
            f"the tokenizer {ruler.name!r} cannot say where its tokens stand in a text, so the"
            " confidence cannot be found among them; take a model with a fast tokenizer"
        )
    shift = _shift(text, example.completion)
    if shift is None:
        return None
    begin, end = (shift + place for place in span)
    found = ruler.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    held = [i for i, (a, b) in enumerate(found["offset_mapping"]) if a < end and b > begin]
    return NumberPlace(tokens=tuple(found["input_ids"]), first=held[0], last=held[-1] + 1)


def _shift(text: str, completion: str) -> int | None:
    """Return where a completion begins in its sample; templates may trim it at either end."""
    bare = completion.strip()
    at = text.rfind(bare)
    return None if at < 0 else at - completion.index(bare)
