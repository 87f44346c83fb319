"""The manifests for Kubernetes: few rights, probes that the gateway answers, files that fit."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from novarag.cli import app
from novarag.gateway.settings import read_settings

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "kubernetes"
BASE, EXAMPLE = FOLDER / "base", FOLDER / "example"
VERSIONS = ("1.29", "1.32", "1.37")


def documents(folder):
    named = yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))["resources"]
    texts = [(folder / name).read_text("utf-8") for name in named]
    return [one for text in texts for one in yaml.safe_load_all(text)]


OBJECTS = {(one["kind"], one["metadata"]["name"]): one for one in documents(BASE)}
PODS = {
    kind: one["spec"]["template"]["spec"]
    for (kind, _), one in OBJECTS.items()
    if kind in {"StatefulSet", "Job"}
}
GATEWAY = PODS["StatefulSet"]["containers"][0]


def test_all_that_a_gateway_needs_is_there():
    assert {kind for kind, _ in OBJECTS} == {
        "Namespace", "StatefulSet", "Job", "Service", "HorizontalPodAutoscaler",
        "PodDisruptionBudget", "NetworkPolicy",
    }  # fmt: skip


@pytest.mark.parametrize("kind", PODS)
def test_pods_have_few_rights(kind):
    pod = PODS[kind]
    recipe = (ROOT / "deploy" / "gateway" / "Dockerfile").read_text("utf-8")
    user = pod["securityContext"]["runAsUser"]
    assert f"USER {user}:{pod['securityContext']['runAsGroup']}" in recipe
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        mounts = {one["name"]: one for one in container["volumeMounts"]}
        assert mounts["settings"] == {
            "name": "settings", "mountPath": "/etc/novarag", "readOnly": True,
        }  # fmt: skip


def test_a_pod_ends_after_its_requests_and_is_probed_where_the_gateway_answers():
    found = read_settings(BASE / "gateway.toml")
    paths = {GATEWAY[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness")}
    assert paths == {"/livez"}
    assert GATEWAY["readinessProbe"]["httpGet"]["path"] == "/readyz"
    served = (ROOT / "src/novarag/gateway/http/app.py").read_text("utf-8")
    assert '"/livez"' in served
    assert '"/readyz"' in served
    (port,) = [one["containerPort"] for one in GATEWAY["ports"]]
    assert port == found.listen.port
    pause = float(re.search(r"sleep\(([\d.]+)\)", str(GATEWAY["lifecycle"]))[1])
    assert PODS["StatefulSet"]["terminationGracePeriodSeconds"] > pause + found.limits.drain


def test_the_spool_outlives_the_pod():
    found = read_settings(BASE / "gateway.toml")
    (claim,) = OBJECTS["StatefulSet", "novarag-gateway"]["spec"]["volumeClaimTemplates"]
    (mount,) = [m for m in GATEWAY["volumeMounts"] if m["name"] == claim["metadata"]["name"]]
    assert str(found.audit.spool).startswith(mount["mountPath"])
    size = claim["spec"]["resources"]["requests"]["storage"]
    assert int(size.removesuffix("Gi")) * 2**30 > found.audit.spool_limit


@pytest.mark.parametrize("folder", [BASE, EXAMPLE], ids=["base", "example"])
def test_keys_come_from_the_secret_and_settings_can_be_read(folder):
    found = read_settings(folder / "gateway.toml")
    for pod in PODS.values():
        assert pod["containers"][0]["envFrom"] == [{"secretRef": {"name": "novarag-gateway"}}]
    said = (EXAMPLE / "kustomization.yaml").read_text("utf-8")
    wanted = [found.audit.database_env, *(one.key_env for one in found.upstreams.values())]
    assert all(f"{name}=" in said for name in wanted)
    assert "/deploy/kubernetes/**/secrets.env" in (ROOT / ".gitignore").read_text("utf-8")


def test_the_network_lets_in_clients_and_out_to_what_the_settings_name():
    found = read_settings(BASE / "gateway.toml")
    rules = OBJECTS["NetworkPolicy", "novarag-gateway"]["spec"]
    assert set(rules["policyTypes"]) == {"Ingress", "Egress"}
    assert all(rule["from"] for rule in rules["ingress"])
    assert {p["port"] for rule in rules["ingress"] for p in rule["ports"]} == {found.listen.port}
    outward = {p["port"] for rule in rules["egress"] for p in rule["ports"]}
    asked = {int(re.search(r":(\d+)/", one.url)[1]) for one in found.upstreams.values()}
    assert outward == {53, 5432} | asked


def test_one_pod_at_a_time_may_be_taken_and_two_are_always_wanted():
    scaler = OBJECTS["HorizontalPodAutoscaler", "novarag-gateway"]["spec"]
    assert scaler["scaleTargetRef"]["kind"] == "StatefulSet"
    assert scaler["maxReplicas"] > scaler["minReplicas"] >= 2
    assert OBJECTS["PodDisruptionBudget", "novarag-gateway"]["spec"]["maxUnavailable"] == 1
    wanted = {"app.kubernetes.io/component": "gateway"}
    for kind in ("PodDisruptionBudget", "StatefulSet"):
        assert OBJECTS[kind, "novarag-gateway"]["spec"]["selector"] == {"matchLabels": wanted}


@pytest.mark.parametrize("words", [GATEWAY["args"], PODS["Job"]["containers"][0]["args"]])
def test_the_command_line_knows_what_containers_call(words):
    from typer.testing import CliRunner

    verbs = [word for word in words if re.fullmatch("[a-z]+", word)]
    done = CliRunner().invoke(app, ["gateway", *verbs, "--help"])
    assert done.exit_code == 0, done.output
    assert all(word in done.output for word in words if word.startswith("--"))


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """The example, as kustomize writes it, with secrets that were made up."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    folder = tmp_path_factory.mktemp("manifests") / "kubernetes"
    shutil.copytree(FOLDER, folder)
    (folder / "example" / "secrets.env").write_text(
        "NOVARAG_DATABASE=postgresql://a@b/c\nMODEL_KEY=x\n"
    )
    command = ["kubectl", "kustomize", str(folder / "example")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def test_names_with_hashes_reach_all_that_use_them(rendered):
    made = {(one["kind"], one["metadata"]["name"]) for one in rendered}
    for one in rendered:
        if one["kind"] not in {"StatefulSet", "Job"}:
            continue
        pod = one["spec"]["template"]["spec"]
        (volume,) = [v for v in pod["volumes"] if "configMap" in v]
        (secret,) = pod["containers"][0]["envFrom"]
        assert ("ConfigMap", volume["configMap"]["name"]) in made
        assert ("Secret", secret["secretRef"]["name"]) in made
        assert re.search(r"-[a-z0-9]{10}$", volume["configMap"]["name"])
        assert pod["containers"][0]["image"].startswith("registry.example/")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_kustomize_writes_is_as_kubernetes_wants_it(rendered, version):
    checker = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is missing")
    for one in rendered:
        checker.validate(one, version, strict=True)
    rendered[0]["metadata"]["lables"] = {}
    with pytest.raises(checker.ValidationError):
        checker.validate(rendered[0], version, strict=True)
    del rendered[0]["metadata"]["lables"]
