"""Hold our methods against lm-polygraph's on recorded replies of a real model.

    python proof/polygraph.py record FILE [--address URL=NAME]
    python proof/polygraph.py score FILE FIXTURE

`record` asks a server that holds replies to a form (vLLM) about questions of the benchmark
(NOVARAG_DATA), ten samples each, and whether each greedy answer is true. `score` needs
lm-polygraph, and writes answers, first tokens and lm-polygraph's values; no passages.
"""

import argparse
import asyncio
import gzip
import json
from pathlib import Path
from time import monotonic

from machine import described, shared_data

SETS = (("nq", 1.0, 100), ("nq", 0.5, 50), ("strategyqa", 1.0, 50))
"""Benchmark, temperature, questions: samples that agree little, more, and often word for word."""


def record(path, address):
    started = monotonic()
    sets = [
        one
        for name, temperature, count in SETS
        for one in asyncio.run(_ask(address, name, temperature, count))
    ]
    path.write_text(json.dumps({"asked": described(address), "sets": sets}), "utf-8")
    print(f"{described()}: {len(sets)} sample sets in {monotonic() - started:.0f} s -> {path}")


async def _ask(address, name, temperature, count):
    from novarag import ChatLLM, Sampling, load_benchmark, parse_endpoint
    from novarag.flows import ask
    from novarag.strategies import VANILLA
    from novarag.strategies.follow_up import P_TRUE, propose
    from novarag.strategies.structured import strategy_pattern

    groups = (
        load_benchmark(name, root=shared_data())[-count:]
        if temperature < 1
        else load_benchmark(name, root=shared_data())[:count]
    )
    form = strategy_pattern("vanilla", 3)
    greedy_how = Sampling(temperature=0.0, max_tokens=64, logprobs=True, regex=form)
    sampled_how = Sampling(n=10, temperature=temperature, max_tokens=64, regex=form)
    follow_how = Sampling(temperature=0.0, max_tokens=8, logprobs=True, alternatives=20)
    async with ChatLLM([parse_endpoint(address)]) as llm:
        greedy = await ask(groups, VANILLA, llm, sampling=greedy_how)
        sampled = await ask(groups, VANILLA, llm, sampling=sampled_how)
        read = [trial for trial in greedy if trial.response is not None]
        about = [propose(trial.group, trial.response.answer) for trial in read]
        verdicts = await ask(about, P_TRUE, llm, sampling=follow_how)
    by_group = {t.group.id: v.completion.alternatives for t, v in zip(read, verdicts, strict=True)}
    return [
        {
            "id": trial.group.id,
            "temperature": temperature,
            "tokens": trial.completion.tokens,
            "logprobs": trial.completion.logprobs,
            "answer": _answer(trial),
            "answers": [_answer(s) for s in sampled[10 * i : 10 * i + 10]],
            "first": by_group.get(trial.group.id, ()),
        }
        for i, trial in enumerate(greedy)
    ]


def _answer(trial):
    return None if trial.response is None else trial.response.answer


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True, dest="verb")
    asking = verbs.add_parser("record")
    asking.add_argument("file", type=Path)
    asking.add_argument("--address", default="http://127.0.0.1:8411/v1=base")
    told = parser.parse_args()
    record(told.file, told.address)


if __name__ == "__main__":
    main()
