"""Baselines that need neither labels nor log-probabilities."""

import pytest

from novarag import Completion, Flaw, PassageGroup, Question, Response, Trial
from novarag.errors import UsageError
from novarag.uncertainty import perturbation_consistency, retrieval_score

GROUP = PassageGroup(question=Question(id="q", text="?"), passages=())


def said(*answers, flaw=None):
    return [
        Trial(
            group=GROUP, strategy="vanilla", sample=i, completion=Completion(text="", model="m"),
            response=None if a is None else Response(answer=a, confidence=0.5),
            flaw=flaw if a is None else None,
        )
        for i, a in enumerate(answers)
    ]  # fmt: skip


def test_consistency_is_the_share_of_variants_that_agree():
    found = perturbation_consistency(said("The Seine"), said("seine", "Rhine", None, "Seine!"))
    assert found == Response(answer="The Seine", confidence=0.5)


def test_an_unread_original_has_its_flaw():
    assert perturbation_consistency(said(None), said("a")) is Flaw.EMPTY
    unread = said(None, flaw=Flaw.NO_ANSWER)
    assert perturbation_consistency(unread, said("a")) is Flaw.NO_ANSWER
    assert retrieval_score(unread, [0.5]) is Flaw.NO_ANSWER
    assert retrieval_score(said(None), [0.5]) is Flaw.EMPTY


@pytest.mark.parametrize(
    ("scores", "confidence"), [([0.2, 0.7], 0.7), ([-0.5], 0.0), ([3.0, 0.1], 1.0)]
)
def test_the_best_score_is_the_confidence(scores, confidence):
    assert retrieval_score(said("a"), scores) == Response(answer="a", confidence=confidence)


def test_nothing_to_go_by_is_an_error():
    with pytest.raises(UsageError, match="`variants`"):
        perturbation_consistency(said("a"), [])
    with pytest.raises(UsageError, match="`scores`"):
        retrieval_score(said("a"), [])
