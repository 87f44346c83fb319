"""Replies are held to their form where the server can; a server that cannot is asked freely."""

import asyncio
import json
import subprocess
import sys

import polars as pl
import pytest

from novarag import (
    Access,
    Answerer,
    ChatLLM,
    Sampling,
    ScriptedLLM,
    UsageError,
    answer,
    ask,
    attack,
    open_run,
    probe,
)
from novarag.attacks import shipped_suite
from novarag.flows.events import Note
from novarag.llm import parse_endpoint
from novarag.runs import read_manifest
from tests.support.chaos.serving import bill, chaos, kill_after

pytestmark = pytest.mark.enable_socket

GROUPS = 250


@pytest.fixture(autouse=True)
def _waits(monkeypatch):
    """Have a busy machine wait as long as it takes for the first request."""
    monkeypatch.setattr("novarag.web.form_support.WAIT", 600.0)


ROW = '{{"id": "q{0}", "question": "Which year is {0}?", "answers": ["{0}"], "passages": [{1}]}}\n'


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    """Write groups of one to four passages: forms differ in their length."""
    path = tmp_path_factory.mktemp("groups") / "groups.jsonl"
    passages = [", ".join(f'"It is {i}."' for i in range(1 + row % 4)) for row in range(GROUPS)]
    path.write_text("".join(ROW.format(1000 + i, p) for i, p in enumerate(passages)), "utf-8")
    return path


def some(groups, tmp_path, rows):
    path = tmp_path / "some.jsonl"
    path.write_text("".join(groups.read_text("utf-8").splitlines(keepends=True)[:rows]), "utf-8")
    return path


def counted(url):
    found = bill(url, "count")
    return found["total"], found["forms"]


def holds(place):
    content = json.loads((place / "manifest.json").read_bytes())["content"]
    return content["settings"].get("structured", False), content.get("holds")


@pytest.mark.parametrize("frame", [False, True])
def test_ask_has_a_server_hold_groups_of_every_size_to_their_form(groups, tmp_path, frame):
    with chaos(structured="hold") as url:
        run = ask(
            some(groups, tmp_path, 40), "nova", f"{url}=chaos", out=tmp_path / "run", frame=frame
        )
        assert counted(url) == (40, 40)
    assert holds(tmp_path / "run") == (True, True)
    assert run.counts["unread"] == 0
    assert {len(t.response.judgment.passages) for t in run.trials()} == {1, 2, 3, 4}


def test_ask_is_refused_once_and_asks_freely(groups, tmp_path):
    told = []
    with chaos(structured="refuse") as url:
        run = ask(groups, "nova", f"{url}=chaos", out=tmp_path / "run", on_event=told.append)
        assert counted(url) == (GROUPS + 1, 1)
        served = bill(url)["attempts"]
    assert holds(tmp_path / "run") == (True, False)
    assert run.dead == 0
    ledger = pl.read_parquet(tmp_path / "run" / "attempts" / "*.parquet")
    assert set(ledger["attempt"]) == set(served), "the refusal is in the ledger, too"
    assert ledger["outcome"].value_counts().sort("count").rows() == [
        ("request refused", 1), ("answered", GROUPS),
    ]  # fmt: skip
    [note] = [event for event in told if isinstance(event, Note)]
    assert "asked for freely" in note.text


def test_a_server_that_breaks_at_a_form_is_asked_freely(groups, tmp_path):
    with chaos(structured="break") as url:
        run = ask(some(groups, tmp_path, 12), "vanilla", f"{url}=chaos", access=Access(attempts=2))
        assert counted(url) == (12 + 2, 2)
    assert run.dead == 0


def test_a_server_that_heeds_no_form_is_asked_for_it_once(groups, tmp_path):
    with chaos(structured="ignore") as url:
        run = ask(some(groups, tmp_path, 30), "nova", f"{url}=chaos", out=tmp_path / "run")
        assert counted(url) == (30, 1)
    assert holds(tmp_path / "run") == (True, False)
    assert run.counts["trials"] == 30


@pytest.mark.parametrize("kind", ["refuse", "hold"])
def test_a_killed_run_repays_what_was_in_flight_and_finds_nothing_out_again(groups, tmp_path, kind):
    out, at_once = tmp_path / "cut", 16
    with chaos(latency=0.02, structured=kind) as url:
        words = ["ask", str(groups), "--model", f"{url}=chaos", "-s", "vanilla", "--out", str(out)]
        command = [sys.executable, "-m", "novarag", *words, "--concurrency", str(at_once)]
        kill_after(command, url, 60)
        found = holds(out)
        assert found == (True, kind == "hold")
        before = bill(url, "count")["forms"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        total, forms = counted(url)
    assert open_run(out).trials_table().height == GROUPS
    refused = before if kind == "refuse" else 0
    assert GROUPS <= total - refused <= GROUPS + at_once
    assert forms == (before if kind == "refuse" else total), "nothing was tried again"
    assert holds(out) == found


def test_a_run_goes_on_as_it_was_begun_whatever_the_default(groups, tmp_path):
    path, out = some(groups, tmp_path, 6), tmp_path / "run"
    with chaos(structured="hold") as url:
        ask(path, "vanilla", f"{url}=chaos", out=out, structured=False)
        ask(path, "vanilla", f"{url}=chaos", out=out)
        assert counted(url) == (6, 0)
        with pytest.raises(UsageError, match="structured was False, is True"):
            ask(path, "vanilla", f"{url}=chaos", out=out, structured=True)
    assert holds(out) == (False, None)


def test_several_samples_are_free_unless_they_are_wanted(groups, tmp_path):
    path = some(groups, tmp_path, 5)
    with chaos(structured="hold") as url:
        ask(path, "vanilla", f"{url}=chaos", samples=3)
        assert counted(url) == (5, 0)
        ask(path, "vanilla", f"{url}=chaos", samples=3, structured=True)
        assert counted(url) == (10, 5)


@pytest.mark.parametrize(
    "more", [{"strategy": "nova-paper"}, {"strategy": "vanilla", "sampling": Sampling(regex="a.*")}]
)
def test_what_has_no_form_of_ours_stays_as_it_is(groups, tmp_path, more):
    path = some(groups, tmp_path, 4)
    strategy = more.pop("strategy")
    with chaos(structured="hold") as url:
        ask(path, strategy, f"{url}=chaos", out=tmp_path / "run", **more)
        forms = counted(url)[1]
        with pytest.raises(UsageError, match=r"form|of yours"):
            ask(path, strategy, f"{url}=chaos", structured=True, **more)
    assert forms == (4 if more else 0)
    assert holds(tmp_path / "run") == (False, None)


def test_one_who_knows_of_no_server_is_asked_freely(groups, tmp_path):
    path = some(groups, tmp_path, 3)
    ask(path, "vanilla", "simulated:base", out=tmp_path / "simulated")
    scripted = ScriptedLLM({"Which": "Answer: 1\nConfidence: 5%"})
    ask(path, "vanilla", scripted, out=tmp_path / "scripted")
    assert holds(tmp_path / "simulated") == holds(tmp_path / "scripted") == (False, None)


@pytest.mark.parametrize("strategy", ["vanilla", "nova"])
def test_probe_holds_every_variant_and_no_structured_frees_it(groups, tmp_path, strategy):
    path = some(groups, tmp_path, 6)
    with chaos(structured="hold") as url:
        held = probe(path, f"{url}=chaos", profile="quick", strategy=strategy)
        total, forms = counted(url)
        assert total == forms == held.cost.calls
        assert held.card.unread == 0
        probe(path, f"{url}=chaos", profile="quick", strategy=strategy, structured=False)
        assert counted(url) == (2 * total, forms)


def test_probe_is_refused_once(groups, tmp_path):
    path, out = some(groups, tmp_path, 6), tmp_path / "probe"
    with chaos(structured="refuse") as url:
        found = probe(path, f"{url}=chaos", profile="standard", strategy="vanilla", out=out)
        total, forms = counted(url)
        assert (total, forms) == (found.cost.calls + 1, 1)
        probe(path, f"{url}=chaos", profile="standard", strategy="vanilla", out=out)
        assert counted(url) == (total, 1)
    manifests = sorted(out.rglob("manifest.json"))
    assert len(manifests) > 1
    assert {holds(path.parent) for path in manifests} == {(True, False)}


def attacked(groups, url, **more):
    suite = [one for one in shipped_suite() if one.is_control or one.name == "two-lines"]
    return attack(groups, f"{url}=chaos", suite=suite, places=["last"], **more)


def test_attack_holds_every_defence(groups, tmp_path):
    path = some(groups, tmp_path, 4)
    with chaos(structured="hold") as url:
        attacked(path, url, strategy="nova", defences=["plain", "framed", "screen"])
        total, forms = counted(url)
        assert total == forms
        attacked(path, url, strategy="nova", defences=["plain"], structured=False)
        assert counted(url)[1] == forms


def test_attack_compares_a_structured_defence_with_free_ones(groups, tmp_path):
    path, out = some(groups, tmp_path, 4), tmp_path / "attack"
    with chaos(structured="hold") as url:
        attacked(path, url, defences=["plain", "structured"], out=out)
        with pytest.raises(UsageError, match="every defence is"):
            attacked(path, url, defences=["plain", "structured"], structured=True)
    held = {p.parent.parent.name: holds(p.parent)[0] for p in (out / "runs").rglob("manifest.json")}
    assert held == {"plain": False, "structured": True}


def test_attack_is_refused_once_for_all_its_runs(groups, tmp_path):
    path, out = some(groups, tmp_path, 4), tmp_path / "attack"
    with chaos(structured="refuse") as url:
        attacked(path, url, defences=["plain", "framed"], out=out)
        total, forms = counted(url)
        assert forms == 1
        attacked(path, url, defences=["plain", "framed"], out=out)
        assert counted(url) == (total, forms)
    assert {holds(p.parent) for p in out.rglob("manifest.json")} == {(True, False)}


@pytest.mark.parametrize("frame", [False, True])
def test_answers_are_held_and_no_structured_frees_them(frame):
    with chaos(structured="hold") as url:
        with Answerer(f"{url}=chaos", frame=frame) as held:
            found = [held.answer("When?", ["It was 1871."] * k) for k in (1, 2, 5)]
        assert counted(url) == (3, 3)
        assert [one.flaw for one in found] == [None] * 3
        assert [len(one.judgments) for one in found] == [1, 2, 5]
        answer("When?", ["It was 1871."], f"{url}=chaos", structured=False, frame=frame)
        assert counted(url) == (4, 3)


def test_answers_of_one_process_are_refused_once():
    with chaos(structured="refuse") as url:
        for _ in range(3):
            answer("When?", ["It was 1871."], f"{url}=chaos")
        with Answerer(ChatLLM(parse_endpoint(f"{url}=chaos")), strategy="vanilla") as other:
            other.answer("When?", [])
        assert counted(url) == (5, 1)


def test_an_answerer_asked_at_once_is_refused_once():
    async def run(url):
        async with Answerer(f"{url}=chaos", strategy="vanilla") as held:
            asked = (held.answer_async("When?", [f"It was {i}."]) for i in range(40))
            return await asyncio.gather(*asked)

    with chaos(structured="refuse") as url:
        assert len(asyncio.run(run(url))) == 40
        assert counted(url) == (41, 1)


def test_a_shape_of_ones_own_goes_before_the_form():
    with chaos(structured="hold") as url:
        own = Sampling(regex="Answer: [0-9]{4}\nConfidence: 5%")
        answer("When?", [], f"{url}=chaos", strategy="vanilla", sampling=own)
        assert counted(url) == (1, 1)


def test_a_manifest_without_the_answer_is_read_as_before(groups, tmp_path):
    out = tmp_path / "run"
    ask(some(groups, tmp_path, 2), "vanilla", "simulated:base", out=out)
    settings = json.loads((out / "manifest.json").read_bytes())["content"]["settings"]
    assert "structured" not in settings
    assert read_manifest(open_run(out).store).holds is None
