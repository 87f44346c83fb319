"""What is deployed: alerts that name what is exported and are explained, containers with few rights."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from novarag.gateway.observe.metrics import GatewayCollector
from novarag.gateway.settings import read_settings
from novarag.gateway.snapshot import Snapshot
from novarag.gateway.state import Gateway
from tests.support.gateways import settings

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "gateway"
RULES = yaml.safe_load((FOLDER / "alerts.yaml").read_text("utf-8"))["groups"][0]["rules"]
TESTS = yaml.safe_load((FOLDER / "alerts.test.yaml").read_text("utf-8"))["tests"]
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
METRIC = re.compile(r"\b(?:novarag_gateway|process)_[a-z_]+")


def test_every_metric_of_an_alert_is_exported(tmp_path, monkeypatch):

    monkeypatch.setenv("NOVARAG_DATABASE", "postgresql://127.0.0.1:9/none")
    path = tmp_path / "gateway.toml"
    path.write_text(settings("http://127.0.0.1:9/v1") + "[audit]\n")
    gateway = Gateway(Snapshot(path))
    exported = {"process_resident_memory_bytes"}
    for family in GatewayCollector(gateway).collect():
        ends = {"counter": ("_total",), "histogram": ("_bucket",), "info": ("_info",)}
        exported |= {family.name + end for end in ends.get(family.type, ("",))}
    named = {name for rule in RULES for name in METRIC.findall(rule["expr"])}
    assert named - exported == set()


def test_every_alert_is_explained_and_tried_raised_and_silent():
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names) > 10
    runbook = (ROOT / "docs" / "gateway-runbook.md").read_text("utf-8")
    assert re.findall(r"^## (\w+)$", runbook, re.MULTILINE) == names
    tried = {(t["alertname"], "exp_alerts" in t) for test in TESTS for t in test["alert_rule_test"]}
    assert tried == {(name, raised) for name in names for raised in (True, False)}
    assert {rule["labels"]["severity"] for rule in RULES} == {"page", "ticket"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("words", [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts.test.yaml")])  # fmt: skip
def test_promtool_agrees(words):
    done = subprocess.run(["promtool", *words], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_containers_have_few_rights_and_no_secret_is_written_down():
    services = COMPOSE["services"]
    assert set(services) == {"gateway", "postgres", "prometheus"}
    for service in services.values():
        assert service["read_only"] is True
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        for name, value in service.get("environment", {}).items():
            assert ("PASSWORD" not in name and "KEY" not in name) or value.startswith("${")
    for name in ("gateway", "prometheus"):
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["user"].isdigit()
        assert services[name]["user"] != "0"
    recipe = (FOLDER / "Dockerfile").read_text("utf-8")
    assert f"USER {services['gateway']['user']}" in recipe
    assert "HEALTHCHECK" in recipe
    assert "/readyz" in recipe
    assert "healthcheck" in services["postgres"]
    assert "healthcheck" in services["prometheus"]


def test_files_that_are_mounted_are_there_and_the_settings_can_be_read():
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (FOLDER / source).is_file()
    found = read_settings(FOLDER / "gateway.toml")
    assert found.audit is not None
    spools = [v for v in COMPOSE["services"]["gateway"]["volumes"] if v.startswith("spool:")]
    assert str(found.audit.spool).startswith(spools[0].split(":")[1])
    wait = int(COMPOSE["services"]["gateway"]["stop_grace_period"].removesuffix("s"))
    assert wait > found.limits.drain
