"""The benchmark rebuilt from Python, on pools that stand in for the released ones."""

import asyncio
from hashlib import sha256

import pytest
from typer.testing import CliRunner

from novarag import load_groups, rebuild_benchmark
from novarag.cli import app
from novarag.datasets import clean
from novarag.errors import DataError
from novarag.examples import simulated_pools
from novarag.flows.events import Notice, StepResult


@pytest.fixture
def released(monkeypatch):
    pools = simulated_pools()
    monkeypatch.setattr(clean, "SPLITS", {"nq": ("test",), "bamboogle": ("test",)})
    monkeypatch.setattr(clean, "SIZES", (3, 4))
    monkeypatch.setattr(clean, "check_inputs", lambda _: ["nq is not the released file"])
    monkeypatch.setattr(
        clean, "clean_pools", lambda name, data: {"test": pools[:30] if name == "nq" else pools[:9]}
    )


def test_files_card_and_what_is_told(released, tmp_path, monkeypatch):
    heard = []
    made = rebuild_benchmark(tmp_path / "out", on_event=heard.append)
    names = [f"{name}-test-k{k}.jsonl" for name in ("nq", "bamboogle") for k in (3, 4)]
    assert [f.name for f in made.files] == names == list(made.unlike)
    assert heard[0] == Notice("nq is not the released file")
    assert heard[1:] == [StepResult(f.name, f) for f in made.files]
    for file in made.files:
        path = made.place / file.name
        assert len(load_groups(path)) == file.groups
        assert sha256(path.read_bytes()).hexdigest() == file.digest
    assert made.files[0].audit is not None
    assert made.files[2].audit is None
    assert made.files[2].unaudited.startswith("an audit needs")
    card = made.card.read_text("utf-8")
    assert "## Shortcuts" in card
    assert f"Not audited: bamboogle-test-k3.jsonl: {made.files[2].unaudited}\n" in card
    assert "worst cue" in repr(made).splitlines()[1]
    monkeypatch.setattr(clean, "known_outputs", lambda: {f.name: f.digest for f in made.files})
    assert rebuild_benchmark(tmp_path / "again", audit=False).unlike == ()


def test_without_an_audit_and_in_a_running_loop(released, tmp_path):
    async def notebook():
        return rebuild_benchmark(str(tmp_path), audit=False)

    made = asyncio.run(notebook())
    assert made.with_shortcut == ()
    assert made.card.read_text("utf-8").endswith("\nThe files were not audited.\n")


def test_the_door_prints_a_line_for_each_file(released, tmp_path):
    result = CliRunner().invoke(app, ["paper", "nova-clean", "--out", str(tmp_path), "--no-audit"])
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "nq-test-k3.jsonl             30 questions,    90 groups"
    assert lines[-1] == f"wrote {tmp_path}/README.md: 4 files, 0 with a shortcut"
    assert "found: nq is not the released file" in result.stderr
    assert "nq-test-k3.jsonl is not the file of the recipe" in result.stderr


def test_data_that_is_not_there_names_the_parameter(tmp_path):
    with pytest.raises(DataError, match="or pass `data`"):
        rebuild_benchmark(tmp_path / "out", data=tmp_path)
    assert not (tmp_path / "out").exists()
