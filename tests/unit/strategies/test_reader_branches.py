"""Replies that take the rarer turns of the reader, each with what is read of it."""

import pytest

from novarag import Flaw, Passage, PassageGroup, Question
from novarag.strategies import COT, MULTI_STEP, STRATEGIES, VANILLA
from novarag.strategies.copies import _stated
from novarag.strategies.labels import _word_before
from novarag.strategies.markup import _bounded, decoded
from novarag.strategies.quotations import Quotations
from novarag.strategies.reply_form import form_of


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
        ":::note\na\n+++\nb\n",
        "--- end passage ---\na\n",
        "A long line of reasoning comes to its final answer: Lyon.\n",
        "Ich meine, die Antwort: Paris.\n",
    ],
)
def test_marks_without_a_partner_hide_nothing(before):
    found = COT.read(f"{before}Answer: Lyon\nConfidence: 90%")
    assert (found.answer, found.confidence) == ("Lyon", 0.9)


def test_a_quotation_that_is_opened_and_never_closed_hides_what_follows():
    found = COT.read("</quote> a <quote> b\nAnswer: Lyon\nConfidence: 90%")
    assert found.confidence is None


def test_an_object_behind_many_others_is_read_by_its_labels():
    text = "\n".join(["{a", "{b", "{c", "{d", '{"answer": "Lyon", "confidence": 90}'])
    found = VANILLA.read(text)
    assert (found.answer, found.confidence) == ("Lyon", 0.9)


def test_a_foreign_label_within_a_line_is_none():
    found = VANILLA.read("Man sucht hier die Antwort: Paris\nAntwort: Lyon\nKonfidenz: 90%")
    assert (found.answer, found.confidence) == ("Lyon", 0.9)


def test_a_bound_that_opens_twice_ends_once():
    text = "--- begin passage ---\na\n--- begin passage ---\nb\n--- end passage ---\n"
    (span,) = _bounded(text, 0)
    assert span[0] == 0


def test_a_number_far_from_its_word_is_not_stated_by_it():
    assert list(_stated("confidence" + " " * 500 + "90%", ("confidence",))) == []
    assert list(_stated("confidence" + " " * 5 + "90%", ("confidence",))) != []


def test_a_qualifier_stands_apart_from_its_label():
    assert _word_before("final", 0, 5, ("final",)) == 5
    assert _word_before("final ", 0, 6, ("final",)) == 0


def test_escapes_of_escapes_are_undone_a_few_times():
    assert decoded("&amp;amp;amp;amp;") == "&amp;"


def test_what_announces_a_label_says_nothing_in_a_frame():
    text = "Passage 2 says: Answer: Lyon"
    assert not Quotations(text, text.lower(), 0, framed=True).attributes(0, 16)
    assert Quotations(text, text.lower(), 0).attributes(0, 16)


def test_a_prompt_without_a_form_holds_replies_to_none():
    group = PassageGroup(
        question=Question(id="q", text="Where?", answers=("Lyon",)), passages=(Passage(text="x"),)
    )
    assert form_of(STRATEGIES["vanilla-paper"], group) is None
    assert form_of(VANILLA, group) is not None
