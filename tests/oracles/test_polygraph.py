"""Our methods against lm-polygraph's, on 200 sample sets that a real model gave.

`polygraph.json.gz` holds the recorded sets (SmolLM2-135M-Instruct on vLLM, held to the form of
`vanilla`; no passages) with what lm-polygraph 0.7.0 made of each.
"""

import gzip
import json
import re
from math import exp
from pathlib import Path

import pytest

from novarag import Completion, PassageGroup, Question, Response, Trial
from novarag.strategies import VANILLA
from novarag.trials import make_trial
from novarag.uncertainty import (
    eigen_laplacian,
    lexical_similarity,
    likelihood,
    p_true,
    perplexity,
)

pytestmark = pytest.mark.oracle

TOLD = json.loads(gzip.decompress(Path(__file__).with_name("polygraph.json.gz").read_bytes()))
SAME = (
    "lexical similarity, their words",
    "eigenvalue Laplacian",
    "P(True), both words and all spellings",
)


def trials_of(one):
    """Make the recorded set into trials again: the greedy reply, the samples, the verdict."""
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


def test_two_hundred_sets_of_ten():
    assert len(TOLD["sets"]) == 200
    assert {len(one["answers"]) for one in TOLD["sets"]} == {10}
    assert any(None in one["answers"] for one in TOLD["sets"])
    assert TOLD["scored"].startswith("lm-polygraph ")


@pytest.mark.parametrize("name", SAME)
def test_ours_is_theirs(name):
    assert max(abs(row[name]) for row in differences(TOLD)) < 1e-6


def test_what_differs_differs_for_the_documented_reason():
    rows = differences(TOLD)
    assert max(abs(row["lexical similarity, our words"]) for row in rows) > 1e-3
    assert all(row["P(True), the token True alone"] > 0 for row in rows)


def test_the_answers_tokens_are_found_in_every_recorded_reply():
    for one in TOLD["sets"]:
        text = "".join(one["tokens"]).removesuffix("<|im_end|>")
        reply = Completion(
            text=text, model="base", tokens=tuple(one["tokens"]), logprobs=tuple(one["logprobs"])
        )
        trial = make_trial(trials_of(one)[0][0].group, VANILLA, 0, reply)
        assert trial.response.answer == one["answer"]
        assert 0 < likelihood([trial]).confidence <= perplexity([trial]).confidence + 1e-12
