"""Metrics: what happened, in a form that Prometheus reads, with no text of a client in it."""

import asyncio
import re
from pathlib import Path

import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from novarag.gateway.http.server import reload_settings
from novarag.gateway.observe.metrics import PREFIX
from tests.support.gateways import Upstream, ask, events, fronted, post
from tests.unit.gateway.audit.test_recording import NOWHERE
from tests.unit.gateway.test_keys import part

PAGE = Path(__file__).parents[3] / "docs" / "gateway-operating.md"
PLAIN = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}
MARK = "planted4711"


async def families(client):
    async with client.get("/metrics") as reply:
        assert reply.status == 200
        assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = await reply.text()
    return text, {family.name: family for family in text_string_to_metric_families(text)}


def value(found, name, **labels):
    samples = [s for f in found.values() for s in f.samples if s.name == f"{PREFIX}{name}"]
    return sum(s.value for s in samples if labels.items() <= s.labels.items())


@pytest.fixture
def audited(monkeypatch):
    monkeypatch.setenv("NOVARAG_DATABASE", NOWHERE)
    return '[audit]\nspool = "spool"\n'


@pytest.mark.enable_socket
def test_metrics_tell_what_happened_and_nothing_that_a_client_wrote(tmp_path, audited):
    async def fail(upstream, request, body):
        if "fail" in str(body):
            return web.Response(status=500)
        return None

    async def story(client):
        await post(client, ask())
        await events(client, ask())
        await post(client, PLAIN)
        await post(client, {"model": MARK, "messages": PLAIN["messages"], MARK: MARK})
        await post(client, PLAIN | {"messages": [{"role": "user", "content": "fail " + MARK}]})
        await client.get(f"/{MARK}", headers={MARK: MARK})
        (tmp_path / "gateway.toml").write_text((tmp_path / "gateway.toml").read_text() + "x = [")
        assert not await reload_settings(client.gateway)
        text, found = await families(client)
        assert MARK not in text
        told = {"model": "support", "decision": "answer", "evidence": "consistent"}
        assert value(found, "requests_total", **told, route="chat", action="answer") == 1
        assert value(found, "requests_total", **told, route="stream") == 1
        assert value(found, "requests_total", decision="none") == 1
        assert value(found, "requests_total", decision="failed") == 1
        assert value(found, "requests_total") == 4
        assert value(found, "request_duration_seconds_count", model="support") == 4
        assert value(found, "request_duration_seconds_sum") > 0
        assert value(found, "confidence_count") == 2
        assert value(found, "confidence_sum") == pytest.approx(1.8)
        assert value(found, "confidence_bucket", le="0.9") == 2
        assert value(found, "confidence_bucket", le="0.85") == 0
        assert value(found, "confidence_bucket", le="+Inf") == 2
        assert value(found, "tokens_total", kind="prompt") == 33
        assert value(found, "turned_away_total", reason="bad_request") == 1
        assert value(found, "reloads_total", outcome="refused") == 1
        assert value(found, "upstream_breaker_open", upstream="main") == 0
        assert value(found, "in_flight") == value(found, "upstream_in_flight") == 0
        assert value(found, "audit_recorded_total") == 5  # the mistake of the client, too
        assert value(found, "audit_waiting_bytes") > 0
        assert value(found, "audit_connected") == 0
        assert value(found, "settings_info", version=client.gateway.snapshot.version) == 1
        assert value(found, "build_info") == 1
        for _ in range(5):
            await post(client, PLAIN | {"messages": [{"role": "user", "content": "fail"}]})
        assert value((await families(client))[1], "upstream_breaker_open") == 1

    async def whole():
        async with fronted(tmp_path, Upstream(act=fail), tail=audited) as client:
            await story(client)

    asyncio.run(whole())


@pytest.mark.enable_socket
def test_histograms_add_up_and_names_follow_the_conventions(tmp_path, audited):
    async def whole():
        async with fronted(tmp_path, Upstream(), tail=audited + part(scopes='["metrics"]') + "[access]\nrequired = false\n") as client:  # fmt: skip
            for _ in range(3):
                await post(client, ask())
            text, found = await families(client)
        for family in found.values():
            assert family.documentation
            for sample in family.samples:
                if sample.name.endswith("_bucket"):
                    assert sample.value >= 0
            if family.type == "histogram":
                buckets = [s.value for s in family.samples if s.name.endswith("_bucket")]
                assert buckets == sorted(buckets)
                (count,) = [s.value for s in family.samples if s.name.endswith("_count")]
                assert buckets[-1] == count == 3
        counters = re.findall(r"^# TYPE (\S+) counter$", text, re.MULTILINE)
        assert counters
        assert all(name.endswith("_total") for name in counters)
        ours = {
            name for name in re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE) if PREFIX in name
        }
        listed = set(re.findall(rf"^\| `({PREFIX}\w+)", PAGE.read_text("utf-8"), re.MULTILINE))
        assert listed == ours

    asyncio.run(whole())
