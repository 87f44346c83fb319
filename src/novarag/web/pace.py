"""How much an endpoint bears, learnt from how it reacts.

Two limits. How many requests are in flight: raised by addition, cut by multiplication. And, once a
server has said "too many", how many leave per second. Both are judged over many replies, so that
one lost connection is no reason to slow down; and where slowing down does not help, the failures
have another cause and are borne. Time is an argument everywhere.
"""

from __future__ import annotations

_START = 8  # in flight before anything is known; doubles per round trip until the first trouble
_SHRINK, _COLLAPSE = 0.7, 0.5
_SOME, _MOST = 0.1, 0.5  # share of failures at which to shrink, and at which nothing else matters
_SLOW, _FAR_TOO_SLOW = 4.0, 8.0  # latency over the best seen: stop growing, shrink
_DOUBTFUL, _IN_A_ROW = 3, 8  # failures in a row: try one at a time, pause
_LONGEST_PAUSE = 30.0  # seconds that a failing server is left alone


class EndpointPace:
    """The limits of one endpoint."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(min(most, _START))
        self.in_flight = 0
        self.resumes = 0.0
        self.throttle = Throttle()
        self._window = _Window(self.limit)
        self._blame = _FailureBlame()
        self._in_a_row, self._row_began = 0, 0.0
        self._trouble = False
        self._best_latency = float("inf")

    def has_room(self, now: float) -> bool:
        """Say whether one more may be sent; to an endpoint that only fails, one at a time."""
        limit = 1 if self._in_a_row >= _DOUBTFUL else int(self.limit)
        return self.in_flight < limit and now >= self.resumes

    @property
    def load(self) -> float:
        """Return the share of the limit that is in use."""
        return self.in_flight / self.limit

    def depart(self, now: float) -> float:
        """Count one more as in flight; return how long it must wait before it leaves."""
        self.in_flight += 1
        return self.throttle.wait(now)

    def accepted(self, sent: float, now: float) -> None:
        """A reply came."""
        self.in_flight -= 1
        self._in_a_row = 0
        self.throttle.accepted(now)
        self._window.good += 1
        self._window.latency += now - sent
        if not self._trouble:
            self.limit = min(self.limit + 1.0, float(self.most))
        self._judge(now)

    def rejected(self, now: float, after: float | None) -> None:
        """The server said "too many"; `after` is when it wants to hear from us again."""
        self.throttle.rejected(now)
        self._count_failure(now)
        insists = self._in_a_row >= _IN_A_ROW and now - self._row_began >= 1.0
        if insists and after is not None:
            self.resumes = max(self.resumes, now + after)
        self._judge(now)

    def failed(self, now: float) -> None:
        """The attempt timed out, was cut off, or met an error of the server."""
        self._count_failure(now)
        if self._in_a_row >= _IN_A_ROW:
            pause = 0.5 * 2.0 ** min(self._in_a_row - _IN_A_ROW, 10)
            self.resumes = max(self.resumes, now + min(pause, _LONGEST_PAUSE))
        self._judge(now)

    def gave_up(self) -> None:
        """The attempt said nothing of the server: it was cancelled, or its request was refused."""
        self.in_flight -= 1

    def _count_failure(self, now: float) -> None:
        self.in_flight -= 1
        self._window.bad += 1
        if not self._in_a_row:
            self._row_began = now
        self._in_a_row += 1

    def _judge(self, now: float) -> None:
        """At the end of a window of as many replies as are in flight, grow or shrink."""
        window = self._window
        size = window.good + window.bad
        if size < window.size:
            return
        self._window = _Window(self.limit)
        share, slowness = window.bad / size, self._slowness(window)
        if share > _SOME and self._blame.is_ours(self.limit, share, now):
            self.limit = max(self.limit * (_COLLAPSE if share > _MOST else _SHRINK), 1.0)
            self._trouble = True
        elif slowness > _FAR_TOO_SLOW:
            self.limit = max(self.limit * _SHRINK, 1.0)
            self._trouble = True
        elif slowness > _SLOW:
            self._trouble = True
        elif self._trouble:
            self.limit = min(self.limit + 1.0, float(self.most))
            self._trouble = now >= self._blame.deaf_until  # not our doing: grow as at the start

    def _slowness(self, window: _Window) -> float:
        """Return the window's latency over the best that was seen."""
        if not window.good:
            return 1.0
        mean = window.latency / window.good
        self._best_latency = min(self._best_latency * 1.01, mean)
        return mean / self._best_latency if self._best_latency > 0 else 1.0


class _Window:
    __slots__ = ("bad", "good", "latency", "size")

    def __init__(self, limit: float) -> None:
        self.good, self.bad, self.latency = 0, 0, 0.0
        self.size = max(int(limit), 16)


_DEAF = 60.0  # seconds without a further step down where one did not help


class _FailureBlame:
    """Whether failures come from how much we ask; if asking far less did not help, they do not."""

    def __init__(self) -> None:
        self.deaf_until = float("-inf")
        self._then: tuple[float, float] | None = None

    def is_ours(self, level: float, share: float, now: float) -> bool:
        """Judge a share of failures at a level of asking."""
        if now < self.deaf_until:
            return False
        if share > _MOST:
            self._then = None
            return True
        if self._then is None:
            self._then = level, share
            return True
        level_then, share_then = self._then
        if level > 0.6 * level_then:
            return True
        self._then = None
        if share >= 0.5 * share_then:
            self.deaf_until = now + _DEAF
            return False
        return True

    def forget(self) -> None:
        """Slowing down helped."""
        self._then = None


_GROWTH, _CATCHING_UP = 0.002, 0.1  # the rate's growth per second: near what was refused, and below
_PATIENCE = 60.0  # seconds without a refusal after which the growth itself grows
_CATCH_UP = 0.025  # seconds of departures that may be made up for after a stall
_STEP_BACK, _TOLERATED = 0.98, 0.002


class Throttle:
    """The rate a server allows: unknown until it says "too many", then kept just below that."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._due = 0.0
        self._cut = self._grown = self._refused = 0.0
        self._good, self._bad = 0, 0
        self._since: float | None = None
        self._blame = _FailureBlame()

    def wait(self, now: float) -> float:
        """Return how long the next request must wait."""
        if self.rate is None:
            return 0.0
        self._due = max(self._due, now - _CATCH_UP) + 1.0 / self.rate
        return max(0.0, self._due - now)

    def accepted(self, now: float) -> None:
        """Count a reply; while nothing is refused, the rate grows."""
        self._good += 1
        if self.rate is not None:
            quiet = (now - self._cut) / _PATIENCE
            near = self.rate > 0.9 * self._refused
            growth = _GROWTH * (1.0 + quiet * quiet) if near else _CATCHING_UP
            self.rate *= 1.0 + growth * min(now - self._grown, 1.0)
            self._grown = now
        self._judge(now)

    def rejected(self, now: float) -> None:
        """Count a "too many"."""
        self._bad += 1
        self._judge(now)

    def _judge(self, now: float) -> None:
        """Every second or so, step back to what was accepted if anything was refused."""
        if self._since is None:
            self._since = now
        elapsed, size = now - self._since, self._good + self._bad
        if elapsed < 1.0 or size < 10:
            return
        seen, share = self._good / elapsed, self._bad / size
        self._good, self._bad, self._since = 0, 0, now
        if share <= _TOLERATED:
            self._blame.forget()
        elif not seen:
            pass  # nothing at all was accepted: that is no rate, and pausing is not our task
        elif self._blame.is_ours(size / elapsed, share, now):
            self._refused = size / elapsed if self.rate is None else self.rate
            self.rate = max(_STEP_BACK * min(self._refused, seen), 0.05)
            self._cut = self._grown = now
        else:
            self.rate = None
