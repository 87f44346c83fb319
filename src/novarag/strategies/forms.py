"""The forms of replies as patterns, for servers that can hold a model to one.

A form is a function of the number of passages and of the most characters of a step.
"""

from __future__ import annotations

_MOST_LINES = 6  # of reasoning, where a strategy asks for steps without a form
_MOST_STEPS = 4  # that have a confidence each
_GUESSES = 4  # as many as the prompt of top-k asks for
_LONGEST = 80  # characters of an answer
_PERCENT = "(100|[1-9]?[0-9])%"
# What the reader takes for dressing would leave no answer; a bracket is the prompt, said back.
_MARKS = (
    "~\u201c\u201e\u00ab\u2039\u300c\u300e\u2018\u201a\u300a\u3008\u3010\u3014\u3016\u27e8\u27ea\u2985\uff62"
    "\u275d\u275b\u301d\u2e28\u2329\u2768\u25c1"
)
_BREAKS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_LABELS = ":=\uff1a"
_TIME = "[0-9]:[0-9]"  # the one colon that makes no label of what is before it
_BARE = f"*_`|;,(\\[\\]<>{{}}\"'\u00a0\u200b\u201d\u2013\u2014{_MARKS}{_BREAKS}{_LABELS}"
_SAID = f"-?({_TIME}|[^ \\t\\r\\n{_BARE}-])"
# What could open a quotation, or announce one at the end of a line, is left out, and so are breaks
# of other kinds, and signs that would make a label of the words before them: a reply that is held
# to its form is read for certain. Apostrophes follow a letter.
_OPENERS = f'\\r\\n<>{{}}\\[\\]"`{_MARKS}{_BREAKS}{_LABELS}'
_CALM = f"([^{_OPENERS}' ]'|{_TIME}|[^{_OPENERS}'])"
_END = f"[^{_OPENERS}' \\t*_#-]'?"
_ANSWER = f"Answer: {_SAID}({_CALM}{{0,{_LONGEST - 3}}}{_END})?"
_VERDICT = rf"{_ANSWER}\nConfidence: {_PERCENT}"


def judged(k: int, step_length: int) -> str:
    r"""Return the form of steps, a class for each of k passages, a group judgment and a verdict.

    >>> import re
    >>> said = "Step 1: a\nStep 2: b\nPassage Classifications: Passage 1: Relevant\n"
    >>> said += "Group Judgment: Insufficient\nAnswer: x\nConfidence: 40%"
    >>> re.fullmatch(judged(1, 200), said) is not None
    True
    """
    steps = "".join(rf"Step {i}: {_line(step_length)}\n" for i in range(1, k + 2))
    return steps + classified(k, step_length)


def classified(k: int, _step_length: int) -> str:
    """Return the form of a class for each of k passages, a group judgment and a verdict."""
    word = "(Highly Relevant|Relevant|Irrelevant)"
    classes = "; ".join(f"Passage {i}: {word}" for i in range(1, k + 1))
    return (
        rf"Passage Classifications: {classes}\n"
        r"Group Judgment: (Conflicting|Consistent|Insufficient)\n"
        f"{_VERDICT}"
    )


def verdict(_k: int, _step_length: int) -> str:
    """Return the form of an answer and a confidence, and nothing else."""
    return _VERDICT


def reasoned(_k: int, step_length: int) -> str:
    """Return the form of some lines before a verdict."""
    return rf"({_line(step_length)}\n){{1,{_MOST_LINES}}}{_VERDICT}"


def stepwise(_k: int, step_length: int) -> str:
    """Return the form of as many confidences as steps, which is said count by count."""
    forms = []
    for count in range(1, _MOST_STEPS + 1):
        numbers = range(1, count + 1)
        steps = "".join(rf"Step {i}: {_line(step_length)}\n" for i in numbers)
        stated = "".join(rf"Step {i} Confidence: {_PERCENT}\n" for i in numbers)
        forms.append(rf"{steps}Final Output:\n{stated}")
    return f"({'|'.join(forms)}){_ANSWER}"


def guessed(_k: int, _step_length: int) -> str:
    """Return the form of some guesses, each with its confidence, before a verdict."""
    guess = rf"{_SAID}{_CALM}{{0,{_LONGEST - 2}}} \({_PERCENT}\)"
    guesses = "".join(rf"Guess {i}: {guess}\n" for i in range(1, _GUESSES + 1))
    return guesses + _VERDICT


def _line(length: int) -> str:
    return f"{_CALM}{{0,{length - 1}}}{_END}"
