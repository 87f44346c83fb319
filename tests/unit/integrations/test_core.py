"""From a question, passages and what was said to the object that every adapter lays out."""

import subprocess
import sys

import pytest

from novarag import Passage, UnknownNameError, UsageError
from novarag.integrations.core import ReplyScorer, explained, missing, score
from novarag.scoring.scorer import NO_GATE
from tests.support import adapted

REPLY = (
    "Passage Classifications: Passage 1: Highly Relevant; Passage 2: Irrelevant\n"
    "Group Judgment: Consistent\nAnswer: 1871\nConfidence: 90%"
)
PASSAGES = ["It was lit in 1871.", {"text": "A bell.", "source": "b.md", "id": 7}]


def test_a_reply_is_read_and_judged():
    told = score("When was it lit?", PASSAGES, REPLY)
    assert (told["answer"], told["confidence"], told["stated"]) == ("1871", 0.9, 0.9)
    assert (told["evidence"], told["decision"], told["reason"]) == ("consistent", None, NO_GATE)
    assert told["passages"] == [
        {"judgment": "highly relevant", "source": None, "id": None, "shown": True},
        {"judgment": "irrelevant", "source": "b.md", "id": "7", "shown": True},
    ]
    assert "evidence consistent; passages highly relevant, irrelevant" in explained(told)


@pytest.mark.parametrize("said", [*adapted.UNREADABLE, None])
def test_what_cannot_be_read_has_no_score(said):
    told = score("When?", PASSAGES, said)
    assert told["confidence"] is told["stated"] is told["answer"] is told["interval"] is None
    assert told["decision"] == "abstain"
    assert told["flaw"] in told["reason"]


def test_an_answer_beside_its_confidence():
    told = score("When?", None, "1871", 0.25)
    assert (told["answer"], told["stated"], told["evidence"]) == ("1871", 0.25, None)
    assert score("When?", (), "1871", 0)["confidence"] == 0.0
    for odd in (1.2, -0.1, float("nan"), True, "0.3"):
        with pytest.raises(UsageError, match="`confidence`"):
            score("When?", (), "1871", odd)


def test_calibration_and_gate_come_from_files(tmp_path):
    parts = adapted.settings(tmp_path)
    told = score("When?", PASSAGES, REPLY, **parts)
    assert told["calibrated"]
    assert told["interval"][0] <= told["confidence"] <= told["interval"][1]
    assert told["confidence"] < told["stated"]
    assert told["decision"] in {"answer", "abstain"}
    with pytest.raises(UsageError, match="the gate was set on"):
        ReplyScorer(gate=parts["gate"])


def test_other_formats_are_read():
    told = score("When?", (), "Guess: 1871\nProbability: 0.7", strategy="guess-probability")
    assert told["confidence"] == 0.7
    with pytest.raises(UnknownNameError):
        ReplyScorer(strategy="nonsense")


def test_odd_passages_and_questions_are_refused():
    assert score("When?", [Passage(text="x", source="s")], REPLY)["passages"][0]["source"] == "s"
    with pytest.raises(UsageError, match="or has its text"):
        score("When?", [{"content": "x"}], REPLY)
    with pytest.raises(UsageError, match="question is empty"):
        score(" ", [], REPLY)


def test_a_missing_tool_is_named_with_its_extra():
    assert "'.[haystack]'" in str(missing("haystack-ai", "haystack"))


def test_it_loads_neither_frames_nor_a_tool():
    code = (
        "import sys, novarag.integrations.core, novarag.integrations.table;"
        "print([m for m in ('polars', 'scipy.stats', 'starlette', 'deepeval') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"
