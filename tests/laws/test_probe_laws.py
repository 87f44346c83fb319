"""Laws of probes: who is honest keeps the bounds, who is constant keeps invariance alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag import Question, Response
from novarag.grading import normalize
from novarag.probes import (
    DEFAULT_RISK,
    NO_RISK,
    PROFILES,
    RELATIONS,
    ProbeReplies,
    RelationBasis,
    RelationKind,
    RelationVerdict,
    make_card,
    prove,
)
from novarag.probes.matching import agreeing, same_words
from novarag.probes.replies import ReplyArrays, encode
from novarag.probes.variants import _letters

WORDS = st.sampled_from(["red", "Red", "blue sky", "a blue", "sky red blue", "é", "?!", "no idea"])
ANSWERS = st.lists(st.one_of(st.none(), WORDS, st.text(max_size=8)), max_size=8)
REPLIES = st.one_of(
    st.none(),
    st.builds(Response, answer=WORDS, confidence=st.floats(0, 1, allow_nan=False)),
)
GROUPS = st.lists(
    st.dictionaries(
        st.sampled_from(sorted(PROFILES["full"].samples)), st.lists(REPLIES, max_size=3), max_size=6
    ),
    min_size=1,
    max_size=8,
)
QUESTION = Question(id="q", text="?")


def probed(groups):
    return [
        ProbeReplies(question=Question(id=f"q{at % 5}", text="?"), replies=replies)
        for at, replies in enumerate(groups)
    ]


@given(
    st.text(max_size=30) | st.text(alphabet="aAbBc1.,-'` éßſI\u0130\u0301\u2212中", max_size=30),
    st.data(),
)
def test_a_word_of_a_text_is_among_its_letters(text, data):
    words = normalize(text).split()
    some = data.draw(st.sampled_from(words)) if words else ""
    assert _letters(some) in _letters(text)


@given(ANSWERS)
def test_what_is_strictly_equal_agrees(answers):
    strict, lenient = same_words(answers, QUESTION), agreeing(answers, QUESTION)
    pairs = dict(zip(strict, lenient, strict=True))
    assert all(pairs[one] == two for one, two in zip(strict, lenient, strict=True))
    assert [number < 0 for number in lenient] == [answer is None for answer in answers]


@given(ANSWERS, st.randoms(use_true_random=False))
def test_agreement_does_not_depend_on_the_order(answers, random):
    order = list(range(len(answers)))
    random.shuffle(order)
    before = agreeing(answers, QUESTION)
    after = agreeing([answers[at] for at in order], QUESTION)
    assert [
        [before[one] == before[two] for two in order] for one in order
    ] == [[one == two for two in after] for one in after]  # fmt: skip


def drawn(seed, count, shape):
    """Draw replies of a respondent that states its own chance of being right, whatever it is."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([0.5] * 4, count)
    right = rng.dirichlet([1.0] * 4, count)
    answers = [
        (rng.random((count, m, 1)) > shares.cumsum(axis=1)[:, None, :-1]).sum(axis=2) for m in shape
    ]
    stated = [np.take_along_axis(right, answer, axis=1) for answer in answers]
    return [
        ReplyArrays(said, answer, answer, np.ones(answer.shape, dtype=bool))
        for said, answer in zip(stated, answers, strict=True)
    ]


@pytest.mark.parametrize(
    "name", [n for n, r in RELATIONS.items() if r.basis is RelationBasis.PROVED]
)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), shape=st.tuples(st.integers(2, 4), st.integers(1, 3)))
def test_who_is_honest_keeps_what_is_proved(name, seed, shape):
    """Each answer's chance is stated, so the mean score cannot exceed 0 but by chance."""
    first, second = drawn(seed, 600, shape)
    least = RELATIONS[name].score(first, second, risk=NO_RISK).least
    assert least.mean() <= 4 * least.std() / len(least) ** 0.5


@settings(max_examples=3, deadline=None)
@given(st.sampled_from([0.6, 0.95, 1.0]), st.integers(0, 100))
def test_a_constant_keeps_invariance_and_breaks_sensitivity(confidence, seed):
    rng = np.random.default_rng(seed)
    said = Response(answer=str(rng.integers(9)), confidence=confidence)
    groups = [dict.fromkeys(PROFILES["standard"].samples, (said,)) for _ in range(400)]
    card = make_card(
        [
            ProbeReplies(question=Question(id=str(at), text="?"), replies=g)
            for at, g in enumerate(groups)
        ]
    )
    verdicts = {finding.relation: finding.verdict for finding in card.findings}
    for relation, verdict in verdicts.items():
        wanted = (
            RelationVerdict.BREAKS
            if relation.kind is RelationKind.SENSITIVITY
            else RelationVerdict.HOLDS
        )
        assert verdict is wanted, relation.name


@settings(max_examples=30, deadline=None)
@given(GROUPS, st.randoms(use_true_random=False))
def test_the_order_of_questions_changes_nothing(groups, random):
    held = probed(groups)
    moved = list(held)
    random.shuffle(moved)
    before, after = make_card(held), make_card(moved)
    for one, two in zip(before.findings, after.findings, strict=True):
        assert one.scores == pytest.approx(two.scores)
        assert one.verdict is two.verdict
    assert before.not_asked == after.not_asked
    assert (before.proved is None) == (after.proved is None)
    if before.proved is not None:
        assert before.proved.value == pytest.approx(after.proved.value)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), min_size=2, max_size=6),
    st.integers(0, 5),
)
def test_more_agreement_never_proves_more(replies, at):
    """One reply that comes over to the largest set can only lower what is proved."""
    names = ["red", "blue", "green", "grey"]
    said = [names[number] for number, _ in replies]
    most = max(names, key=said.count)
    joined = [most if place == at % len(said) else name for place, name in enumerate(said)]
    found = [
        prove(
            [
                ProbeReplies(
                    question=QUESTION,
                    replies={
                        "original": [
                            Response(answer=name, confidence=stated)
                            for name, (_, stated) in zip(given, replies, strict=True)
                        ]
                    },
                )
            ],
            risk=DEFAULT_RISK,
        ).value
        for given in (said, joined)
    ]
    assert found[1] <= found[0] + 1e-12


@settings(max_examples=50, deadline=None)
@given(GROUPS)
def test_an_unread_reply_never_speaks_for_a_break(groups):
    """Scores for a break are at most those for a hold, and what is read lies between."""
    held = probed(groups)
    for relation in RELATIONS.values():
        first, second = encode(held, relation.first, relation.second)
        scores = relation.score(first, second, risk=NO_RISK)
        there = ~np.isnan(scores.least)
        assert (scores.least[there] <= scores.most[there] + 1e-12).all()


KINDS_OF_REPLIES = st.tuples(
    st.none() | st.sampled_from([0.05, 0.5, 0.9]),
    st.none() | st.sampled_from([0.05, 0.45, 0.5, 0.95]),
    st.booleans(),
    st.integers(1, 70),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(KINDS_OF_REPLIES, min_size=1, max_size=4))
def test_t14_every_verdict_is_read_from_its_range(kinds):
    asked = [
        ProbeReplies(
            question=Question(id=f"{at} {i}", text="?"),
            replies={
                "original": [before and Response(answer="red", confidence=before)],
                "duplicate": [after and Response(answer=word, confidence=after)],
                "shuffle": [after and Response(answer=word, confidence=after)],
                "lost-support": [after and Response(answer=word, confidence=after)],
            },
        )
        for at, (before, after, same, count) in enumerate(kinds)
        for word in ["red" if same else "blue"]
        for i in range(count)
    ]
    for found in make_card(asked).findings:
        low, high, end = found.score.low, found.score.high, found.relation.tolerance
        if found.verdict is RelationVerdict.TOO_FEW:
            continue
        read = (low >= 0, high <= end)
        assert read[0] is (found.verdict is RelationVerdict.BREAKS)
        assert (read == (False, True)) is (found.verdict is RelationVerdict.HOLDS)
        assert (found.open is not None) is (found.verdict is RelationVerdict.CANNOT_TELL)
        assert low <= found.score.value <= high
