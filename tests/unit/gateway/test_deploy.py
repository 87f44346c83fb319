"""What is deployed: alerts that name what is exported and are explained, containers with few rights."""

import json
import os
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
HERE = yaml.safe_load((FOLDER / "here" / "compose.yaml").read_text("utf-8"))
SETTINGS = FOLDER / "settings" / "gateway.toml"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
DASHBOARD = json.loads((ROOT / "deploy/grafana/gateway.json").read_text("utf-8"))
UNIT = (ROOT / "deploy/systemd/novarag-gateway.service").read_text("utf-8")
METRIC = re.compile(r"\b(?:novarag_gateway|process)_[a-z_]+")


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """The names of what Prometheus reads from a gateway."""
    monkeypatch.setenv("NOVARAG_DATABASE", "postgresql://127.0.0.1:9/none")
    path = tmp_path / "gateway.toml"
    path.write_text(settings("http://127.0.0.1:9/v1") + "[audit]\n")
    gateway = Gateway(Snapshot(path))
    exported = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
    for family in GatewayCollector(gateway).collect():
        ends = {"counter": ("_total",), "histogram": ("_bucket",), "info": ("_info",)}
        exported |= {family.name + end for end in ends.get(family.type, ("",))}
    return exported


def test_every_metric_of_an_alert_is_exported(exported):
    named = {name for rule in RULES for name in METRIC.findall(rule["expr"])}
    assert len(named) > 5
    assert named - exported == set()


def test_the_dashboard_shows_what_is_exported_and_nothing_else(exported):
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    named = {name for query in queries for name in METRIC.findall(query)}
    assert named - exported == set()
    left = {"novarag_gateway_keys", "novarag_gateway_audit_full"}
    assert {name for name in exported if not name.endswith("_created")} - named == left


def test_panels_of_the_dashboard_are_beside_each_other_and_say_what_they_show():
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        assert panel["description"].endswith(".")
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_unit_of_systemd_has_few_rights_and_ends_after_its_requests():
    lines = [line for line in UNIT.splitlines() if "=" in line and not line.startswith("#")]
    said = dict(line.split("=", 1) for line in lines)
    found = read_settings(SETTINGS)
    assert said["Type"] == "notify"
    assert said["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert float(said["TimeoutStopSec"]) > found.limits.drain
    assert int(said["LimitNOFILE"]) > found.limits.connections + found.limits.in_flight
    assert str(found.audit.spool).startswith(f"/var/lib/{said['StateDirectory']}/")
    assert (said["CapabilityBoundingSet"], said["AmbientCapabilities"]) == ("", "")
    for right in ("DynamicUser", "NoNewPrivileges", "PrivateDevices", "PrivateTmp", "ProtectHome"):
        assert said[right] == "yes"
    assert said["ProtectSystem"] == "strict"
    assert "@resources" not in UNIT, "the gateway asks how many files it may open"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_agrees(tmp_path):
    program = tmp_path / "novarag"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "novarag-gateway.service"
    unit.write_text(UNIT.replace("/opt/novarag/bin/novarag", str(program)))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=20", unit],
        capture_output=True, text=True,
    )  # fmt: skip
    assert judged.returncode == 0, judged.stdout[-300:]


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


def default(word):
    """Return what stands for a variable of compose where it is not set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word)


def test_containers_have_few_rights_and_no_secret_is_written_down():
    services = COMPOSE["services"]
    assert set(services) == {"gateway", "admin", "postgres", "prometheus"}
    for service in services.values():
        assert service["read_only"] is True
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        for name, value in service.get("environment", {}).items():
            assert ("PASSWORD" not in name and "KEY" not in name) or value.startswith("${")
    for name in ("gateway", "admin", "prometheus"):
        assert services[name]["cap_drop"] == ["ALL"]
        assert default(services[name]["user"]).isdigit()
        assert default(services[name]["user"]) != "0"
    recipe = (FOLDER / "Dockerfile").read_text("utf-8")
    assert f"USER {services['gateway']['user']}" in recipe
    assert "HEALTHCHECK" in recipe
    assert "/readyz" in recipe
    assert "healthcheck" in services["postgres"]
    assert "healthcheck" in services["prometheus"]


def test_files_that_are_mounted_are_there_and_the_settings_can_be_read():
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", ()):
            source = default(volume).split(":")[0]
            assert source in COMPOSE["volumes"] or (FOLDER / source).exists()
    found = read_settings(SETTINGS)
    assert found.audit is not None
    spools = [v for v in COMPOSE["services"]["gateway"]["volumes"] if v.startswith("spool:")]
    assert str(found.audit.spool).startswith(spools[0].split(":")[1])
    wait = int(COMPOSE["services"]["gateway"]["stop_grace_period"].removesuffix("s"))
    assert wait > found.limits.drain


def test_settings_are_mounted_as_a_folder_so_that_an_editors_save_is_seen():
    for name, rights in (("gateway", ["ro"]), ("admin", [])):
        (mounted,) = [v for v in COMPOSE["services"][name]["volumes"] if "/etc/novarag" in v]
        source, place, *more = default(mounted).split(":")
        assert (FOLDER / source).is_dir()
        assert (place, more) == ("/etc/novarag", rights)


def test_images_can_be_named_by_digest_and_the_base_too():
    images = [service["image"] for service in COMPOSE["services"].values()]
    assert all(re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[^}]+\}", image) for image in images)
    recipe = (FOLDER / "Dockerfile").read_text("utf-8")
    assert set(re.findall(r"^FROM (\S+)", recipe, re.MULTILINE)) == {"${BASE}"}


def test_what_runs_here_in_the_place_of_others_images_has_no_more_rights():
    services = HERE["services"]
    assert services.keys() - COMPOSE["services"].keys() == {"model"}
    widened = {"volumes", "cap_add", "privileged", "read_only", "security_opt", "cap_drop", "ports"}
    assert all(not widened & services[name].keys() for name in services.keys() - {"model"})
    model = services["model"]
    assert (model["read_only"], model["cap_drop"], model["user"]) == (True, ["ALL"], "10001")
    assert all(volume.endswith(":ro") for volume in model["volumes"])


@pytest.mark.parametrize("script", ["image", "here/start-postgres"])
def test_scripts_can_be_run_and_read(script):
    assert os.access(FOLDER / script, os.X_OK)
    done = subprocess.run(["bash", "-n", FOLDER / script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
