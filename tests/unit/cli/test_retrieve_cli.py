"""Index and retrieve, as their users meet them."""

import json

import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.datasets import load_groups
from novarag.taxonomy import Provenance

run = CliRunner().invoke


@pytest.fixture
def corpus(tmp_path):
    rows = [
        {
            "id": f"d{i}",
            "title": f"Cape{i}",
            "text": f"Lighthouse{i} was built by Builder{i}. " * 30,
        }
        for i in range(20)
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def questions(tmp_path):
    rows = [
        {"id": f"q{i}", "question": f"Who built lighthouse{i}?", "answers": [f"Builder{i}"]}
        for i in range(20)
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_from_a_corpus_to_groups(corpus, questions, tmp_path):
    uri, out = tmp_path / "x.db", tmp_path / "out" / "groups.jsonl"
    done = run(app, ["retrieval", "index", str(corpus), "--uri", str(uri)])
    assert done.exit_code == 0, done.output
    assert ", 0 already there; the index has 40" in done.output
    again = run(app, ["retrieval", "index", str(corpus), "--uri", str(uri)])
    assert "0 passages added, 40 already there; the index has 40" in again.output
    done = run(
        app,
        ["retrieval", "retrieve", str(questions), "--uri", str(uri), "-k", "2", "--out", str(out)],
    )
    assert done.exit_code == 0, done.output
    assert "40 passages for 20 questions\n" in done.output
    groups = load_groups(out)
    assert [g.id for g in groups][:2] == ["q0/bm25-k2", "q1/bm25-k2"]
    for i, group in enumerate(groups):
        assert group.question.answers == (f"Builder{i}",)
        assert {p.source for p in group.passages} == {f"d{i}#1", f"d{i}#2"}
        assert all(p.kind is None for p in group.passages)
        assert all(p.provenance is Provenance.RETRIEVED for p in group.passages)
        assert all(p.text.startswith(f"Cape{i}\n") for p in group.passages)


def test_the_users_own_search(questions, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_echo.py").write_text(
        "def find(query, k):\n    return [{'text': query, 'title': 'Echo', 'id': 7}]\n", "utf-8"
    )
    done = run(
        app,
        [
            "retrieval",
            "retrieve",
            str(questions),
            "--search",
            "own_echo:find",
            "--out",
            "g.jsonl",
            "--limit",
            "3",
        ],
    )
    assert done.exit_code == 0, done.output
    groups = load_groups(tmp_path / "g.jsonl")
    assert [g.id for g in groups] == ["q0/own-k5", "q1/own-k5", "q2/own-k5"]
    assert groups[0].passages[0].text == "Echo\nWho built lighthouse0?"
    assert groups[0].passages[0].source == "7"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "groups.csv", "--uri", "x.db"], "must end in .jsonl"),
        (["--out", "g.jsonl", "--uri", "nowhere.db"], "there is no index nowhere.db"),
        (["--out", "g.jsonl"], "say where to search"),
        (["--out", "g.jsonl", "--uri", "x.db", "--search", "a:b"], "one of them"),
    ],
)
def test_mistakes_are_one_line(questions, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    done = run(app, ["retrieval", "retrieve", str(questions), *arguments])
    assert done.exit_code != 0
    assert said in str(done.exception)
    assert not list(tmp_path.glob("g.jsonl*"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"id": "a", "question": "One?"}, {"id": "a", "question": "Two?"}], "two questions are called 'a'"),
        ([{"id": "a", "question": "boom"}], "own_boom:find raised ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_what_fails_leaves_no_file(tmp_path, monkeypatch, rows, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_boom.py").write_text(
        "def find(query, k):\n    return [] if query != 'boom' else 1 / 0\n", "utf-8"
    )
    questions = tmp_path / "q.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = run(
        app, ["retrieval", "retrieve", "q.jsonl", "--search", "own_boom:find", "--out", "g.jsonl"]
    )
    assert said in str(done.exception)
    assert not list(tmp_path.glob("g.jsonl*"))


def test_questions_that_find_nothing_and_have_no_answers_are_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_nothing.py").write_text("def find(query, k):\n    return []\n", "utf-8")
    (tmp_path / "q.jsonl").write_text('{"id": "a", "question": "One?"}\n', "utf-8")
    done = run(
        app,
        ["retrieval", "retrieve", "q.jsonl", "--search", "own_nothing:find", "--out", "g.jsonl"],
    )
    assert "0 passages for 1 questions; nothing for 1 of them" in done.output
    assert "1 questions have no answers" in done.output


def test_an_empty_corpus_is_no_success(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.jsonl").write_text("\n", "utf-8")
    done = run(app, ["retrieval", "index", "none.jsonl", "--uri", "x.db"])
    assert "has no documents" in str(done.exception)


def test_a_corpus_that_is_not_there_makes_no_index(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(app, ["retrieval", "index", "missing.jsonl", "--uri", "x.db"])
    assert "no such file" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_no_questions_leave_no_file(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.jsonl").write_text("\n", "utf-8")
    run(app, ["retrieval", "index", str(corpus), "--uri", "x.db"])
    done = run(app, ["retrieval", "retrieve", "none.jsonl", "--uri", "x.db", "--out", "g.jsonl"])
    assert "has no questions" in str(done.exception)
    assert not list(tmp_path.glob("g.jsonl*"))
