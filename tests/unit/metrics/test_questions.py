"""Which rows are of one question: spelling makes no other one, signs with a meaning do."""

import numpy as np
import polars as pl
import pytest

from novarag.metrics.questions import question_keys
from tests.support.statement_tables import hidden_repeats, spelt

ASKED = "What is the capital of France?"
SAME = [
    ASKED,
    "what is the capital of france",
    "  What is  the capital of France ? ",
    "What\u00a0is the capital of\u200b France",
    "\uff37\uff28\uff21\uff34 is the capital of France\uff1f",
    "1. What is the capital of France?",
    "(12) What is the capital of France",
    "1.2) What is the capital of France?",
    "Q7: What is the capital of France?",
    "Question 12 What is the capital of France?",
    "#3 What is the capital of France?",
    "4 - what is the capital of France?",
    "12 What is the capital of France",
    '3) "What is the capital of France?"',
    "\u201cWhat is the capital of France?\u201d",
    "**What is the capital of France?**",
    "- What is the capital, of France?!",
    "What is - the capital of France?",
]
OTHERS = [
    "What is C?", "What is C++?", "What is C#?", "What is 50% of 8?", "What is 50 of 8?",
    "What is 2 - 3?", "What is 2 / 3?", "What is 2+3?", "What is 2 -3?",
    "1.5 liters is how much?", "2.5 liters is how much?", "2 plus 3 is what number",
    "4 plus 3 is what number", "10 largest cities", "5 largest cities",
    "3-letter words are what", "2-letter words are what", "a.csv, row 1", "a.csv, row 2",
    "question 1", "question 2", "row 1 x", "row 2 x",
]  # fmt: skip
NAMES = ["q1", "Q1", "q-1", "q_1", "1", "2", "12 + 7", "hotpot:12.3", "1-2", "12"]


def keys(texts):
    return question_keys(pl.Series("question", texts)).to_list()


@pytest.mark.parametrize("text", SAME)
def test_m6_spelling_makes_no_other_question(text):
    assert keys([text]) == keys([ASKED])


def test_m6_what_changes_the_meaning_makes_another_question():
    assert len(set(keys(OTHERS))) == len(OTHERS)


def test_m6_names_say_themselves_which_question_they_mean():
    assert keys(NAMES) == NAMES
    assert keys(["q1 ", None]) == ["q1", None]


def test_m6_scripts_without_spaces_are_texts():
    assert (
        len(set(keys(["\u6cd5\u56fd\u7684\u9996\u90fd\uff1f", "\u6cd5\u56fd\u7684\u9996\u90fd"])))
        == 1
    )


def test_m6_a_key_is_its_own_key():
    made = keys([*SAME, *OTHERS, *NAMES])
    assert keys(made) == made


def test_m6_every_way_of_spelling_leads_back():
    rng = np.random.default_rng(0)
    asked = "Who wrote the letter to the mayor of Bremen in 1904?"
    assert set(keys([spelt(asked, copy, rng) for copy in range(300)])) == set(keys([asked]))
    assert question_keys(hidden_repeats()["question"]).n_unique() == 30


def test_m6_hostile_text_has_a_key():
    nested = ["(" * 50_000 + "a b", "1." * 50_000 + "what is it", "- " * 50_000 + "what is it"]
    assert all(keys(nested))
