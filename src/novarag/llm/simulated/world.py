"""What there is to know: what a prompt shows, and which answers to it are right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from novarag.errors import ServiceError
from novarag.grading import contains, grade_in, normalize, polarity
from novarag.records import AnswerForm, PassageGroup
from novarag.seeding import rng_for
from novarag.strategies import parse_passages
from novarag.strategies.follow_up import proposed
from novarag.strategies.template import untamed
from novarag.taxonomy import Grade, PassageKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from novarag.records import Passage, Question

_QUESTION = "Question: "
_WRONGS = 3  # wrong answers of a question that are held ready
_HEADS = ("Bel", "Cor", "Dun", "Fal", "Gar", "Hes", "Mar", "Nor", "Ost", "Pel", "Quen", "Tor")
_MIDS = ("", "a", "e", "i", "o", "ani", "eri", "ova", "ulo")
_TAILS = ("bury", "dale", "field", "ford", "gate", "mere", "stad", "ton", "wick", "worth")


@dataclass(frozen=True, slots=True)
class PromptContent:
    """What a prompt shows: a question, the passages beside it, an answer proposed to it."""

    question: str
    passages: tuple[str, ...]
    proposed: str | None


def look(prompt: str) -> PromptContent:
    """Read a rendered prompt as a model would."""
    start = 0 if prompt.startswith(_QUESTION) else prompt.find("\n" + _QUESTION) + 1
    if not prompt.startswith(_QUESTION, start):
        raise _unknown("it has no line that begins with 'Question: '")
    end = start = start + len(_QUESTION)
    while (end := prompt.find("\n", end)) >= 0 and prompt.startswith("\n  ", end):
        end += 1
    question, answer = proposed(untamed(prompt[start : end if end >= 0 else len(prompt)]))
    return PromptContent(question, parse_passages(prompt), answer)


@dataclass(frozen=True, slots=True)
class SimulatedWorld:
    """The questions and passages that can be asked about, by their texts."""

    questions: Mapping[str, Question]
    passages: Mapping[tuple[str, str], Passage]

    @classmethod
    def of(cls, groups: Iterable[PassageGroup]) -> SimulatedWorld:
        """Learn what the passages of groups are; questions without an answer cannot be asked.

        A passage nobody has labelled counts as gold where it contains an accepted answer, else as
        irrelevant. One that is labelled anywhere is what it is there called first. A question is
        also known by its lines alone, as a prompt for noise shows it.
        """
        questions: dict[str, Question] = {}
        passages: dict[tuple[str, str], Passage] = {}
        bare: dict[tuple[str, str], Passage] = {}
        for group in groups:
            text, _ = proposed(group.question.text)
            if not group.question.answers:
                continue
            question = questions.setdefault(text, replace(group.question, text=text))
            for passage in group.passages:
                if passage.kind is not None:
                    passages.setdefault((text, passage.text), passage)
                elif (text, passage.text) not in bare:
                    bare[text, passage.text] = _labelled(passage, question)
        by_lines = {"\n".join(text.splitlines()): known for text, known in questions.items()}
        return cls(by_lines | questions, bare | passages)

    def asked(self, seen: PromptContent) -> Question:
        """Return the question that a prompt shows."""
        question = self.questions.get(seen.question)
        if question is None:
            raise _unknown("its question is not among them, or has no accepted answer")
        return question

    def find(self, seen: PromptContent) -> PassageGroup:
        """Return the group that a prompt shows, every passage with a kind."""
        question = self.asked(seen)
        shown = [self.passages.get((seen.question, text)) for text in seen.passages]
        found = tuple(passage for passage in shown if passage is not None)
        if len(found) < len(shown):
            raise _unknown("it shows a passage that is not among theirs")
        return PassageGroup(question=question, passages=found)


def _unknown(why: str) -> ServiceError:
    problem = "a simulated respondent knows only the groups it was opened with"
    return ServiceError(f"{problem}; this prompt is of another kind: {why}", retryable=False)


def _labelled(passage: Passage, question: Question) -> Passage:
    """Give a retrieved passage a kind; words cannot tell what supports a yes or a no."""
    words = normalize(passage.text)
    held = question.form is AnswerForm.OPEN and any(
        contains(words, normalize(answer)) for answer in question.answers
    )
    return replace(passage, kind=PassageKind.GOLD if held else PassageKind.IRRELEVANT)


def right_answer(group: PassageGroup) -> str:
    """Return an answer that is graded right beside these passages, where there is one."""
    said = [" ".join(answer.split()) for answer in group.question.answers]
    return next((a for a in said if grade_in(group, a) is Grade.RIGHT), said[0])


def wrong_answers(group: PassageGroup) -> tuple[str, ...]:
    """Return answers that are graded wrong: first what most passages claim, then made-up names."""
    question = group.question
    if question.form is AnswerForm.YES_NO and (said := polarity(question.answers[0])) is not None:
        return ("no",) if said else ("yes",)
    claims = [p.claim for p in group.passages if p.claim and p.kind is PassageKind.COUNTERFACTUAL]
    count = [normalize(claim) for claim in claims]
    claims.sort(key=lambda claim: -count.count(normalize(claim)))
    found: dict[str, str] = {}
    for answer in chain(claims, made_up_names(question)):
        if grade_in(group, answer) is Grade.WRONG:
            found.setdefault(normalize(answer), " ".join(answer.split()))
        if len(found) == _WRONGS:
            break
    return tuple(found.values())


def made_up_names(question: Question) -> Iterator[str]:
    """Make up names of as many words as the right answer, or their length would give them away."""
    rng = rng_for(0, question.id, "names")
    words = range(min(20, max(1, len(question.answers[0].split()))))
    for _ in range(100):
        made = (rng.choice(_HEADS) + rng.choice(_MIDS) + rng.choice(_TAILS) for _ in words)
        yield " ".join(made)
