"""The reader on a grammar of replies: no crash, no invented number, linear time."""

import importlib
import pkgutil
import random
import re
import string
import time
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import novarag
from novarag import Flaw
from novarag.strategies import FORMATS, STRATEGIES, Labels, NumberScale, read
from novarag.strategies.copies import stated_values
from tests.support.extras import NEED_EXTRAS
from tests.support.grammar import reply
from tests.support.least import least

READERS = {
    "plain": Labels(),
    "steps": STRATEGIES["multi-step"].labels,
    **FORMATS,
}


QUOTING = "\"'`>\u201c\u201d\u2018\u2019\u00ab\u00bb"  # a mark beside these is talked about


def check(text, labels, k):
    reading = read(text, labels, k=k)
    if reading.confidence is not None:
        assert 0.0 <= reading.confidence <= 1.0
        start, end = reading.spans["confidence"]
        assert any(c in string.digits for c in text[start:end])
    assert (reading.response is None) == (reading.flaw is not None)
    assert reading.flaw is None or isinstance(reading.flaw, Flaw)
    if reading.judgment and reading.judgment.passages:
        assert len(reading.judgment.passages) == k
    for start, end in reading.spans.values():
        assert 0 <= start <= end <= len(text)
    if reading.answer is not None:
        start, end = reading.spans["answer"]
        assert re.sub(r"\s", " ", reading.answer) in re.sub(r"\s", " ", text[start:end])


@pytest.mark.parametrize("name", READERS)
def test_fuzzed_replies(name):
    rng = random.Random(f"fuzz {name}")
    for _ in range(4000):
        check(reply(rng, name), READERS[name], rng.choice((0, 1, 3)))


@settings(max_examples=600)
@given(st.text(max_size=400), st.sampled_from(sorted(READERS)))
def test_any_text(text, name):
    check(text, READERS[name], 3)


@settings(max_examples=500)
@given(
    st.integers(0, 10000),
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=30),
    st.text(max_size=200),
)
def test_a_plain_block_at_the_end_is_always_read(hundredths, answer, before):
    before = before.translate(dict.fromkeys(map(ord, QUOTING)))
    percent = f"{hundredths // 100}.{hundredths % 100:02d}%"
    text = f"{before}</think>\nFinal Answer: {answer}\nConfidence: {percent}"
    reading = read(text, Labels())
    assert reading.answer == answer
    assert reading.confidence == pytest.approx(hundredths / 10000)


@settings(max_examples=500)
@given(st.integers(0, 2**32), st.integers(0, 2**32), st.sampled_from(sorted(READERS)))
def test_what_was_thought_does_not_count(one, two, name):
    before, after = (reply(random.Random(seed), name) for seed in (one, two))
    before = before.translate(dict.fromkeys(map(ord, QUOTING)))
    whole, alone = (read(t, READERS[name], k=3) for t in (f"{before}</think>{after}", after))
    assert (whole.answer, whole.confidence, whole.judgment, whole.flaw) == (
        alone.answer,
        alone.confidence,
        alone.judgment,
        alone.flaw,
    )


@given(st.text(max_size=300), st.sampled_from(sorted(READERS)))
def test_reading_twice_gives_the_same(text, name):
    assert read(text, READERS[name], k=2) == read(text, READERS[name], k=2)


@given(st.floats(0, 1), st.sampled_from(NumberScale))
def test_a_percent_is_a_percent_on_every_scale(value, scale):
    text = f"Answer: x\nConfidence: {100 * value:.6f}%"
    assert read(text, Labels(scale=scale)).confidence == pytest.approx(value, abs=1e-7)


# Starts the command line; and what is not installed for laws compiles no pattern.
NOT_HERE = {"novarag.__main__", *NEED_EXTRAS}


def patterns():
    """Every compiled pattern of the package."""
    found = {}
    for module in pkgutil.walk_packages(novarag.__path__, "novarag."):
        if module.name in NOT_HERE:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                found[f"{module.name}.{name}"] = value
    return found


PIECES = [
    "a", " ", "\n", "9", "9.", ".", ":", "*", "-", "(", ")", "(a", "<", "[", "%", "Answer: ", "Confidence: ", "answer", "confidence ", "Confidence: 9\n",
    "Step 1 Confidence: 9%\n", "Answer: a\nConfidence: 9%\n", "Passage Classifications: R, ", "R, ", "R; ", "1. Highly Relevant, ",
    "Highly Relevant\n", "Group Judgment: x\n", "<answer>", "<answer>a</answer>", "<confidence>", "</think>", "<think>",
    "final ", "my answer ", "step 1 ", "\nstep 4", "*step 4", "{question}", "{", "Passage 1: ", "\u0130", "9/", "9-", "assistant\n", "Guess: ", "1,000,", "{a}", "the ",
]  # fmt: skip


MARKS = [
    "'a' ", '"a" ', "\u201ca", "> ", "```\n", "~~", "<!--", "\n  answer: a", "passage 1 says: ", "[think]", "<s>",
    "<b>", "<a>x</a>", "<aa>", "[/a]", "[b]x[/b]", ":::\n", "-- begin --\n", "\u300a", "Answer: a\nConfidence: 9%\nno, 8% ",
    "Answer: a\nConfidence: 9%\nit is A, not a. ", "9% (a) ", "antwort: a\nkonfidenz: 9%\n", "{%a%}", "{{a|", '{"a":', '\n{"a": 1',
    "step 1 confidence:\n", "<scratch", "<|", "[think", "passage 1:\n", "%25", "<br>", "<p ",
    "<|channel|>analysis", "```\n<think>x", "<think>x", "x</think>", ":\n", "\n\nanswer: ", "0.9 (", "9% - if ",
]  # fmt: skip


ESCAPES = [
    "&#99;",
    "&amp;",
    "&amp;amp;",
    "\\u0063",
    "\\x41",
    "%43",
    "confidence 9 ",
    "Confidence: 9/9 ",
    "\u200b",
    "\u0441",
]


def cost(run, text):
    start = time.process_time()
    run(text)
    return time.process_time() - start


def assert_not_exponential(run, piece, tail):
    for size in range(8, 34, 2):
        text = (piece * size)[:size] + tail
        assert least(partial(cost, run, text), 0.02) < 0.02, (
            f"{piece!r} then {tail!r} blows up at {size} characters"
        )


def growth(run, piece, tail):
    """How much dearer a text gets when it doubles, from 10 to 40 kB."""
    small, large = (cost(run, (piece * size)[:size] + tail) for size in (10_000, 40_000))
    return (max(large, 1e-3) / max(small, 5e-4)) ** 0.5


def assert_linear(run, piece):
    """Time grows at most 2.5 times per doubling; a noisy machine gets eight tries."""
    for tail in ("", "!"):
        assert_not_exponential(run, piece, tail)
        lowest = least(partial(growth, run, piece, tail), 2.5)
        assert lowest < 2.5, f"{piece!r} costs {lowest:.1f} times as much at each doubling"


def test_there_are_patterns_to_check():
    assert len(patterns()) >= 20


@pytest.mark.parametrize("name", sorted(patterns()))
def test_every_pattern_is_linear(name):
    pattern = patterns()[name]
    given = str.encode if isinstance(pattern.pattern, bytes) else str
    for piece in PIECES:
        assert_linear(lambda text: sum(1 for _ in pattern.finditer(given(text))), piece)


@pytest.mark.parametrize("name", READERS)
def test_the_reader_is_linear(name):
    for piece in PIECES + MARKS:
        assert_linear(lambda text: read(text, READERS[name], k=3), piece)


@pytest.mark.parametrize("name", ["plain", "guess-probability"])
def test_what_passages_state_is_found_in_linear_time(name):
    words = READERS[name].stating
    for piece in [*PIECES, *MARKS, *ESCAPES]:
        assert_linear(lambda text: stated_values.__wrapped__(text, words), piece)


def test_grading_is_linear():
    from novarag.grading import is_refusal, polarity, tokens

    for piece in PIECES:
        for run in (tokens, polarity, is_refusal):
            assert_linear(run, piece)
