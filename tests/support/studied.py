"""Trials of made-up systems on made-up questions, for tests of the study."""

from __future__ import annotations

from novarag.records import Completion, Passage, PassageGroup, Question, Trial

SYSTEMS = ("zebra-vanilla", "zebra-cot", "zebra-nova")


def systems(questions=12, *, names=SYSTEMS, text="{system} says {question}", passage="p"):
    """Trials by system; every reply is another text, so that orders can be told apart."""
    return {
        name: [
            trial(
                f"q{i}", text.replace("{system}", f"r{s}").replace("{question}", f"q{i}"), passage
            )
            for i in range(questions)
        ]
        for s, name in enumerate(names)
    }


def trial(question, reply, passage="p", *, group=None, sample=0):
    asked = PassageGroup(
        id=group or f"{question}/g",
        question=Question(id=question, text=f"What of {question}?", answers=("x",)),
        passages=(Passage(text=f"{passage} of {question}"),),
    )
    return Trial(
        group=asked, strategy="nova", sample=sample,
        completion=Completion(text=reply, model="m"), response=None,
    )  # fmt: skip
