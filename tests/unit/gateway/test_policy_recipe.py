"""The recipe of a policy, carried out on a copy of the package: one file and one row."""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import novarag

pytestmark = pytest.mark.enable_socket
PACKAGE = Path(novarag.__file__).parent
ROOT = Path(__file__).parents[3]

POLICY = '''"""A policy: ask again about the shortest passage alone."""

from novarag.scoring.second_asking import FirstAsking, SecondAsking, SecondAskingPolicy, plan_passages


def _plan_shortest(first: FirstAsking) -> SecondAsking | None:
    lengths = {i: len(passage.text) for i, passage in enumerate(first.passages)}
    return plan_passages((min(lengths, key=lengths.get),) if lengths else ())


SHORTEST = SecondAskingPolicy(plan=_plan_shortest, otherwise="there is no shortest passage")
'''
ROW = '    PREFER_SHORT = "prefer-short", SHORTEST\n'
AFTER = '    CLOSED_BOOK = "closed-book", WITHOUT_PASSAGES\n'
IMPORT = "from novarag.scoring.shortest import SHORTEST\n"

DECIDES = """
import asyncio, re, sys
from pathlib import Path
import novarag
assert str(Path(novarag.__file__)).startswith(sys.argv[1]), novarag.__file__
from novarag.gateway.audit.codes import CODES
from novarag.gateway.audit.graded import _ASKED_AGAIN
from novarag.gateway.audit.payloads import from_payload, to_payload
from novarag.gateway.audit.schema import read_migrations
from novarag.gateway.http.openapi import make_document
from tests.support.audited import row
from tests.support.gateways import Upstream, ask, fronted, post
from tests.unit.gateway.test_decisions import DATED, reply

def model(body):
    alone = "Retrieved passages (1)" in body["messages"][-1]["content"]
    return reply("bread", 80, "Consistent", ["Highly Relevant"]) if alone else reply(classes=("Highly Relevant",) * 3)

async def story():
    tail = '[models.support.policy]\\nconflicting = "prefer-short"\\n'
    async with fronted(Path(sys.argv[1]), Upstream(model), tail=tail) as client:
        return await post(client, ask(novarag={"passages": DATED}))

status, _, found = asyncio.run(story())
told = found["novarag"]
assert (status, told["action"], told["decision"]) == (200, "prefer-short", "answer"), found
assert "it was asked again with passage 3 alone" in told["reason"], told["reason"]
assert [p["shown"] for p in told["passages"]] == [False, False, True]
number = CODES["action"]["prefer-short"]
assert number == 8 and f"{number})" in _ASKED_AGAIN
assert number in from_payload(to_payload(row(action="prefer-short"))).values
assert "'prefer-short'])[d.action]" in read_migrations()[max(read_migrations())]
assert "prefer-short" in make_document()["components"]["schemas"]["Action"]["enum"]
"""


def changed(before, after):
    """Return the files that are in one folder alone, or differ."""
    found = filecmp.dircmp(before, after, ignore=["__pycache__"])
    here = [*found.left_only, *found.right_only, *found.diff_files]
    inside = [
        f"{name}/{one}"
        for name in found.common_dirs
        for one in changed(before / name, after / name)
    ]
    return sorted([*here, *inside])


def test_a_policy_is_one_file_and_one_row(tmp_path):
    copy = tmp_path / "novarag"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "scoring" / "shortest.py").write_text(POLICY)
    table = copy / "scoring" / "policy.py"
    text = table.read_text()
    assert AFTER in text
    table.write_text(
        text.replace(AFTER, AFTER + ROW).replace(
            "\nif TYPE_CHECKING:", IMPORT + "\nif TYPE_CHECKING:", 1
        )
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", DECIDES, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    touched = changed(PACKAGE, copy)
    print("a policy touches:", *touched)
    assert touched == ["scoring/policy.py", "scoring/shortest.py"]
