"""Whether a gateway decides as `answer` does, and keeps its gate's promise, over real sockets.

Usage: python -m validation.gateway_right replies [--replies 10000]
       python -m validation.gateway_right promise [--seeds 200] [--requests 300]
       python -m validation.gateway_right drift [--seeds 200]

`replies` sends recorded replies of real models (their labels changed to ours), and replies that
quote poisoned passages, through a gateway with a calibration and a gate, every other one as a
stream, and gives the same replies to `answer`: every field must agree. `promise` draws graded
answers of a simulated model whose truth is known, fits a calibration, sets a gate, reloads the
gateway with both, and asks through it; the error of what the gateway would answer is counted over
20,000 further draws. `drift` asks through the gateway, then has the model state 10 points less, and
counts the answers until the alarm, beside the number that the status page stated before. Exit 1
where a field differs, the promise is broken too often, or alarms come too late or too soon.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path

import polars as pl

import novarag
from novarag import answer_async
from novarag.flows.calibrate import as_calibration
from novarag.flows.gate import as_gate
from novarag.gateway.http.server import reload_settings
from novarag.strategies import STRATEGIES
from novarag.taxonomy import EvidenceState
from tests.support.gateways import PASSAGES, Upstream, events, fronted, post
from tests.support.machine import described, shared_data
from tests.support.poisoned import poisoned_replies

RISK, SURE = 0.2, 0.9
GRADED = 400
BEFORE = 100  # answers before the drift
LOWER = "confidence stated 10 points lower"
LATER = 20_000
STATES = ("consistent", "conflicting", "insufficient")
RIGHT = {"consistent": 0.8, "conflicting": 0.45, "insufficient": 0.25}
LABELS = (("Guess:", "Answer:"), ("Probability:", "Confidence:"))


@dataclass(frozen=True, slots=True)
class Draw:
    """One answer of the simulated model: how sure it says it is, and whether it is right."""

    state: str
    stated: float
    right: bool

    def reply(self) -> str:
        """Write it as the model would."""
        classes = {"consistent": "Highly Relevant; Passage 2: Irrelevant",
                   "conflicting": "Highly Relevant; Passage 2: Highly Relevant",
                   "insufficient": "Relevant; Passage 2: Irrelevant"}[self.state]  # fmt: skip
        return (
            f"Step 1: a\nStep 2: b\nStep 3: c\nPassage Classifications: Passage 1: {classes}\n"
            f"Group Judgment: {self.state.title()}\nAnswer: {'right' if self.right else 'wrong'}\n"
            f"Confidence: {self.stated:.0%}"
        )


def draws(rng: random.Random, count: int) -> list[Draw]:
    """Draw answers of an overconfident model that knows a little of when it is right."""
    found = []
    for _ in range(count):
        state = rng.choices(STATES, weights=(5, 2, 3))[0]
        right = rng.random() < RIGHT[state]
        stated = min(1.0, max(0.0, rng.gauss(0.88 if right else 0.74, 0.12)))
        found.append(Draw(state, round(stated, 2), right))
    return found


def made_from(found: list[Draw], folder: Path, model: str, strategy: str, seed: int) -> None:
    """Fit a calibration and set a gate on graded answers, as files of a settings file."""
    table = pl.DataFrame({
        "question": [f"q{i}" for i in range(len(found))],
        "confidence": [d.stated for d in found],
        "correct": [d.right for d in found],
        "evidence": [d.state for d in found],
    })  # fmt: skip
    source = novarag.AnswerSource(model=model, prompt=STRATEGIES[strategy].template.hash)
    novarag.gate(
        table, risk=RISK, confidence_level=SURE, split=folder / "calibration.json", out=folder / "gate.json",
        source=source, seed=seed,
    )  # fmt: skip


def recorded(count: int) -> list[tuple[list[str], str, str]]:
    """Return replies with the passages they were given, and the strategy that reads them."""
    real = pl.read_parquet(shared_data() / "responses" / "verb_guess_probability.parquet")
    texts = real.sample(count * 4 // 5, seed=0, shuffle=True)["response"].to_list()
    cases = []
    for text in texts:
        for theirs, ours in LABELS:
            text = text.replace(theirs, ours)
        cases.append((PASSAGES, text, "vanilla"))
    for passages, reply, *_ in poisoned_replies(count - len(cases), 7):
        cases.append((list(passages), reply, "nova"))
    return cases


def compared(found: dict, text: str | None) -> dict:
    """Return what a gateway said, as far as `answer` says it too."""
    names = ("stated", "confidence", "interval", "calibrated", "evidence", "flaw")
    shown = {name: found[name] for name in names}
    judged = [p["judgment"] for p in found["passages"]]
    given = text if found["decision"] == "answer" else None
    return shown | {
        "judged": judged if any(judged) else None, "decision": found["decision"], "answer": given,
    }  # fmt: skip


def rounded(value: float | None) -> float | None:
    """Round as a verdict is."""
    return None if value is None else round(float(value), 4)


async def directly(case: tuple, folder: Path) -> dict:
    """Return what `answer` says of a reply, in the words of a verdict."""
    passages, reply, strategy = case
    said = await answer_async(
        "Which?", passages, lambda _prompt: reply, strategy=strategy, other_source=True,
        calibration=folder / "calibration.json", gate=folder / "gate.json",
    )  # fmt: skip
    judged = [str(j) for j in said.judgments or ()]
    return {
        "stated": rounded(said.stated), "confidence": rounded(said.confidence),
        "interval": said.interval and [rounded(end) for end in said.interval],
        "calibrated": said.calibrated, "evidence": said.evidence and str(said.evidence),
        "flaw": said.flaw and str(said.flaw), "judged": judged or None,
        "decision": said.decision, "answer": said.answer if said.decision == "answer" else None,
    }  # fmt: skip


async def through(client, case: tuple, *, stream: bool) -> dict:
    """Return what the gateway says of a reply."""
    passages, reply, strategy = case
    body = {
        "model": strategy,
        "messages": [{"role": "system", "content": reply}, {"role": "user", "content": "Which?"}],
        "novarag": {"passages": passages},
    }
    if not stream:
        _, _, found = await post(client, body)
        return compared(found["novarag"], found["choices"][0]["message"]["content"])
    _, _, parts = await events(client, body)
    chunks = [json.loads(part) for part in parts[:-1]]
    text = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
    return compared(next(c["novarag"] for c in chunks if "novarag" in c), text)


async def replies(count: int, folder: Path) -> int:
    """Hold every verdict of a gateway against that of `answer`."""
    made_from(draws(random.Random(1), GRADED), folder, "llama", "nova", 1)
    model = (
        'frame = false\nother_source = true\ncalibration = "calibration.json"\ngate = "gate.json"\n'
    )
    tail = "".join(
        f'[models.{name}]\nupstream = "main"\nname = "llama"\nstrategy = "{name}"\n{model}'
        for name in ("nova", "vanilla")
    )
    upstream = Upstream(lambda body: body["messages"][0]["content"])
    cases, different, seen = recorded(count), [], Counter()
    limit = asyncio.Semaphore(32)

    async def one(number: int, case: tuple) -> None:
        async with limit:
            upstream.seen.clear()
            ours = await through(client, case, stream=number % 2 == 1)
        direct = await directly(case, folder)
        seen[direct["flaw"] or direct["decision"]] += 1
        if ours != direct:
            different.append((number, case[1], ours, direct))

    async with fronted(folder, upstream, tail=tail) as client:
        await asyncio.gather(*(one(i, case) for i, case in enumerate(cases)))
    print(described())
    print(f"{len(cases):,} replies, every other one streamed: {len(different):,} verdicts differ")
    for outcome, times in seen.most_common():
        print(f"{times:9,}  {outcome}")
    for number, reply, ours, direct in different[:10]:
        changed = {k: (ours[k], direct[k]) for k in ours if ours[k] != direct[k]}
        print(f"reply {number}: {changed}\n{reply[:400]!r}")
    return int(bool(different))


def error_of(folder: Path, rng: random.Random) -> tuple[float, float]:
    """Return the share of answers that the gate lets through, and of wrong ones among them."""
    made, gate = as_calibration(folder / "calibration.json"), as_gate(folder / "gate.json")
    given = wrong = 0
    known: dict[tuple[str, float], bool] = {}
    for draw in draws(rng, LATER):
        key = (draw.state, draw.stated)
        if key not in known:
            state = EvidenceState(draw.state)
            known[key] = gate.decide(made.one(draw.stated, state)[0], state)[0]
        given += known[key]
        wrong += known[key] and not draw.right
    return given / LATER, wrong / given if given else 0.0


async def promise(seeds: int, requests: int, folder: Path) -> int:
    """Count how often the error among answers is over the promised risk."""
    waiting: dict[str, Draw] = {}
    upstream = Upstream(lambda body: waiting[body["messages"][0]["content"]].reply())
    made_from(draws(random.Random(0), GRADED), folder, "llama", "nova", 0)
    model = 'frame = false\ncalibration = "calibration.json"\ngate = "gate.json"\n'
    broken, answered, wrong, asked, without, wide = 0, 0, 0, 0, 0, 0.0
    async with fronted(folder, upstream, model=model) as client:
        for seed in range(seeds):
            rng = random.Random(10_000 + seed)
            made_from(draws(rng, GRADED), folder, "llama", "nova", seed)
            if not await reload_settings(client.gateway):
                raise RuntimeError("the gateway refused its settings")
            share, error = error_of(folder, rng)
            broken += error > RISK
            without += share == 0
            wide += share / seeds
            for number, draw in enumerate(draws(rng, requests)):
                waiting[str(number)] = draw
                found = await _asked(client, str(number))
                asked += 1
                answered += found == "answer"
                wrong += found == "answer" and not draw.right
            upstream.seen.clear()
    allowed = (1 - SURE) + 2 * sqrt(SURE * (1 - SURE) / seeds)
    print(described())
    print(
        f"{seeds} seeds, risk {RISK:.0%}, {SURE:.0%} sure: promise broken in {broken / seeds:.1%}"
        f" (allowed {allowed:.1%}); no threshold in {without}; {wide:.1%} answered on average"
    )
    print(
        f"through the gateway: {asked:,} requests, {answered:,} answered,"
        f" {wrong / max(1, answered):.1%} of them wrong"
    )
    return int(broken / seeds > allowed)


async def drift(seeds: int, folder: Path) -> int:
    """Count how often the alarm comes later than stated after a drift, or before it."""
    waiting: dict[str, Draw] = {}
    upstream = Upstream(lambda body: waiting[body["messages"][0]["content"]].reply())
    made_from(draws(random.Random(0), GRADED), folder, "llama", "nova", 0)
    late, soon, never, stated, took = 0, 0, 0, [], []
    model = 'frame = false\ncalibration = "calibration.json"\ngate = "gate.json"\n'
    async with fronted(folder, upstream, model=model) as client:

        async def watched(seed: int, number: int, draw: Draw):
            waiting[str(number)] = draw
            await _asked(client, str(number), f"Which {seed}, {number}?")
            return client.gateway.drift.drift_states()["support"]

        for seed in range(seeds):
            rng = random.Random(20_000 + seed)
            made_from(draws(rng, GRADED), folder, "llama", "nova", seed)
            if not await reload_settings(client.gateway):
                raise RuntimeError("the gateway refused its settings")
            for number, draw in enumerate(draws(rng, BEFORE)):
                state = await watched(seed, number, draw)
            soon += state.state == "alarm"
            within = state.notices[LOWER]
            if within is None or state.state == "alarm":
                never += within is None
                continue
            for count, draw in enumerate(draws(rng, within), start=1):
                lower = replace(draw, stated=max(0.0, round(draw.stated - 0.1, 2)))
                state = await watched(seed, BEFORE + count, lower)
                if state.state == "alarm":
                    break
            late += state.state != "alarm"
            stated.append(within)
            took.append(count)
            upstream.seen.clear()
    print(described())
    print(
        f"{seeds} seeds, {GRADED} graded answers, {BEFORE} answers, then {LOWER}: alarm before the"
        f" drift in {soon}; later than stated in {late} of {len(took)} (allowed"
        f" {_most_late(len(took)):.0f}); stated {sorted(stated)[len(stated) // 2]} answers and took"
        f" {sorted(took)[len(took) // 2]} (medians); never noticed by its own word in {never}"
    )
    too_soon = soon > 0.01 * seeds + 2 * sqrt(0.01 * seeds)
    return int(late > _most_late(len(took)) or too_soon or never > 0.05 * seeds)


def _most_late(count: int) -> float:
    """Return how many may be late, where 5 % are: two standard deviations more."""
    return 0.05 * count + 2 * sqrt(0.05 * 0.95 * count)


async def _asked(client, number: str, question: str = "Which?") -> str:
    body = {
        "model": "support",
        "messages": [{"role": "system", "content": number}, {"role": "user", "content": question}],
        "novarag": {"passages": PASSAGES},
    }
    _, _, found = await post(client, body)
    return found["novarag"]["decision"]


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("replies", "promise", "drift"))
    parser.add_argument("--replies", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--requests", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "replies":
            return asyncio.run(replies(options.replies, Path(folder)))
        if options.what == "drift":
            return asyncio.run(drift(options.seeds, Path(folder)))
        return asyncio.run(promise(options.seeds, options.requests, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
