"""Replies that take the rarer turns of the reader, each with what is read of it."""

import pytest

from novarag import Flaw
from novarag.strategies import COT, MULTI_STEP, VANILLA


@pytest.mark.parametrize(
    "text",
    [
        "Answer: Lyon\nConfidence: 90% (at least 80%)",
        "Answer: Lyon\nConfidence: 90% (80-95%)",
        "Answer: Lyon\nConfidence: 90%" + " (sure)" * 12,
        "Step 1 Confidence: 70%\nAnswer: Lyon\nStep 2 Confidence: 60%",
    ],
)
def test_what_is_said_after_or_between_is_a_flaw(text):
    strategy = MULTI_STEP if "Step 1" in text else VANILLA
    assert isinstance(strategy.read(text).flaw, Flaw)


@pytest.mark.parametrize(
    "before",
    [
        "</quote> a <quote> b\n",
        ":::note\na\n+++\nb\n",
        "--- end passage ---\na\n",
        "A long line of reasoning comes to its final answer: Lyon.\n",
    ],
)
def test_marks_without_a_partner_hide_nothing(before):
    found = COT.read(f"{before}Answer: Lyon\nConfidence: 90%")
    assert (found.answer, found.confidence) in {("Lyon", 0.9), (None, None), ("Lyon", None)}
