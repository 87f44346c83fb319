"""Asking, showing, recovering and answering, as their users meet them."""

import json
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from io import StringIO

import pytest
from typer.testing import CliRunner

from novarag import Judgment, Passage, PassageGroup, Question, Response, Trial, UsageError
from novarag.cli import app
from novarag.cli.answer import screen
from novarag.cli.console import asking, status
from novarag.cli.options import parse_price
from novarag.records import Completion, Flaw
from novarag.runs.progress import Progress
from novarag.scoring import Scorer
from novarag.strategies import NOVA
from novarag.taxonomy import EvidenceState, Utility
from tests.support.chaos.serving import bill, chaos

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
run = CliRunner().invoke
CANARY = "sk-canary-9876543210"


@pytest.fixture
def groups(tmp_path):
    path = tmp_path / "groups.jsonl"
    rows = (
        {
            "id": f"q{i}",
            "question": f"When was lighthouse {i} lit?",
            "answers": ["1871"],
            "passages": [f"It was lit in {1850 + i}.", "Bread.", "Salt."],
        }
        for i in range(60)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def server():
    with chaos() as url:
        yield url


def ask(groups, server, out, *more):
    return run(app, ["ask", str(groups), "--model", f"{server}=chaos", "--out", str(out), *more])


def test_a_dry_run_asks_nothing(groups, server, tmp_path):
    before = bill(server, "count")["total"]
    result = ask(groups, server, tmp_path / "run", "--dry-run", "--samples", "16", "--price", "1:2")
    assert result.exit_code == 0
    for part in (
        "Question: When was lighthouse 0 lit?",
        "60 in 60 groups",
        "960, 16 a group",
        "60 to chaos",
        "money      about",
    ):
        assert part in result.output
    assert bill(server, "count")["total"] == before
    assert not (tmp_path / "run").exists()


def test_ask_show_measure_and_go_on(groups, server, tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", CANARY)
    out = tmp_path / "run"
    first = ask(
        groups,
        server,
        out,
        "--samples",
        "4",
        "--shard-size",
        "25",
        "--logprobs",
        "--price",
        "1",
    )
    assert first.exit_code == 0, first.output
    assert "60 of 60 requests answered (60 asked now), 0 failed; 240 trials" in first.output
    again = ask(
        groups,
        server,
        out,
        "--samples",
        "4",
        "--shard-size",
        "25",
        "--logprobs",
    )
    assert "(0 asked now)" in again.output
    shown = run(app, ["run", "show", str(out), "--price", "1:2"])
    for part in (
        "chaos",
        "240, ",
        "3 of 3 finished",
        "60 answered",
        " at ",
        "unread: no confidence found",
        "about",
    ):
        assert part in shown.output, part
    lines = run(app, ["run", "show", str(out), "--jsonl"]).output.splitlines()
    assert len(lines) == 240
    assert json.loads(lines[0])["logprobs"][0] == -0.5
    measured = run(app, ["measure", str(out), "--replicates", "100"])
    assert measured.exit_code == 0, measured.output
    recovered = run(app, ["run", "recover", str(out)])
    assert "3 of 3 shards are finished; damages found: 0" in recovered.output
    held = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert CANARY.encode() not in held
    assert CANARY not in first.output + again.output + shown.output


def test_other_settings_are_refused_in_words(groups, server, tmp_path):
    ask(groups, server, tmp_path / "run")
    result = ask(groups, server, tmp_path / "run", "--temperature", "0.7")
    assert "temperature was 0.0, is 0.7" in str(result.exception)


def test_failures_are_shown_with_their_reason(groups, tmp_path):
    with chaos(faults={"500": 0.5}) as url:
        result = ask(groups, url, tmp_path / "run", "--attempts", "1", "--concurrency", "2")
    failed = int(re.search(r"(\d+) failed", result.output)[1])
    assert 0 < failed < 60
    assert result.exit_code == 1
    assert "--retry-failed" in result.output
    measured = run(app, ["measure", str(tmp_path / "run"), "--replicates", "100"])
    assert f"{failed} requests failed and are not among these answers" in measured.output
    shown = run(app, ["run", "show", str(tmp_path / "run")])
    assert f"{failed} requests: server error; such as: HTTP 500: oops" in shown.output


def test_recover_names_the_damage(groups, server, tmp_path):
    out = tmp_path / "run"
    ask(groups, server, out)
    (out / "trials" / "00000.parquet").write_bytes(b"x")
    result = run(app, ["run", "recover", str(out)])
    assert "found: trials/00000.parquet is damaged or missing" in result.output
    assert "1 of 1 shards are finished; damages found: 1" in result.output
    (out / "manifest.json").write_text("{}")
    assert "is damaged; run the same `novarag ask`" in str(
        run(app, ["run", "recover", str(out)]).exception
    )
    assert "(0 asked now)" in ask(groups, server, out).output


def test_a_run_without_finished_shards_cannot_be_measured(groups, server, tmp_path):
    out = tmp_path / "run"
    ask(groups, server, out)
    (out / "shards" / "00000.json").unlink()
    assert "no finished shard" in str(run(app, ["measure", str(out)]).exception)


def four_at_once(groups, url):
    words = ["ask", str(groups), "--model", f"{url}=chaos", "--out", "run", "--concurrency", "4"]
    return [sys.executable, "-m", "novarag", *words]


@contextmanager
def begun(words, folder):
    """A command that runs, and is killed if a check on it fails."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=folder, text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def test_an_interrupt_finishes_what_is_in_flight(groups, tmp_path):
    with chaos(latency=0.3) as url:
        words = four_at_once(groups, url)
        with begun(words, tmp_path) as process:
            while bill(url, "count")["total"] < 5:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
        asked = bill(url, "count")
        assert process.returncode == 130
        assert "stopped: run the same command to go on" in out
        assert "finishing what is in flight" in err
        assert f"{asked['total']} of 60 requests answered" in out
        shown = run(app, ["run", "show", str(tmp_path / "run")]).output
        assert f"{60 - asked['total']} requests left" in shown
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
        assert bill(url, "count")["total"] == 60


def test_a_second_interrupt_leaves_at_once(groups, tmp_path):
    with chaos(latency=600) as url, begun(four_at_once(groups, url), tmp_path) as process:
        while bill(url, "count")["total"] < 4:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = ""
        while "finishing what is in flight" not in said:
            said += process.stderr.readline()
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_a_second_interrupt_counts_from_the_first_word_on(monkeypatch):
    class Hasty(StringIO):
        def write(self, text):
            signal.raise_signal(signal.SIGINT)
            return super().write(text)

    with asking() as (_, stop):
        monkeypatch.setattr(sys, "stderr", Hasty())
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert stop.is_set()


def test_answer_fits_one_screen(server, tmp_path):
    (tmp_path / "a.txt").write_text("The lighthouse was lit in 1871.")
    (tmp_path / "b.jsonl").write_text(
        '{"text": "It was 1884."}\n{"text": null}\n{"text": "Bread."}\n'
    )
    words = [
        "answer",
        "When was it lit?",
        "--model",
        f"{server}=chaos",
        "-p",
        str(tmp_path / "a.txt"),
        "-p",
        str(tmp_path / "b.jsonl"),
    ]
    result = run(app, [*words, "-s", "nova", "-s", "vanilla", "--show-reply"])
    assert result.exit_code == 0, result.output
    for part in (
        "Question    When was it lit?",
        "nova",
        "vanilla",
        "Confidence",
        "a.txt: The lighthouse",
        "b.jsonl, row 3: Bread.",
        "— vanilla —",
    ):
        assert part in result.output, part
    (facts,) = json.loads(run(app, [*words, "--json"]).output)
    assert facts["strategy"] == "nova"
    assert 0 <= facts["confidence"] <= 1
    assert len(facts["passages"]) == 3


def test_a_table_without_passages_is_named(server, tmp_path):
    (tmp_path / "b.csv").write_text("x\n1\n")
    result = run(app, ["answer", "Q?", "--model", f"{server}=chaos", "-p", str(tmp_path / "b.csv")])
    assert "no column with the passages" in str(result.exception)


def trial(**changed):
    group = PassageGroup(
        question=Question(id="q", text="Q\x1b[31m?"),
        passages=(Passage(text="P\x07 " * 300, source="s"),),
    )
    made = {
        "group": group, "strategy": "nova", "sample": 0, "completion": Completion(text="x", model="m"),
        "response": Response(answer="A\x1b]0;x", confidence=0.3, judgment=Judgment(passages=(Utility.RELEVANT,), group=EvidenceState.INSUFFICIENT)),
    }  # fmt: skip
    return Trial(**(made | changed))


def scored(**changed):
    return Scorer(NOVA).score_trial(trial(**changed))


def test_a_screen_holds_no_control_characters():
    shown = [scored(), scored(response=None, flaw=Flaw.NO_ANSWER)]
    lines = screen(trial().group, shown, width=80)
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "insufficient: no passage answers" in text
    assert "could not be read: no" in text


def test_progress_says_everything_in_one_line():
    now = Progress(
        answered_requests=500,
        dead_requests=3,
        in_flight=64,
        before=3,
        prompt_tokens=10_000,
        completion_tokens=50_000,
    )
    line = status(now, 1000, 10.0, parse_price("1:2"))
    assert (
        line
        == "500 of 1,000 done · 3 failed · 64 in flight · 5,000 tokens/s · 10 s left · 0.11 of about 0.22"
    )
    assert status(Progress(), 10, 9.0, None).endswith("waiting for the server")
    assert status(Progress(), 10, 0.0, None) == "0 of 10 done · 0 failed · 0 in flight"


@pytest.mark.parametrize("text", ["x", "1:y", "-1:2", "nan", "1:2:3"])
def test_prices_that_are_none(text):
    with pytest.raises(UsageError):
        parse_price(text)


@pytest.mark.parametrize("content", ["{", "[1]"])
def test_a_schema_is_checked_before_anything_is_asked(groups, server, tmp_path, content):
    (tmp_path / "schema.json").write_text(content)
    result = ask(groups, server, tmp_path / "run", "--schema", str(tmp_path / "schema.json"))
    assert isinstance(result.exception, UsageError)


def test_a_wrong_server_is_named_before_anything_is_asked(groups, server, tmp_path):
    result = run(
        app, ["ask", str(groups), "--model", f"{server}=other", "--out", str(tmp_path / "run")]
    )
    assert "serves chaos, not other" in str(result.exception)
    assert not (tmp_path / "run").exists()


def test_a_key_that_was_named_must_be_there(groups, server, tmp_path, monkeypatch):
    monkeypatch.delenv("NOPE", raising=False)
    result = ask(groups, server, tmp_path / "run", "--key-env", "NOPE")
    assert "NOPE is not set" in str(result.exception)


def test_an_unknown_driver_is_refused_by_name(groups, server, tmp_path):
    result = ask(groups, server, tmp_path / "run", "--driver", "spark")
    assert result.exit_code == 2
    assert "'ray'" in result.output


def test_nothing_is_asked_of_nothing(server, tmp_path):
    (tmp_path / "empty.txt").write_text(" ")
    words = ["--model", f"{server}=chaos"]
    assert isinstance(run(app, ["answer", " ", *words]).exception, UsageError)
    result = run(app, ["answer", "Q?", *words, "-p", str(tmp_path / "empty.txt")])
    assert "the passage is empty" in str(result.exception)


def test_a_closed_book_is_said_to_be_closed(server, tmp_path):
    (tmp_path / "a.txt").write_text("text")
    words = ["answer", "Q?", "--model", f"{server}=chaos", "-p", str(tmp_path / "a.txt")]
    assert "not shown to the model" in run(app, [*words, "-s", "closed-book"]).output


def test_a_foreign_folder_does_not_choose_what_is_imported(groups, server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import novarag.strategies as s\nMINE = s.VANILLA\nopen('imported', 'a').close()\n"
    )
    out = tmp_path / "run"
    assert ask(groups, server, out, "--strategy", "mine:MINE").exit_code == 0
    (tmp_path / "imported").unlink(missing_ok=True)
    sys.modules.pop("mine", None)
    refused = run(app, ["run", "recover", str(out)])
    assert "add --strategy mine:MINE" in str(refused.exception)
    assert not (tmp_path / "imported").exists()
    assert (
        "damages found: 0"
        in run(app, ["run", "recover", str(out), "--strategy", "mine:MINE"]).output
    )
