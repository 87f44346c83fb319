"""Policies that ask again: what they plan, and what their settings lack."""

from types import SimpleNamespace

import pytest

from novarag.scoring.second_asking import (
    ESCALATION,
    RANKED_SOURCES,
    RECENT_PASSAGES,
    WITHOUT_PASSAGES,
    FirstAsking,
    PolicySettings,
    SecondAsking,
)
from novarag.taxonomy import Utility

HIGH, LOW = Utility.HIGHLY_RELEVANT, Utility.IRRELEVANT
PASSAGES = [
    SimpleNamespace(text="old", source="wiki", date="2020-01-01"),
    SimpleNamespace(text="new", source="blog", date="2024-05-01"),
    SimpleNamespace(text="newer, and beside the point", source="wiki", date="2025-01-01"),
    SimpleNamespace(text="undated", source="manual", date=None),
]
SETTINGS = PolicySettings(model="small", sources=("manual", "wiki"), escalate_to="large")


def first(judgments=(HIGH, HIGH, LOW, HIGH), settings=SETTINGS):
    answer = SimpleNamespace(judgments=judgments)
    return FirstAsking(answer=answer, passages=PASSAGES, settings=settings)


def test_escalation_asks_the_other_model_about_all_passages():
    assert ESCALATION.plan(first()) == SecondAsking(told="another model was asked", model="large")
    assert ESCALATION.find_fault(SETTINGS) is None


@pytest.mark.parametrize("other", [None, "small"])
def test_escalation_needs_another_model(other):
    fault = ESCALATION.find_fault(PolicySettings(model="small", escalate_to=other))
    assert fault == "escalates, so `escalate_to` must name another model"


def test_closed_book_shows_no_passage():
    assert WITHOUT_PASSAGES.plan(first()).passages == ()
    assert WITHOUT_PASSAGES.find_fault(SETTINGS) is None


def test_the_newest_passage_that_bears_on_the_question_is_asked_alone():
    planned = RECENT_PASSAGES.plan(first())
    assert planned.passages == (1,)
    assert planned.told == "it was asked again with passage 2 alone"
    assert RECENT_PASSAGES.plan(first((HIGH, LOW, LOW, HIGH))).passages == (0,)


@pytest.mark.parametrize("judgments", [None, (LOW, LOW, LOW, LOW), (LOW, LOW, LOW, HIGH)])
def test_without_a_dated_passage_that_bears_nothing_is_recent(judgments):
    assert RECENT_PASSAGES.plan(first(judgments)) is None


def test_sources_are_taken_by_their_rank():
    assert RANKED_SOURCES.plan(first()).passages == (3,)
    assert RANKED_SOURCES.plan(first((HIGH, HIGH, HIGH, LOW))).passages == (0, 2)
    assert RANKED_SOURCES.plan(first((LOW, HIGH, LOW, LOW))) is None


def test_ranked_sources_need_a_rank():
    assert RANKED_SOURCES.find_fault(SETTINGS) is None
    unranked = RANKED_SOURCES.find_fault(PolicySettings(model="small"))
    assert unranked == "prefers sources, so `sources` must rank some"
