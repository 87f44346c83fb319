"""Cards: scores by hand, verdicts, what is open, and how unread replies enter."""

import numpy as np
import pytest

from novarag import Question, Response
from novarag.probes import (
    DEFAULT_RISK,
    NO_RISK,
    PROFILES,
    RELATIONS,
    ProbeReplies,
    RelationBasis,
    RelationKind,
    RelationVerdict,
    WideRangeCause,
    make_card,
    prove,
)
from novarag.probes.replies import encode


def reply(said):
    return None if said is None else Response(answer=said[0], confidence=said[1])


def probed(name="q", **replies):
    held = {
        variant.replace("_", "-"): tuple(reply(said) for said in given)
        for variant, given in replies.items()
    }
    return ProbeReplies(question=Question(id=name, text="?"), replies=held)


def scores(relation, one, risk=NO_RISK):
    row = RELATIONS[relation]
    first, second = encode([one], row.first, row.second)
    found = row.score(first, second, risk=risk)
    return pytest.approx(float(found.least[0])), pytest.approx(float(found.most[0]))


SURE, OTHER = ("red", 0.9), ("blue", 0.8)


@pytest.mark.parametrize(
    ("relation", "replies", "least", "most"),
    [
        ("agreement", {"original": [SURE], "repeat": [SURE]}, -0.1, -0.1),
        ("agreement", {"original": [SURE], "repeat": [OTHER]}, 0.35, 0.35),
        ("agreement", {"original": [SURE], "repeat": [None]}, -0.05, 0.45),
        ("agreement", {"original": [None], "repeat": [None]}, 0.0, 1.0),
        ("sum:irrelevant", {"original": [SURE], "irrelevant": [OTHER]}, 0.7, 0.7),
        ("sum:irrelevant", {"original": [SURE], "irrelevant": [SURE]}, -0.2, -0.2),
        ("sum:irrelevant", {"original": [SURE], "irrelevant": [None]}, -0.1, 0.9),
        ("sum:irrelevant", {"original": [None], "irrelevant": [None]}, 0.0, 2.0),
        ("sum:irrelevant", {"original": [SURE], "irrelevant": [SURE, OTHER]}, 0.25, 0.25),
        ("flip-rise:shuffle", {"original": [OTHER], "shuffle": [("blue", 0.9)]}, 0.1, 0.1),
        ("flip-rise:shuffle", {"original": [OTHER], "shuffle": [SURE]}, -0.9, -0.9),
        ("flip-fall:shuffle", {"original": [SURE], "shuffle": [("red", 0.4)]}, 0.5, 0.5),
        ("flip-rise:shuffle", {"original": [None], "shuffle": [SURE]}, -0.1, 0.4),
        ("rises:duplicate", {"original": [OTHER], "duplicate": [SURE]}, 0.08, 0.08),
        ("rises:duplicate", {"original": [None], "duplicate": [SURE]}, -0.12, 0.88),
        ("falls:contradiction", {"original": [SURE], "contradiction": [SURE]}, 0.1, 0.1),
        ("falls:contradiction", {"original": [("x", 0.1)], "contradiction": [("x", 0.1)]}, 0.05, 0.05),
        ("falls:contradiction", {"original": [SURE], "contradiction": [None]}, -0.8, 0.2),
    ],
)  # fmt: skip
def test_scores_by_hand(relation, replies, least, most):
    assert scores(relation, probed(**replies)) == (least, most)


def test_matching_risk_is_taken_off_breaks_alone():
    one = probed(original=[SURE], repeat=[OTHER], irrelevant=[OTHER])
    assert scores("agreement", one, DEFAULT_RISK) == (0.35 - 0.01, 0.35)
    least, most = scores("sum:irrelevant", one, NO_RISK)
    off, same = scores("sum:irrelevant", one, DEFAULT_RISK)
    assert off == pytest.approx(least.expected - 0.02)
    assert same == most


def many(count, make):
    rng = np.random.default_rng(7)
    return [probed(f"q{at}", **make(rng)) for at in range(count)]


def honest(rng):
    chance = float(rng.uniform(0.3, 0.9))
    said = lambda low=0.0: [("red" if rng.random() < 0.9 else "blue", max(0.0, chance - low))]  # noqa: E731
    return {
        "original": said(), "repeat": said(), "irrelevant": said(), "duplicate": said(),
        "lost_support": said(0.3), "contradiction": said(0.3), "injected_confidence": said(),
        "shuffle": said(),
    }  # fmt: skip


def boastful(rng):
    return {name: [(rng.choice(["red", "blue", "green"]), 0.95)] for name in honest(rng)}


def by_name(card):
    return {finding.relation.name: finding for finding in card.findings}


def test_who_is_honest_breaks_nothing():
    card = make_card(many(200, honest))
    assert card.broken == ()
    found = by_name(card)
    assert found["falls:contradiction"].verdict is RelationVerdict.HOLDS
    assert found["agreement"].verdict is RelationVerdict.HOLDS
    assert card.proved.points == 0.0
    assert not card.one_sided


def test_who_boasts_breaks_bounds_and_sensitivity():
    card = make_card(many(100, boastful))
    broken = {finding.relation.name for finding in card.broken}
    assert {"agreement", "sum:lost-support", "falls:contradiction"} <= broken
    assert not {"flip-rise:shuffle", "rises:duplicate"} & broken
    assert card.proved.points > 0.2
    assert set(card.proved_with) == {"irrelevant", "contradiction", "lost-support"}


def test_few_questions_are_described_only():
    card = make_card(many(49, boastful))
    assert {f.verdict for f in card.findings} == {RelationVerdict.TOO_FEW}
    assert {f.p_breaks for f in card.findings} == {None}
    assert by_name(card)["agreement"].score.value > 0.2
    assert make_card(many(1, boastful)).findings[0].score.low is None


def test_what_is_open_says_how_many_more():
    def unsure(rng):
        shift = float(rng.normal(0, 0.2))
        return {
            "original": [("red", 0.5)],
            "duplicate": [("red", 0.53 + np.clip(shift, -0.4, 0.4))],
        }

    card = make_card(many(60, unsure))
    finding = by_name(card)["rises:duplicate"]
    assert finding.verdict is RelationVerdict.CANNOT_TELL
    assert finding.more > 0
    assert finding.more % 10 == 0
    assert card.one_sided
    assert "falls:contradiction" in card.not_asked
    assert card.proved is None
    assert card.proved_with == {}


def test_more_questions_do_not_settle_what_is_unread():
    def half(rng):
        return {
            "original": [("red", 0.5)],
            "duplicate": [None if rng.random() < 0.5 else ("red", 0.5)],
        }

    card = make_card(many(80, half))
    finding = by_name(card)["rises:duplicate"]
    assert finding.verdict is RelationVerdict.CANNOT_TELL
    assert finding.more is None
    assert finding.unread == card.unread > 20
    assert finding.replies == card.replies == 160


def test_what_almost_holds_needs_some_more():
    card = make_card(many(80, lambda _: {"original": [("red", 0.5)], "duplicate": [("red", 0.5)]}))
    finding = by_name(card)["rises:duplicate"]
    assert (finding.verdict, finding.changed) == (RelationVerdict.CANNOT_TELL, 0.0)
    assert finding.more > 100


def test_nothing_read_has_no_means():
    card = make_card(
        many(60, lambda _: {"original": [None], "repeat": [None], "duplicate": [None]})
    )
    finding = by_name(card)["rises:duplicate"]
    assert (finding.first, finding.second) == (None, None)
    assert card.broken == ()
    assert card.proved.points == 0.0


def test_groups_of_one_question_are_averaged():
    pair = [
        probed("q", original=[SURE], repeat=[OTHER]), probed("q", original=[SURE], repeat=[SURE]),
        probed("r", original=[SURE], repeat=[SURE]), probed("s", original=[SURE]),
    ]  # fmt: skip
    finding = by_name(make_card(pair, risk=NO_RISK))["agreement"]
    assert finding.scores == pytest.approx({"q": 0.125, "r": -0.1})
    assert (finding.questions, finding.left_out, finding.replies) == (2, 1, 6)


def test_what_is_proved_adds_up():
    found = prove([probed("q", original=[SURE, OTHER, None]), probed("r", original=[SURE, SURE])])
    assert found.stated == pytest.approx((1.7 / 3 + 0.9) / 2)
    assert found.ceiling == pytest.approx((1 / 3 + 1) / 2)
    assert found.value == pytest.approx(found.stated - found.ceiling - found.taken_off)
    assert (found.questions, found.replies, found.unread) == (2, 5, 1)
    alone = prove([probed("q", original=[SURE, OTHER])])
    assert (alone.low, alone.points) == (None, 0.0)
    assert prove([probed("q", original=[SURE])]) is None
    assert prove([]) is None


def test_every_relation_says_what_it_rests_on():
    for name, relation in RELATIONS.items():
        assert relation.name == name
        assert relation.reason.endswith(".")
        assert (relation.basis is RelationBasis.PROVED) == (relation.margin == 0)
        assert relation.least(0.6) == (-1.0 if relation.margin == 0 else -0.6 - relation.margin)
    assert {relation.kind for relation in RELATIONS.values()} == set(RelationKind)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_shows_invariance_beside_sensitivity(name):
    asked = {*PROFILES[name].samples, "repeat"}
    kinds = {r.kind for r in RELATIONS.values() if set(r.variants) <= asked}
    assert {RelationKind.INVARIANCE, RelationKind.SENSITIVITY} <= kinds


def moved(count, before, after, **more):
    return [
        probed(
            f"{before}{after}{i}", original=[("red", before)], duplicate=[("red", after)], **more
        )
        for i in range(count)
    ]


def test_t14_a_flat_score_below_its_tolerance_is_open_for_what_so_few_may_miss():
    [found] = make_card(moved(70, 0.9, 0.9), relations=[RELATIONS["rises:duplicate"]]).findings
    assert found.score.value == pytest.approx(-0.02)
    assert found.verdict is RelationVerdict.CANNOT_TELL
    assert found.score.low < -0.02
    assert found.score.high > found.relation.tolerance
    assert found.open is WideRangeCause.RARE
    asked = moved(70 + found.more, 0.9, 0.9)
    [settled] = make_card(asked, relations=[RELATIONS["rises:duplicate"]]).findings
    assert settled.verdict is RelationVerdict.HOLDS
    assert settled.score.high <= settled.relation.tolerance
    assert settled.open is None


def test_t14_a_score_far_below_zero_is_open_for_what_unread_replies_may_have_said():
    read = moved(90, 0.9, 0.75)
    unread = [probed(f"u{i}", original=[None], duplicate=[("red", 0.9)]) for i in range(60)]
    [found] = make_card([*read, *unread], relations=[RELATIONS["rises:duplicate"]]).findings
    assert found.score.value < -0.1
    assert found.verdict is RelationVerdict.CANNOT_TELL
    assert found.score.high > found.relation.tolerance
    assert (found.more, found.open) == (None, WideRangeCause.UNREAD)
