"""The form of a reply as a pattern, for servers that can hold a model to one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_LINES = 6  # of reasoning, where a strategy asks for steps without a form
_MOST_STEPS = 4  # that have a confidence each
_GUESSES = 4
_ANSWER = 80  # characters
_PERCENT = "(100|[1-9]?[0-9])%"
# What the reader takes for dressing would leave no answer; a bracket is the prompt, said back.
_SAID = '-?[^ \\t\\r\\n*_`|;,\\[\\]<>{}"\u00a0\u200b\u201c\u201d\u2013\u2014-]'
_CALM = r"[^\r\n<>{}]"


def reply_pattern(k: int, *, step_length: int = 200, answer_length: int = _ANSWER) -> str:
    r"""Return a regular expression for a reply about k passages, with lines of bounded length.

    >>> import re
    >>> said = "Step 1: a\nStep 2: b\nPassage Classifications: Passage 1: Relevant\n"
    >>> said += "Group Judgment: Insufficient\nAnswer: x\nConfidence: 40%"
    >>> re.fullmatch(reply_pattern(1), said) is not None
    True
    """
    steps = "".join(rf"Step {i}: {_line(step_length)}\n" for i in range(1, k + 2))
    word = "(Highly Relevant|Relevant|Irrelevant)"
    classes = "; ".join(f"Passage {i}: {word}" for i in range(1, k + 1))
    return (
        rf"{steps}Passage Classifications: {classes}\n"
        r"Group Judgment: (Conflicting|Consistent|Insufficient)\n"
        f"{_verdict(answer_length)}"
    )


def _line(length: int) -> str:
    return rf"{_CALM}{{1,{length}}}"


def _answer(length: int) -> str:
    return rf"Answer: {_SAID}{_CALM}{{0,{length - 2}}}"


def _verdict(length: int = _ANSWER) -> str:
    return rf"{_answer(length)}\nConfidence: {_PERCENT}"


def _reasoned(step_length: int) -> str:
    return rf"({_line(step_length)}\n){{1,{_MOST_LINES}}}{_verdict()}"


def _stepwise(step_length: int) -> str:
    """As many confidences as steps, which a pattern can only say count by count."""
    forms = []
    for count in range(1, _MOST_STEPS + 1):
        numbers = range(1, count + 1)
        steps = "".join(rf"Step {i}: {_line(step_length)}\n" for i in numbers)
        stated = "".join(rf"Step {i} Confidence: {_PERCENT}\n" for i in numbers)
        forms.append(rf"{steps}Final Output:\n{stated}")
    return f"({'|'.join(forms)}){_answer(_ANSWER)}"


def _guessed() -> str:
    numbers = range(1, _GUESSES + 1)
    guess = rf"{_SAID}{_CALM}{{0,{_ANSWER - 2}}} \({_PERCENT}\)"
    return "".join(rf"Guess {i}: {guess}\n" for i in numbers) + _verdict()


_FORMS: dict[str, Callable[[int, int], str]] = {
    "vanilla": lambda _k, _length: _verdict(),
    "cot": lambda _k, length: _reasoned(length),
    "multi-step": lambda _k, length: _stepwise(length),
    "noise-aware": lambda _k, length: _reasoned(length),
    "nova": lambda k, length: reply_pattern(k, step_length=length),
    "label-only": lambda _k, _length: _verdict(),
    "closed-book": lambda _k, length: _reasoned(length),
    "top-k": lambda _k, _length: _guessed(),
}
FORMED = tuple(_FORMS)
"""The strategies whose replies have a form that a pattern can hold."""


def strategy_pattern(name: str, k: int, *, step_length: int = 200) -> str:
    r"""Return the pattern of a strategy's replies about k passages.

    >>> import re
    >>> re.fullmatch(strategy_pattern("cot", 5), "So.\nAnswer: 1871\nConfidence: 7%") is not None
    True
    """
    if name not in _FORMS:
        raise UnknownName(name, FORMED)
    return _FORMS[name](k, step_length)
