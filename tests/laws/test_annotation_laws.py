"""The annotator on long hostile passages: its time grows with their length, not faster."""

import time

import pytest

from novarag import Passage, PassageGroup, Question
from novarag.annotation import PassageOrigin, annotate
from novarag.annotation.values import find_values


def cost(run, argument):
    start = time.process_time()
    run(argument)
    return time.process_time() - start


def assert_linear(run, piece, size):
    """Doubling a text must not take much more than twice as long; the best of a few counts."""
    run(piece * 10)
    for _ in range(5):
        once = min(cost(run, piece * size) for _ in range(2))
        twice = min(cost(run, piece * (2 * size)) for _ in range(2))
        if twice < 2.5 * once + 0.02:
            return
    pytest.fail(f"{piece!r} x {2 * size} takes {twice:.2f} s, x {size} takes {once:.2f} s")


@pytest.mark.parametrize(
    "piece", ["7 ", "9,", "one ", "1999 ", "3 May 1911 ", "May ", "7 one May 1911 ", "1,000,"]
)
def test_values_are_found_in_linear_time(piece):
    assert_linear(find_values, piece, 4000)


@pytest.mark.parametrize("expect", list(PassageOrigin))
@pytest.mark.parametrize(
    "piece", ["Paris. ", "Paris ", "7 ", "Paris\n", "The seat. Paris of 1999! "]
)
def test_verdicts_are_reached_in_linear_time(piece, expect):
    question = Question(id="q", text="What is the seat of Paris?", answers=("Paris", "1999"))

    def run(text):
        annotate([PassageGroup(question=question, passages=(Passage(text=text),))], expect=expect)

    assert_linear(run, piece, 1500)
