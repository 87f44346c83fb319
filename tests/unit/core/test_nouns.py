"""Taxonomy, records, errors: total maps, frozen records, nothing derived is stored."""

import dataclasses
import inspect

import pytest

from novarag import (
    Completion,
    DataError,
    EvidenceState,
    Flaw,
    Grade,
    GroupKind,
    Passage,
    PassageGroup,
    PassageKind,
    Question,
    Reading,
    RelevantFacet,
    Response,
    Rule,
    ServiceError,
    Trial,
    UnknownNameError,
    UsageError,
    Utility,
    records,
)
from novarag.errors import NovaragError
from novarag.taxonomy import states_for

K = PassageKind


def group(*kinds):
    passages = tuple(Passage(text=f"t{i}", kind=k) for i, k in enumerate(kinds))
    return PassageGroup(question=Question(id="q", text="?"), passages=passages)


@pytest.mark.parametrize(
    ("kinds", "kind", "evidence", "rules"),
    [
        ((K.GOLD,), GroupKind.CONSISTENT, 1, set()),
        ((K.GOLD, K.COUNTERFACTUAL), GroupKind.COUNTERFACTUAL, 2, {Rule.CONFLICT_INDEPENDENCE}),
        ((K.GOLD, K.IRRELEVANT), GroupKind.CONSISTENT, 1, {Rule.NOISE_INVARIANCE}),
        ((K.RELEVANT,), GroupKind.IRRELEVANT, 0, {Rule.PARAMETRIC_FALLBACK}),
        ((), GroupKind.IRRELEVANT, 0, {Rule.PARAMETRIC_FALLBACK}),
        (
            (K.COUNTERFACTUAL, K.IRRELEVANT),
            GroupKind.COUNTERFACTUAL,
            1,
            set(Rule),
        ),
    ],
)
def test_a_group_is_named_by_what_it_holds(kinds, kind, evidence, rules):
    g = group(*kinds)
    assert (g.kind, g.evidence, g.rules) == (kind, evidence, rules)


def test_unlabelled_is_not_irrelevant():
    g = group(K.GOLD, None)
    assert (g.kinds, g.kind, g.evidence, g.rules) == (None, None, None, frozenset())


def test_the_maps_are_total():
    assert {k.utility for k in K} == set(Utility)
    assert [k.is_noise for k in K] == [False, True, True, True]


@pytest.mark.parametrize(
    ("classes", "states"),
    [
        ((), {EvidenceState.INSUFFICIENT}),
        ((Utility.RELEVANT,), {EvidenceState.INSUFFICIENT}),
        ((Utility.HIGHLY_RELEVANT,), {EvidenceState.CONSISTENT}),
        ((Utility.HIGHLY_RELEVANT,) * 2, {EvidenceState.CONSISTENT, EvidenceState.CONFLICTING}),
    ],
)
def test_stated_classes_leave_states_open(classes, states):
    assert states_for(classes) == states


def test_records_are_frozen_slotted_and_keyword_only():
    nouns = [c for _, c in inspect.getmembers(records, dataclasses.is_dataclass)]
    assert len(nouns) >= 9
    for noun in nouns:
        assert noun.__dataclass_params__.frozen, noun
        assert hasattr(noun, "__slots__"), noun
        assert all(f.kw_only for f in dataclasses.fields(noun)), noun


def test_nothing_derived_is_stored():
    stored = {f.name for f in dataclasses.fields(PassageGroup)}
    assert not stored & {"kind", "kinds", "rules", "evidence", "state"}
    assert "correct" not in {f.name for f in dataclasses.fields(Trial)}


def test_only_relevant_passages_have_a_facet():
    Passage(text="x", kind=K.RELEVANT, facet=RelevantFacet.THEME)
    with pytest.raises(ValueError, match="facet"):
        Passage(text="x", kind=K.GOLD, facet=RelevantFacet.THEME)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_confidence_lies_in_the_unit_interval(confidence):
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        Response(answer="x", confidence=confidence)


def test_a_trial_has_a_response_or_a_flaw():
    shared = {
        "group": group(K.GOLD),
        "strategy": "s",
        "sample": 0,
        "completion": Completion(text="", model="m"),
    }
    good = Trial(**shared, response=Response(answer="x", confidence=1), grade=Grade.RIGHT)
    bad = Trial(**shared, response=None, flaw=Flaw.EMPTY)
    assert (good.correct, bad.correct) == (True, None)
    with pytest.raises(ValueError, match="never both"):
        Trial(**shared, response=good.response, flaw=Flaw.EMPTY)


def test_a_flawed_reading_is_no_response():
    assert Reading(answer="x", confidence=0.5, spans={}).response == Response(
        answer="x", confidence=0.5
    )
    assert Reading(answer="x", confidence=0.5, flaw=Flaw.NO_ANSWER, spans={}).response is None


def test_errors_say_where_what_and_how_to_fix_it():
    full = DataError("7 is too much.", hint="take less.", source="a.csv", row=3, column="c")
    assert str(full) == "a.csv, row 3, column 'c': 7 is too much. Fix: take less."
    assert str(DataError("x.", hint="y.")) == "x. Fix: y."
    assert str(UnknownNameError("cott", {"nova": 1, "cot": 2})) == "'cott' is not one of cot, nova"
    assert ServiceError("busy", retryable=True).retryable
    for error in (DataError, UsageError, ServiceError):
        assert issubclass(error, NovaragError)


def test_errors_cross_from_one_process_to_another():
    import pickle

    from novarag import (
        CallError,
        DataError,
        Outcome,
        ServiceError,
        UnfinishedError,
        UnknownNameError,
    )

    for error in (
        CallError(Outcome.DENIED, "no"),
        ServiceError("x", retryable=True),
        DataError("p", hint="m", source="s", row=3, column="c"),
        UnknownNameError("x", ["a"]),
        UnfinishedError("runs/a", stopped=True),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
