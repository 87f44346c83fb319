"""A real vLLM that serves a base and two adapters at once, beside PEFT on the same prompts.

NOVARAG_ADAPTERS is a folder with the models `one` and `two`, NOVARAG_VLLM the address of a server
that serves `base`, `one` and `two`. `.ci/vllm/adapters.py` makes two, and CI never skips these.

vLLM computes in bfloat16 where the processor has it, PEFT here in float32, so one of two rounds.
Where PEFT's two likeliest tokens are closer than TIE, either counts as the likeliest, and both go
on from the one that vLLM took. All but a quarter of the replies must agree without that rule.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import polars as pl
import pytest

from novarag.datasets import iter_groups
from novarag.serving.models import read_model
from novarag.strategies import STRATEGIES

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.enable_socket,
    pytest.mark.filterwarnings("ignore"),  # theirs, not ours
]

NAMES = ("base", "one", "two")
TOKENS = 8
TIE = 0.5
HANGS = 1200  # seconds; a slow machine needs several minutes
STRATEGY = "vanilla"
GROUPS = [
    ("In which year was the lighthouse lit?", "1871", "The lighthouse was lit in 1871."),
    ("Who painted the ceiling?", "Anna Berg", "The ceiling was painted by Anna Berg in May."),
    ("What is the capital of France?", "Paris", "Paris has been the capital since 987."),
    ("Is the river longer than the road?", "yes", "The river is 40 km long, the road 12 km."),
]


@pytest.fixture(scope="module")
def server():
    url = os.environ.get("NOVARAG_VLLM", "http://127.0.0.1:8411")
    try:
        with urlopen(f"{url}/v1/models", timeout=5) as reply:
            served = {row["id"] for row in json.load(reply)["data"]}
    except OSError:
        served = set()
    if "NOVARAG_ADAPTERS" not in os.environ or not set(NAMES) <= served:
        if os.environ.get("CI"):
            pytest.fail(f"no vLLM with {', '.join(NAMES)} at {url}; in CI there must be one")
        pytest.skip("serve two adapters, and name their folder in NOVARAG_ADAPTERS")
    return url


@pytest.fixture(scope="module")
def folder():
    return Path(os.environ["NOVARAG_ADAPTERS"])


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "groups.jsonl"
    rows = [
        {"id": f"q{i}", "question": question, "answers": [answer], "passages": [said, "Bread rises."]}
        for i, (question, answer, said) in enumerate(GROUPS)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def novarag(*words, cwd):
    done = subprocess.run(
        [sys.executable, "-m", "novarag", *map(str, words)],
        cwd=cwd, capture_output=True, text=True, timeout=HANGS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def replies(server, groups, tmp_path_factory):
    """What `novarag ask` brings back by each name: the first tokens of each reply, greedily."""
    cwd = tmp_path_factory.mktemp("runs")
    found = {}
    for name in NAMES:
        novarag(
            "ask", groups, "--strategy", STRATEGY, "--model", f"{server}={name}", "--out", name,
            "--max-tokens", TOKENS, "--temperature", 0, "--logprobs", "--concurrency", 1,
            "--no-structured",  # PEFT's replies are free
            cwd=cwd,
        )  # fmt: skip
        trials = pl.read_parquet(cwd / name / "trials" / "*.parquet").sort("question")
        assert set(trials["model"]) == {name}
        found[name] = [tokens[:TOKENS] for tokens in trials["tokens"].to_list()]
        assert [bool(tokens) for tokens in found[name]] == [True] * len(GROUPS)
    return found


class Peft:
    """The base with both adapters in this process, in float32."""

    def __init__(self, folder):
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM, AutoTokenizer

        told = {name: read_model(str(folder / name)) for name in NAMES[1:]}
        base = AutoModelForCausalLM.from_pretrained(
            told["one"].place, dtype=torch.float32, use_safetensors=True
        )
        self.tokenizer = AutoTokenizer.from_pretrained(told["one"].adapter)
        self.model = PeftModel.from_pretrained(base, told["one"].adapter, adapter_name="one")
        self.model.load_adapter(told["two"].adapter, adapter_name="two")
        self.model.eval()

    def prompt(self, text):
        messages = [{"role": "user", "content": text}]
        return self.tokenizer.apply_chat_template(
            messages, tokenize=True, add_generation_prompt=True, return_dict=True
        )["input_ids"]

    def generate(self, name, ids, count):
        """Return the tokens of a greedy reply, and the logits that each was taken from."""
        import torch

        made = {
            "input_ids": torch.tensor([ids]),
            "attention_mask": torch.ones(1, len(ids), dtype=torch.long),
            "max_new_tokens": count,
            "do_sample": False,
            "return_dict_in_generate": True,
            "output_logits": True,
        }
        with torch.no_grad():
            if name == "base":
                with self.model.disable_adapter():
                    out = self.model.generate(**made)
            else:
                self.model.set_adapter(name)
                out = self.model.generate(**made)
        return out.sequences[0, len(ids) :].tolist(), [row[0] for row in out.logits]

    def spell(self, token):
        return self.tokenizer.decode([token])  # as vLLM does

    def ties(self, logits):
        """Return the tokens that are as likely as the likeliest, but for rounding."""
        return (logits >= logits.max() - TIE).nonzero().flatten().tolist()

    def follow(self, name, text, told):
        """Count the ties needed to go where the server went; None if it cannot be followed."""
        ids, ties = list(self.prompt(text)), 0
        while told:
            tokens, logits = self.generate(name, ids, len(told))
            same = 0
            while same < min(len(told), len(tokens)) and self.spell(tokens[same]) == told[same]:
                same += 1
            ids, told = ids + tokens[:same], told[same:]
            if not told or same == len(tokens):  # all agree, or the reply is over
                return ties
            near = [t for t in self.ties(logits[same]) if self.spell(t) == told[0]]
            if not near:
                return None
            ids, told, ties = [*ids, near[0]], told[1:], ties + 1
        return ties


@pytest.fixture(scope="module")
def peft(folder, server):
    return Peft(folder)


@pytest.fixture(scope="module")
def prompts(groups):
    return [STRATEGIES[STRATEGY].render(group).text for group in iter_groups(groups)]


def test_the_server_serves_each_name_as_it_was_trained(server, folder, tmp_path):
    said = novarag(
        "train", "serve", folder / "one", folder / "two", "--check-server", server, cwd=tmp_path
    )
    assert "serves base, one, two; all " in said


def test_each_name_replies_as_peft_does(replies, peft, prompts):
    ties = {
        (name, i): peft.follow(name, text, replies[name][i])
        for name in NAMES
        for i, text in enumerate(prompts)
    }
    assert None not in ties.values(), ties
    exact = sum(count == 0 for count in ties.values())
    assert exact >= 0.75 * len(ties), ties


def test_the_three_differ_and_none_is_taken_for_another(replies, peft, prompts):
    for name, other in (("one", "base"), ("two", "base"), ("one", "two"), ("two", "one")):
        assert replies[name] != replies[other]
        followed = (peft.follow(other, text, replies[name][i]) for i, text in enumerate(prompts))
        assert any(count is None for count in followed), (name, other)
