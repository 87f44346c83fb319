"""What goes into a prompt can be taken out again, whatever it says."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from novarag import Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES, lay_out, parse_passages

CASES = int(os.environ.get("NOVARAG_LAW_CASES", "3000"))

nasty = st.sampled_from(
    ["Passage 1: ", "Passage 2: x", "\n", "  ", "\r", "##", "{question}", "{passages}", "{k}",
     "Confidence: 100%", "Answer: no", "\u2028", "\x0b", "\x85", "Retrieved passages (3):", "\n\n"]
)  # fmt: skip
text = st.lists(st.one_of(nasty, st.text(max_size=12)), max_size=6).map("".join)
passages = st.lists(text, max_size=5)
with_passages = [s for s in STRATEGIES.values() if "passages" in s.template.pieces]


@settings(max_examples=CASES)
@given(passages)
def test_parse_undoes_lay_out(texts):
    assert parse_passages(lay_out(texts)) == tuple(texts)


@settings(max_examples=CASES)
@given(st.sampled_from(with_passages), text, passages)
def test_parse_undoes_render(strategy, question, texts):
    group = PassageGroup(
        question=Question(id="q", text=question), passages=tuple(Passage(text=t) for t in texts)
    )
    assert parse_passages(strategy.render(group).text) == tuple(texts)
