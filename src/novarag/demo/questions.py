"""Questions of the demo: those that are prepared, and what a visitor types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from novarag.annotation import PassageOrigin, annotate, with_kinds
from novarag.demo.made_up_log import MIXES, QUESTIONS, made_up_pools
from novarag.errors import UsageError
from novarag.grouping import Mix
from novarag.records import Passage, PassageGroup, Question
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_PASSAGES = 8
"""Passages beside one question; retrieval gives fewer."""

LONGEST = {"question": 300, "answer": 100, "passages": 6000}
"""The fields of the form, and how many characters each may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuestion:
    """A question with its right answer, which a simulated model has to be told, and passages."""

    question: str
    answer: str
    passages: tuple[str, ...]

    def group(self) -> PassageGroup:
        """Return the group to ask, whose passages have the kinds that their words tell."""
        asked = Question(id=self.question, text=self.question, answers=(self.answer,))
        bare = PassageGroup(
            question=asked, passages=tuple(Passage(text=text) for text in self.passages)
        )
        [found] = annotate([bare], expect=PassageOrigin.PLANTED)
        return with_kinds(bare, found, min_confidence=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedQuestion:
    """A question of the demo's own: the name in its address, its title, what it shows."""

    name: str
    title: str
    asked: DemoQuestion


_PREPARED = {
    "contradict": ("Passages contradict each other", "Kelmere bridge", MIXES["contradict"]),
    "agree": ("Passages agree", "Kelwick bridge", MIXES["agree"]),
    "junk": ("Passages are junk", "Kelmere windmill", MIXES["junk"]),
    "mistaken": ("Passages agree, and are wrong", "Kelwick lighthouse",
                 Mix(counterfactual=2, irrelevant=1)),
}  # fmt: skip


@lru_cache(maxsize=1)
def prepared_questions() -> dict[str, PreparedQuestion]:
    """Return the prepared questions by name, none of which is in the log."""
    pools = {pool.question.id: pool for pool in made_up_pools()[QUESTIONS:]}
    return {
        name: PreparedQuestion(name=name, title=title, asked=_draw(pools[about], mix))
        for name, (title, about, mix) in _PREPARED.items()
    }


def _draw(pool: PassageGroup, mix: Mix) -> DemoQuestion:
    group = mix.draw(pool.question, pool.passages)
    return DemoQuestion(
        question=group.question.text,
        answer=group.question.answers[0],
        passages=tuple(passage.text for passage in group.passages),
    )


def parse_fields(body: bytes) -> dict[str, str]:
    """Read the body of a form; what is not in it is empty.

    >>> parse_fields(b"question=Why%3F&answer=So&passages=")
    {'question': 'Why?', 'answer': 'So', 'passages': ''}
    """
    try:
        pairs = parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=len(LONGEST)
        )
    except ValueError:
        raise UsageError("the form has more fields than it was given") from None
    given = dict(pairs)
    return {name: _harmless(given.get(name, "")) for name in LONGEST}


def read_question(fields: dict[str, str]) -> DemoQuestion:
    """Read what a visitor typed, or say what is missing or too much."""
    for name, most in LONGEST.items():
        if len(fields[name]) > most:
            raise UsageError(f"the field “{name}” is over {most:,} characters")
    question, answer = _in_one_line(fields["question"]), _in_one_line(fields["answer"])
    passages = split_passages(fields["passages"])
    if not question or not answer or not passages:
        raise UsageError(
            "a question, its right answer and a passage are needed: a simulated model knows only"
            " what it is told"
        )
    if len(passages) > MOST_PASSAGES:
        raise UsageError(f"there are {len(passages)} passages; the demo takes {MOST_PASSAGES}")
    return DemoQuestion(question=question, answer=answer, passages=passages)


def split_passages(text: str) -> tuple[str, ...]:
    r"""Split a text into passages, which empty lines part.

    >>> split_passages("One\nof two.\n\n \nTwo.")
    ('One of two.', 'Two.')
    """
    parts = groupby(text.splitlines(), key=lambda line: bool(line.strip()))
    return tuple(_in_one_line(" ".join(lines)) for filled, lines in parts if filled)


def join_passages(passages: Sequence[str]) -> str:
    """Put passages into one text, as `split_passages` reads it."""
    return "\n\n".join(passages)


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _harmless(text: str) -> str:
    """Show characters that control a screen instead of sending them on, line by line."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(plain_text(line, longest=6 * len(line) + 1) for line in lines)
