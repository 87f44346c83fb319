"""What a person sees while a verb works, and how they stop it; on standard error throughout."""

from __future__ import annotations

import shutil
import signal
import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from novarag.cli.exit_codes import ExitCode
from novarag.cli.translate import said
from novarag.flows.events import (
    FileWritten,
    Note,
    Notice,
    PartsProgress,
    RunBegun,
    RunEnded,
    RunProgress,
    StepBegun,
    StepProgress,
    TableRead,
)
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from novarag.calls import Price
    from novarag.flows.events import Event, EventListener
    from novarag.runner.events import RunSummary
    from novarag.runner.stop import Stop
    from novarag.runs import Progress

_PLAIN_EVERY = 10.0  # seconds between two lines where nothing can be drawn over
_DRAWN_EVERY = 0.2  # seconds between two pictures of a bar
_CLEAR = "\r\x1b[2K"


@contextmanager
def screen(price: Price | None = None) -> Iterator[EventListener]:
    """Show what a verb tells: lines, and below them how far it is, drawn over where possible."""
    live, began = sys.stderr.isatty(), monotonic()
    last, drawn = began, False

    def on_event(event: Event) -> None:
        nonlocal last, drawn
        now = monotonic()
        moving = isinstance(event, (RunProgress, StepProgress, PartsProgress))
        if moving and now - last < (_DRAWN_EVERY if live else _PLAIN_EVERY):
            return
        if moving:
            last = now
        line = _moving(event, now - began, price) if moving else _standing(event)
        if line is None:
            return
        if moving and live:
            sys.stderr.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
        else:
            sys.stderr.write((_CLEAR if drawn else "") + line + "\n")
        drawn = moving and live
        sys.stderr.flush()

    try:
        yield on_event
    finally:
        if drawn:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()


def _standing(event: Event) -> str | None:
    """Lay out an event that stays on the screen; None where a verb's own door prints it."""
    match event:
        case Notice(text):
            return f"found: {said(text)}"
        case Note(text):
            return said(text)
        case TableRead(lines):
            return "\n".join(f"read: {plain_text(line, longest=600)}" for line in lines) or None
        case StepBegun(name, number, steps):
            sys.stdout.flush()
            return f"\n[{number}/{steps}] {name}"
        case FileWritten(path):
            return f"wrote {path}"
        case RunBegun():
            return _greeting(event)
        case _:
            return None


def _moving(event: Event, elapsed: float, price: Price | None) -> str | None:
    """Lay out how far a verb is."""
    match event:
        case RunProgress(now, requests, seconds):
            drawn = f"{bar(now.settled / max(requests, 1), 10)} " if sys.stderr.isatty() else ""
            return drawn + status(now, requests, seconds, price)
        case StepProgress(what, seen, fresh):
            return f"{seen:,} {what} · {fresh / max(elapsed, 1e-9):,.0f} new a second"
        case PartsProgress(what, done, total):
            return f"{bar(done / max(total, 1), 10)} {what}: {done:,} of {total:,}"
        case _:
            return None


def _greeting(begun: RunBegun) -> str:
    manifest = begun.manifest
    settings = manifest.settings
    said = f"{manifest.questions:,} questions, {manifest.trials:,} trials"
    extra = f", {manifest.repeated:,} repeated rows asked once" if manifest.repeated else ""
    parts = len(manifest.parts)
    done = f"; {begun.finished:,} of {parts:,} shards are finished" if begun.finished else ""
    warm = f" at T={settings.sampling.temperature:g}" if settings.sampling.temperature else ""
    return f"{settings.model}, {settings.strategy}{warm}: {said}{extra}{done}"


def status(now: Progress, requests: int, elapsed: float, price: Price | None) -> str:
    """Say in one line how far a run is: done, failed, in flight, tokens, money, time left."""
    fresh = now.settled - now.before
    tokens = now.completion_tokens - now.tokens_before
    parts = [
        f"{now.answered_requests:,} of {requests:,} done",
        f"{now.dead_requests:,} failed",
        f"{now.in_flight:,} in flight",
    ]
    if elapsed > 0 and fresh:
        parts.append(f"{tokens / elapsed:,.0f} tokens/s")
    if not now.in_flight and requests > now.settled and elapsed > 5:
        parts.append("waiting for the server")
    elif fresh and requests > now.settled:
        parts.append(f"{duration(elapsed / fresh * (requests - now.settled))} left")
    if price is not None:
        spent = price.of(now.prompt_tokens, now.completion_tokens)
        parts.append(f"{spent:,.2f} of about {spent * requests / max(now.settled, 1):,.2f}")
    return " · ".join(parts)


def bar(share: float, width: int = 20) -> str:
    """Draw a share of one.

    >>> bar(0.5, 8)
    '████░░░░'
    """
    full = round(min(max(share, 0.0), 1.0) * width)
    return "█" * full + "░" * (width - full)


def interval_bar(value: float, low: float, high: float, width: int = 20) -> str:
    """Draw a share of one within its interval.

    >>> interval_bar(0.5, 0.25, 0.75, 8)
    '··──●──·'
    """
    places = [min(int(share * width), width - 1) for share in (value, low, high)]
    at, first, last = places
    marks = ("─" if first <= i <= last else "·" for i in range(width))
    return "".join("●" if i == at else mark for i, mark in enumerate(marks))


def duration(seconds: float) -> str:
    """Say a time roughly.

    >>> duration(42), duration(200), duration(7300)
    ('42 s', '3 min', '2 h 1 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


@contextmanager
def asking(price: Price | None = None) -> Iterator[tuple[EventListener, Stop]]:
    """Show a verb that asks, and let an interrupt stop it; a second one leaves at once."""
    from novarag.runner.stop import Stop
    from novarag.runs import tune_gc

    stop = Stop()

    def interrupt(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()  # before the words: who reads them may press Ctrl-C again at once
        print("\nfinishing what is in flight; Ctrl-C again to leave at once", file=sys.stderr)

    tune_gc()
    wanted = {signal.SIGINT: interrupt, signal.SIGTERM: lambda *_: stop.set()}
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        with screen(price) as on_event:
            yield on_event, stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def keeping(on_event: EventListener, ended: list[RunEnded]) -> EventListener:
    """Keep what came of runs, to be printed when the screen is clear; show the rest."""

    def hear(event: Event) -> None:
        if isinstance(event, RunEnded):
            ended.append(event)
        else:
            on_event(event)

    return hear


def printing(on_event: EventListener, price: Price | None) -> EventListener:
    """Print what came of each run of several as it ends, and show the rest."""

    def hear(event: Event) -> None:
        on_event(event)
        if isinstance(event, RunEnded):
            sum_up(event.summary, price, alone=False)
            sys.stdout.flush()

    return hear


def sum_up(run: RunSummary, price: Price | None, *, alone: bool = True) -> ExitCode:
    """Print what came of a run on standard output; return the exit code.

    A pipeline, which is not `alone`, knows itself what is next.
    """
    from novarag.runner.runner import cause_of
    from novarag.runs import open_run

    print(
        f"{run.answered:,} of {run.requests:,} requests answered ({run.fresh:,} asked now),"
        f" {run.dead:,} failed; {run.trials:,} trials, {run.unread:,} unread"
    )
    spent = f"{run.prompt_tokens:,} prompt and {run.completion_tokens:,} reply tokens"
    money = price.of(run.prompt_tokens, run.completion_tokens) if price else None
    print(spent + (f", about {money:,.2f}" if money is not None else ""))
    if run.dead:
        again = "add --retry-failed to ask them again"
        if run.all_failed and alone:
            print(cause_of(open_run(run.place)))
        print(f"{run.dead:,} failed: `novarag run show {run.place}` says why; {again}")
    if not run.finished:
        why = "stopped" if run.stopped else "unfinished"
        print(f"{why}: run the same command to go on, or `novarag run show {run.place}`")
        return ExitCode.STOPPED if run.stopped else ExitCode.INCOMPLETE
    if alone and not run.all_failed:
        _suggest(run)
    return ExitCode.INCOMPLETE if run.dead else ExitCode.DONE


def _suggest(run: RunSummary) -> None:
    then = "" if "://" in run.place else f", then novarag measure {run.place}"
    sampled = then and run.trials > run.answered + run.dead and _labelled(run.place)
    many = f", or novarag train filter {run.place} --out kept" if sampled else ""
    print(f"next: novarag run show {run.place}{then}{many}")


def _labelled(place: str) -> bool:
    """Tell whether it is known what the passages are, without which a filter keeps nothing."""
    from novarag.runs import open_run

    first = next(iter(open_run(place).groups(0)), None)
    return first is not None and first.kind is not None


def print_notes(lines: Iterable[str]) -> None:
    """Print sentences as a list, in the flags of the verb that was called."""
    for line in lines:
        print(f"- {plain_text(said(line), longest=1000)}")
