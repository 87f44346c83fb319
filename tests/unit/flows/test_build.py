"""One command from questions to a training set: settings, kills, drivers, byte for byte."""

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from novarag.cli import app
from novarag.config import load_pipeline
from novarag.errors import DataError, UnknownNameError
from novarag.noise.audit import CueFinding, ShortcutAudit
from novarag.strategies import COT, NOVA, STRATEGIES, VANILLA, Strategy, Template
from tests.support.chaos.serving import bill, chaos, kill_after

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
run = CliRunner().invoke


def write_questions(path, count=30):
    rows = (
        {
            "id": f"q{i}",
            "question": f"Who built lighthouse{i} of Cape{i}?",
            "answers": [f"Builder{i}"],
            "passages": [
                {
                    "text": f"Lighthouse{i} was built by Builder{i}, who came from far away to do it.",
                    "kind": "gold",
                    "provenance": "original",
                }
            ],
        }
        for i in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_pipeline(folder, server, out, more=""):
    path = folder / f"{out}.toml"
    path.write_text(
        f'out = "{folder / out}"\n[model]\nendpoints = ["{server}=chaos"]\nconcurrency = 8\n'
        f'[questions]\nfile = "{folder / "questions.jsonl"}"\n[noise]\n'
        f'[groups]\naudit = false\n[ask]\nshard_size = 8\n[filter]\nbalance = "none"\n{more}',
        "utf-8",
    )
    return path


def results(folder):
    """The digests of everything that a build leaves behind, but its journals and ledgers."""
    names = [
        "groups.jsonl",
        "filtered/kept.parquet",
        "filtered/groups.parquet",
        "filtered/tally.json",
    ]
    files = [folder / n for n in names] + sorted((folder / "export").rglob("*.*"))
    files += sorted((folder / "noise" / "pool").iterdir())
    return {
        str(f.relative_to(folder)): sha256(f.read_bytes()).hexdigest() for f in files if f.is_file()
    }


def test_the_same_bytes_after_three_kills(tmp_path):
    write_questions(tmp_path / "questions.jsonl")
    with chaos(latency=0.03) as server:
        calm = run(app, ["train", "build", str(write_pipeline(tmp_path, server, "calm"))])
        assert calm.exit_code == 0, calm.output
        killed = write_pipeline(tmp_path, server, "killed")
        command = [sys.executable, "-m", "novarag", "train", "build", str(killed)]
        for more in (20, 40, 60):
            kill_after(command, server, more)
        again = run(app, ["train", "build", str(killed)])
        assert again.exit_code == 0, again.output
        paid = bill(server, "count")["total"]
        assert run(app, ["train", "build", str(killed)]).exit_code == 0
        assert bill(server, "count")["total"] == paid
    assert results(tmp_path / "killed") == results(tmp_path / "calm")
    assert "novarag group" not in calm.output
    assert "[5/5] export" in calm.output
    card = json.loads((tmp_path / "calm" / "export" / "card.json").read_text("utf-8"))
    assert card["formats"] == ["canonical", "llama-factory", "openai"]


def test_the_same_bytes_on_ray(tmp_path):
    pytest.importorskip("ray")
    write_questions(tmp_path / "questions.jsonl", 20)
    with chaos() as server:
        for out, more in (("local", []), ("ray", ["--driver", "ray"])):
            pipeline = write_pipeline(tmp_path, server, out)
            command = [sys.executable, "-m", "novarag", "train", "build", str(pipeline), *more]
            subprocess.run(command, check=True, capture_output=True, env=_calm_environment())
    assert results(tmp_path / "ray") == results(tmp_path / "local")


def _calm_environment():
    import os

    return os.environ | {"RAY_AUTH_MODE": "disabled", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


def test_a_build_without_noise_and_with_an_audit(tmp_path):
    write_questions(tmp_path / "questions.jsonl")
    with chaos() as server:
        first = run(app, ["train", "build", str(write_pipeline(tmp_path, server, "out"))])
        assert first.exit_code == 0
        pool = tmp_path / "out" / "noise" / "pool" / "00000.parquet"
        path = tmp_path / "second.toml"
        told = write_pipeline(tmp_path, server, "second").read_text("utf-8")
        told = told.replace("[noise]\n", "").replace("audit = false", "one_each = true")
        told = told.replace(str(tmp_path / "questions.jsonl"), str(pool))
        path.write_text(told, "utf-8")
        second = run(app, ["train", "build", str(path)])
    assert "no [noise]" in second.output
    assert "30 groups of 30 questions" in second.output
    assert "were audited" in second.output


def with_shortcut(build, margin):
    found = CueFinding(
        cue="words", kind=None, accuracy=1, majority=0.3, low=0.6, high=0.8, luck=0.0
    )
    audit = ShortcutAudit(findings=(found,), margin=margin, groups=3, questions=1, left_out=0)
    return replace(build, audit=audit)


def test_a_shortcut_stops_a_build_before_anything_is_asked(tmp_path, monkeypatch):
    write_questions(tmp_path / "questions.jsonl")
    monkeypatch.setattr("novarag.flows.build.audited", with_shortcut)
    with chaos() as server:
        path = write_pipeline(tmp_path, server, "out")
        path.write_text(path.read_text("utf-8").replace("audit = false", ""), "utf-8")
        result = run(app, ["train", "build", str(path)])
    assert result.exit_code == 1
    assert "to go on in spite of it, write audit = false" in result.output
    assert not (tmp_path / "out" / "run").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("[groups]\nk = 2\n", "3 passages or more"),
        ("[groups]\nmix = 'gold'\n", "gold"),
        ("[groups]\nmix = 'gold-only'\none_each = true\n", "one_each belongs"),
        ("[noise]\nkinds = ['bad']\n", "bad"),
        ("[filter]\nbalance = 'uniforn'\n", "uniforn"),
        ("[export]\nformats = ['jsonl']\n", "jsonl"),
        ("[ask]\nstrategy = 'novas'\n", "novas"),
        ("[ask]\nstrategy = 'cot'\nstructured = true\n", "structured replies are those"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_asked(tmp_path, wrong, said):
    path = tmp_path / "p.toml"
    path.write_text(f"out = '{tmp_path / 'out'}'\n" + GOOD + wrong, "utf-8")
    result = run(app, ["train", "build", str(path)])
    assert said in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_changed_groups_do_not_overwrite_those_of_a_begun_run(tmp_path):
    write_questions(tmp_path / "questions.jsonl")
    with chaos() as server:
        path = write_pipeline(tmp_path, server, "out")
        assert run(app, ["train", "build", str(path)]).exit_code == 0
        before = (tmp_path / "out" / "groups.jsonl").read_bytes()
        path.write_text(path.read_text("utf-8").replace("[groups]", "[groups]\nk = 4"), "utf-8")
        assert "was begun with other groups" in str(
            run(app, ["train", "build", str(path)]).exception
        )
    assert (tmp_path / "out" / "groups.jsonl").read_bytes() == before


GOOD = '[model]\nendpoints = ["http://x/v1=m"]\n[questions]\nfile = "q.jsonl"\n'


def test_defaults_and_overrides(tmp_path):
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text(GOOD + "[ask]\nsamples = 4\ntemperature = 1\n", "utf-8")
    two.write_text(
        "seed = 3\n[ask]\nsamples = 8\n[noise.model]\nendpoints = ['http://y/v1=n']\n", "utf-8"
    )
    found = load_pipeline(one, two)
    assert (found.ask.samples, found.ask.temperature, found.seed) == (8, 1.0, 3)
    assert found.noise is not None
    assert found.noise.model is not None
    assert found.noise.model.endpoints == ("http://y/v1=n",)
    assert load_pipeline(one).noise is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[ask]\nsample = 3\n", "did you mean 'samples'"),
        ("[ask]\nsamples = 'many'\n", "write a whole number"),
        ("[ask]\nsamples = true\n", "write a whole number"),
        ("[groups]\naudit = 1\n", "write true or false"),
        ("[groups]\nmargin = nan\n", "write a number"),
        ("[ask]\ntemperature = true\n", "write a number"),
        ("[ask]\nsamples = 0\n", "must be 1 or more"),
        ("[noise]\nquestions = -1\n", "must be 1 or more"),
        ("[noise]\nkinds = [3]\n", "write a text in quotes"),
        ("nonsense = 1\n", "there is no key 'nonsense'"),
        ("[ask\n", "not TOML"),
    ],
)
def test_a_wrong_key_is_named(tmp_path, text, said):
    path = tmp_path / "p.toml"
    path.write_text(text + GOOD if "[" not in text else GOOD + text, "utf-8")
    with pytest.raises(DataError, match=said):
        load_pipeline(path)


def test_what_is_missing_is_named(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("[questions]\nfile = 'q'\n", "utf-8")
    with pytest.raises(DataError, match=r"model"):
        load_pipeline(path)
    with pytest.raises(DataError, match="no such file"):
        load_pipeline(tmp_path / "none.toml")


def test_the_papers_settings(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text(GOOD, "utf-8")
    found = load_pipeline("paper", mine)
    assert found.noise is not None
    assert (found.noise.candidates, found.noise.keep, found.noise.verbalised) == (5, 3, True)
    assert (found.ask.samples, found.ask.temperature, found.groups.k) == (16, 1.0, 3)
    assert (found.groups.mix, found.filter.balance) == ("one-gold", "downsample-consistent")
    assert (found.filter.drop_longest, found.filter.tolerate_mismatch) == (0.0, False)
    released = load_pipeline("paper", "released", mine).filter
    assert (released.drop_longest, released.tolerate_mismatch) == (0.05, True)
    assert released.balance == found.filter.balance


CITED = {
    "paper": re.compile(r"# (L[0-9]{1,4}: .*\"|ours: |released: )"),
    "released": re.compile(r"# released: --[a-z-]{4,}"),
}


def shipped_lines(name):
    return (
        files("novarag")
        .joinpath("presets", "build", f"{name}.toml")
        .read_text("utf-8")
        .splitlines()
    )


def uncited(lines, cites):
    """Name the constants whose own line says neither a sentence nor whose choice it is."""
    set_here = [line for line in lines if "=" in line and not line.startswith("#")]
    return [line.partition("=")[0].strip() for line in set_here if not cites.search(line)]


@pytest.mark.parametrize("name", CITED)
def test_every_constant_of_a_preset_has_a_citation_of_its_own(name):
    assert not uncited(shipped_lines(name), CITED[name])


@pytest.mark.parametrize("name", CITED)
def test_each_citation_that_is_taken_away_is_missed(name):
    lines = shipped_lines(name)
    constants = [i for i, line in enumerate(lines) if "=" in line and not line.startswith("#")]
    tables = tomllib.loads("\n".join(lines)).values()
    assert len(constants) == sum(len(t) if isinstance(t, dict) else 1 for t in tables)
    for at in constants:
        bare = lines[at].partition(" #")[0]
        assert uncited([*lines[:at], bare, *lines[at + 1 :]], CITED[name]) == [
            bare.partition("=")[0].strip()
        ]


def test_the_example_pipeline_is_one(tmp_path):
    path = tmp_path / "pipeline.toml"
    assert run(app, ["example", str(path)]).exit_code == 0
    assert load_pipeline(path).ask.samples == 16
    assert "exists already" in str(run(app, ["example", str(path)]).exception)


@given(st.integers(1, 6), st.sampled_from(["0", "7", "90", "100"]))
def test_a_reply_of_the_pattern_is_read(k, stated):
    steps = "\n".join(f"Step {i}: something" for i in range(1, k + 2))
    classes = "; ".join(f"Passage {i}: Irrelevant" for i in range(1, k + 1))
    reply = (
        f"{steps}\nPassage Classifications: {classes}\nGroup Judgment: Insufficient\n"
        f"Answer: Rome\nConfidence: {stated}%"
    )
    assert re.fullmatch(NOVA.pattern(k), reply)
    reading = NOVA.read(reply, k=k)
    assert reading.flaw is None
    assert reading.rule_step
    assert len(reading.judgment.passages) == k


def test_every_form_is_read_and_none_says_the_prompt_back():
    said = "Answer: Rome\nConfidence: 40%"
    assert VANILLA.read(said).flaw is COT.read(f"So it is.\n{said}").flaw is None
    assert re.fullmatch(VANILLA.pattern(3), said)
    assert re.fullmatch(COT.pattern(3), f"So it is.\n{said}")
    assert not re.fullmatch(COT.pattern(3), said)
    assert "{0,8}" in NOVA.pattern(3, step_length=9)
    for strategy in (VANILLA, COT):
        for answer in ("[your answer: yes or no]", " ", ""):
            assert not re.search(strategy.pattern(3), f"So.\nAnswer: {answer}\nConfidence: 40%")
    formed = sorted(name for name, strategy in STRATEGIES.items() if strategy.form)
    with pytest.raises(UnknownNameError, match=", ".join(formed)):
        STRATEGIES["cot-paper"].pattern(3)


def test_a_strategy_of_ones_own_may_have_a_form():
    template = Template("Question: {question}\n")
    free = Strategy(name="cot", template=template)
    with pytest.raises(UnknownNameError, match="'cot' is not one of"):
        free.pattern(3)

    def form(k, step_length):
        return f"Answer: .{{{k},{step_length}}}"

    own = Strategy(name="mine", template=template, form=form)
    assert own.pattern(2, step_length=7) == "Answer: .{2,7}"
