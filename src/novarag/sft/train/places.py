"""Which tokens of a sample hold the number of its confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.sft.stated_confidence import number_span

if TYPE_CHECKING:
    from novarag.sft.examples import TrainingExample
    from novarag.sft.lengths import TokenRuler

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
