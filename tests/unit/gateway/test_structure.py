"""The shape of the gateway: no circles of modules, not even for types."""

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import novarag
from novarag.gateway.observe import sinks
from tests.support.gateways import Upstream, ask, fronted, post

SRC = Path(novarag.__file__).parent
GATEWAY = "novarag.gateway"


def modules():
    return {
        ".".join(("novarag", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): ast.parse(path.read_text("utf-8"))
        for path in SRC.rglob("*.py")
    }


MODULES = modules()


def imported(name):
    """Return what a module of the gateway imports of it, anywhere and for whatever reason."""
    found = set()
    for node in ast.walk(MODULES[name]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {one if one in MODULES else node.module for one in whole}
    return {one for one in found if one.startswith(GATEWAY) and one != name}


def test_no_two_modules_import_each_other_not_even_for_types():
    left = {name: imported(name) for name in MODULES if name.startswith(GATEWAY)}
    while ends := {name for name, needs in left.items() if not needs & left.keys()}:
        for name in ends:
            del left[name]
    assert not left, f"these hang on each other: {sorted(left)}"


@pytest.mark.parametrize("module", ["http.server", "audit.recorder", "admin.running"])
def test_each_part_can_be_imported_first(module):
    subprocess.run([sys.executable, "-c", f"import novarag.gateway.{module}"], check=True)


@pytest.mark.enable_socket
def test_a_sink_is_one_row_and_hears_of_every_request(tmp_path, monkeypatch):
    heard = []
    monkeypatch.setitem(sinks.SINKS, "list", heard.append)

    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            _, _, found = await post(client, ask())
            await post(client, {"model": 1})
        return found

    found = asyncio.run(story())
    decided, refused = heard
    assert (decided.id, decided.status, decided.kind) == (found["novarag"]["id"], 200, None)
    assert decided.answer.answer == "1871"
    assert decided.outcome.decision == found["novarag"]["decision"]
    assert (decided.tenant, decided.usage.prompt) == ("default", 11)
    assert (refused.status, refused.kind, refused.answer) == (400, "BadRequest", None)
