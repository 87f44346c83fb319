"""Against a real vLLM server with a real model; `make vllm` starts one, CI never skips these."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import polars as pl
import pytest

from novarag import (
    STRATEGIES,
    Access,
    Answer,
    ChatLLM,
    Passage,
    PassageGroup,
    Patience,
    Question,
    Sampling,
    answer,
    ask,
    load_benchmark,
    open_run,
)
from novarag.calibration.graded_answers import AnswerSource
from novarag.llm import parse_endpoint
from novarag.uncertainty.token_likelihood import token_signal
from tests.support.live_parts import calibration, gate

pytestmark = [pytest.mark.vllm, pytest.mark.enable_socket]

ASKED = 12  # questions with sixteen samples each
HANGS = 1200  # seconds; a slow machine needs several minutes


@pytest.fixture(scope="module")
def server():
    url = os.environ.get("NOVARAG_VLLM", "http://127.0.0.1:8411")
    try:
        urlopen(f"{url}/health", timeout=5).close()
    except OSError:
        if os.environ.get("CI"):
            pytest.fail(f"no vLLM server at {url}; in CI there must be one")
        pytest.skip("start one with `make vllm`, and name it in NOVARAG_VLLM")
    return url


def complete(server, prompt, sampling):
    async def run():
        endpoint = parse_endpoint(f"{server}=base")
        async with ChatLLM([endpoint], patience=Patience(timeout=240)) as llm:
            await llm.check()
            return await llm.complete(prompt, sampling)

    return asyncio.run(run())


def test_sixteen_samples_with_log_probabilities_and_usage(server):
    reply = complete(
        server, "Name a colour.", Sampling(n=16, temperature=1.0, max_tokens=12, logprobs=True)
    )
    assert len(reply.completions) == 16
    assert len({c.text for c in reply.completions}) > 1
    for c in reply.completions:
        assert len(c.tokens) == len(c.logprobs) > 0
        assert all(value <= 0 for value in c.logprobs)
        assert "".join(c.tokens).strip() == c.text.strip() or c.truncated is False
    assert reply.usage.completion == sum(len(c.tokens) for c in reply.completions)


def test_a_schema_is_obeyed(server):
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "maxLength": 20}, "confidence": {"type": "integer", "minimum": 0, "maximum": 100}},
        "required": ["answer", "confidence"],
        "additionalProperties": False,
    }  # fmt: skip
    sampling = Sampling(n=4, temperature=1.0, max_tokens=120, schema=json.dumps(schema))
    for c in complete(
        server, "What is the capital of France? Reply in JSON.", sampling
    ).completions:
        found = json.loads(c.text)
        assert found.keys() == {"answer", "confidence"}
        assert 0 <= found["confidence"] <= 100


def test_a_regex_is_obeyed(server):
    pattern = r"Answer: [A-Za-z ]{1,20}\nConfidence: (100|[1-9]?[0-9])%"
    sampling = Sampling(n=4, temperature=1.0, max_tokens=60, regex=pattern)
    for c in complete(server, "What is the capital of France?", sampling).completions:
        assert re.fullmatch(pattern, c.text)


def test_replies_are_held_to_their_form_without_being_asked(server, tmp_path):
    """A small model keeps no form by itself; by default every reply of it is read."""
    passages = ("The lamp was lit in 1871.", "Bread rises slowly.")
    groups = [
        PassageGroup(
            question=Question(id=f"q{i}", text=f"When was lamp {i} lit?", answers=("1871",)),
            passages=tuple(Passage(text=text) for text in passages[: 1 + i % 2]),
        )
        for i in range(8)
    ]
    patient = Access(timeout=HANGS)
    run = ask(groups, "vanilla", f"{server}=base", out=tmp_path / "run", access=patient)
    assert [trial.flaw for trial in run.trials()] == [None] * 8
    assert (run.settings.structured, open_run(tmp_path / "run").manifest.holds) == (True, True)
    asked = groups[1].question.text
    for strategy, frame in (("nova", False), ("vanilla", True)):
        found = answer(
            asked, passages, f"{server}=base", strategy=strategy, frame=frame, access=patient
        )
        assert found.flaw is None
        assert (found.judgments is not None) == (strategy == "nova")


def test_stop_and_length_are_heeded(server):
    reply = complete(server, "Count: one, two, three, four", Sampling(max_tokens=3))
    assert reply.completions[0].truncated
    assert reply.usage.completion == 3


@pytest.mark.data
def test_real_questions_killed_in_the_middle(server, data, tmp_path):
    """`novarag ask` with `nova`, sixteen samples in one request; killed once and resumed."""
    groups = [g for g in load_benchmark("hotpotqa") if g.kind is not None][:ASKED]
    path = tmp_path / "groups.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for group in groups:
            passages = [{"text": p.text, "kind": p.kind} for p in group.passages]
            row = {
                "id": group.question.id,
                "group": group.id,
                "question": group.question.text,
                "answers": group.question.answers,
                "passages": passages,
            }
            file.write(json.dumps(row) + "\n")
    words = [sys.executable, "-m", "novarag", "ask", str(path), "--strategy", "nova", "--model", f"{server}=base",
             "--samples", "16", "--max-tokens", "16", "--logprobs", "--concurrency", "2", "--out", "run"]  # fmt: skip
    process = subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    journal = tmp_path / "run" / "journal" / "00000.log"
    deadline = time.monotonic() + HANGS
    while time.monotonic() < deadline and (
        not journal.exists() or journal.read_bytes().count(b'"event":"reply"') < 4
    ):
        time.sleep(0.2)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = journal.read_bytes().count(b'"event":"reply"')
    assert 4 <= kept < ASKED
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS, check=True
    )
    assert (
        f"{ASKED} of {ASKED} requests answered ({ASKED - kept} asked now), 0 failed;"
        f" {16 * ASKED} trials" in done.stdout
    )
    trials = pl.read_parquet(tmp_path / "run" / "trials" / "*.parquet")
    assert len(trials) == 16 * ASKED == trials.select("group", "sample").n_unique()
    assert trials["logprobs"].list.len().min() > 0
    ledger = pl.read_parquet(tmp_path / "run" / "attempts" / "*.parquet")
    answered = ledger.filter(outcome="answered")
    assert len(answered) == ASKED
    assert answered["prompt_tokens"].min() > 0
    assert answered["completion_tokens"].sum() == trials["logprobs"].list.len().sum()
    assert 1 <= len(ledger.filter(outcome="unknown, cut off by a kill")) <= 2


def test_a_real_model_judges_passages(server, tmp_path):
    rows = [
        {
            "id": f"q{i}", "question": f"In which year was lighthouse{i} lit?", "answers": ["1871"],
            "passages": [f"Lighthouse{i} was lit in 1871.", "Bread rises slowly."],
        }
        for i in range(3)
    ]  # fmt: skip
    path = tmp_path / "groups.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    words = [sys.executable, "-m", "novarag", "retrieval", "annotate", str(path), "--judge", f"{server}=base", "--out", "judged"]  # fmt: skip
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "judged" / "annotated.jsonl").read_text("utf-8").splitlines()) == 3
    profile = json.loads((tmp_path / "judged" / "profile.json").read_text("utf-8"))
    assert "asked about 6 passages; 0 replies failed" in profile["notes"][0]
    assert profile["witnesses"]["judge"] > 0


PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "threshold.md"


def test_the_tutorial_answers_live_from_this_server(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    history, lines = blocks[:2]
    assert len([line for line in lines.splitlines() if line.strip()]) <= 12
    exec(history, {})
    begun, _, asked = lines.partition("def model(prompt):")
    assert "return " in asked
    said = {"model": f"{server}=base"}
    exec(begun + asked[asked.index("parts = ") :], said)
    found = said["found"]
    assert isinstance(found, Answer)
    assert found.decision in {"answer", "abstain"}
    assert (found.interval is None) == (found.flaw is not None)


def test_the_likelihood_of_a_live_answer_comes_from_its_tokens(server):
    """One request, held to the form of a reply, so that the small model gives one to read."""
    source = AnswerSource(model="base", prompt=STRATEGIES["vanilla"].template.hash)
    made = calibration(source, "likelihood")
    held = Sampling(regex=STRATEGIES["vanilla"].pattern(1), max_tokens=120)
    found = answer(
        "When was the lamp lit?", ["The lamp was lit in 1871."], f"{server}=base",
        strategy="vanilla", calibration=made, gate=gate(0.5, made), sampling=held,
        access=Access(timeout=HANGS),
    )  # fmt: skip
    likely = token_signal("likelihood", found.trial)
    assert 0 <= likely <= 1
    assert found.confidence == made.one(found.stated, found.evidence, likely).probability
    assert not [note for note in found.notes if "likelihood" in note]
    assert found.decision == ("answer" if found.confidence >= 0.5 else "abstain")
