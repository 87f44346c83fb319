"""Our methods against lm-polygraph's, on 200 sample sets that a real model gave."""

from pathlib import Path

import pytest

from novarag import Completion
from novarag.strategies import VANILLA
from novarag.trials import make_trial
from novarag.uncertainty import likelihood, perplexity
from validation.polygraph import differences, load, trials_of

pytestmark = pytest.mark.oracle

TOLD = load(Path(__file__).with_name("polygraph.json.gz"))
SAME = (
    "lexical similarity, their words",
    "eigenvalue Laplacian",
    "P(True), both words and all spellings",
)


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
