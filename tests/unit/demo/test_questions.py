"""What is asked in the demo: made-up questions, prepared ones, and what a visitor types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import UsageError
from novarag.demo.made_up_log import MIXES, QUESTIONS, SOURCE, made_up_groups, open_boaster
from novarag.demo.questions import (
    LONGEST,
    MOST_PASSAGES,
    join_passages,
    parse_fields,
    prepared_questions,
    read_question,
    split_passages,
)
from novarag.grouping import evidence_state


def test_the_log_has_a_third_each_and_no_prepared_question():
    groups = made_up_groups()
    asked = {group.question.text for group in groups}
    assert len(groups) == len(asked) == QUESTIONS
    states = [evidence_state(group) for group in groups]
    assert {states.count(state) for state in set(states)} == {QUESTIONS // len(MIXES)}
    assert not asked & {one.asked.question for one in prepared_questions().values()}


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("contradict", "conflicting"),
        ("agree", "consistent"),
        ("junk", "insufficient"),
        ("mistaken", "consistent"),
    ],
)
def test_words_tell_what_the_prepared_passages_are(name, state):
    assert evidence_state(prepared_questions()[name].asked.group()) == state


def test_the_log_names_the_model_that_is_asked():
    assert open_boaster([]).name == SOURCE.model


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40), max_size=6))
def test_passages_come_back_as_they_were_typed_but_for_spaces(texts):
    passages = split_passages("\n\n".join(texts))
    assert split_passages(join_passages(passages)) == passages
    assert " ".join(" ".join(texts).split()) == " ".join(passages)


@given(st.binary(max_size=300))
def test_any_body_is_read_or_refused_and_nothing_of_it_controls_a_screen(body):
    try:
        fields = parse_fields(body)
    except UsageError:
        return
    assert set(fields) == set(LONGEST)
    assert all(line.isprintable() for text in fields.values() for line in text.split("\n"))
    try:
        asked = read_question(fields)
    except UsageError:
        return
    assert asked.question
    assert asked.answer
    assert 1 <= len(asked.passages) <= MOST_PASSAGES
