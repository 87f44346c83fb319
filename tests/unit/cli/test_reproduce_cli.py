"""Tables from a file to a page, on simulated respondents: no server, no shared data."""

import json

import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.datasets.groups import iter_groups

run = CliRunner().invoke
ROWS = 24
TABLE = """
title = "Mine"
metrics = ["brier", "accuracy"]
datasets = ["mine"]
least = 10
replicates = 100
picture = "forest"

[[settings]]
groups = "file"
file = "groups.jsonl"

[[systems]]
name = "Vanilla"

[[systems]]
name = "Ensemble"
method = "ensemble"

[[systems]]
name = "NOVA"
strategy = "nova"
model = "tuned"

[model]
endpoints = ["simulated:base"]
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "id": f"q{i}",
            "question": f"Who built bridge {i}?",
            "answers": [f"Ada Bridger{i}"],
            "passages": [
                {"text": f"Bridge {i} was built by Ada Bridger{i}.", "kind": "gold"},
                {"text": f"Bridge {i} was built by Bo Other{i}.", "kind": "counterfactual",
                 "claim": f"Bo Other{i}"},
                {"text": f"It rained on day {i}.", "kind": "irrelevant"},
            ],
        }
        for i in range(ROWS)
    ]  # fmt: skip
    (tmp_path / "groups.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "mine.toml").write_text(TABLE)
    return tmp_path


def test_a_table_of_ones_own_from_file_to_page(place):
    result = run(app, ["run", "mine.toml"])
    assert result.exit_code == 0, result.output
    text = (place / "experiment/mine.md").read_text()
    assert "**Simulated: not a result.**" in text
    assert "- base: `simulated:base`" in text
    assert "NOVA (prompt only)" in text  # no tuned model is at hand, and the page says so
    assert "| Vanilla | mine | 24 (24) |" in text
    assert "![Mine](mine-mine-mine.svg)" in text
    assert (place / "experiment/mine-mine-mine.svg").read_text().startswith("<svg xmlns")
    (kept,) = (place / "experiment/groups").iterdir()
    assert len(list(iter_groups(kept))) == ROWS
    assert ">simulated</text>" in (place / "experiment/mine-mine-mine.svg").read_text()
    journals = sorted(place.rglob("journal/*")) or sorted(place.rglob("*.journal"))
    before = [j.read_bytes() for j in journals]
    again = run(app, ["run", "mine.toml"])
    assert again.exit_code == 0
    assert [j.read_bytes() for j in journals] == before  # nothing was asked again


def test_a_trained_model_answers_for_itself(place):
    told = TABLE + '\n[tuned]\nendpoints = ["simulated:tuned"]\n'
    (place / "mine.toml").write_text(told)
    assert run(app, ["run", "mine.toml"]).exit_code == 0
    text = (place / "experiment/mine.md").read_text()
    assert "prompt only" not in text
    assert "- tuned: `simulated:tuned`" in text
    (place / "mine.toml").write_text(told.replace("simulated:tuned", "simulated:base"))
    result = run(app, ["run", "mine.toml"])
    assert "begun with another tuned" in str(result.exception)


def test_two_files_are_two_settings_and_a_changed_file_is_another(place):
    other = (place / "groups.jsonl").read_text().replace("bridge", "tower")
    (place / "towers.jsonl").write_text(other)
    two = TABLE.replace(
        "[[systems]]",
        '[[settings]]\nname = "towers"\ngroups = "file"\nfile = "towers.jsonl"\n\n[[systems]]',
        1,
    )
    (place / "mine.toml").write_text(two)
    assert run(app, ["run", "mine.toml"]).exit_code == 0
    assert len(list((place / "experiment/groups").iterdir())) == 2
    (place / "towers.jsonl").write_text(other.replace("tower", "castle"))
    assert run(app, ["run", "mine.toml"]).exit_code == 0
    assert len(list((place / "experiment/groups").iterdir())) == 3


def test_a_model_may_join_later_and_nothing_is_asked_again(place):
    assert run(app, ["run", "mine.toml"]).exit_code == 0
    before = {p: p.read_bytes() for p in place.rglob("journal*") if p.is_file()}
    (place / "mine.toml").write_text(TABLE + '\n[tuned]\nendpoints = ["simulated:tuned"]\n')
    assert run(app, ["run", "mine.toml"]).exit_code == 0
    assert all(p.read_bytes() == content for p, content in before.items())
    assert "prompt only" not in (place / "experiment/mine.md").read_text()


def test_rules_and_retention_have_tables_of_their_own(place):
    systems = TABLE.replace('[[systems]]\nname = "Ensemble"\nmethod = "ensemble"\n', "")
    (place / "rules.toml").write_text(systems.replace('picture = "forest"', 'table = "ablation"'))
    result = run(app, ["run", "rules.toml"])
    assert result.exit_code == 0, result.output
    assert "| A \u2192 NOVA (prompt only) |" in (place / "experiment/rules.md").read_text()
    kept = TABLE.replace('picture = "forest"', 'table = "retention"\nout = "kept"')
    (place / "kept.toml").write_text(kept)
    result = run(app, ["run", "kept.toml"])
    assert result.exit_code == 0, result.output
    assert f"{16 * ROWS:,} replies" in (place / "kept/kept.md").read_text()


def test_mistakes_are_told_in_words(place):
    (place / "mine.toml").write_text(TABLE.partition("[model]")[0])
    assert "'model' is missing" in str(run(app, ["run", "mine.toml"]).exception)
    (place / "mine.toml").write_text(TABLE.replace("simulated:base", "simulated:nobody"))
    assert "nobody" in str(run(app, ["run", "mine.toml"]).exception)
    result = run(app, ["reproduce", "pie", "--model", "simulated:base", "--out", "x"])
    assert "pie" in str(result.exception)
