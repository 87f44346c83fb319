"""The pace of an endpoint, against servers that exist only as arithmetic."""

import heapq
from random import Random

import pytest

from novarag.web.pace import EndpointPace, Throttle


class World:
    """Many workers ask one server through one pace; time jumps from event to event."""

    def __init__(self, *, seconds=60.0, workers=64, latency=0.05, rate=None, burst=1.0, concurrent=None,
                 refused=0.0, failed=0.0):  # fmt: skip
        self.pace, self.rng = EndpointPace(workers), Random(0)
        self.latency, self.rate, self.burst, self.concurrent = latency, rate, burst, concurrent
        self.refused, self.failed = refused, failed
        self.tokens, self.filled, self.inside, self.idle = burst, 0.0, 0, workers
        self.events, self.count, self.seen = [], 0, []
        self.push(0.0, "tick", None)
        while self.events[0][0] < seconds:
            now, _, kind, what = heapq.heappop(self.events)
            getattr(self, kind)(now, what)
        late = [how for now, how in self.seen if now > seconds / 2]
        self.accepted = late.count("ok") / (seconds / 2)
        self.share = late.count("429") / max(len(late), 1)

    def push(self, when, kind, what):
        self.count += 1
        heapq.heappush(self.events, (when, self.count, kind, what))

    def tick(self, now, _):
        self.push(now + 0.002, "tick", None)
        while self.idle and self.pace.has_room(now):
            self.idle -= 1
            self.push(now + self.pace.depart(now), "send", None)

    def send(self, now, _):
        how = self.verdict(now)
        self.inside += how == "ok"
        took = 0.005 if how == "429" else self.latency * self.rng.uniform(0.8, 1.2)
        self.push(now + took, "done", (now, how))

    def verdict(self, now):
        self.tokens = min(self.tokens + (now - self.filled) * (self.rate or 0), self.burst)
        self.filled = now
        if self.concurrent is not None and self.inside >= self.concurrent:
            return "429"
        if self.rate is not None:
            if self.tokens < 1:
                return "429"
            self.tokens -= 1
        luck = self.rng.random()
        return (
            "429" if luck < self.refused else "fail" if luck < self.refused + self.failed else "ok"
        )

    def done(self, now, what):
        sent, how = what
        self.idle += 1
        self.seen.append((now, how))
        match how:
            case "ok":
                self.inside -= 1
                self.pace.accepted(sent, now)
            case "429":
                self.pace.rejected(now, 1.0)
            case _:
                self.pace.failed(now)


def test_a_willing_server_is_asked_as_much_as_allowed():
    world = World()
    assert world.pace.limit == 64
    assert world.accepted > 0.95 * 64 / 0.05


@pytest.mark.parametrize(
    ("rate", "burst", "workers"), [(200, 200, 64), (200, 10, 64), (20, 20, 64), (1000, 1000, 128)]
)
def test_a_rate_limit_is_found_and_kept(rate, burst, workers):
    world = World(rate=rate, burst=burst, workers=workers, seconds=120)
    assert world.share <= 0.01
    assert world.accepted >= 0.95 * rate


def test_a_limit_on_concurrency_is_found_too():
    world = World(concurrent=30, seconds=120)
    assert world.share <= 0.02
    assert world.accepted > 0.7 * 30 / 0.05


@pytest.mark.parametrize(("refused", "failed"), [(0.05, 0.0), (0.0, 0.2), (0.1, 0.1)])
def test_failures_that_slowing_down_does_not_cure_are_borne(refused, failed):
    world = World(refused=refused, failed=failed)
    assert world.accepted > 0.7 * 64 / 0.05 * (1 - refused - failed)


def test_a_dead_server_is_left_alone_for_longer_and_longer():
    world = World(failed=1.0)
    assert len([1 for now, _ in world.seen if now <= 30]) < 20
    assert len([1 for now, _ in world.seen if now > 30]) < 4


def test_a_server_that_gets_far_slower_is_asked_less():
    pace, now = EndpointPace(64), 0.0
    for latency in [0.1] * 400 + [2.0] * 400:
        pace.depart(now)
        now += 0.01
        pace.accepted(now - latency, now)
    assert pace.limit < 32


def test_a_server_that_gets_slower_is_not_asked_more():
    pace, now = EndpointPace(1000), 0.0
    for latency in [0.1] * 40 + [0.5] * 400:
        pace.depart(now)
        now += 0.01
        pace.accepted(now - latency, now)
    assert pace.limit < 200


def test_a_second_in_which_nothing_is_accepted_is_no_rate():
    throttle, now = Throttle(), 0.0
    for _ in range(200):
        now += 0.01
        throttle.accepted(now)
    for _ in range(400):
        now += 0.01
        throttle.rejected(now)
    assert throttle.rate is None or throttle.rate > 10
