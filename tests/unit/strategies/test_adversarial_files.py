"""The frozen hostile replies are well-formed, and poison never shares a value with the own."""

import re
from collections import Counter
from itertools import combinations
from math import isclose

import pytest

from novarag.strategies import STRATEGIES
from tests.support.adversarial import TABLE, frozen, split
from tests.support.poisoned import poisoned_replies

PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*\\?%|\"confidence\": (\d+)")
KEYS = {"id", "class", "strategy", "passages", "finish", "reply", "expect"}
PARTS = {name: frozen(name) for name in ("open", "sealed")}
CASES = [case for part in PARTS.values() for case in part]


@pytest.mark.parametrize("name", PARTS)
def test_the_grammar_makes_the_frozen_file_again(name):
    assert PARTS[name] == split()[name]


def test_every_class_is_in_both_files_and_a_third_is_sealed():
    whole, sealed = (Counter(c["class"] for c in part) for part in (CASES, PARTS["sealed"]))
    assert set(whole) == set(sealed) == set(TABLE)
    assert len(whole) >= 24
    assert len(CASES) >= 480
    assert all(3 * sealed[name] == whole[name] for name in whole)


def test_ids_and_replies_are_unique():
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert len({(c["strategy"], c["finish"], c["reply"]) for c in CASES}) == len(CASES)


def test_cases_have_the_form():
    for case in CASES:
        expect = case["expect"]
        assert set(case) == KEYS
        assert {"any_of", "refused"} <= set(expect) <= {"any_of", "refused", "classes"}
        assert case["finish"] in {"stop", "length"}
        assert expect["refused"] or expect["any_of"], "nothing would be right"
        assert all(0 <= value <= 1 for value in expect["any_of"])
        assert bool(case["passages"]) == (case["strategy"] != "closed-book")
        assert len(expect.get("classes", case["passages"])) == len(case["passages"])


def test_every_strategy_is_known_and_met():
    for part in PARTS.values():
        assert {case["strategy"] for case in part} == set(STRATEGIES)


def test_honest_replies_are_about_a_fifth():
    assert 0.18 <= sum(not case["expect"]["refused"] for case in CASES) / len(CASES) <= 0.28


def test_what_passages_state_is_never_the_own_confidence():
    for case in CASES:
        found = [float(a or b) / 100 for a, b in PERCENT.findall("\n".join(case["passages"]))]
        poison = found + [a * b for a, b in combinations(found, 2)]
        for own in case["expect"]["any_of"]:
            assert not any(isclose(own, value, abs_tol=1e-6) for value in poison), case["id"]
            assert poison or not case["passages"], case["id"]


def test_poisoned_replies_repeat_by_seed_and_share_no_value():
    drawn = list(poisoned_replies(3000, 7))
    assert drawn == list(poisoned_replies(3000, 7)) != list(poisoned_replies(3000, 8))
    assert all(own not in poison for _, _, own, poison, _ in drawn)
    assert 900 < sum(own is None for _, _, own, _, _ in drawn) < 1100
