"""One prompt, token by token: what training saw beside what a tokenizer or a server makes of it.

A model that is asked in another template, or in other tokens, than it was trained with still
answers; it only answers worse, and nobody is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

from novarag.errors import UsageError
from novarag.sft.lengths import DATE
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.serving.models import RenderedSample
    from novarag.sft.lengths import TokenRuler

Spell = Callable[[int], str]
"""Spells a token, given its number."""

PINNED = {"date_string": DATE}
"""What a template is told that writes the date, so that it writes the same one every day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateDifference:
    """The first place where two lists of tokens part; `None` stands for an end."""

    place: int
    trained: int | None
    found: int | None

    def said(self, whose: str, *, trained: Spell | None, found: Spell | None) -> str:
        """Say where the two part, and what each has there, as the tokenizer of each spells it."""
        return (
            f"token {self.place} is {_shown(self.trained, trained)} in training and"
            f" {_shown(self.found, found)} {whose}"
        )


def first_difference(trained: Sequence[int], found: Sequence[int]) -> TemplateDifference | None:
    """Find where two lists of tokens part, counted from 0.

    >>> first_difference([5, 6, 7], [5, 8])
    TemplateDifference(place=1, trained=6, found=8)
    """
    for place, (a, b) in enumerate(zip_longest(trained, found)):
        if a != b:
            return TemplateDifference(place=place, trained=a, found=b)
    return None


def _shown(token: int | None, spell: Spell | None) -> str:
    if token is None:
        return "missing"
    return f"{token}" if spell is None else f"{spell(token)!r} ({token})"


def speller(ruler: TokenRuler) -> Spell:
    """Return what spells a token of this tokenizer."""

    def spell(token: int) -> str:
        try:
            found = ruler.tokenizer.convert_ids_to_tokens(token)
        except (IndexError, OverflowError):  # a server may name any number
            found = None
        return "?" if found is None else plain_text(str(found), longest=40)

    return spell


def check_rendering(
    ruler: TokenRuler,
    sample: RenderedSample,
    *,
    whose: str,
    hint: str,
    trained: TokenRuler | None = None,
) -> bool:
    """Refuse a tokenizer that renders the sample otherwise than training did.

    `trained` is a tokenizer that is known to do as training did, to spell training's tokens with.
    Return whether the template writes the date, and must be told which.
    """
    if _render(ruler, sample, {}) == (sample.text, sample.tokens):
        return False
    text, tokens = _render(ruler, sample, PINNED)
    if (text, tokens) == (sample.text, sample.tokens):
        return True
    found = first_difference(sample.tokens, tokens)
    if found is not None:
        known = None if trained is None else speller(trained)
        said = found.said(f"by {whose}", trained=known, found=speller(ruler))
    else:
        place = _parting(sample.text, text)
        said = f"the texts part at character {place}, though not the tokens"
    raise UsageError.saying(
        "{} does not render the training's sample prompt as training did: {}; {}", whose, said, hint
    )


def _render(
    ruler: TokenRuler, sample: RenderedSample, settings: dict[str, Any]
) -> tuple[str, tuple[int, ...]]:
    messages = [{"role": "user", "content": sample.prompt}]
    try:
        text = ruler.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **settings
        )
    except TemplateError as error:
        raise UsageError(
            f"the chat template of {ruler.name!r} refuses a question: {plain_text(str(error))}"
        ) from error
    tokens = ruler.tokenizer(text, add_special_tokens=False)["input_ids"]
    return str(text), tuple(int(token) for token in tokens)


def _parting(one: str, other: str) -> int:
    pairs = enumerate(zip_longest(one, other))
    return next(place for place, (a, b) in pairs if a != b)
