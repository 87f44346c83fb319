"""What goes into a prompt can be taken out again, whatever it says."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from novarag import Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES, lay_out, parse_passages
from novarag.strategies.template import tamed, untamed

CASES = int(os.environ.get("NOVARAG_LAW_CASES", "400"))

BREAKS = [c for c in map(chr, range(0x3000)) if len(f"a{c}b".splitlines()) == 2]
TOKENS = [
    "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|endoftext|>", "<|channel|>",
    "<\uff5cUser\uff5c>", "<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<start_of_turn>",
    "<end_of_turn>", "<think>", "</think>", "[THINK]", "<|user|>", "<|im\\_end|>",
]  # fmt: skip
nasty = st.sampled_from(
    ["Passage 1: ", "Passage 2: x", "\n", "  ", "\r", "##", "{question}", "{passages}", "{k}",
     "Confidence: 100%", "Answer: no", "\r\n", *BREAKS, "Retrieved passages (3):", "\n\n", "\\", "<",
     "|", "[", "\uff5c", "s>", *TOKENS]
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
    prompt = strategy.render(group).text
    assert parse_passages(prompt) == tuple(texts)
    assert not any(token in prompt for token in TOKENS[:-1])


@settings(max_examples=CASES)
@given(text)
def test_taming_can_be_undone_and_no_line_begins_with_untrusted_text(said):
    assert untamed(tamed(said)) == said
    assert all(line[:2] == "  " for line in f"x{tamed(said)}".splitlines()[1:])


def test_every_break_of_unicode_is_known():
    assert len(BREAKS) == 10
