"""Made-up groups in the paper's numbers: rows, questions and kinds of each dataset at k=3."""

from __future__ import annotations

from dataclasses import dataclass

from novarag.grouping import assemble
from novarag.records import AnswerForm, Passage, Question
from novarag.seeding import rng_for
from novarag.taxonomy import PassageKind

_AGREEING = 7  # every so many consistent groups hold nothing but gold passages


@dataclass(frozen=True, slots=True)
class Size:
    """How many questions a dataset has, and how many groups of each kind."""

    questions: int
    counterfactual: int
    consistent: int
    irrelevant: int
    form: AnswerForm = AnswerForm.OPEN

    @property
    def rows(self):
        return self.counterfactual + self.consistent + self.irrelevant


SIZES = {
    "HotpotQA": Size(432, 309, 269, 167),
    "NQ": Size(438, 289, 303, 207),
    "StrategyQA": Size(503, 347, 262, 108, AnswerForm.YES_NO),
    "Bamboogle": Size(78, 49, 63, 38),
}
"""The counts of DECISIONS, "Reference facts"; passages are made up."""


def make_groups(name, seed=None):
    """Make the groups of a dataset; no question has two of one kind, none has none.

    With a seed the questions are drawn anew, each with its groups, from those of the dataset, as
    a bootstrap does: a run is then one draw of many, and its rows are only about as many.
    """
    size = SIZES[name]
    held = [[] for _ in range(size.questions)]
    for row, kind in enumerate(_kinds(size)):
        build = "agreeing" if kind == "consistent" and row % _AGREEING == 0 else kind
        held[row % size.questions].append((kind, build))
    if seed is not None:
        held = rng_for(seed, name, "questions").choices(held, k=size.questions)
    groups = []
    for number, builds in enumerate(held):
        question = _question(name, number, size.form)
        for kind, build in builds:
            passages = [_passage(question, letter, i) for i, letter in enumerate(_BUILDS[build])]
            groups.append(assemble(question, passages, id=f"{question.id}/{kind}"))
    return groups


def _kinds(size):
    return (
        *("counterfactual",) * size.counterfactual,
        *("consistent",) * size.consistent,
        *("irrelevant",) * size.irrelevant,
    )


_BUILDS = {"counterfactual": "gcc", "consistent": "gri", "agreeing": "ggg", "irrelevant": "iii"}
_KINDS = {
    "g": PassageKind.GOLD, "c": PassageKind.COUNTERFACTUAL,
    "r": PassageKind.RELEVANT, "i": PassageKind.IRRELEVANT,
}  # fmt: skip


def _question(name, number, form):
    answer = ("yes", "no")[number % 2] if form is AnswerForm.YES_NO else f"Place{number}"
    text = f"{name} question {number}?"
    return Question(id=f"{name}-{number}", text=text, answers=(answer,), form=form)


def _passage(question, letter, place):
    claim = None
    if letter == "c":
        other = {"yes": "no", "no": "yes"}
        claim = other.get(question.answers[0], f"Elsewhere{question.id}")
    text = f"A made-up {_KINDS[letter]} passage, {letter}{place}."
    return Passage(text=text, kind=_KINDS[letter], claim=claim)
