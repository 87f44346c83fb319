"""Accepted answers as users write them: a text, a list, a JSON list, a truth value."""

from __future__ import annotations

from novarag.records import AnswerForm
from novarag.texts import parse_json


def accepted_answers(value: object) -> tuple[str, ...]:
    """Turn one cell into accepted answers; empty where there are none.

    >>> accepted_answers('["Paris", "Paname"]'), accepted_answers(True), accepted_answers(1871)
    (('Paris', 'Paname'), ('yes',), ('1871',))
    """
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("yes" if value else "no",)
    if isinstance(value, str) and value.lstrip().startswith("[") and value.rstrip().endswith("]"):
        value = _listed(value)
    if isinstance(value, list | tuple):
        return tuple(answer for part in value for answer in accepted_answers(part))
    if isinstance(value, str | int | float):
        return (str(value),)
    raise ValueError(f"{value!r} is not a text or a list of texts")


def _listed(text: str) -> list[object]:
    try:
        value = parse_json(text)
    except ValueError:
        raise ValueError(f"{text!r} looks like a list but is not JSON") from None
    return value if isinstance(value, list) else [text]


def form_of(answers: tuple[str, ...]) -> AnswerForm:
    """Say what shape of answer is asked for: yes/no if every accepted answer is one of the two."""
    words = {"yes", "no", "true", "false"}
    yes_no = bool(answers) and all(a.strip().lower() in words for a in answers)
    return AnswerForm.YES_NO if yes_no else AnswerForm.OPEN
