"""A rehearsal builds what a pipeline says, with a simulated model, in a folder of its own."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from novarag import build_training_set, write_example
from novarag.cli import app
from novarag.config import Pipeline, load_pipeline, rehearse_pipeline
from novarag.config.asking import EndpointSettings
from novarag.config.pipeline import FilterSettings, NoiseSettings, QuestionSettings
from novarag.flows.events import Note
from novarag.runs import open_run

run = CliRunner().invoke
SIMULATED = "simulated:base is a simulated respondent"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """An empty folder in which three lines were typed, and what the last one printed."""
    folder = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(app, ["example", "questions.jsonl"]).exit_code == 0
        written = run(app, ["example", "pipeline.toml"])
        line = written.output.rpartition("without a model: novarag ")[2].split()
        assert line == ["train", "build", "pipeline.toml", "--rehearse"]
        result = run(app, line)
    assert result.exit_code == 0, result.output
    return folder, result.output


def test_three_lines_in_an_empty_folder_build_a_training_set(built):
    folder, output = built
    rows = (folder / "nova-rehearsal" / "export" / "train.jsonl").read_text("utf-8").splitlines()
    assert len(rows) > 100
    assert "next: with your own model: novarag train build pipeline.toml" in output
    assert "next: train on" not in output


def test_what_comes_of_it_says_that_it_is_simulated(built):
    folder, output = built
    out = folder / "nova-rehearsal"
    assert "a rehearsal with simulated:base: what comes of it is no training set" in output
    assert SIMULATED in output
    card = (out / "export" / "README.md").read_text("utf-8").replace("\\", "")
    assert SIMULATED in card
    assert SIMULATED in (out / "filtered" / "report.md").read_text("utf-8").replace("\\", "")
    for part in ("noise", "run"):
        assert open_run(out / part).settings.model == "simulated:base"


def test_the_real_folder_is_not_touched(built):
    folder, _ = built
    assert sorted(path.name for path in folder.iterdir()) == [
        "nova-rehearsal", "pipeline.toml", "questions.jsonl",
    ]  # fmt: skip


def test_neither_keys_nor_servers_nor_other_runs_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    write_example("questions.jsonl")
    elsewhere = EndpointSettings(endpoints=("http://127.0.0.1:9/v1=m",), key_env="NO_SUCH_KEY")
    pipeline = Pipeline(
        model=elsewhere, questions=QuestionSettings(file="questions.jsonl", limit=12),
        noise=NoiseSettings(model=elsewhere), filter=FilterSettings(runs=("not/there",)),
    )  # fmt: skip
    heard = []
    built = build_training_set(pipeline, rehearse=True, on_event=heard.append)
    assert built.ended is None
    assert built.out.name == "build-rehearsal"
    notes = [str(event.text) for event in heard if isinstance(event, Note)]
    assert any("without the other models' runs" in note for note in notes)
    card = json.loads((built.out / "export" / "card.json").read_text("utf-8"))
    assert card["model"] == "simulated:base"


@pytest.mark.parametrize(
    ("out", "wanted"),
    [("nova", "nova-rehearsal"), ("a/nova/", "a/nova-rehearsal"), ("v1.2", "v1.2-rehearsal")],
)
def test_the_folder_is_beside_the_real_one(out, wanted):
    assert rehearse_pipeline(replace(PIPELINE, out=out)).out == wanted


def test_a_folder_without_a_name_is_named_first(tmp_path, monkeypatch):
    (tmp_path / "here" / "deeper").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert rehearse_pipeline(replace(PIPELINE, out=".")).out == f"{tmp_path / 'here'}-rehearsal"
    monkeypatch.chdir("deeper")
    assert rehearse_pipeline(replace(PIPELINE, out="..")).out == f"{tmp_path / 'here'}-rehearsal"


PIPELINE = Pipeline(
    model=EndpointSettings(endpoints=("http://x/v1=m",)), questions=QuestionSettings(file="q.jsonl")
)


def test_the_rest_of_the_pipeline_stays(tmp_path):
    path = tmp_path / "pipeline.toml"
    write_example(path)
    real = load_pipeline(path)
    found = rehearse_pipeline(real)
    assert replace(found, model=real.model, out=real.out) == real
