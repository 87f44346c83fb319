"""A gate as a record: what it decides, what it says, and how it is kept."""

from dataclasses import replace

import pytest

from novarag.calibration.fit_gate import fit_gate
from novarag.calibration.gate import SampleSizeEstimate, from_json, promise, to_json
from novarag.errors import DataError
from tests.support.graded_answers import draw_graded


@pytest.fixture(scope="module")
def gate():
    made = fit_gate(draw_graded(600, seed=3, boast=0.2), risk=0.3)
    assert made.threshold is not None
    return made


def test_answers_from_the_threshold_on_and_never_what_was_not_read(gate):
    assert gate.decide(gate.threshold).answer
    assert gate.decide(gate.threshold - 1e-12).answer  # arithmetic in another order is no refusal
    assert not gate.decide(gate.threshold - 1e-6).answer
    assert gate.decide(None) == gate.decide(float("nan")) == (False, "the reply could not be read")
    assert "below" in gate.decide(0.01).reason


def test_a_gate_for_one_state_answers_beside_that_evidence_only(gate):
    one = replace(gate, state="consistent")
    assert one.decide(1.0, "consistent").answer
    assert one.decide(1.0, "conflicting").reason == (
        "evidence is conflicting; the gate answers consistent only"
    )
    assert not one.decide(1.0).answer


def test_a_refused_gate_answers_nothing(gate):
    refused = replace(gate, threshold=None)
    assert refused.decide(1.0) == (False, "the gate certified no threshold")


def test_is_the_same_after_json(gate):
    refused = fit_gate(draw_graded(60, seed=1), risk=0.02)
    for one in (gate, refused, fit_gate(draw_graded(300), risk=0.4, state="consistent")):
        assert from_json(to_json(one), source="x") == one


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "gate 0"},
        {"risk": 10},
        {"threshold": "0.8"},
        {"threshold": 1.5},
        {"state": 3},
        {"path": [{"p": 1}]},
        {"counted": None},
        {"another": 1},
    ],
)
def test_refuses_json_that_is_no_gate(gate, change):
    with pytest.raises(DataError, match="gate"):
        from_json(to_json(gate) | change, source="gate.json")


def test_says_what_it_promises(gate):
    said = promise(replace(gate, threshold=0.745, risk=0.1, share=0.6))
    assert said == (
        "Of answers at 74.5 % stated or more, at most 10 % are wrong, with 90 % probability over"
        " the graded rows; that keeps about 60 % of all answers."
    )
    assert "beside consistent evidence" in promise(replace(gate, state="consistent"))
    assert "Approximate" in promise(replace(gate, approximate=True))


def test_says_what_it_would_take(gate):
    no = replace(
        gate, threshold=None, risk=0.1, least_risk=0.17, need=SampleSizeEstimate(340, 210, 900)
    )
    assert promise(no) == (
        "not attainable: these rows could certify 17 %; for 10 % you need about 340 (210 to 900)"
    )
    assert promise(replace(no, need=SampleSizeEstimate(340, 210, None))).endswith(
        "about 340 (210 or more)"
    )
    never = promise(replace(no, least_risk=None, need=SampleSizeEstimate(None, None, None)))
    assert "no risk under 100 %" in never
    assert never.endswith("no number of such rows is likely to do")


def test_a_gate_says_its_promise(gate):
    assert gate.promise == promise(gate) == to_json(gate)["promise"]


def test_a_file_names_the_level_as_files_before_it_did(gate):
    written = to_json(gate)
    assert written["sure"] == gate.confidence_level == 0.9
    assert "confidence_level" not in written
    assert from_json(written, source="gate.json").confidence_level == 0.9
