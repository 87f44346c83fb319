"""Shares of success: exact tests, noise that is taken off, and rows that have a verdict."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from novarag.attacks import Attack, AttackCase, AttackGoal, AttackOutcome, AttackPlace
from novarag.attacks.defences import DEFENCES, find_defence
from novarag.attacks.result import AttackResult, defence_line
from novarag.attacks.success import p_value, score, score_by
from novarag.calls import Cost
from novarag.errors import UnknownNameError
from novarag.records import Question

ORDER = Attack(name="a", kind="authority", goal=AttackGoal.RAISE, texts=("x",), states=100)


def said(confidence):
    return AttackOutcome(answer="x", confidence=confidence, decision="answer")


def case(number, *, after=0.5, repeat=0.5, attack=ORDER, blocked=False, defence="plain"):
    question = Question(id=f"q{number}", text="?")
    return AttackCase(
        question=question, group=f"g{number}", attack=attack, place=AttackPlace.LAST, defence=defence,
        planted="Dorrigan", passages=("x",), before=said(0.5), repeat=said(repeat),
        after=said(after), blocked=blocked,
    )  # fmt: skip


def test_one_attack_a_question_is_mcnemars_exact_test():
    only_attack, only_repeat, both, none = 9, 2, 3, 16
    cases = [case(i, after=1.0) for i in range(only_attack)]
    cases += [case(100 + i, repeat=1.0) for i in range(only_repeat)]
    cases += [case(200 + i, after=1.0, repeat=1.0) for i in range(both)]
    cases += [case(300 + i) for i in range(none)]
    n = only_attack + only_repeat
    exact = sum(comb(n, i) for i in range(only_repeat + 1)) / 2**n
    assert p_value(cases) == pytest.approx(exact)
    found = score(cases, "a", "plain")
    assert found.changed.value == pytest.approx((9 + 3) / 30)
    assert found.repeat.value == pytest.approx((2 + 3) / 30)
    assert found.net.value == pytest.approx(7 / 30)
    assert found.net.low < 7 / 30 < found.net.high
    assert found.reached.value == pytest.approx(12 / 30)
    assert found.parts["confidence"] == pytest.approx(12 / 30)
    assert (found.cases, found.questions, found.blocked) == (30, 30, 0)


def test_an_attack_that_does_what_a_repeat_does_is_not_convicted():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(300):
        cases = []
        for number in range(20):
            repeat = rng.random() < 0.2
            for _ in range(4):
                after = rng.random() < 0.2
                cases.append(case(number, after=0.5 + 0.4 * after, repeat=0.5 + 0.4 * repeat))
        alarms += p_value(cases) <= 0.05
    assert alarms <= 25  # 5 % of 300 is 15; a discrete test stays below


def test_blocked_cases_are_counted_but_say_nothing():
    blocked = [case(i, blocked=True) for i in range(5)]
    assert p_value(blocked) == 1.0
    out = score(blocked, "a", "plain")
    assert (out.blocked, out.net.low, out.net.high) == (5, 0.0, 0.0)
    half = score([*[case(i, after=1.0) for i in range(5)], *blocked], "a", "plain")
    alone = score([case(i, after=1.0) for i in range(5)], "a", "plain")
    assert half.net.value == alone.net.value / 2 == 0.5
    assert half.net.low == alone.net.low / 2
    asked = [case(i, after=1.0) for i in range(5)]
    assert p_value(asked) == p_value([*asked, *blocked]) == pytest.approx(1 / 32)


def test_rows_are_adjusted_for_their_number():
    other = replace(ORDER, name="b", kind="clones")
    cases = [case(i, after=1.0) for i in range(12)] + [case(i, attack=other) for i in range(12)]
    rows = {row.name: row for row in score_by(cases, lambda c: c.attack.kind)}
    assert rows["authority"].adjusted == pytest.approx(2 * rows["authority"].p_value)
    assert rows["authority"].succeeds
    assert not rows["clones"].succeeds
    assert score_by([], lambda c: c.attack.kind) == []


def test_a_small_share_is_no_success_though_it_is_all_one_way():
    assert not score([case(0, after=1.0)], "a", "plain").succeeds


def result(cases, defences=("plain", "screen")):
    return AttackResult(
        model="m", strategy="nova", cases=tuple(cases), defences=defences, action="remove",
        margin=0.05, decides="x", cost=Cost(), missing=0, flagged=0, passages=1,
    )  # fmt: skip


def test_a_result_parts_its_cases_and_keeps_controls_apart():
    control = Attack(name="c", kind="control", goal=AttackGoal.NONE, texts=("y",))
    clone = replace(ORDER, name="b", kind="aaa-mine")
    cases = [case(i, after=1.0, attack=clone) for i in range(12)]
    cases += [case(i, after=1.0) for i in range(12)]
    cases += [case(i, attack=control) for i in range(12)]
    cases += [case(i, defence="screen", blocked=True) for i in range(12)]
    found = result(cases)
    assert [(r.name, r.defence) for r in found.by_class] == [
        ("authority", "plain"), ("aaa-mine", "plain"), ("authority", "screen")
    ]  # fmt: skip
    assert found.succeeded
    assert [r.defence for r in found.by_defence] == ["plain", "screen"]
    assert [r.name for r in found.by_place] == ["last", "last"]
    assert [r.name for r in found.by_attack] == ["a", "b", "a"]
    assert [r.changed.value for r in found.controls] == [0.0]
    assert not result([c for c in cases if c.blocked]).succeeded
    assert "plain: attacks change 100.0 % (73.5 to 100.0) of replies" in repr(found)
    assert defence_line(found.by_defence[0]) in repr(found)


def test_a_defence_is_found_by_name():
    assert find_defence("framed") is DEFENCES["framed"]
    with pytest.raises(
        UnknownNameError, match="'none' is not one of framed, plain, screen, structured"
    ):
        find_defence("none")
