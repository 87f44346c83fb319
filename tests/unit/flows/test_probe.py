"""Probing: what is asked, what is asked once, what is refused, what comes of it."""

import asyncio
import json
import sys
import threading
from collections import Counter

import pytest

from novarag import (
    Access,
    CallError,
    DataError,
    PassageGroup,
    ScriptedLLM,
    ServiceError,
    UsageError,
    open_run,
    preview_probe,
    probe,
    probe_async,
    reread,
)
from novarag.errors import UnfinishedError
from novarag.flows.probe.plan import iter_rows
from novarag.probes import PROFILES, MatchingRisk, RelationVerdict
from novarag.runner.stop import Stop
from tests.support.chaos.serving import bill, chaos, kill_after
from tests.support.probed import against, boaster, modest, rows, serving, write_lines
from tests.support.waiting import PATIENCE

FALLBACK = "simulated:tuned-without-parametric-fallback"


def verdicts(result):
    return {found.relation.name: found.verdict for found in result.card.findings}


# — what comes of it —


def test_a_respondent_that_ignores_lost_support_is_convicted_of_that():
    result = probe(rows(), FALLBACK, contradictions=against())
    found = verdicts(result)
    assert found["falls:lost-support"] is RelationVerdict.BREAKS
    assert RelationVerdict.BREAKS not in {found["falls:contradiction"], found["agreement"]}
    assert result.card.questions == 60
    assert result.cost.calls == 60 * 8
    assert result.unmade == {}


def test_an_honest_respondent_is_not():
    result = probe(rows(), "simulated:tuned", contradictions=against())
    assert result.broken == ()
    assert "Nothing proved" in repr(result) or "hold" in repr(result)


def test_over_confidence_is_proved_of_one_that_boasts():
    result = probe(rows(120), "simulated:base", profile="full", contradictions=against(120))
    assert result.card.proved.points > 0
    assert "points of over-confidence proved without a label" in repr(result)


def test_a_function_is_probed_as_it_is():
    seen = []

    def bot(question, passages):
        seen.append(len(passages))
        return boaster(question, passages)

    result = probe(rows(), app=bot, profile="quick")
    assert Counter(seen) == {2: 120, 5: 60}  # as it is and without support; three more
    assert result.system.endswith("bot")
    assert verdicts(result)["falls:lost-support"] is RelationVerdict.BREAKS
    held = probe(rows(), app=modest, profile="standard", contradictions=against())
    assert verdicts(held)["falls:lost-support"] is RelationVerdict.HOLDS
    assert held.broken == ()


def test_rows_groups_and_files_are_one(tmp_path):
    path = write_lines(tmp_path / "groups.jsonl", rows())
    groups = list(iter_rows(rows()))
    assert all(isinstance(group, PassageGroup) for group in groups)
    found = [probe(given, FALLBACK, profile="quick") for given in (path, groups, rows())]
    assert len({str([f.score for f in one.card.findings]) for one in found}) == 1


def test_only_the_first_group_of_a_question_is_asked():
    told = []
    result = probe([*rows(), *rows()[:7]], FALLBACK, profile="quick", on_event=told.append)
    assert result.cost.calls == 180
    assert any("7 rows ask a question again" in str(event) for event in told)


def test_replies_of_a_model_are_read_by_the_strategy():
    llm = ScriptedLLM({"bridge": "Answer: Ada\nConfidence: 90%"})
    result = probe(rows(55), llm, profile="quick", strategy="vanilla")
    assert result.card.unread == 0
    assert verdicts(result)["falls:lost-support"] is RelationVerdict.BREAKS


def test_inside_an_event_loop_and_from_a_thread():
    async def inside():
        one = probe(rows(4), FALLBACK, profile="quick")
        two = await probe_async(rows(4), FALLBACK, profile="quick")
        return one.cost.calls, two.cost.calls

    assert asyncio.run(inside()) == (12, 12)
    found = []
    thread = threading.Thread(target=lambda: found.append(probe(rows(4), app=modest)))
    thread.start()
    thread.join()
    assert found[0].card.questions == 4


def test_few_questions_are_described_and_not_judged():
    result = probe(rows(12), FALLBACK, profile="quick")
    assert set(verdicts(result).values()) == {RelationVerdict.TOO_FEW}
    assert "ask about 38 more" in repr(result)


# — what is asked —


def test_profiles_take_the_calls_they_say():
    for name, calls in (("quick", 3), ("standard", 8), ("full", 20)):
        result = probe(rows(6), FALLBACK, profile=name, contradictions=against(6))
        assert (result.card.replies, PROFILES[name].calls) == (6 * calls, calls)
        assert result.cost.calls <= 6 * calls  # two passages swapped are the top one last: once


def test_without_contradictions_theirs_are_not_asked():
    result = probe(rows(6), FALLBACK)
    assert result.cost.calls == 6 * 7
    assert result.unmade == {"contradiction": 6}
    assert {"falls:contradiction", "sum:contradiction"} <= set(result.card.not_asked)


def test_a_given_contradiction_that_agrees_with_the_answer_is_none():
    def other(question, passages):
        bridge = question.split()[-1].removesuffix("?")
        return {"answer": f"Other{bridge}", "confidence": 0.5}

    result = probe(rows(6), app=other, contradictions=against(6))
    assert result.unmade == {"contradiction": 6}


def test_contradictions_are_written_against_the_systems_own_answers():
    seen = []

    class Writer:
        model = "writer"

        async def complete(self, prompt, sampling, *, key=None, tell=None):
            from novarag.calls import Reply
            from novarag.records import Completion

            seen.append(prompt)
            number = prompt.split("Who built bridge ")[1].split("?")[0]
            text = (
                f"Passage 1: Bridge {number} was built by Other{number}.\nAnswer 1: Other{number}"
            )
            return Reply(completions=(Completion(text=text, model="writer"),))

    bare = [{k: v for k, v in row.items() if k != "answers"} for row in rows(55)]
    result = probe(bare, app=modest, writer=Writer())
    assert len(seen) == 55
    assert all("Ada" in prompt for prompt in seen)  # what the system answered
    assert result.unmade == {}
    assert verdicts(result)["falls:contradiction"] is RelationVerdict.HOLDS


def test_questions_are_drawn_by_seed_and_more_keep_the_first():
    def asked(**more):
        return [
            one.question.id for one in probe(rows(30), FALLBACK, profile="quick", **more).replies
        ]

    five, ten = asked(question_count=5), asked(question_count=10)
    assert ten[:5] == five
    assert len(set(ten)) == 10
    assert asked(question_count=5, seed=1) != five


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"refuse_above": 100}, r"`question_count=12`, or `profile='quick'` for 33"),
        ({"refuse_above": 5}, r"give `profile='quick'` for 1$"),
        ({"refuse_above": 2}, "the least is 3 calls for one question"),
        (
            {"refuse_above": 100, "profile": "full"},
            r"`question_count=5`, or `profile='quick'` for 33, or",
        ),
    ],
)
def test_a_budget_is_kept_before_anything_is_asked(more, said):
    with pytest.raises(UsageError, match=said):
        probe(rows(50), app=lambda *_: pytest.fail("it was asked"), **more)


def test_a_budget_that_suffices_is_no_hindrance():
    assert probe(rows(5), FALLBACK, refuse_above=40).cost.calls == 35


@pytest.mark.parametrize(
    "more",
    [
        {}, {"model": FALLBACK, "app": modest}, {"model": FALLBACK, "question_count": 0},
        {"model": FALLBACK, "refuse_above": 0}, {"app": modest, "frame": True},
        {"app": modest, "temperature": 0.5}, {"app": modest, "max_tokens": 5},
        {"model": FALLBACK, "matching_risk": 1.5}, {"model": FALLBACK, "profile": "huge"},
        {"model": FALLBACK, "out": "s3://bucket/x"}, {"app": "no address"},
    ],
)  # fmt: skip
def test_calls_that_cannot_be_meant(more):
    with pytest.raises(UsageError):
        probe(rows(2), **more)


def test_what_is_no_group_is_said():
    with pytest.raises(TypeError, match="PassageGroup"):
        probe([7], FALLBACK)
    with pytest.raises(TypeError, match="app must be"):
        probe(rows(2), app=7)
    with pytest.raises(DataError, match="no groups"):
        probe([], FALLBACK)


def test_the_matching_risk_may_be_given():
    plain = probe(rows(60), "simulated:base", matching_risk=0)
    more = probe(
        rows(60), "simulated:base", matching_risk=MatchingRisk(bound=0.3, pair=0.3, source="x")
    )
    assert plain.card.proved.value > more.card.proved.value


def test_a_preview_counts_and_asks_nothing():
    found = preview_probe(rows(10), app=lambda *_: pytest.fail("it was asked"))
    assert [(p.name, p.calls_a_question, p.calls) for p in found.profiles] == [
        ("quick", 3, 30), ("standard", 8, 80), ("full", 20, 200),
    ]  # fmt: skip
    assert found.unmade == {"contradiction": 10}
    tokens = [p.prompt_tokens for p in found.profiles]
    assert 0 < tokens[0] < tokens[1] < tokens[2]
    assert preview_probe(rows(10), FALLBACK, question_count=4).profiles[0].calls == 12


# — once, and no more —


def counting(calls):
    def bot(question, passages):
        calls.append((question, tuple(passages)))
        return modest(question, passages)

    return bot


def test_the_same_call_asks_nothing_again_and_more_questions_only_theirs(tmp_path):
    calls = []
    bot = counting(calls)
    first = probe(rows(20), app=bot, question_count=8, out=tmp_path / "p")
    assert len(calls) == 8 * 7
    again = probe(rows(20), app=bot, question_count=8, out=tmp_path / "p")
    assert len(calls) == 8 * 7
    assert [f.score for f in again.card.findings] == [f.score for f in first.card.findings]
    more = probe(rows(20), app=bot, out=tmp_path / "p")
    assert len(calls) == 20 * 7
    assert [one.replies for one in more.replies[:8]] == [one.replies for one in first.replies]
    with pytest.raises(UsageError, match="question_count=20"):
        probe(rows(20), app=bot, question_count=8, out=tmp_path / "p")


def test_contradictions_may_come_later(tmp_path):
    calls = []
    probe(rows(6), app=counting(calls), out=tmp_path)
    later = probe(rows(6), app=counting(calls), contradictions=against(6), out=tmp_path)
    assert len(calls) == 6 * 8
    assert later.unmade == {}


def test_another_profile_or_system_is_no_continuation(tmp_path):
    probe(rows(6), FALLBACK, profile="quick", out=tmp_path)
    with pytest.raises(Exception, match=r"another run|begun otherwise"):
        probe(rows(6), FALLBACK, profile="standard", temperature=0, out=tmp_path)
    with pytest.raises(UsageError, match="model was"):
        probe(rows(6), "simulated:tuned", profile="quick", out=tmp_path)


def test_a_stop_keeps_what_came(tmp_path):
    stop, calls = Stop(), []

    def bot(question, passages):
        calls.append(question)
        if len(calls) == 20:
            stop.set()
        return modest(question, passages)

    slow = Access(concurrency=1)
    with pytest.raises(UnfinishedError):
        probe(rows(10), app=bot, out=tmp_path, access=slow, stop=stop)
    assert 20 <= len(calls) < 70
    probe(rows(10), app=bot, out=tmp_path, access=slow)
    assert len(calls) == 70


def test_a_run_of_an_application_can_be_read_and_reread(tmp_path):
    probe(
        rows(6), app=lambda _q, _p: "Answer: x\nConfidence: 50%", out=tmp_path, strategy="vanilla"
    )
    place = next((tmp_path / "replies").glob("*/n1"))
    assert {trial.response.confidence for trial in open_run(place)} == {0.5}
    assert reread(place).changed == 0


@pytest.mark.enable_socket
def test_a_probe_that_is_killed_repays_only_what_was_in_flight(tmp_path):
    groups = write_lines(tmp_path / "groups.jsonl", rows(60))
    out, whole = tmp_path / "cut", tmp_path / "whole"
    with chaos(latency=0.02) as url:
        command = [sys.executable, "-m", "novarag", "probe", str(groups), "--model", f"{url}=chaos",
                   "-s", "vanilla", "--concurrency", "8", "--out"]  # fmt: skip
        kill_after([*command, str(out)], url, 150)
        call = {"model": f"{url}=chaos", "strategy": "vanilla"}
        probe(groups, **call, out=out)
        paid = bill(url, "count")["total"]
        assert 420 <= paid <= 420 + 8
        probe(groups, **call, out=out)
        assert bill(url, "count")["total"] == paid
        probe(groups, **call, out=whole)
    cut, expected = (json.loads((p / "probe.json").read_text("utf-8")) for p in (out, whole))
    assert cut["relations"] == expected["relations"]


# — an application behind an address —


@pytest.mark.enable_socket
def test_an_application_over_http_is_a_function_over_http(tmp_path):
    with serving(modest) as (url, asked):
        over = probe(rows(55), app=url, profile="quick", out=tmp_path)
        again = probe(rows(55), app=url, profile="quick", out=tmp_path)
    assert len(asked) == len({one["key"] for one in asked}) == 165
    assert set(asked[0]) == {"question", "passages", "key"}
    called = probe(rows(55), app=modest, profile="quick")
    assert verdicts(over) == verdicts(again) == verdicts(called)
    assert over.system == url


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    "odd",
    [b"<html>", b"{", b"[]", b"\xff", b"null", b"{}", b'{"answer": "' + b"x" * 1_100_000 + b'"}'],
)
def test_odd_replies_are_counted_as_failed_calls(odd):
    def mostly(question, passages):
        return odd if question == "Who built bridge 3?" else modest(question, passages)

    with serving(mostly) as (url, asked):
        result = probe(rows(8), app=url, profile="quick")
    assert result.dead == {"malformed reply": 3}
    assert len(asked) == 24  # none is asked again
    assert result.card.replies == 21


@pytest.mark.enable_socket
def test_values_of_another_kind_are_unread():
    odd = [{"answer": "x", "confidence": c} for c in ("high", 90, None, [1], True)]
    odd += [{"answer": ["x"], "confidence": 0.5}]
    taken = iter(odd)

    def mostly(question, passages):
        found = question == "Who built bridge 3?" and next(taken, None)
        return found or modest(question, passages)

    with serving(mostly) as (url, _):
        result = probe(rows(8), app=url, profile="standard")
    assert result.card.unread == 6
    assert sum(result.flaws.values()) == 6
    assert result.dead == {}


@pytest.mark.enable_socket
def test_a_slow_reply_is_given_up_and_asked_again_only_when_told_to(tmp_path):
    release = threading.Event()

    def now_and_then(question, passages):
        if question == "Who built bridge 3?":
            release.wait(PATIENCE)
        return modest(question, passages)

    with serving(now_and_then) as (url, asked):
        call = {"app": url, "profile": "quick", "out": tmp_path}
        result = probe(rows(12), access=Access(timeout=4), **call)
        assert result.dead == {"timed out": 3}
        assert len(asked) == 36
        assert probe(rows(12), **call).dead == {"timed out": 3}
        assert len(asked) == 36
        release.set()
        assert probe(rows(12), access=Access(retry_failed=True), **call).dead == {}
    assert len(asked) == 39


@pytest.mark.enable_socket
def test_a_key_of_ours_is_kept_nowhere(tmp_path, monkeypatch):
    key = "sk-app-1234567890abcdefXYZ"
    monkeypatch.setenv("APP_KEY", key)
    leak = {"answer": f"Ada {key}", "confidence": 0.4}
    with serving(lambda *_: leak) as (url, _):
        probe(rows(3), app=url, profile="quick", out=tmp_path, access=Access(key_env="APP_KEY"))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if key.encode() in path.read_bytes()] == []


@pytest.mark.enable_socket
def test_nobody_there_leaves_no_folder(tmp_path):
    with pytest.raises(CallError, match="cannot connect"):
        probe(rows(3), app="http://127.0.0.1:9/ask", out=tmp_path / "p", access=Access(attempts=1))
    assert not (tmp_path / "p").exists()


def test_replies_none_of_which_can_be_read_are_an_error():
    with pytest.raises(DataError, match="none of 12 replies could be read"):
        probe(rows(4), app=lambda *_: {"answer": "x"}, profile="quick")
    with pytest.raises(ServiceError, match="every call failed"):
        probe(rows(4), app=lambda *_: 7, profile="quick")
