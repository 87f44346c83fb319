"""Requests and tokens a minute: per tenant, exact over time, paid back, and told in time."""

import asyncio
import random

import pytest

from novarag.calls import Usage
from novarag.gateway.http.access import RateBucket, TenantLimits
from novarag.gateway.http.usage import find_usage, read_usage
from novarag.gateway.settings import RateLimits
from tests.support.gateways import REPLY, Upstream, ask, events, fronted, post
from tests.unit.gateway.test_keys import KEY, OTHER, part, with_key

PLAIN = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_over_an_hour_no_more_gets_through_than_the_limit_and_its_first_minute():
    clock, draw, rates = Clock(), random.Random(3), RateLimits(requests=60)
    limits, taken = TenantLimits(clock), 0
    while clock.now < 3600:
        clock.now += draw.expovariate(5)  # five a second ask, one a second may
        wait = limits.admit(rates, "a")
        taken += wait is None
        if wait is not None:
            assert 0 < wait <= 1
    assert 3600 <= taken <= 3660


def test_whoever_waits_as_long_as_told_gets_through():
    clock, rates = Clock(), RateLimits(requests=7, tokens=100)
    limits = TenantLimits(clock)
    for _ in range(50):
        wait = limits.admit(rates, "a")
        if wait is not None:
            clock.now += wait + 1e-6
            assert limits.admit(rates, "a") is None
        limits.charge(rates, "a", 40)


def test_tokens_are_paid_back_before_the_next_request_and_debts_end():
    clock, rates = Clock(), RateLimits(tokens=600)  # ten a second
    limits = TenantLimits(clock)
    assert limits.admit(rates, "a") is None
    limits.charge(rates, "a", 900)
    assert limits.admit(rates, "a") == pytest.approx(30.1)
    clock.now += 30.2
    assert limits.admit(rates, "a") is None
    limits.charge(rates, "a", 2**60)
    limits.charge(rates, "a", -(2**60))  # nobody gets rich by it
    assert 599 < limits.admit(rates, "a") < 601


def test_who_was_away_for_a_day_has_a_minutes_worth():
    clock, rates = Clock(), RateLimits(requests=6)
    limits = TenantLimits(clock)
    assert limits.admit(rates, "a") is None
    clock.now += 86_400
    assert sum(limits.admit(rates, "a") is None for _ in range(100)) == 6


def test_tenants_do_not_share_and_may_have_their_own_rate():
    clock, rates = Clock(), RateLimits(requests=1, tenants={"big": {"requests": 3}, "free": {}})
    limits = TenantLimits(clock)
    taken = {name: sum(limits.admit(rates, name) is None for _ in range(5))
             for name in ("a", "b", "big", "free", "__proto__")}  # fmt: skip
    assert taken == {"a": 1, "b": 1, "big": 3, "free": 5, "__proto__": 1}
    assert limits.admit(RateLimits(requests=1), "big") is not None  # a reload forgives nothing


def test_a_clock_that_stands_still_or_goes_back_gives_nothing():
    bucket = RateBucket(1, 100.0)
    bucket.take(1, 60, 100.0)
    assert bucket.wait(1, 60, 100.0) == bucket.wait(1, 60, 50.0) == 1


@pytest.mark.parametrize(
    ("usage", "read"),
    [({"prompt_tokens": 3, "completion_tokens": 4}, Usage(prompt=3, completion=4)),
     ({"prompt_tokens": -3, "completion_tokens": 2**60}, Usage()), ({"prompt_tokens": True}, Usage()),
     ({"prompt_tokens": "9", "completion_tokens": None}, Usage()), (None, None), ([1], None)],
)  # fmt: skip
def test_counts_of_a_server_are_taken_with_care(usage, read):
    assert read_usage(usage) == read


def test_usage_in_what_is_passed_on():
    assert find_usage(b'{"usage": {"prompt_tokens": 1}}') == Usage(prompt=1)
    assert [find_usage(c) for c in (None, b"[DONE]", b'"usage"', b'["usage"]', b'{"usage"')] == [
        None
    ] * 5


def run(tmp_path, story, *, upstream=None, tail=""):
    async def whole():
        async with fronted(tmp_path, upstream or Upstream(), tail=tail) as client:
            return await story(client)

    return asyncio.run(whole())


@pytest.mark.enable_socket
def test_too_many_requests_are_told_when_to_come_back(tmp_path):
    async def story(client):
        codes = []
        for key in (KEY, KEY, KEY, OTHER):
            async with client.post("/v1/score", json={}, headers=with_key(key)) as reply:
                codes.append(reply.status)
                if reply.status == 429:
                    assert 20 <= int(reply.headers["retry-after"]) <= 30
        assert codes == [400, 400, 429, 400]
        assert client.gateway.tallies.turned_away == {"bad request": 3, "rate": 1}

    run(tmp_path, story, tail=part() + part(OTHER, "beta") + "[limits.rate]\nrequests = 2\n")


@pytest.mark.enable_socket
@pytest.mark.parametrize("body", [PLAIN, PLAIN | {"stream": True}, ask(), ask(stream=True)],
                         ids=["passed", "passed stream", "ours", "ours stream"])  # fmt: skip
def test_a_reply_is_charged_by_what_its_server_says(tmp_path, body):
    async def story(client):
        send = events if body.get("stream") else post
        assert (await send(client, body))[0] == 200
        assert client.gateway.tallies.tokens == {("support", "prompt"): 11, ("support", "reply"): 7}
        async with client.post("/v1/chat/completions", json=body) as reply:
            assert reply.status == 429
            assert 44 <= int(reply.headers["retry-after"]) <= 54  # 9 of 10 a minute
            assert (await reply.json())["error"]["type"] == "rate_limit_error"

    run(tmp_path, story, tail="[limits.rate]\ntokens = 10\n")


@pytest.mark.enable_socket
def test_both_askings_of_a_policy_are_charged(tmp_path):
    def reply(body):
        again = "1871" in str(body)
        return REPLY.replace("Consistent", "Conflicting") if again else REPLY

    async def story(client):
        await post(client, ask())
        assert sum(client.gateway.tallies.tokens.values()) == 36

    tail = '[models.support.policy]\nconflicting = "closed-book"\n'
    run(tmp_path, story, upstream=Upstream(reply), tail=tail)
