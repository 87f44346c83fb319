"""A model that reads, on a real vLLM: `make vllm MODEL=qwen`, and its address in NOVARAG_QWEN.

Its packages may vanish, so CI does not depend on it: without a server these are skipped.
"""

import os

import pytest

from experiments.nova_qwen.compact import COMPACT
from novarag.calls import Sampling
from novarag.flows.ask import ask
from novarag.records import Passage, PassageGroup, Question
from novarag.taxonomy import PassageKind

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.enable_socket,
    pytest.mark.skipif(
        "NOVARAG_QWEN" not in os.environ,
        reason="needs `make vllm MODEL=qwen`, whose packages may not be had, and NOVARAG_QWEN=URL",
    ),
]
ASKED = (
    ("In which year was the lighthouse of Oben lit?", "1871", "The lighthouse of Oben was lit in 1871."),
    ("Who painted the ceiling of the hall in Rask?", "Anna Berg", "In Rask, Anna Berg painted the hall's ceiling."),
)  # fmt: skip
GROUPS = [
    PassageGroup(
        question=Question(id=answer, text=text, answers=(answer,)),
        passages=(
            Passage(text=said, kind=PassageKind.GOLD),
            Passage(
                text="Bread rises slowly when the kitchen is cold.", kind=PassageKind.IRRELEVANT
            ),
        ),
    )
    for text, answer, said in ASKED
]


@pytest.mark.parametrize("strategy", ["vanilla", COMPACT])
def test_it_reads_passages_and_keeps_the_form(strategy):
    how = Sampling(max_tokens=80, logprobs=True)
    run = ask(GROUPS, strategy, f"{os.environ['NOVARAG_QWEN']}/v1=base", sampling=how)
    table = run.trials_table(["flaw", "correct", "judgments"])
    assert table["flaw"].null_count() == len(GROUPS)
    assert table["correct"].all()
    if strategy is COMPACT:
        assert table["judgments"].list.len().to_list() == [2, 2]
