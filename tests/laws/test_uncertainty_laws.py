"""Laws of the methods: within bounds, blind to order, sure where all agree."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import METHODS, Completion, Flaw, PassageGroup, Question, Response, Trial
from novarag.uncertainty import (
    by_entailment,
    eigen_laplacian,
    lexical_similarity,
    likelihood,
    p_true,
    perplexity,
    self_frequency,
    semantic_entropy,
)  # fmt: skip
from novarag.uncertainty.sample_agreement import _common, meanings, rouge_l

GROUP = PassageGroup(question=Question(id="q", text="?"), passages=())
WORDS = st.sampled_from(["red", "Red", "blue sky", "a blue", "sky red blue", "é", "?!", "10"])
ANSWERS = st.one_of(st.none(), WORDS, st.text(min_size=1, max_size=12))
SAMPLES = st.lists(ANSWERS, min_size=2, max_size=12)
LOGPROBS = st.floats(max_value=0.0, allow_nan=False)
AGREEING = {
    "self-frequency": self_frequency,
    "lexical-similarity": lambda samples: lexical_similarity(said("x"), samples),
    "eigen-laplacian": lambda samples: eigen_laplacian(said("x"), samples),
    "semantic-entropy": lambda samples: semantic_entropy(said("x"), samples),
}


def said(*answers, confidence=0.5):
    return [
        Trial(
            group=GROUP, strategy="vanilla", sample=i, completion=Completion(text="", model="m"),
            response=None if a is None else Response(answer=a, confidence=confidence),
            flaw=Flaw.NO_ANSWER if a is None else None,
        )
        for i, a in enumerate(answers)
    ]  # fmt: skip


@pytest.mark.parametrize("name", AGREEING)
@given(answers=SAMPLES, order=st.randoms(use_true_random=False))
def test_agreement_lies_within_bounds_and_order_does_not_count(name, answers, order):
    shuffled = list(answers)
    order.shuffle(shuffled)
    one, two = (AGREEING[name](said(*some)) for some in (answers, shuffled))
    if all(a is None for a in answers):
        assert one is two is Flaw.NO_ANSWER
    else:
        assert 0.0 <= one.confidence == two.confidence <= 1.0


@pytest.mark.parametrize("name", AGREEING)
@given(answer=st.text(min_size=1, max_size=30), n=st.integers(2, 12))
def test_samples_that_are_all_the_same_are_sure(name, answer, n):
    assert AGREEING[name](said(*[answer] * n)).confidence == 1.0


@pytest.mark.parametrize("name", AGREEING)
@given(n=st.integers(2, 12), unread=st.integers(0, 3))
def test_samples_that_share_nothing_are_as_unsure_as_can_be(name, n, unread):
    answers = [f"word{i}" for i in range(n)] + [None] * unread
    least = 1 / len(answers) if name == "self-frequency" else 0.0
    assert AGREEING[name](said(*answers)).confidence == least


@pytest.mark.parametrize("name", AGREEING)
@given(answers=SAMPLES.filter(any), data=st.data())
def test_a_sample_that_is_not_read_never_makes_surer(name, answers, data):
    read = [i for i, a in enumerate(answers) if a is not None]
    lost = data.draw(st.sampled_from(read))
    fewer = [None if i == lost else a for i, a in enumerate(answers)]
    after = AGREEING[name](said(*fewer))
    if after is not Flaw.NO_ANSWER:
        assert after.confidence <= AGREEING[name](said(*answers)).confidence + 1e-9


@given(sizes=st.lists(st.integers(1, 5), min_size=2, max_size=6))
def test_two_meanings_that_become_one_make_entropy_surer(sizes):
    apart = [f"word{i}" for i, size in enumerate(sizes) for _ in range(size)]
    merged = ["word1" if answer == "word0" else answer for answer in apart]
    one, two = (AGREEING["semantic-entropy"](said(*some)).confidence for some in (apart, merged))
    assert one < two
    shares = np.array(sizes) / sum(sizes)
    plain = 1 + float((shares * np.log(shares)).sum()) / log(sum(sizes))
    assert one == pytest.approx(plain, abs=1e-12)


@given(SAMPLES.filter(any))
def test_the_number_of_meanings_is_the_trace_since_jaccard_has_no_negative_eigenvalue(answers):
    split = [None if a is None else frozenset(a.lower().split()) for a in answers]

    def alike(i, j):
        one, two = split[i], split[j]
        if i == j or one is None or two is None:
            return float(i == j)
        return 1.0 if one == two else len(one & two) / len(one | two)

    n = len(answers)
    assert meanings(answers) == pytest.approx(
        sum(1 / sum(alike(i, j) for j in range(n)) for i in range(n)), abs=1e-9
    )


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_the_common_subsequence_is_that_of_the_plain_table(one, two):
    table = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            )
    assert _common(one, two) == table[-1][-1]
    assert 0.0 <= rouge_l(one, two) == rouge_l(two, one) <= 1.0


@given(st.lists(st.sampled_from("abc"), max_size=8))
def test_entailment_of_equals_is_equality(answers):
    same = by_entailment(lambda pairs: [(float(a == b), 0.5, 0.0) for a, b in pairs])
    numbers = same("?", answers)
    for i, a in enumerate(answers):
        assert [n == numbers[i] for n in numbers] == [b == a for b in answers]


@given(
    st.lists(st.tuples(st.sampled_from(["True", " false", "No", "true."]), LOGPROBS), max_size=9)
)
def test_p_true_is_a_chance_and_turns_over_with_its_words(first):
    def found(alternatives):
        asked = Completion(text="", model="m", alternatives=tuple(alternatives))
        trial = Trial(group=GROUP, strategy="p-true", sample=0, completion=asked, response=None)
        return p_true(said("x"), [trial])

    other = {"True": "False", "true.": "False", " false": "True", "No": "No"}
    one, two = found(first), found([(other[word], logprob) for word, logprob in first])
    if one is Flaw.NO_VERDICT:
        assert two is one
    else:
        assert 0.0 <= one.confidence <= 1.0
        assert one.confidence + two.confidence == pytest.approx(1.0)


@given(
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20),
    st.lists(st.integers(1, 7), min_size=40, max_size=40),
    st.lists(LOGPROBS, min_size=40, max_size=40),
)
def test_likelihood_is_no_more_than_perplexity_however_the_reply_is_cut(answer, cuts, logprobs):
    text, tokens = f"So.\nAnswer: {answer}\nConfidence: 50%", []
    rest = text
    for cut in cuts:
        tokens, rest = [*tokens, rest[:cut]], rest[cut:]
    tokens[-1] += rest
    completion = Completion(text=text, model="m", tokens=tuple(tokens), logprobs=tuple(logprobs))
    response = Response(answer=answer, confidence=0.5)
    reply = [Trial(group=GROUP, strategy="cot", sample=0, completion=completion, response=response)]
    one, two = likelihood(reply).confidence, perplexity(reply).confidence
    assert 0.0 <= one <= two + 1e-12 <= 1.0 + 1e-12


def test_a_method_sees_its_draws_and_nothing_else():
    """Grades are not read: a method's response is the same for a right and a wrong answer."""
    from dataclasses import replace

    from novarag import Grade

    samples = said("Paris", "Paris", "Lyon")
    for name in ("ensemble", "self-frequency"):
        graded = [replace(t, grade=Grade.RIGHT) for t in samples]
        assert METHODS[name].of(samples) == METHODS[name].of(graded)
