"""Hold our methods against lm-polygraph's on recorded replies of a real model.

    python -m validation.polygraph record FILE [--address URL=NAME]
    python -m validation.polygraph score FILE FIXTURE
    python -m validation.polygraph compare FIXTURE

`record` asks a server that holds replies to a form (vLLM) about questions of the benchmark
(NOVARAG_DATA), ten samples each, and whether each greedy answer is true. `score` needs
lm-polygraph, and writes answers, first tokens and lm-polygraph's values; no passages. `compare` prints how far
ours are from those, and what the documented differences come to.
"""

import argparse
import asyncio
import gzip
import json
import re
from pathlib import Path
from time import monotonic

from tests.support.machine import described, shared_data

SETS = (("nq", 1.0, 100), ("nq", 0.5, 50), ("strategyqa", 1.0, 50))
"""Benchmark, temperature, questions: samples that agree little, more, and often word for word."""


def record(path, address):
    started = monotonic()
    sets = [one for part in SETS for one in asyncio.run(_ask(address, *part))]
    path.write_text(
        json.dumps({"asked": described(address.rpartition("=")[2]), "sets": sets}), "utf-8"
    )
    print(f"{described()}: {len(sets)} sample sets in {monotonic() - started:.0f} s -> {path}")


async def _ask(address, name, temperature, count):
    from novarag import ChatLLM, Sampling, load_benchmark, parse_endpoint
    from novarag.flows.ask import ask_async
    from novarag.strategies import VANILLA
    from novarag.strategies.follow_up import P_TRUE, propose

    every = load_benchmark(name, data=shared_data())
    groups = every[:count] if temperature == 1 else every[-count:]
    form = VANILLA.pattern(3)
    greedy_how = Sampling(temperature=0.0, max_tokens=64, logprobs=True, regex=form)
    sampled_how = Sampling(n=10, temperature=temperature, max_tokens=64, regex=form)
    follow_how = Sampling(temperature=0.0, max_tokens=8, logprobs=True, alternatives=20)
    async with ChatLLM([parse_endpoint(address)]) as llm:
        greedy = await ask_async(groups, VANILLA, llm, sampling=greedy_how)
        sampled = await ask_async(groups, VANILLA, llm, sampling=sampled_how)
        read = [trial for trial in greedy if trial.response is not None]
        about = [propose(trial.group, trial.response.answer) for trial in read]
        verdicts = await ask_async(about, P_TRUE, llm, sampling=follow_how)
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


def score(path, fixture):
    """Have lm-polygraph say what it makes of the recorded replies."""
    from importlib.metadata import version

    import numpy as np
    from lm_polygraph.estimators import EigValLaplacian, LexicalSimilarity

    content = json.loads(path.read_text("utf-8"))
    sets = content["sets"]
    texts = {"sample_texts": [_texts(one["answers"]) for one in sets]}
    alike = -LexicalSimilarity(metric="rougeL")(texts)
    meanings = EigValLaplacian(similarity_score="Jaccard_score")(texts)
    for one, a, m in zip(sets, alike, meanings, strict=True):
        assert np.isfinite([a, m]).all()
        one["polygraph"] = {
            "rougeL": float(a),
            "eigval": float(m),
            "p_true": [
                [word, _p_true(word, one["first"])] for word, _ in one["first"] if _is_verdict(word)
            ],
        }
    content["stems"] = _stems(sets)
    content["scored"] = f"lm-polygraph {version('lm-polygraph')}, {described()}"
    packed = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    fixture.write_bytes(gzip.compress(packed, 9, mtime=0))
    print(
        f"{content['scored']}: {len(sets)} sample sets -> {fixture.name}, {fixture.stat().st_size:,} bytes"
    )


def _texts(answers):
    """Give a sample that was not read a word of its own, so that it is like no other."""
    return [f"unread{i}word" if a is None else a for i, a in enumerate(answers)]


def _stems(sets):
    """Note what the stemmer of lm-polygraph's ROUGE makes of each word that it changes."""
    from rouge_score.tokenizers import DefaultTokenizer

    plain, stemming = DefaultTokenizer(use_stemmer=False), DefaultTokenizer(use_stemmer=True)
    said = " ".join(text for one in sets for text in _texts(one["answers"]))
    pairs = zip(plain.tokenize(said), stemming.tokenize(said), strict=True)
    return {word: stem for word, stem in pairs if word != stem}


def _is_verdict(word):
    return word.strip().lower() in {"true", "false"}


def _p_true(word, first):
    """Run lm-polygraph's own P(True) on a model that has the recorded tokens for a vocabulary."""
    from types import SimpleNamespace

    import torch
    from lm_polygraph.estimators import PTrue
    from lm_polygraph.stat_calculators.prompt import PromptCalculator

    words = [token for token, _ in first]
    scores = (torch.tensor([[logprob for _, logprob in first]], dtype=torch.float64),)
    model = SimpleNamespace(
        tokenizer=_Tokenizer(words), tokenize=lambda texts: {}, device=lambda: "cpu",
        generate=lambda **how: SimpleNamespace(scores=scores), model_type="CausalLM",
    )  # fmt: skip
    asked = PromptCalculator()
    asked.expected = word
    stats = asked({"greedy_texts": [""], "input_texts": [""]}, [""], model)
    return float(PTrue()(stats)[0])


class _Tokenizer:
    eos_token_id = bos_token_id = -1

    def __init__(self, words):
        self.words = words

    def __call__(self, texts):
        return {"input_ids": [[self.words.index(text)] for text in texts]}


def load(fixture):
    return json.loads(gzip.decompress(fixture.read_bytes()))


def trials_of(one):
    """Make the recorded set into trials again: the greedy reply, the samples, the verdict."""
    from novarag import Completion, PassageGroup, Question, Response, Trial

    group = PassageGroup(question=Question(id=one["id"], text="?"), passages=())

    def trial(answer, completion):
        response = None if answer is None else Response(answer=answer, confidence=0.5)
        return Trial(
            group=group, strategy="vanilla", sample=0, completion=completion, response=response
        )

    empty = Completion(text="", model="base")
    asked = Completion(text="", model="base", alternatives=tuple(map(tuple, one["first"])))
    return (
        [trial(one["answer"], empty)],
        [trial(a, empty) for a in one["answers"]],
        [trial(None, asked)],
    )


def rouge_words(stems):
    """Split as the ROUGE of lm-polygraph does: ASCII letters and digits, stemmed."""
    return lambda text: [stems.get(w, w) for w in re.sub("[^a-z0-9]+", " ", text.lower()).split()]


def differences(content):
    """Return, for each set, ours minus lm-polygraph's, brought to the same footing."""
    from math import exp

    from novarag.uncertainty import eigen_laplacian, lexical_similarity, p_true

    rows = []
    for one in content["sets"]:
        greedy, samples, verdict = trials_of(one)
        theirs, n = one["polygraph"], len(samples)
        like = lexical_similarity(greedy, samples, words=rouge_words(content["stems"])).confidence
        mass = {True: 0.0, False: 0.0}
        for word, negative in theirs["p_true"]:
            mass[word.strip().lower() == "true"] += exp(-negative)
        exact = exp(-next(value for word, value in theirs["p_true"] if word == "True"))
        sure = p_true(greedy, verdict).confidence
        rows.append(
            {
                "lexical similarity, their words": like - theirs["rougeL"],
                "lexical similarity, our words": lexical_similarity(greedy, samples).confidence - theirs["rougeL"],
                "eigenvalue Laplacian": n - (n - 1) * eigen_laplacian(greedy, samples).confidence - theirs["eigval"],
                "P(True), both words and all spellings": sure - mass[True] / (mass[True] + mass[False]),
                "P(True), the token True alone": sure - exact,
            }
        )  # fmt: skip
    return rows


def compare(fixture):
    content = load(fixture)
    rows = differences(content)
    answers = [answer for one in content["sets"] for answer in one["answers"]]
    print(f"{described()}; {content['scored']}; {len(rows)} sample sets")
    print(f"samples that could not be read: {answers.count(None)} of {len(answers):,}")
    for name in rows[0]:
        values = [abs(row[name]) for row in rows]
        print(
            f"{name}: mean |difference| {sum(values) / len(values):.3g}, largest {max(values):.3g}"
        )


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True, dest="verb")
    asking = verbs.add_parser("record")
    asking.add_argument("file", type=Path)
    asking.add_argument("--address", default="http://127.0.0.1:8411/v1=base")
    scoring = verbs.add_parser("score")
    scoring.add_argument("file", type=Path)
    scoring.add_argument("fixture", type=Path)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("fixture", type=Path)
    args = parser.parse_args()
    if args.verb == "record":
        record(args.file, args.address)
    elif args.verb == "score":
        score(args.file, args.fixture)
    else:
        compare(args.fixture)


if __name__ == "__main__":
    main()
