"""Adapters inside the real tools: the number that our core says is the number that each shows.

`NOVARAG_INTEGRATIONS` names the adapters whose tools this environment must have; a tool that is
missing then is a failure, never a skip. ragas needs an environment of its own, see the Makefile.
"""

import importlib
import inspect
import json
import os
from importlib.metadata import version
from pathlib import Path

import pytest

from novarag.integrations.core import ReplyScorer
from novarag.integrations.table import ADAPTERS
from tests.support import adapted
from tests.support.driven import DRIVERS, EMPTY

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.enable_socket,  # theirs may look at their own host
    pytest.mark.filterwarnings("default"),
]
WANTED = os.environ.get("NOVARAG_INTEGRATIONS", " ".join(ADAPTERS)).split()


def test_every_adapter_is_driven_and_every_wanted_one_is_known():
    assert set(DRIVERS) == set(ADAPTERS)
    assert set(WANTED) <= set(ADAPTERS)


def handed_over(monkeypatch):
    """Note what adapters hand to the core: a passage that gets lost need not change a number."""
    handed, score = set(), ReplyScorer.__call__

    def noting(self, question, passages, said, confidence=None):
        texts = tuple(p if isinstance(p, str) else p["text"] for p in passages)
        handed.add((question, texts, "" if said == EMPTY else said))
        return score(self, question, passages, said, confidence)

    monkeypatch.setattr(ReplyScorer, "__call__", noting)
    return handed


@pytest.mark.parametrize("name", WANTED)
def test_fifty_groups_have_the_same_number(name, tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_START", str(Path.cwd()))
    monkeypatch.chdir(tmp_path)  # some tools leave folders where they run
    cases = adapted.cases(50)
    settings = adapted.settings(tmp_path)
    wanted = adapted.expected(cases, settings)
    assert {one["decision"] for one in wanted} == {"answer", "abstain"}
    assert sum(one["confidence"] is None for one in wanted) == 7
    handed = handed_over(monkeypatch)
    found = DRIVERS[name](cases, settings)
    assert len(found) == 50
    elsewhere = tmp_path / "handed.jsonl"  # where a tool runs us in processes of its own
    if elsewhere.exists():
        lines = [json.loads(line) for line in elsewhere.read_text("utf-8").splitlines()]
        handed |= {(question, tuple(texts), said) for question, texts, said in lines}
    assert handed == {(c.question, tuple(c.passages), c.reply) for c in cases}
    for (score, passed), one in zip(found, wanted, strict=True):
        assert score == (one["confidence"] and pytest.approx(one["confidence"], rel=0, abs=1e-12))
        assert passed in {..., one["decision"] == "answer"}


@pytest.mark.parametrize("name", [n for n in WANTED if ADAPTERS[n].extra or ADAPTERS[n].sends])
def test_the_version_is_the_one_of_the_table(name):
    row = ADAPTERS[name]
    assert version(row.package) == row.versions, f"{row.package}: test it, then change its row"


@pytest.mark.parametrize("name", WANTED)
def test_the_surface_of_the_tool_is_as_it_was(name):
    row = ADAPTERS[name]
    for place, parameters in row.surface.items():
        home, _, path = place.partition(":")
        found = importlib.import_module(home)
        for part in path.split("."):
            found = getattr(found, part, None)
        assert found is not None, f"{row.package} {version(row.package)} has no {place} any more"
        there = list(inspect.signature(found).parameters)
        lost = [one for one in parameters if one not in there]
        assert not lost, f"{place} of {row.package} takes no {', '.join(lost)} now, but {there}"
