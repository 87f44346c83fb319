"""What a calibration and a gate add to a live answer, and how long a million rows take.

The same call is timed with and without them, in turn, so that a noisy neighbour hits both: CPU
microseconds of this process, the median of many rounds. The model is an async function that replies
at once, so all of it is ours. The first figure is for the stated confidence alone; with the signal
"likelihood" the answer's tokens are looked for in the reply, too.
"""

import argparse
import asyncio
import statistics
from time import process_time

import numpy as np

from novarag.calibration.graded_answers import AnswerSource
from novarag.calls import Reply
from novarag.flows.answerer import Answerer
from novarag.records import Completion
from novarag.strategies import NOVA
from tests.support.graded_answers import STATES
from tests.support.live_parts import calibration, gate

QUESTION = "In which year was the lighthouse of Brent Rock lit?"
PASSAGES = [
    "The lighthouse of Brent Rock was lit in 1871, two years after the wreck. " * 4,
    "A plaque at the harbour says that the light of Brent Rock dates from 1884. " * 4,
    "Bread has been baked in the village for as long as anybody can remember. " * 4,
]
REPLY = (
    "Step 1: the first passage says 1871, and the second says 1884.\n"
    "Step 2: the third passage does not bear on the question.\n"
    "Passage Classifications: highly relevant, highly relevant, irrelevant\n"
    "Group Judgment: conflicting\nAnswer: 1871\nConfidence: 90%"
)
GOAL_LIVE, GOAL_ROWS = 60.0, 1.0  # microseconds, CPU seconds


class Model:
    """Replies at once, with log-probabilities where they are asked for."""

    model = "instant"
    tokens = tuple(REPLY[i : i + 4] for i in range(0, len(REPLY), 4))
    plain = Completion(text=REPLY, model=model)
    likely = Completion(text=REPLY, model=model, tokens=tokens, logprobs=(-0.1,) * len(tokens))

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        return Reply(completions=(self.likely if sampling.logprobs else self.plain,))


async def once(answerer: Answerer, calls: int) -> float:
    """CPU microseconds a call."""
    start = process_time()
    for _ in range(calls):
        await answerer.answer_async(QUESTION, PASSAGES)
    return (process_time() - start) / calls * 1e6


async def added(parts: dict, calls: int, rounds: int) -> tuple[float, float]:
    """Microseconds of a call without the parts, and what they add: medians over the rounds."""
    async with Answerer(Model()) as without, Answerer(Model(), **parts) as live:
        pairs = [(await once(without, calls), await once(live, calls)) for _ in range(rounds + 1)]
    pairs = pairs[1:]  # the first warms up
    base = statistics.median(one for one, _ in pairs)
    return base, statistics.median(two - one for one, two in pairs)


def rows(made, count: int, signal: bool) -> float:
    """CPU seconds of applying a calibration to so many rows."""
    rng = np.random.default_rng(0)
    confidence = rng.integers(0, 101, count) / 100
    states = [STATES[i] for i in rng.integers(0, 3, count)]
    tells = rng.random(count) if signal else None
    start = process_time()
    made.apply(confidence, states, tells)
    return process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=1_000_000)
    args = parser.parse_args()
    source = AnswerSource(model=Model.model, prompt=NOVA.template.hash)
    plain, likely = calibration(source=source), calibration(source=source, signal="likelihood")
    missed = []
    for name, made in (("stated confidence", plain), ("with likelihood", likely)):
        parts = {"calibration": made, "gate": gate(0.6, made)}
        base, more = asyncio.run(added(parts, args.calls, args.rounds))
        print(
            f"{name}: calibration and gate add {more:.0f} µs to {base:.0f} µs a call (goal {GOAL_LIVE:.0f})"
        )
        missed += [name] if more > GOAL_LIVE else []
    for name, made in (("no signal", plain), ("with signal", likely)):
        took = min(rows(made, args.rows, made is likely) for _ in range(3))
        print(f"{args.rows:,} rows, {name}: {took:.2f} CPU-s (goal {GOAL_ROWS:.0f})")
        missed += [name] if took > GOAL_ROWS else []
    if missed:
        raise SystemExit(f"goal missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
