"""`novarag retrieval annotate`, its judges, its report, and `novarag measure --kind-shares`."""

import json
import re
import sys
import types
from contextlib import closing

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from novarag import Passage, PassageGroup, Question, ScriptedLLM
from novarag.calls import CallError, Outcome
from novarag.cli import app
from novarag.datasets import load_groups
from novarag.datasets.annotated import Votes
from novarag.datasets.mix import read_mix
from novarag.errors import DataError, ServiceError, StorageError
from novarag.flows.judge import judge_passages
from novarag.runner.access import ModelAccess

HOSTILE = "<img src=x onerror=alert(1)> **bold** [x](javascript:alert(1)) {{ 7 * 7 }}"
ROWS = [
    {
        "id": "q1",
        "question": "When was the Borsk bridge opened to trains?",
        "answers": ["26 October 1918"],
        "passages": [
            {"text": "Borsk bridge\nThe Borsk bridge was opened to trains on October 26, 1918.", "kind": "gold"},
            {"text": f"Aldby\nAldby is a market town with a river. {HOSTILE}", "kind": "irrelevant"},
        ],
    },
    {
        "id": "q2",
        "question": f"Who keeps the mill of Aldby? {HOSTILE}",
        "answers": ["<b>Nobody</b>"],
        "passages": [f"Mill\nThe mill of Aldby grinds corn. {HOSTILE}"],
    },
    {"id": "q3", "question": "Is Aldby old?", "answers": ["yes"], "passages": ["Aldby is old."]},
]  # fmt: skip


@pytest.fixture
def groups(tmp_path):
    path = tmp_path / "groups.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def run(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def annotated(out):
    return [json.loads(line) for line in (out / "annotated.jsonl").read_text("utf-8").splitlines()]


def test_it_writes_groups_a_profile_and_reports(groups, tmp_path):
    out = tmp_path / "out"
    done = run("retrieval", "annotate", groups, "--out", out, "--replicates", 100)
    assert done.exit_code == 0, done.output
    assert "support the answer" in done.output
    rows = annotated(out)
    first = rows[0]["passages"][0]
    assert first["kind"] == "gold"
    assert first["known"] == {"kind": "gold"}
    assert first["annotation"]["by"] == ["words"]
    assert 0.6 <= first["annotation"]["confidence"] <= 1
    assert "October 26, 1918" in first["annotation"]["evidence"]["quote"]
    assert "kind" not in rows[2]["passages"][0]
    assert rows[2]["passages"][0]["annotation"]["kind"] is None
    again = load_groups(out / "annotated.jsonl")
    assert again[0].kind == "consistent"
    assert again[2].kind is None
    profile = json.loads((out / "profile.json").read_text("utf-8"))
    assert profile["agreement"]["matrix"][0][0] == 1
    assert set(read_mix(out / "profile.json")) == {"consistent", "counterfactual", "irrelevant"}


def test_the_same_input_gives_the_same_bytes(groups, tmp_path):
    for name in ("a", "b"):
        assert (
            run(
                "retrieval", "annotate", groups, "--out", tmp_path / name, "--replicates", 100
            ).exit_code
            == 0
        )
    for file in sorted((tmp_path / "a").iterdir()):
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name


def test_hostile_text_is_escaped(groups, tmp_path):
    run("retrieval", "annotate", groups, "--out", tmp_path / "out", "--replicates", 100)
    page = (tmp_path / "out/report.html").read_text("utf-8")
    assert "<img" not in page
    assert "<script" not in page
    assert "&lt;img" in page
    text = (tmp_path / "out/report.md").read_text("utf-8")
    assert "<img" not in text
    assert re.search(r"(?<!\\)\]\(javascript", text) is None


def test_a_claim_is_written_beside_its_kind(tmp_path):
    stem = "Griffin\nRobert Lee Griffin, nicknamed RG3, is an American football quarterback {}."
    row = {
        "question": "is american football quarterback robert griffin playing",
        "answers": "currently a free agent",
        "passages": [
            stem.format("who is currently a free agent"),
            stem.format("for the Washington Redskins"),
        ],
    }
    path = tmp_path / "g.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    done = run("retrieval", "annotate", path, "--out", tmp_path / "out", "--replicates", 100)
    assert "macro-F1" not in done.output
    (made,) = load_groups(tmp_path / "out/annotated.jsonl")
    assert made.passages[1].claim == "for the Washington Redskins"


def test_a_question_without_answers_is_refused(tmp_path):
    path = tmp_path / "g.jsonl"
    path.write_text('{"question": "Who?", "passages": ["x"]}\n', encoding="utf-8")
    done = run("retrieval", "annotate", path, "--out", tmp_path / "out")
    assert isinstance(done.exception, DataError)
    assert "known answer" in str(done.exception)
    path.write_text("", encoding="utf-8")
    assert "no groups" in str(
        run("retrieval", "annotate", path, "--out", tmp_path / "out").exception
    )


def test_an_interval_from_zero_is_told_and_no_mix_is_no_mix(tmp_path):
    path, out = tmp_path / "g.jsonl", tmp_path / "out"
    rows = [{"question": f"Is it {i}?", "answers": "yes",
             "passages": [{"text": "It is.", "kind": "gold"}]} for i in range(3)]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run("retrieval", "annotate", path, "--out", out, "--replicates", 100)
    assert "macro-F1 is 0.000 (0.000 to 0.708)" in done.output
    with pytest.raises(DataError, match="no mix"):
        read_mix(out / "profile.json")
    for name in ("report.html", "report.md"):
        assert "No group is judged" in (out / name).read_text("utf-8")


def weigh(pairs):
    return [(0.0, 0.1, 0.9) if "mill" in premise else (0.9, 0.1, 0.0) for premise, _ in pairs]


def test_entailment_has_a_vote(groups, tmp_path, monkeypatch):
    toy = types.ModuleType("toy_nli")
    toy.weigh, toy.short, toy.number = weigh, lambda pairs: [], 3
    monkeypatch.setitem(sys.modules, "toy_nli", toy)
    done = run(
        "retrieval",
        "annotate",
        groups,
        "--out",
        tmp_path / "o",
        "--nli",
        "toy_nli:weigh",
        "--min-confidence",
        0.5,
    )
    assert done.exit_code == 0, done.output
    rows = annotated(tmp_path / "o")
    assert rows[0]["passages"][0]["annotation"]["by"] == ["words", "nli"]
    assert rows[2]["passages"][0]["kind"] == "gold"
    assert "entailment 0.90" in rows[2]["passages"][0]["annotation"]["evidence"]["reason"]
    short = run("retrieval", "annotate", groups, "--out", tmp_path / "o", "--nli", "toy_nli:short")
    assert "rows of three" in str(short.exception)
    number = run(
        "retrieval", "annotate", groups, "--out", tmp_path / "o", "--nli", "toy_nli:number"
    )
    assert "cannot be called" in str(number.exception)


def test_an_encoder_has_a_say(groups, tmp_path, monkeypatch):
    class Toy:
        async def encode(self, texts, *, query=False):
            return np.array([[len(t), t.count("Aldby") + 1] for t in texts], dtype=np.float32)

    asked = []

    async def open_toy(spec, *, key_env, on_event):
        asked.append((spec, key_env))
        return Toy()

    monkeypatch.setattr("novarag.flows.annotate.open_encoder", open_toy)
    done = run(
        "retrieval",
        "annotate",
        groups,
        "--out",
        tmp_path / "o",
        "--encoder",
        "toy",
        "--key-env",
        "K",
    )
    assert done.exit_code == 0, done.output
    assert asked == [("toy", "K")]


class Answering:
    """A model for the command line, which opens and checks it."""

    def __init__(self, script):
        self.llm = ScriptedLLM(script)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def check(self):
        return None

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        return await self.llm.complete(prompt, sampling, key=key, tell=tell)


def served(monkeypatch, llm):
    """Let a model stand where a server is named."""
    monkeypatch.setattr(
        "novarag.flows.annotate.reach", lambda *_: ModelAccess(name="m", opens=lambda: llm)
    )


def test_a_judge_has_a_vote_and_unread_replies_are_counted(groups, tmp_path, monkeypatch):
    script = {
        "Is Aldby old?": "Kind: supports\nStated: yes",
        "Borsk bridge was opened": "I cannot say.",
        "market town": "Kind: unrelated\nStated: none",
    }
    served(monkeypatch, Answering(script))
    done = run(
        "retrieval",
        "annotate",
        groups,
        "--out",
        tmp_path / "o",
        "--judge",
        "http://localhost:1/v1=m",
        "--no-structured",
    )
    assert done.exit_code == 0, done.output
    assert "4 passages; 2 replies failed or could not be read" in done.output
    rows = annotated(tmp_path / "o")
    assert rows[2]["passages"][0]["kind"] == "gold"
    assert rows[2]["passages"][0]["annotation"]["by"] == ["judge"]
    assert rows[0]["passages"][0]["annotation"]["by"] == ["words"]


class Counting(Answering):
    """Counts what it is asked; `failing` prompts end in an error."""

    def __init__(self, asked, *, error=None, failing="", reply="Kind: unrelated\nStated: none"):
        self.asked, self.error, self.failing, self.reply = asked, error, failing, reply
        self.llm = ScriptedLLM({"": reply})

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        self.asked.append(prompt)
        if self.error is not None and self.failing in prompt:
            raise self.error
        return await super().complete(prompt, sampling, key=key, tell=tell)


def judging(monkeypatch, llm, groups, out):
    served(monkeypatch, llm)
    return run("retrieval", "annotate", groups, "--out", out, "--judge", "http://localhost:1/v1=m")


def test_no_reply_is_paid_twice(groups, tmp_path, monkeypatch):
    asked, out = [], tmp_path / "o"
    broken = CallError(Outcome.TIMED_OUT, "slow")
    done = judging(monkeypatch, Counting(asked, error=broken, failing="mill"), groups, out)
    assert done.exit_code == 0, done.output
    assert len(asked) == 4
    votes = tmp_path / "o.votes.jsonl"
    assert [set(json.loads(line)) for line in votes.read_text("utf-8").splitlines()] == [
        {"model", "prompt", "reply"}
    ] * 3
    votes.write_bytes(votes.read_bytes()[:-20])  # a kill in the middle of a line
    asked.clear()
    done = judging(monkeypatch, Counting(asked), groups, out)
    assert done.exit_code == 0, done.output
    assert len(asked) == 2
    asked.clear()
    assert judging(monkeypatch, Counting(asked), groups, out).exit_code == 0
    assert asked == []
    assert annotated(out)[2]["passages"][0]["annotation"]["by"] == ["judge"]


def test_another_model_is_asked_anew(tmp_path):
    path = tmp_path / "votes.jsonl"
    with closing(Votes(path, model="a")) as votes:
        votes["p"] = "half \ud83d"
    path.write_bytes(path.read_bytes() + b"[1]\n")
    with closing(Votes(path, model="a")) as votes:
        assert dict(votes) == {"p": "half ?"}
    with closing(Votes(path, model="b")) as votes:
        assert dict(votes) == {}
    with pytest.raises(StorageError, match="cannot write"):
        Votes(tmp_path, model="a")


def test_if_every_request_fails_so_does_the_command(groups, tmp_path, monkeypatch):
    asked = []
    broken = CallError(Outcome.TIMED_OUT, "slow")
    done = judging(monkeypatch, Counting(asked, error=broken), groups, tmp_path / "o")
    assert done.exception is broken
    assert len(asked) == 4
    assert not (tmp_path / "o").exists()


def test_access_denied_is_said_at_once(groups, tmp_path, monkeypatch):
    denied = CallError(Outcome.DENIED, "no key")
    done = judging(
        monkeypatch, Counting([], error=denied, failing="market town"), groups, tmp_path / "o"
    )
    assert done.exception is denied


def test_the_place_is_checked_before_anything_is_asked(groups, tmp_path, monkeypatch):
    asked, out = [], tmp_path / "o"
    out.write_text("mine", encoding="utf-8")
    done = judging(monkeypatch, Counting(asked), groups, out)
    assert "is a file" in str(done.exception)
    done = judging(monkeypatch, Counting(asked), groups, out / "below")
    assert isinstance(done.exception, StorageError)
    (tmp_path / "p").mkdir()
    (tmp_path / "p/letter.txt").write_text("mine", encoding="utf-8")
    done = judging(monkeypatch, Counting(asked), groups, tmp_path / "p")
    assert "letter.txt" in str(done.exception)
    assert asked == []


def test_what_was_there_stays_if_writing_fails(groups, tmp_path, monkeypatch):
    out = tmp_path / "o"
    assert run("retrieval", "annotate", groups, "--out", out, "--replicates", 100).exit_code == 0
    before = {p.name: p.read_bytes() for p in out.iterdir()}

    def broken(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("novarag.report.profile.write_profile", broken)
    run("retrieval", "annotate", groups, "--out", out, "--replicates", 100, "--min-confidence", 0.9)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


async def _judged(script):
    group = PassageGroup(
        question=Question(id="q", text="Who?", answers=("Ann",)),
        passages=(Passage(text="alpha"), Passage(text="beta")),
    )
    return await judge_passages([group], ScriptedLLM(script))


def test_judge_keeps_order():
    import asyncio

    ((one, two),) = asyncio.run(_judged({"alpha": "Kind: supports\nStated: Ann"}))
    assert one.claim == "Ann"
    assert two is None
    with pytest.raises(ServiceError):
        asyncio.run(ScriptedLLM({}).complete("x"))


def table(path, kinds=("consistent", "irrelevant")):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "question": [f"q{i}" for i in range(120)],
            "kind": [kinds[i % len(kinds)] for i in range(120)],
            "confidence": [None, *(rng.integers(0, 11, 119) / 10)],
            "correct": rng.random(120) < 0.6,
        }
    )
    frame.write_parquet(path)
    return path


def test_measure_weighs_to_a_mix(tmp_path):
    mix = tmp_path / "mix.json"
    mix.write_text('{"consistent": 0.9, "irrelevant": 0.1}', encoding="utf-8")
    answers = table(tmp_path / "answers.parquet")
    done = run(
        "measure", answers, "--kind-shares", mix, "--replicates", 100, "--out", tmp_path / "out"
    )
    assert done.exit_code == 0, done.output
    assert "Weighed to the mix" in done.output
    assert "are worth" in done.output
    assert "1 rows are not weighed" in done.output
    told = json.loads((tmp_path / "out/mixed.json").read_text("utf-8"))
    assert told["wanted"] == {"consistent": 0.9, "irrelevant": 0.1}
    assert run("measure", answers, "--kind-shares", mix, "--replicates", 100).exit_code == 0
    mix.write_text('{"group_mix": {"counterfactual": {"value": 1}}}', encoding="utf-8")
    done = run("measure", answers, "--kind-shares", mix, "--replicates", 100)
    assert "not attainable" in str(done.exception)


def test_a_mix_is_checked_before_the_bootstrap(tmp_path, monkeypatch):
    def never(*_args, **_options):
        raise AssertionError

    monkeypatch.setattr("novarag.metrics.measure_table", never)
    answers, mix = table(tmp_path / "answers.parquet"), tmp_path / "mix.json"
    mix.write_text("{", encoding="utf-8")
    done = run("measure", answers, "--kind-shares", mix)
    assert isinstance(done.exception, DataError)
    mix.write_text('{"counterfactual": 1}', encoding="utf-8")
    assert "not attainable" in str(run("measure", answers, "--kind-shares", mix).exception)


def test_a_mix_says_what_it_pools(tmp_path):
    answers, mix = table(tmp_path / "answers.parquet"), tmp_path / "mix.json"
    mix.write_text('{"consistent": 0.9, "irrelevant": 0.1}', encoding="utf-8")
    pl.read_parquet(answers).with_columns(
        model=pl.Series(["a", "b"] * 60), one=pl.lit("x")
    ).write_parquet(answers)
    several = run("measure", answers, "--kind-shares", mix, "--replicates", 100, "--by", "model")
    assert "Weighed to the mix of the profile, every model pooled:" in several.output
    alone = run("measure", answers, "--kind-shares", mix, "--replicates", 100, "--by", "one")
    assert "Weighed to the mix of the profile:" in alone.output


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"group_mix": {}}', '{"other": 1}', '{"consistent": true}']
)
def test_mixes_that_cannot_be_read(tmp_path, text):
    path = tmp_path / "mix.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"mix|JSON"):
        read_mix(path)
