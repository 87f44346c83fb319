"""The assertion for promptfoo, as its wrapper calls it; tests/real/test_integrations.py runs it."""

import json

import pytest

from novarag import UsageError
from novarag.integrations.promptfoo import UnreadReply, get_assert
from tests.support import adapted
from tests.support.gateways import PASSAGES, QUESTION, REPLY

VARS = {"question": QUESTION, "passages": PASSAGES}


def test_a_reply_has_its_confidence_as_score(tmp_path):
    context = {"vars": VARS, "config": adapted.settings(tmp_path)}
    told = json.loads(json.dumps(get_assert(REPLY, context)))
    verdict = told["metadata"]["novarag"]
    assert told["score"] == told["namedScores"]["confidence"] == verdict["confidence"]
    assert told["pass"] == (verdict["decision"] == "answer")
    assert verdict["calibrated"]


def test_without_a_gate_promptfoos_threshold_decides():
    for config in ({}, {"config": None}):
        assert get_assert(REPLY, {"vars": VARS} | config)["pass"] is True


def test_what_a_gate_holds_back_fails_with_its_score(tmp_path):
    context = {"vars": VARS, "config": adapted.settings(tmp_path)}
    told = get_assert(REPLY.replace("90%", "5%"), context)
    assert told["pass"] is False
    assert told["score"] > 0


def test_an_answer_beside_its_confidence():
    told = get_assert("1871", {"vars": VARS | {"confidence": 0.7}})
    assert told["score"] == 0.7


@pytest.mark.parametrize("output", ["no idea", "", {"answer": "1871"}, None])
def test_what_cannot_be_read_is_raised_and_never_a_score(output):
    with pytest.raises(UnreadReply, match=r"could not be read|no text"):
        get_assert(output, {"vars": VARS})


def test_a_setting_that_is_none_is_refused():
    with pytest.raises((TypeError, UsageError)):
        get_assert(REPLY, {"vars": VARS, "config": {"limit": 1}})
