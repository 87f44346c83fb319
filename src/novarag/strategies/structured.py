"""The form of a `nova` reply as a pattern, for servers that can hold a model to one."""

from __future__ import annotations


def reply_pattern(k: int, *, step_length: int = 200, answer_length: int = 80) -> str:
    r"""Return a regular expression for a reply about k passages, with lines of bounded length.

    >>> import re
    >>> said = "Step 1: a\nStep 2: b\nPassage Classifications: Passage 1: Relevant\n"
    >>> said += "Group Judgment: Insufficient\nAnswer: x\nConfidence: 40%"
    >>> re.fullmatch(reply_pattern(1), said) is not None
    True
    """
    line, short = (rf"[^\n]{{1,{length}}}" for length in (step_length, answer_length))
    steps = "".join(rf"Step {i}: {line}\n" for i in range(1, k + 2))
    word = "(Highly Relevant|Relevant|Irrelevant)"
    classes = "; ".join(f"Passage {i}: {word}" for i in range(1, k + 1))
    return (
        rf"{steps}Passage Classifications: {classes}\n"
        r"Group Judgment: (Conflicting|Consistent|Insufficient)\n"
        rf"Answer: {short}\nConfidence: (100|[1-9]?[0-9])%"
    )
