"""The page "From Python" has a block for every command; what needs more than the package is run here."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import novarag
from novarag.cli import VERBS
from novarag.cli.translate import VERB_OF
from novarag.datasets import clean
from novarag.examples import simulated_pools
from novarag.sft.train import training
from tests.support.served_folder import make_base, make_model
from tests.support.tiny_training import StandIn, row, write_base, write_rows

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "from-python.md").read_text("utf-8")
SECTION = re.compile(r"^### (.+?)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(?:python|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FUNCTIONS = {function: verb for function, verb in VERB_OF.items() if "--" not in verb}
SECTIONS = {name: BLOCK.findall(text) for name, text in SECTION.findall(PAGE)}


def test_every_verb_has_a_section():
    assert {name.partition(" ")[0] for name in SECTIONS} == set(VERBS)
    assert set(SECTIONS) == set(FUNCTIONS.values())


@pytest.mark.parametrize(("function", "verb"), FUNCTIONS.items())
def test_a_verb_has_one_block_that_calls_its_function(function, verb):
    (block,) = SECTIONS[verb]
    assert len(block.splitlines()) <= 8
    assert f"{function}(" in block
    assert function in novarag.__all__


def run_block(verb):
    (block,) = SECTIONS[verb]
    compiled = compile(block, f"docs/from-python.md: {verb}", "exec")
    exec(compiled, {})


def test_blocks_that_are_not_run_as_they_stand_are_run_in_tests():
    text = dict(SECTION.findall(PAGE))
    left = {name for name in SECTIONS if "```py\n" in text[name]}
    assert left == {"train", "serve-model", "nova-clean", "reproduce"}  # the last in tests/data


def in_a_running_loop(code, names):
    async def notebook():
        exec(code, names)

    asyncio.run(notebook())


def in_a_thread(code, names):
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(exec, code, names).result()


@pytest.mark.parametrize("where", [in_a_running_loop, in_a_thread])
def test_every_verb_works_in_a_running_loop_and_off_the_main_thread(where, tmp_path, monkeypatch):
    """All blocks of the verbs that need only the package, one after the other."""
    monkeypatch.chdir(tmp_path)
    text = dict(SECTION.findall(PAGE))
    blocks = [SECTIONS[name][0] for name in SECTIONS if "```python\n" in text[name]]
    assert len(blocks) >= 22
    where(compile("\n".join(blocks), "docs/from-python.md", "exec"), {})


def test_train(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "export", [row(i) for i in range(5)])
    write_base(tmp_path / "path" / "to" / "model")
    monkeypatch.setattr(training, "load_engine", StandIn)
    monkeypatch.setattr(training, "check_packages", lambda: None)
    run_block("train")


def test_serve_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_model(tmp_path / "trained", make_base(tmp_path / "tiny"))
    run_block("serve-model")


def test_nova_clean(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pools = simulated_pools()[:9]
    monkeypatch.setattr(clean, "SPLITS", {"nq": ("test",)})
    monkeypatch.setattr(clean, "SIZES", (3,))
    monkeypatch.setattr(clean, "check_inputs", lambda _: [])
    monkeypatch.setattr(clean, "clean_pools", lambda *_, **__: {"test": pools})
    monkeypatch.setattr(clean, "known_outputs", lambda: Anything())
    run_block("nova-clean")


class Anything:
    """Digests that agree with every file."""

    def get(self, _):
        return self

    def __ne__(self, _):
        return False

    __hash__ = None
