"""Passages judged from Python: in a script, inside a running loop, from a thread."""

import asyncio
import inspect
import json
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from novarag import (
    AnswerForm,
    Passage,
    PassageGroup,
    PassageKind,
    Question,
    ScriptedLLM,
    annotate,
    annotate_async,
    load_groups,
)
from novarag.cli.retrieval.annotate import annotate as door
from novarag.errors import DataError, UnknownNameError, UsageError
from novarag.flows.annotate import OURS
from novarag.flows.events import FileWritten, Note
from novarag.taxonomy import RelevantFacet

GROUPS = [
    PassageGroup(
        question=Question(
            id="q1",
            text="When was the Borsk bridge opened to trains?",
            answers=("26 October 1918",),
        ),
        passages=(
            Passage(text="Borsk bridge\nThe Borsk bridge was opened to trains on October 26, 1918."),
            Passage(
                text="Aldby\nAldby is a market town with a river.",
                kind=PassageKind.RELEVANT,
                facet=next(iter(RelevantFacet)),
            ),
        ),
    ),
    PassageGroup(
        question=Question(
            id="q2", text="Is Aldby old?", answers=("yes",), form=AnswerForm.YES_NO
        ),
        passages=(Passage(text="Aldby is old."),),
    ),
]  # fmt: skip
QUICK = {"replicates": 100}


def kinds(found):
    return [[p.kind for p in group.passages] for group in found.groups]


def test_in_a_script_with_nothing_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = annotate(GROUPS, **QUICK)
    assert kinds(found)[0][0] is PassageKind.GOLD
    assert kinds(found)[1] == [None]
    assert found.verdicts[0][0].by == ("words",)
    assert found.files == ()
    assert str(found).startswith("3 passages, 2 groups, 2 questions\n- Of the passages, ")
    assert repr(found) == str(found)
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_what_is_returned(tmp_path):
    heard, out = [], tmp_path / "out"
    found = annotate(GROUPS, out, **QUICK, on_event=heard.append)
    assert [file.name for file in found.files] == [
        "annotated.jsonl", "profile.json", "report.html", "report.md",
    ]  # fmt: skip
    assert heard == [FileWritten(file) for file in found.files]
    assert tuple(load_groups(out / "annotated.jsonl")) == found.groups
    assert "groups · 2 questions" in (out / "report.md").read_text("utf-8")
    again = annotate(out / "annotated.jsonl", **QUICK)
    assert again.groups == found.groups
    assert json.loads((out / "profile.json").read_text("utf-8"))["passages"] == 3


def test_a_claim_stands_beside_its_kind(tmp_path):
    stem = "Griffin\nRobert Lee Griffin, nicknamed RG3, is an American football quarterback {}."
    group = PassageGroup(
        question=Question(
            id="q",
            text="is american football quarterback robert griffin playing",
            answers=("currently a free agent",),
        ),
        passages=(
            Passage(text=stem.format("who is currently a free agent")),
            Passage(text=stem.format("for the Washington Redskins")),
        ),
    )
    found = annotate([group], tmp_path / "out", **QUICK)
    assert found.groups[0].passages[1].claim == "for the Washington Redskins"
    assert tuple(load_groups(found.files[0])) == found.groups
    assert annotate(group, min_confidence=1, **QUICK).groups[0].passages[1].claim is None


def test_inside_a_running_loop_from_a_thread_and_awaited():
    async def notebook():
        return kinds(annotate(GROUPS, **QUICK))

    seen = [asyncio.run(notebook())]
    thread = threading.Thread(target=lambda: seen.append(kinds(annotate(GROUPS, **QUICK))))
    thread.start()
    thread.join()
    seen.append(kinds(asyncio.run(annotate_async(GROUPS, **QUICK))))
    assert seen[0] == seen[1] == seen[2]


class Judge:
    """Counts what it is asked."""

    model = "judge"

    def __init__(self):
        self.llm, self.asked = ScriptedLLM({"": "Kind: supports\nStated: yes"}), 0

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        self.asked += 1
        return await self.llm.complete(prompt, sampling, key=key, tell=tell)


class Letters:
    identity = "letters"

    async def encode(self, texts, *, query=False):
        return np.array([[len(t), t.count("Aldby") + 1] for t in texts], dtype=np.float32)


def test_witnesses_are_handed_in_as_objects():
    judge, threads = Judge(), []

    def weigh(pairs):
        threads.append(threading.current_thread())
        return [(0.9, 0.1, 0.0) for _ in pairs]

    found = annotate(GROUPS, judge=judge, nli=weigh, encoder=Letters(), min_confidence=0.5, **QUICK)
    assert judge.asked == 3
    assert kinds(found)[1] == [PassageKind.GOLD]
    assert found.verdicts[1][0].by == ("nli", "judge")
    assert "A judge was asked about 3 passages; 0 replies failed" in found.notes[-1]
    assert found.profile.notes == found.notes[-1:]
    assert threads


def test_no_reply_is_paid_twice(tmp_path):
    judge, heard = Judge(), []
    annotate(GROUPS, tmp_path / "o", judge=judge, **QUICK)
    annotate(GROUPS, tmp_path / "o", judge=judge, **QUICK, on_event=heard.append)
    assert judge.asked == 3
    votes = tmp_path / "o.votes.jsonl"
    assert heard[0] == Note(f"3 replies are in {votes} already")
    annotate(GROUPS, tmp_path / "o", judge=judge, structured=False, **QUICK)
    assert judge.asked == 6


@pytest.mark.parametrize("wrong", [3, None, ["a text"], [3]])
def test_what_is_no_group_says_what_was_expected(wrong):
    with pytest.raises(TypeError, match="groups must be the path of a file"):
        annotate(wrong)


def test_what_cannot_work_is_said_in_words_of_python(tmp_path):
    (tmp_path / "file").write_text("mine", "utf-8")
    with pytest.raises(UsageError, match="`out` takes a folder"):
        annotate(GROUPS, tmp_path / "file")
    with pytest.raises(UsageError, match="give another `out`"):
        annotate(GROUPS, tmp_path)
    with pytest.raises(UsageError, match="`min_confidence` is a confidence from 0 to 1, not 60"):
        annotate(GROUPS, min_confidence=60)
    with pytest.raises(UnknownNameError, match="surprises"):
        annotate(GROUPS, expect="surprises")
    with pytest.raises(UsageError, match="simulated:base answers questions and cannot judge"):
        annotate(GROUPS, judge="simulated:base")
    with pytest.raises(TypeError, match="nli must be a function"):
        annotate(GROUPS, nli=3)
    with pytest.raises(DataError, match=r"groups, row 1, column 'answers': .*known answer"):
        annotate([PassageGroup(question=Question(id="q", text="Who?"), passages=())])
    with pytest.raises(DataError, match="there are no groups"):
        annotate([])


def test_the_doors_defaults_are_those_of_the_function():
    ours = inspect.signature(annotate).parameters
    shown = inspect.signature(door).parameters
    assert set(shown) == set(ours) - {"on_event"}
    for name in set(shown) - {"out"}:
        assert shown[name].default == ours[name].default


def test_t5_pages_name_the_files_that_annotate_writes():
    docs = Path(__file__).parents[3] / "docs"
    named = {
        name
        for page in docs.rglob("*.md")
        for name in re.findall(r"novarag [^\n]*?\bannotated/([\w.]+)", page.read_text())
    }
    assert named
    assert named <= set(OURS)
