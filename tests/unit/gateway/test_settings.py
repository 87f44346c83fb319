"""Settings files: refused whole with every fault named, reloaded whole or not at all."""

import asyncio
import re
import tomllib
from pathlib import Path

import pytest

from novarag import DataError, UsageError, check_gateway, write_example
from novarag.gateway import snapshot as snapshot_module
from novarag.gateway.http.server import reload_settings
from novarag.gateway.settings import GatewaySettings, read_settings
from novarag.gateway.snapshot import Snapshot
from tests.support.gateways import Upstream, ask, fronted, post, settings

GOOD = settings("http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["upstreams", "models"]),
        ("x = [", ["no TOML"]),
        (GOOD + "[limits]\nbody = 0\ndeadline = -1\n", ["limits.body", "limits.deadline"]),
        (GOOD + "[extra]\n", ["extra"]),
        (GOOD.replace('upstream = "main"', 'upstream = "other"'), ["models.support.upstream"]),
        (GOOD + 'search = "wiki"\n', ["models.support.search"]),
        (GOOD + '[models.support.policy]\nconflicting = "escalate"\n', ["escalate_to"]),
        (GOOD + '[models.support.policy]\nconflicting = "prefer-source"\n', ["sources"]),
        (GOOD + '[models.support.policy]\nconflicting = "guess"\n', ["policy.conflicting"]),
        (GOOD + 'mode = "annotate"\n[models.support.policy]\nconflicting = "clarify"\n', ["streams"]),
    ],
)  # fmt: skip
def test_every_fault_is_named(tmp_path, text, words):
    path = tmp_path / "gateway.toml"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_settings(path)
    assert all(word in str(error.value) for word in words), error.value


def test_files_that_are_not_there(tmp_path):
    from novarag.gateway.snapshot import Snapshot

    with pytest.raises(UsageError, match="cannot read"):
        read_settings(tmp_path / "none.toml")
    path = tmp_path / "gateway.toml"
    for line in ('calibration = "none.json"', 'strategy = "os:system"', 'strategy = "cott"'):
        path.write_text(GOOD + line)
        with pytest.raises(UsageError):
            Snapshot(path)


def test_a_check_reads_all_that_the_file_names(tmp_path, monkeypatch):
    path = tmp_path / "gateway.toml"
    path.write_text(GOOD)
    found = check_gateway(path)
    assert [model.name for model in found.models] == ["support"]
    assert "no gate: policies alone decide" in found.lines()[1]
    path.write_text(GOOD + "[audit]\n")
    monkeypatch.delenv("NOVARAG_DATABASE", raising=False)
    with pytest.raises(UsageError, match="NOVARAG_DATABASE, which"):
        check_gateway(path)


@pytest.mark.enable_socket
def test_a_reload_is_whole_or_not_at_all(tmp_path):
    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            path = tmp_path / "gateway.toml"
            first = (await post(client, ask()))[2]["novarag"]["settings"]
            good = path.read_text()
            path.write_text("broken = [")
            assert not await reload_settings(client.gateway)
            assert (await post(client, ask()))[2]["novarag"]["settings"] == first
            path.write_text(good + f'[searches.gone]\nindex = "{tmp_path / "none.db"}"\n')
            assert not await reload_settings(client.gateway)
            assert (await post(client, ask()))[2]["novarag"]["settings"] == first
            path.write_text(good + 'mode = "annotate"\n')
            assert await reload_settings(client.gateway)
            second = (await post(client, ask()))[2]["novarag"]["settings"]
            assert second != first

    asyncio.run(story())


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "gateway.toml"
    path.write_text(settings("http://127.0.0.1:1/v1"))
    read = snapshot_module.read_settings

    def changing(given):
        found = read(given)
        path.write_text(path.read_text() + "# another\n")
        return found

    monkeypatch.setattr(snapshot_module, "read_settings", changing)
    with pytest.raises(UsageError, match="changed while it was read"):
        Snapshot(path)


def test_what_the_page_on_operating_shows_is_a_settings_file():
    page = (Path(__file__).parents[3] / "docs" / "gateway-operating.md").read_text("utf-8")
    blocks = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        found = GatewaySettings.model_validate(tomllib.loads(GOOD) | tomllib.loads(block))
        assert found.model_fields_set > {"upstreams", "models"}


def test_the_example_can_be_checked_as_it_is_and_shows_real_settings_alone(tmp_path):
    path = tmp_path / "gateway.toml"
    assert write_example(path).holds == "gateway"
    assert [model.name for model in check_gateway(path).models] == ["support"]
    shown = re.sub(r"^# (?=[a-z_]+ = |\[)", "", path.read_text("utf-8"), flags=re.MULTILINE)
    found = GatewaySettings.model_validate(tomllib.loads(shown))
    assert found.audit is not None
    assert found.models["support"].structured
    assert found.models["support"].calibration
    upstream = found.upstreams["main"]
    assert upstream.timeout == type(upstream)(url="http://x").timeout  # said to be the default
