"""What a guardrail remembers of calls: for how long, how many, how much, and at what cost."""

import time
import tracemalloc

import pytest

from novarag.gateway.http import guardrail
from novarag.gateway.http.guardrail import CallMemory, measure_call
from novarag.gateway.http.requests import BadRequest, GivenPassage


def asked(number):
    return (f"Which is number {number}?", [f"It is {number}.", "Bread rises slowly."])


def known(calls, call, tenant="t"):
    try:
        return calls.find(tenant, call)
    except BadRequest:
        return None


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(guardrail.time, "monotonic", lambda: now[0])
    return now


def test_calls_are_forgotten_by_age(clock):
    calls = CallMemory(seconds=10)
    calls.keep("t", "old", asked(0))
    clock[0] = 9.0
    calls.keep("t", "young", asked(1))
    assert known(calls, "old") == asked(0)
    clock[0] = 10.0
    assert known(calls, "old") is None
    calls.keep("t", "fresh", asked(2))
    assert [*calls._tenants["t"].calls] == ["young", "fresh"]


def test_two_that_differ_under_one_id_are_both_forgotten():
    calls = CallMemory()
    calls.keep("t", "1", asked(1))
    calls.keep("t", "1", asked(1))
    assert known(calls, "1") == asked(1)
    calls.keep("t", "1", asked(2))
    with pytest.raises(BadRequest, match="two calls"):
        calls.find("t", "1")
    calls.keep("t", "1", asked(1))
    assert known(calls, "1") is None


def test_h3_a_tenant_has_so_many_calls_and_pushes_out_its_own_alone():
    calls = CallMemory(most=3)
    calls.keep("other", "x", asked(0))
    for number in range(5):
        calls.keep("t", str(number), asked(number))
    assert [number for number in range(5) if known(calls, str(number))] == [2, 3, 4]
    assert known(calls, "x", "other") == asked(0)


def test_h3_the_room_of_all_is_taken_from_the_tenant_that_has_most():
    one = measure_call(asked(0))
    calls = CallMemory(room=4 * one)
    calls.keep("quiet", "x", asked(0))
    for number in range(8):
        calls.keep("loud", str(number), asked(number))
    assert known(calls, "x", "quiet") == asked(0)
    assert [number for number in range(8) if known(calls, str(number), "loud")] == [5, 6, 7]
    assert calls._size == sum(kept.size for kept in calls._tenants.values()) <= 4 * one


def test_h3_what_is_counted_is_no_less_than_what_is_taken():
    """Hold the counted bytes against those that Python hands out, for calls of every kind."""
    kinds = [
        lambda n: asked(n),
        lambda n: f"there is no message of a user {n}",
        lambda n: ("q" * n, ["\N{BALLOON}" * 50] * 1 + [f"{n}" * 40]),
        lambda n: (f"q{n}", [GivenPassage(text=f"p{n}", source=f"s{n}", date="d", id=f"{n}")] * 1),
    ]
    for make in kinds:
        calls = CallMemory()
        tracemalloc.start()
        for number in range(1_000):
            calls.keep("t", f"call-{number}", make(number))
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert taken <= calls._size <= 6 * taken


def test_h3_a_refusal_is_kept_as_words_and_holds_nothing_else(tmp_path):
    calls = CallMemory()
    calls.keep("t", "1", "there is no message of a user")
    with pytest.raises(BadRequest) as first:
        calls.find("t", "1")
    with pytest.raises(BadRequest) as second:
        calls.find("t", "1")
    assert first.value is not second.value


def seconds_of(calls, first, count=200):
    """Return the processor's time that the cheapest of five rounds of calls took."""
    took = []
    for turn in range(5):
        began = time.process_time()
        for number in range(count):
            calls.keep("t", f"{first}-{turn}-{number}", asked(number))
        took.append(time.process_time() - began)
    return min(took)


@pytest.mark.parametrize("most", [10**9, 15_000])
def test_h3_a_call_costs_the_same_however_many_there_are(most):
    calls = CallMemory(most=most, room=10**12)
    first = seconds_of(calls, "first")
    for number in range(20_000):
        calls.keep("t", f"more-{number}", asked(number))
    assert seconds_of(calls, "later") < 10 * first
