"""The page "From Python" has a block for every command; what needs more than the package is run here."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import novarag
from novarag.cli.translate import VERB_OF
from novarag.cli.verbs import VERBS
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
    assert set(SECTIONS) == set(FUNCTIONS.values()) == set(VERBS)


@pytest.mark.parametrize(("function", "verb"), FUNCTIONS.items())
def test_a_verb_has_one_block_that_calls_its_function(function, verb):
    (block,) = SECTIONS[verb]
    assert len(block.splitlines()) <= 8
    assert f"{function}(" in block
    assert function in novarag.__all__


def run_block(verb):
    (block,) = SECTIONS[verb]
    compiled = compile(block, f"docs/from-python.md: {verb}", "exec")
    exec(compiled, {"novarag": novarag})  # the page imports it once


def test_blocks_that_are_not_run_as_they_stand_are_run_in_tests():
    text = dict(SECTION.findall(PAGE))
    left = {name for name in SECTIONS if "```py\n" in text[name]}
    known = {"train fit", "train serve", "run send", "paper nova-clean"}
    known |= {"gateway serve", "gateway adopt", "gateway key list"}
    known |= {"gateway audit drop", "gateway audit export", "gateway audit forget"}
    known.add("demo")
    known.add("paper reproduce")  # in tests/data
    known |= {"gateway propose", "gateway key revoke"}  # in tests/real
    assert left == known


def in_a_running_loop(code):
    async def notebook():
        exec(code, {})

    asyncio.run(notebook())


def test_every_verb_works_in_a_running_loop_and_off_the_main_thread(tmp_path, monkeypatch):
    """All blocks of the verbs that need only the package, in a loop that runs in a thread."""
    monkeypatch.chdir(tmp_path)
    text = dict(SECTION.findall(PAGE))
    blocks = [SECTIONS[name][0] for name in SECTIONS if "```python\n" in text[name]]
    assert len(blocks) >= 22
    code = compile("\n".join(blocks), "docs/from-python.md", "exec")
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(in_a_running_loop, code).result()


def test_train(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "export", [row(i) for i in range(5)])
    write_base(tmp_path / "path" / "to" / "model")
    monkeypatch.setattr(training, "load_engine", StandIn)
    monkeypatch.setattr(training, "check_packages", lambda: None)
    run_block("train fit")


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_demo(monkeypatch):
    told = []

    def leave(*_, **__):
        told.append("asked")
        raise KeyboardInterrupt

    monkeypatch.setattr("novarag.demo.chain.make_chain", leave)
    with pytest.raises(KeyboardInterrupt):
        run_block("demo")
    assert told == ["asked"]


def test_gateway(monkeypatch):
    served = []

    async def serve(settings, *, fd, started):
        served.append((settings, fd))

    monkeypatch.setattr("novarag.gateway.http.server.run_server", serve)
    run_block("gateway serve")
    assert served == [("gateway.toml", None)]


def test_gateway_key_list(tmp_path, monkeypatch, capsys):
    from tests.support.gateways import settings

    monkeypatch.chdir(tmp_path)
    digest = "9f" * 32
    text = settings("http://127.0.0.1:1/v1") + f'[keys.acme]\nsha256 = ["{digest}"]\n'
    (tmp_path / "gateway.toml").write_text(text)
    run_block("gateway key list")
    assert digest[:12] in capsys.readouterr().out


def test_serve_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_model(tmp_path / "trained", make_base(tmp_path / "tiny"))
    run_block("train serve")


def test_nova_clean(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pools = simulated_pools()[:9]
    monkeypatch.setattr(clean, "SPLITS", {"nq": ("test",)})
    monkeypatch.setattr(clean, "SIZES", (3,))
    monkeypatch.setattr(clean, "check_inputs", lambda _: [])
    monkeypatch.setattr(clean, "clean_pools", lambda *_, **__: {"test": pools})
    monkeypatch.setattr(clean, "known_outputs", lambda: Anything())
    run_block("paper nova-clean")


class Anything:
    """Digests that agree with every file."""

    def get(self, _):
        return self

    def __ne__(self, _):
        return False

    __hash__ = None


@pytest.mark.enable_socket
def test_send(tmp_path, monkeypatch, capsys):
    from tests.support.sinks import ids, stand_in, write_answers

    monkeypatch.chdir(tmp_path)
    write_answers(tmp_path / "answers.jsonl", [{"confidence": 0.5}], ids(1))
    with stand_in(lambda *_: (200, {"data": []})) as heard:
        monkeypatch.setenv("PHOENIX_COLLECTOR_ENDPOINT", heard.url)
        run_block("run send")
    assert "1 annotations sent" in capsys.readouterr().out
    assert heard.requests[0][2]["data"][0]["result"]["score"] == 0.5


def test_gateway_propose(tmp_path, monkeypatch, capsys):
    from tests.support.gateways import settings

    answers = {"question": [], "confidence": [], "correct": []}
    for i in range(300):
        answers["question"].append(f"q{i}")
        answers["confidence"].append(0.9 if i % 2 else 0.3)
        answers["correct"].append(i % 2 == 1)

    async def feedback(*_):
        return pl.DataFrame(answers), None

    monkeypatch.setenv("NOVARAG_DATABASE", "postgresql://here/audit")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateway.toml").write_text(settings("http://127.0.0.1:1/v1") + "[audit]\n")
    monkeypatch.setattr("novarag.gateway.admin.propose._read_graded_answers", feedback)
    run_block("gateway propose")
    assert "at most 10 %" in capsys.readouterr().out
    assert (tmp_path / "support.calibration.proposed.json").is_file()
    assert (tmp_path / "support.gate.proposed.json").is_file()


def test_gateway_adopt(tmp_path, monkeypatch, capsys):
    from tests.support.calibrations import write_calibration
    from tests.support.gateways import settings

    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateway.toml").write_text(settings("http://127.0.0.1:1/v1"))
    write_calibration(tmp_path / "support.calibration.proposed.json")
    run_block("gateway adopt")
    assert "SIGHUP" in capsys.readouterr().out
    assert (tmp_path / "support.calibration.json").is_file()


@pytest.mark.parametrize(
    ("verb", "function"),
    [("export", "export_day"), ("drop", "drop_days_before"), ("forget", "forget_tenant")],
)
def test_gateway_audit(tmp_path, monkeypatch, verb, function):
    from tests.support.gateways import settings

    called = []

    async def done(dsn, *given):
        called.append((dsn, *map(str, given)))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOVARAG_DATABASE", "postgresql://here/audit")
    (tmp_path / "gateway.toml").write_text(settings("http://127.0.0.1:1/v1") + "[audit]\n")
    monkeypatch.setattr(f"novarag.gateway.audit.retention.{function}", done)
    run_block(f"gateway audit {verb}")
    first = {"export": "2026-01-31", "drop": "2026-01-01", "forget": "acme"}[verb]
    assert called == [("postgresql://here/audit", first, "exports")]
