"""Alarms of drift on streams of known truth: how often they are false, and how soon they come.

A reference of some size is drawn from a truth, then a stream of answers from the same truth, or
from one that drifts after some answers. Counted are streams with an alarm before a drift, and
streams whose alarm comes within the number of answers that was stated beforehand. A stream in
which every answer comes five times in a row breaks what the alarm rests on, and is shown beside.
Exits with 1 if a stated rate is not kept. Usage:
python -m validation.drift [--streams 2000] [--answers 10000] [--only false|delay] [--seed 0]
"""

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np

from novarag.calibration import drift
from novarag.calibration.drift import (
    CUTS,
    FALSE_ALARM,
    FALSE_WARNING,
    STATES,
    SURE,
    DriftTest,
    DriftWatch,
    less_confident,
    more_of_state,
)
from novarag.calibration.reference import DriftReference

SIZES = (100, 300, 1000)
BEFORE = 1000
"""Answers before a drift begins."""

TRUTHS = {
    "spread out": {
        "consistent": {100: 10, 95: 20, 90: 20, 80: 10},
        "conflicting": {90: 5, 80: 10, 60: 5},
        "insufficient": {80: 5, 60: 5, 50: 5, 20: 5},
    },
    "sure of itself": {
        "consistent": {100: 45, 95: 20, 90: 10},
        "conflicting": {95: 3, 90: 2},
        "insufficient": {100: 5, 90: 5, 80: 10},
    },
    "no states": {"": {100: 20, 95: 20, 90: 30, 80: 20, 50: 10}},
}
"""Counts that are the truth: answers by evidence state and stated percent."""


@dataclass(frozen=True)
class Streams:
    """Many references drawn from one truth, each with its bets; rows of one shape."""

    tests: list[DriftTest]
    ratios: np.ndarray  # stream, kind of answer, bet
    stake: np.ndarray  # stream, bet


def kinds(truth):
    """Return the kinds of answers of a truth as (state, percent), and their shares."""
    pairs = [(state, percent) for state, levels in truth.items() for percent in levels]
    share = np.array([truth[state][percent] for state, percent in pairs], dtype=float)
    return pairs, share / share.sum()


def draw(truth, size, streams, rng):
    """Draw references of a size, and lay out their bets."""
    pairs, share = kinds(truth)
    tests = []
    for counted in rng.multinomial(size, share, size=streams):
        counts = {state: {} for state, _ in pairs}
        for (state, percent), n in zip(pairs, counted.tolist(), strict=True):
            counts[state][percent] = n
        tests.append(DriftTest(DriftReference(counts=counts)))
    most = max(len(test.bets) for test in tests)
    ratios = np.ones((streams, tests[0].ratios.shape[0], most))
    stake = np.zeros((streams, most))
    for i, test in enumerate(tests):
        ratios[i, :, : len(test.bets)] = test.ratios
        stake[i, : len(test.bets)] = test.stake
    return Streams(tests, ratios, stake)


def run(streams, cells):
    """Return for each stream the answer that raised a warning, and an alarm; 0 for never."""
    count, answers = cells.shape
    worth = np.zeros(streams.stake.shape)
    rows = np.arange(count)
    warned, alarmed = np.zeros(count, int), np.zeros(count, int)
    for n in range(answers):
        worth += drift._begins(n)
        worth *= streams.ratios[rows, cells[:, n]]
        np.minimum(worth, 1e200, out=worth)
        evidence = (streams.stake * worth).sum(axis=1) + drift._left(n + 1)
        warned[(warned == 0) & (evidence >= drift._WARN)] = n + 1
        alarmed[(alarmed == 0) & (evidence >= drift._LIMIT)] = n + 1
    return warned, alarmed


def sampled(shares, count, answers, rng):
    """Draw streams of kinds of answers."""
    return rng.choice(shares.size, p=shares, size=(count, answers)).astype(np.int8)


def watched(test, cells):
    """Return the answer at which the shipped watch raises its alarm; 0 for never."""
    watch = DriftWatch(test)
    states, percents = (*STATES, "other"), (0, *CUTS)
    bins = len(percents)
    for cell in cells.tolist():
        watch.see(percents[cell % bins] / 100, states[cell // bins])
    return watch.since or 0


def false_alarms(args, rng):
    """Print how many streams without a drift raise an alarm; return whether all is kept."""
    fine = True
    print(f"no drift: {args.streams:,} streams of {args.answers:,} answers, each its own reference")
    print("truth           reference  ever alarm  ever warning   fivefold: alarm")
    for name, truth in TRUTHS.items():
        shares = drift.shares_of(truth)
        for size in SIZES:
            streams = draw(truth, size, args.streams, rng)
            cells = sampled(shares, args.streams, args.answers, rng)
            warned, alarmed = run(streams, cells)
            check = range(0, args.streams, max(args.streams // 5, 1))
            same = all(watched(streams.tests[i], cells[i]) == alarmed[i] for i in check)
            copies = np.repeat(cells[:, : args.answers // 5], 5, axis=1)
            bursts = (run(streams, copies)[1] > 0).mean()
            false, warnings = (alarmed > 0).mean(), (warned > 0).mean()
            print(
                f"{name:15} {size:9,}  {false:10.2%}  {warnings:12.2%}  {bursts:15.2%}"
                + ("" if same else "   THE WATCH DIFFERS"),
                flush=True,
            )
            fine &= same and false <= FALSE_ALARM and warnings <= FALSE_WARNING
    return fine


def delays(args, rng):
    """Print how soon drifts are noticed; return whether the stated numbers are kept."""
    fine = True
    print(f"\na drift after {BEFORE:,} answers: {args.streams // 4:,} streams")
    print("truth           drift                     reference  unseen  stated  median  in time")
    for name, truth in TRUTHS.items():
        reference = DriftReference(counts=truth)
        had = sum(truth.get("insufficient", {}).values()) / 100
        drifts = {"stated 10 points lower": less_confident(reference, 10)}
        if had:
            drifts[f"insufficient {had:.1f} to {had + 0.2:.1f}"] = more_of_state(
                reference, "insufficient", had + 0.2
            )
        for what, shares in drifts.items():
            for size in SIZES:
                fine &= _delay(args, rng, (name, truth), (what, shares), size)
    return fine


def _delay(args, rng, named, drifted, size):
    (name, truth), (what, shares) = named, drifted
    count = args.streams // 4
    streams = draw(truth, size, count, rng)
    stated = np.array([test.needed(shares, after=BEFORE) or 0 for test in streams.tests])
    longest = min(int(stated.max()), args.answers)
    before = sampled(drift.shares_of(truth), count, BEFORE, rng)
    cells = np.concatenate([before, sampled(shares, count, longest, rng)], axis=1)
    alarmed = run(streams, cells)[1]
    promised = (stated > 0) & (stated <= longest)
    took = np.where(alarmed > 0, alarmed - BEFORE, 10**9)
    in_time = (took <= stated)[promised].mean()
    unseen = (~promised).mean()
    print(
        f"{name:15} {what:25} {size:9,}  {unseen:6.1%}  {np.median(stated[promised]):6,.0f}"
        f"  {np.median(took[promised]):6,.0f}  {in_time:7.1%}",
        flush=True,
    )
    return bool(in_time >= SURE)


def main():
    """Count, and say whether what is stated is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--only", choices=("false", "delay"))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng, began = np.random.default_rng(args.seed), time.monotonic()
    fine = True
    if args.only != "delay":
        fine &= false_alarms(args, rng)
    if args.only != "false":
        fine &= delays(args, rng)
    print(
        f"\nstated: an alarm without a drift in at most {FALSE_ALARM:.0%} of streams, a warning in"
        f" at most {FALSE_WARNING:.0%}; an alarm within the stated number in at least {SURE:.0%}"
    )
    print(f"{'kept' if fine else 'NOT KEPT'}, {time.monotonic() - began:.0f} s")
    sys.exit(not fine)


if __name__ == "__main__":
    main()
