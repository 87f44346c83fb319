"""What a person sees while a verb works, on a terminal and in a pipe."""

import io

import pytest

from novarag.cli import console
from novarag.flows.events import FileWritten, Notice, PartsProgress, RunProgress, StepProgress
from novarag.runs import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(console, "monotonic", lambda: now[0])
    monkeypatch.setattr("shutil.get_terminal_size", lambda: type("Size", (), {"columns": 40}))

    def wait(seconds):
        now[0] += seconds

    return wait


def far(answered):
    return RunProgress(Progress(answered_requests=answered, in_flight=4), 20, 1.0)


def test_a_terminal_has_one_line_that_moves(clock, monkeypatch):
    monkeypatch.setattr("sys.stderr", seen := Terminal())
    with console.screen() as tell:
        tell(far(1))  # too soon
        clock(0.3)
        tell(far(10))
        tell(Notice("a line that stays"))
        clock(0.3)
        tell(far(20))
    first, second = (
        f"{bar} {n} of 20 done · 0 failed · 4 in flight"[:39]
        for bar, n in (("█████░░░░░", 10), ("██████████", 20))
    )
    clear = "\r\x1b[2K"
    kept = f"{clear}found: a line that stays\n"
    assert seen.getvalue() == f"{clear}{first}{kept}{clear}{second}{clear}"


def test_a_pipe_has_a_line_every_ten_seconds(clock, monkeypatch):
    monkeypatch.setattr("sys.stderr", seen := io.StringIO())
    with console.screen() as tell:
        for answered in range(21):
            clock(1)
            tell(far(answered))
        tell(FileWritten("a.csv"))
    said = seen.getvalue()
    assert "\x1b" not in said
    assert "█" not in said
    assert [line.split(" · ")[0] for line in said.splitlines()] == [
        "9 of 20 done", "19 of 20 done", "wrote a.csv",
    ]  # fmt: skip


def test_what_has_no_requests_says_how_far_it_is_too(clock, monkeypatch):
    monkeypatch.setattr("sys.stderr", seen := io.StringIO())
    with console.screen() as tell:
        clock(10)
        tell(StepProgress("passages", 1000, 500))
        clock(10)
        tell(PartsProgress("groups", 5, 10))
    assert seen.getvalue() == ("1,000 passages · 50 new a second\n█████░░░░░ groups: 5 of 10\n")
