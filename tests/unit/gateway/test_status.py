"""The status page and drift in a gateway: what is shown, to whom, and what a reload keeps."""

import asyncio
import json
from dataclasses import replace
from functools import wraps

import pytest
from starlette.requests import Request

from novarag.flows.calibrate import save_calibration
from novarag.gateway.audit.delivered import FeedbackSummary
from novarag.gateway.http.keys import hash_key
from novarag.gateway.http.server import reload_settings
from novarag.gateway.observe import status
from novarag.gateway.observe.attention import find_matters
from novarag.gateway.observe.drift import NO_CALIBRATION, NO_REFERENCE
from novarag.gateway.observe.status_page import from_this_machine
from tests.support.calibrations import write_calibration
from tests.support.gateways import REPLY, Upstream, ask, fronted, post

pytestmark = pytest.mark.enable_socket
CALIBRATED = 'calibration = "c.json"'


def in_a_loop(test):
    @wraps(test)
    def run(**fixtures):
        asyncio.run(test(**fixtures))

    return run


async def seen(client, path="/status.json", **more):
    async with client.get(path, **more) as response:
        return response.status, response.headers, await response.text()


async def looked(client):
    return json.loads((await seen(client))[2])


def weak(body):
    return REPLY.replace("Group Judgment: Consistent", "Group Judgment: Insufficient")


async def ask_many(client, n, first=0, **more):
    for number in range(first, first + n):
        body = ask(messages=[{"role": "user", "content": f"Which is number {number}?"}], **more)
        assert (await post(client, body))[0] == 200


@in_a_loop
async def test_the_page_shows_load_upstreams_and_decisions(tmp_path):
    write_calibration(tmp_path / "c.json")
    async with fronted(tmp_path, Upstream(), model=CALIBRATED) as client:
        await ask_many(client, 3)
        await post(client, ask(novarag=None))
        await post(client, {"model": 1})
        found = await looked(client)
        code, headers, page = await seen(client, "/status")
    assert found["load"]["ended"] == 4
    assert found["load"]["turned_away"] == {"bad request": 1}
    assert found["load"]["in_flight"] == 0
    (upstream,), (model,) = found["upstreams"], found["models"]
    assert (upstream["name"], upstream["breaker"], upstream["models"]) == (
        "main", "closed", ["support"],
    )  # fmt: skip
    assert model["evidence"] == {"consistent": {"answer": 3}}
    assert model["decisions"] == {"answer": 3, "none": 1}
    assert (model["drift"]["state"], model["drift"]["answers"]) == ("quiet", 3)
    assert found["feedback"]["said"] == status.NO_AUDIT
    assert found["audit"] is None
    assert code == 200
    assert headers["content-type"].startswith("text/html")
    assert headers["cache-control"] == "no-store"
    for part in ("support", "consistent", "1 passed on as they came", "No audit is kept"):
        assert part in page
    assert "http://" not in page  # nothing is loaded, and no address is shown
    assert "default-src 'none'" in page


@in_a_loop
async def test_an_open_breaker_is_shown(tmp_path):
    async def dead(*_):
        from aiohttp import web

        return web.Response(status=500)

    async with fronted(tmp_path, Upstream(act=dead), more="failures = 1") as client:
        assert (await post(client, ask()))[0] == 502
        found = await looked(client)
        page = (await seen(client, "/status"))[2]
    assert found["upstreams"][0]["breaker"] == "open"
    assert found["models"][0]["decisions"] == {"failed": 1}
    assert "Upstream failing" in page


@in_a_loop
async def test_names_are_escaped(tmp_path):
    async with fronted(tmp_path, Upstream()) as client:
        monitor = client.server.config.app.state.monitor
        evil = "<script>alert(1)</script>"
        monitor._said = evil
        monitor._delivered = [
            FeedbackSummary(
                model=evil, answers=9, right=5, stated=0.9, delivered=0.8, calibrated=True
            )
        ]
        page = (await seen(client, "/status"))[2]
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 2


@pytest.mark.parametrize(
    ("client", "headers", "seen_by"),
    [
        ("127.0.0.1", {"host": "127.0.0.1:8080"}, True),
        ("::1", {"host": "[::1]:8080"}, True),
        ("127.0.0.1", {"host": "localhost"}, True),
        ("10.1.2.3", {"host": "127.0.0.1:8080"}, False),
        ("127.0.0.1", {"host": "evil.example"}, False),
        ("127.0.0.1", {"host": "localhost", "x-forwarded-for": "10.1.2.3"}, False),
        ("127.0.0.1", {"host": "localhost", "forwarded": "for=10.1.2.3"}, False),
        ("testclient", {"host": "localhost"}, False),
        (None, {"host": "localhost"}, False),
    ],
)
def test_who_may_look(client, headers, seen_by):
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "method": "GET", "path": "/status", "query_string": b"", "headers": raw,
        "client": client and (client, 1), "server": ("127.0.0.1", 8080), "scheme": "http",
    }  # fmt: skip
    assert from_this_machine(Request(scope)) is seen_by


@in_a_loop
async def test_others_are_refused_unless_something_allows_them(tmp_path):
    async with fronted(tmp_path, Upstream()) as client:
        passed_on = {"X-Forwarded-For": "10.0.0.1"}
        for path in ("/status", "/status.json"):
            code, _, text = await seen(client, path, headers=passed_on)
            assert (code, "scope metrics" in text) == (403, True)
        assert (await seen(client, headers=passed_on | bearer("of nobody")))[0] == 403


@in_a_loop
async def test_a_key_of_the_scope_metrics_opens_it_from_anywhere(tmp_path):
    keys = "".join(
        f'[keys.{scope}]\nsha256 = ["{hash_key(scope).hex()}"]\nscopes = ["{scope}"]\n'
        for scope in ("metrics", "chat")
    )
    async with fronted(tmp_path, Upstream(), tail=keys) as client:
        passed_on = {"X-Forwarded-For": "10.0.0.1"}
        for scope, code in (("metrics", 200), ("chat", 403)):
            assert (await seen(client, headers=passed_on | bearer(scope)))[0] == code


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@in_a_loop
async def test_answers_that_somebody_else_got_are_not_watched(tmp_path):
    write_calibration(tmp_path / "c.json")
    async with fronted(tmp_path, Upstream(), model=CALIBRATED) as client:
        body = {"model": "support", "question": "Which?", "passages": ["One."]}
        scores = [{"answer": "1871", "confidence": 0.9}, {"reply": REPLY}]
        for given in scores:
            assert (await post(client, body | given, "/v1/score"))[0] == 200
        assert client.gateway.drift.drift_states()["support"].answers == 1


@in_a_loop
async def test_drift_raises_an_alarm_and_says_so(tmp_path):
    write_calibration(tmp_path / "c.json")
    async with fronted(tmp_path, Upstream(weak), model=CALIBRATED) as client:
        await ask_many(client, 60)
        drift = client.gateway.drift.drift_states()["support"]
        page = (await seen(client, "/status"))[2]
        metrics = (await seen(client, "/metrics"))[2]
    assert drift.state == "alarm"
    assert drift.since <= 60
    assert "evidence insufficient: 100 % of the last" in drift.sentence
    assert "no longer look like those" in page
    assert 'novarag_gateway_drift_state{model="support"} 2.0' in metrics
    assert 'novarag_gateway_drift_answers{model="support"} 60.0' in metrics


@in_a_loop
async def test_the_first_answer_is_watched_whatever_the_policy_does(tmp_path):
    write_calibration(tmp_path / "c.json")
    policy = f'{CALIBRATED}\n[models.support.policy]\ninsufficient = "closed-book"\n'
    async with fronted(tmp_path, Upstream(weak), model=policy) as client:
        await ask_many(client, 40)
        drift = client.gateway.drift.drift_states()["support"]
    assert drift.answers == 40
    assert "evidence insufficient" in drift.sentence


@in_a_loop
async def test_a_question_asked_again_and_unread_replies_do_not_count(tmp_path):
    write_calibration(tmp_path / "c.json")
    replies = iter([REPLY, REPLY, "gibberish"])
    async with fronted(tmp_path, Upstream(lambda _: next(replies)), model=CALIBRATED) as client:
        await post(client, ask())
        await post(client, ask())
        await ask_many(client, 1)
        assert client.gateway.drift.drift_states()["support"].answers == 1


@in_a_loop
async def test_a_watch_outlives_a_reload_but_not_another_calibration(tmp_path):
    made = write_calibration(tmp_path / "c.json")
    async with fronted(tmp_path, Upstream(), model=CALIBRATED) as client:
        gateway = client.gateway
        await ask_many(client, 5)
        settings = gateway.snapshot.path
        settings.write_text(settings.read_text() + "\n[texts]\nabstain = 'No.'\n")
        assert await reload_settings(gateway)
        await ask_many(client, 2, first=5)
        assert gateway.drift.drift_states()["support"].answers == 7
        before = gateway.snapshot.respondents["support"]
        write_calibration(tmp_path / "c.json", seed=1)
        assert await reload_settings(gateway)
        assert gateway.drift.drift_states()["support"].answers == 0
        gateway.drift.see(before, _decision(before))  # a request that began before
        assert gateway.drift.drift_states()["support"].answers == 0
        save_calibration(replace(made, reference=None), tmp_path / "c.json")
        assert await reload_settings(gateway)
        assert gateway.drift.drift_states() == {}
        assert (await looked(client))["models"][0]["drift"]["sentence"] == NO_REFERENCE


def _decision(respondent):
    class Said:
        stated, evidence, question = 0.9, "consistent", "Which?"

    class Made:
        answer, first, prompt = Said(), None, respondent.strategy.template.hash

    return Made()


@in_a_loop
async def test_without_a_calibration_nothing_drifts(tmp_path):
    async with fronted(tmp_path, Upstream()) as client:
        await ask_many(client, 1)
        (model,) = (await looked(client))["models"]
    assert model["drift"] == {"state": "not watched", "sentence": NO_CALIBRATION}


def test_confidence_is_held_against_the_interval_of_the_truth():
    one = FeedbackSummary(
        model="m", answers=100, right=80, stated=0.95, delivered=0.8, calibrated=True
    )
    assert (round(one.low, 3), round(one.high, 3)) == (0.708, 0.873)
    assert one.word == "within the interval"
    assert replace(one, delivered=0.9).word == "too confident"
    assert replace(one, delivered=0.6).word == "too cautious"
    sure = replace(one, answers=3, right=3)
    assert (round(sure.low, 3), sure.high) == (0.292, 1.0)


# --- T13: what it counts as attention includes what it shows ---

QUIET = "nothing in the last hour asks for attention"


async def attention(client):
    """Return what asks for attention, by title, and whether the page says that nothing does."""
    found = (await looked(client))["attention"]
    page = (await seen(client, "/status"))[2]
    for one in found:
        assert one["title"] in page
    return {one["title"]: one for one in found}, QUIET in page


@in_a_loop
async def test_t13_a_gateway_that_is_fine_says_so(tmp_path):
    async with fronted(tmp_path, Upstream()) as client:
        await ask_many(client, 2)
        assert await attention(client) == ({}, True)


@in_a_loop
async def test_t13_failed_requests_ask_for_attention_for_an_hour(tmp_path, monkeypatch):
    async def dead(*_):
        from aiohttp import web

        return web.Response(status=500)

    async with fronted(tmp_path, Upstream(act=dead), more="failures = 1000") as client:
        for _ in range(3):
            assert (await post(client, ask()))[0] == 502
        found, quiet = await attention(client)
        assert not quiet
        assert found["Failed requests"]["said"].startswith(
            "3 of 3 requests that ended got no answer"
        )
        monitor = client.server.config.app.state.monitor
        (before,) = monitor._hour
        monitor._hour[0] = before._replace(ended=3, failed=3)  # as of more than an hour ago
        assert await attention(client) == ({}, True)


@in_a_loop
async def test_t13_what_was_turned_away_asks_for_attention(tmp_path):
    async with fronted(tmp_path, Upstream()) as client:
        for _ in range(2):
            await post(client, {"model": 1})
        found, quiet = await attention(client)
    assert not quiet
    assert "2 requests or connections" in found["Turned away"]["said"]
    assert "bad request 2" in found["Turned away"]["said"]


@in_a_loop
async def test_t13_a_confidence_off_the_truth_asks_for_attention(tmp_path):
    one = FeedbackSummary(
        model="m", answers=100, right=60, stated=0.9, delivered=0.9, calibrated=True
    )
    async with fronted(tmp_path, Upstream()) as client:
        for delivered, title in ((0.9, "Too confident"), (0.3, "Too cautious"), (0.6, None)):
            client.server.config.app.state.monitor._delivered = [replace(one, delivered=delivered)]
            found, quiet = await attention(client)
            assert (set(found), quiet) == ({title} - {None}, title is None)


def test_t13_whatever_is_not_fine_is_counted():
    """Hold every state that the page can show against what it says asks for attention."""
    fine = {
        "state": "ready",
        "upstreams": [{"name": "a", "breaker": "closed"}],
        "models": [{"name": "m", "drift": {"state": "quiet"}}],
        "audit": {"full": False, "connected": True, "said": "x", "lost": 0, "rejected": 0, "damaged": 0},
        "feedback": {"models": []},
        "load": {"lately": {"seconds": 60, "ended": 5, "failed": 0, "turned_away": {}}},
    }  # fmt: skip
    assert find_matters(fine) == []
    off = [
        {"state": "draining"},
        {"state": "keys could not be read yet"},
        {"upstreams": [{"name": "a", "breaker": "open"}]},
        {"models": [{"name": "m", "drift": {"state": "alarm"}}]},
        {"models": [{"name": "m", "drift": {"state": "warning"}}]},
        *({"audit": fine["audit"] | {name: 1}} for name in ("full", "lost", "rejected", "damaged")),
        {"audit": fine["audit"] | {"connected": False}},
    ]
    for change in off:
        assert len(find_matters(fine | change)) == 1, change
    every = find_matters(fine | off[0] | off[2] | off[5])
    assert [one["level"] for one in every] == ["no", "no", "wait"]
