"""The form of a reply as a pattern, for servers that can hold a model to one."""

from __future__ import annotations

from novarag.errors import UnknownName

FORMED = ("vanilla", "cot", "nova")
"""The strategies whose replies have a form that a pattern can hold."""

_MOST_LINES = 6  # of reasoning, in a reply to `cot`


def reply_pattern(k: int, *, step_length: int = 200, answer_length: int = 80) -> str:
    r"""Return a regular expression for a reply about k passages, with lines of bounded length.

    >>> import re
    >>> said = "Step 1: a\nStep 2: b\nPassage Classifications: Passage 1: Relevant\n"
    >>> said += "Group Judgment: Insufficient\nAnswer: x\nConfidence: 40%"
    >>> re.fullmatch(reply_pattern(1), said) is not None
    True
    """
    line = rf"[^\n]{{1,{step_length}}}"
    steps = "".join(rf"Step {i}: {line}\n" for i in range(1, k + 2))
    word = "(Highly Relevant|Relevant|Irrelevant)"
    classes = "; ".join(f"Passage {i}: {word}" for i in range(1, k + 1))
    return (
        rf"{steps}Passage Classifications: {classes}\n"
        r"Group Judgment: (Conflicting|Consistent|Insufficient)\n"
        f"{_verdict(answer_length)}"
    )


def _verdict(length: int) -> str:
    """An answer that begins with a bracket is the prompt's placeholder, said back."""
    return rf"Answer: [^ \[\n][^\n]{{0,{length - 1}}}\nConfidence: (100|[1-9]?[0-9])%"


def strategy_pattern(name: str, k: int, *, step_length: int = 200) -> str:
    r"""Return the pattern of a strategy's replies about k passages.

    >>> import re
    >>> re.fullmatch(strategy_pattern("cot", 5), "So.\nAnswer: 1871\nConfidence: 7%") is not None
    True
    """
    if name not in FORMED:
        raise UnknownName(name, FORMED)
    if name == "nova":
        return reply_pattern(k, step_length=step_length)
    steps = rf"([^\n]{{1,{step_length}}}\n){{1,{_MOST_LINES}}}" if name == "cot" else ""
    return steps + _verdict(80)
