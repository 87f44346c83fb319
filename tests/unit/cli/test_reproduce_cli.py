"""Tables from a file to a page, on simulated respondents: no server, no shared data."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from novarag import Passage, run_table
from novarag.cli import app
from novarag.config.grid import GridSetting, load_grid
from novarag.datasets.groups import iter_groups
from novarag.flows.reproduce import reproduce as flow
from tests.support.pages import TABLE as WHOLE

run = CliRunner().invoke
ROWS = 24
TABLE = WHOLE.replace(', "ece", "auroc"', "")


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


def journals(place):
    """Return what the journals of all runs in a folder hold."""
    found = {file: file.read_bytes() for file in place.rglob("journal/*.log")}
    assert found
    return found


def test_a_table_of_ones_own_from_file_to_page(place):
    result = run(app, ["run", "experiment", "mine.toml"])
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
    before = journals(place)
    assert run(app, ["run", "experiment", "mine.toml"]).exit_code == 0
    assert journals(place) == before  # nothing was asked again


def test_python_makes_the_table_that_the_shell_goes_on_with(place):
    run_table(["mine.toml"])
    assert "| Vanilla | mine | 24 (24) |" in (place / "experiment/mine.md").read_text()
    before = journals(place)
    assert run(app, ["run", "experiment", "mine.toml"]).exit_code == 0
    assert journals(place) == before


def test_a_trained_model_answers_for_itself(place):
    told = TABLE + '\n[tuned]\nendpoints = ["simulated:tuned"]\n'
    (place / "mine.toml").write_text(told)
    assert run(app, ["run", "experiment", "mine.toml"]).exit_code == 0
    text = (place / "experiment/mine.md").read_text()
    assert "prompt only" not in text
    assert "- tuned: `simulated:tuned`" in text
    (place / "mine.toml").write_text(told.replace("simulated:tuned", "simulated:base"))
    result = run(app, ["run", "experiment", "mine.toml"])
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
    assert run(app, ["run", "experiment", "mine.toml"]).exit_code == 0
    assert len(list((place / "experiment/groups").iterdir())) == 2
    (place / "towers.jsonl").write_text(other.replace("tower", "castle"))
    assert run(app, ["run", "experiment", "mine.toml"]).exit_code == 0
    assert len(list((place / "experiment/groups").iterdir())) == 3


def test_a_model_may_join_later_and_nothing_is_asked_again(place):
    assert run(app, ["run", "experiment", "mine.toml"]).exit_code == 0
    before = journals(place)
    (place / "mine.toml").write_text(TABLE + '\n[tuned]\nendpoints = ["simulated:tuned"]\n')
    assert run(app, ["run", "experiment", "mine.toml"]).exit_code == 0
    assert before.items() < journals(place).items()
    assert "prompt only" not in (place / "experiment/mine.md").read_text()


def test_rules_and_retention_have_tables_of_their_own(place):
    ensemble = '[[systems]]\nname = "Ensemble"\nmethod = "ensemble"\nstrategy = "cot"\n'
    systems = TABLE.replace(ensemble, "")
    (place / "rules.toml").write_text(systems.replace('picture = "forest"', 'table = "ablation"'))
    result = run(app, ["run", "experiment", "rules.toml"])
    assert result.exit_code == 0, result.output
    assert "| A \u2192 NOVA (prompt only) |" in (place / "experiment/rules.md").read_text()
    kept = TABLE.replace('picture = "forest"', 'table = "retention"\nout = "kept"')
    (place / "kept.toml").write_text(kept)
    result = run(app, ["run", "experiment", "kept.toml"])
    assert result.exit_code == 0, result.output
    assert f"{16 * ROWS:,} replies" in (place / "kept/kept.md").read_text()


def test_mistakes_are_told_in_words(place):
    (place / "mine.toml").write_text(TABLE.partition("[model]")[0])
    assert "'model' is missing" in str(run(app, ["run", "experiment", "mine.toml"]).exception)
    (place / "mine.toml").write_text(TABLE.replace("simulated:base", "simulated:nobody"))
    assert "nobody" in str(run(app, ["run", "experiment", "mine.toml"]).exception)
    result = run(app, ["paper", "reproduce", "pie", "--model", "simulated:base", "--out", "x"])
    assert "pie" in str(result.exception)


@pytest.fixture
def shipped(place, monkeypatch):
    """Two tables ship, one of which searches an index; and a third that only BM25 will do for."""
    mine = load_grid("mine.toml")
    found = GridSetting(name="found", groups="retrieved", search="dense", k=2)
    grids = {
        "plain": mine,
        "dense": replace(mine, settings=(*mine.settings, found)),
        "words": replace(mine, settings=(replace(found, search="bm25"),)),
    }
    monkeypatch.setattr(flow, "EXPERIMENTS", tuple(grids))
    monkeypatch.setattr(flow, "load_grid", grids.get)
    return place


def reproduce(*more):
    return run(app, ["paper", "reproduce", *more, "--model", "simulated:base", "--out", "out"])


def test_all_without_an_index_makes_what_needs_none_and_names_the_rest(shipped):
    result = reproduce("all")
    assert result.exit_code == 1, result.output
    assert "wrote out/page.md: 1 table\n" in result.output
    assert "left out dense: it needs --index and --encoder\n" in result.output
    assert "left out words: it needs --index\n" in result.output
    text = (shipped / "out/page.md").read_text()
    wants = "`dense` needs `--index` and `--encoder`; `words` needs `--index`."
    assert f"Left out, for want of what they need: {wants}" in text
    assert text.count("novarag paper reproduce plain --model") == 2
    html = (shipped / "out/page.html").read_text()
    assert html.count("novarag paper reproduce plain --model") == 2
    assert '<h2 id="plain">' in html


def test_a_table_by_name_is_refused_without_its_index(shipped):
    result = reproduce("words")
    assert result.exit_code == 1  # in tests the error itself comes out; `novarag` ends with 2
    assert "needs an index" in str(result.exception)
    assert reproduce("plain").exit_code == 0


def test_an_index_without_its_encoder_serves_words_alone(shipped, monkeypatch):
    asked = []

    async def search(self, mode, queries, k):
        asked.append(mode)
        return [[Passage(text=f"{q} Nobody knows.")] * k for q in queries]

    monkeypatch.setattr("novarag.flows.reproduce.bench._Search.__call__", search)
    questions = "novarag.flows.reproduce.groups._questions"
    groups = list(iter_groups(shipped / "groups.jsonl"))
    monkeypatch.setattr(questions, lambda *_: [g.question for g in groups])
    result = reproduce("all", "--index", "corpus.db")
    assert result.exit_code == 1, result.output
    assert asked == ["bm25"]
    assert "left out dense: it needs --encoder\n" in result.output
    assert "left out words" not in result.output
    again = reproduce("all")  # what was retrieved is in the folder, and needs no index
    assert "wrote out/page.md: 2 tables\n" in again.output
    assert "left out words" not in again.output


def test_methods_are_asked_by_cot_or_as_one_says(shipped):
    drawn = shipped / "out" / "draws"
    assert reproduce("plain", "--method-strategy", "nobody").exception is not None
    assert not drawn.exists()
    assert reproduce("plain").exit_code == 0
    (mine,) = (folder / "base" for folder in drawn.iterdir())
    assert {folder.name for folder in mine.iterdir()} == {"cot", "vanilla", "nova"}
    assert reproduce("plain", "--method-strategy", "multi-step").exit_code == 0
    assert (mine / "multi-step").is_dir()
    assert "--method-strategy multi-step" in (shipped / "out/page.md").read_text()


def test_the_papers_own_prompts_are_asked_by_their_names(shipped):
    drawn = shipped / "out" / "draws"
    assert reproduce("plain", "--wording", "paper").exit_code == 0
    (mine,) = (folder / "base" for folder in drawn.iterdir())
    assert {folder.name for folder in mine.iterdir()} == {
        "cot-paper", "vanilla-paper", "nova-paper",
    }  # fmt: skip
    assert "--wording paper" in (shipped / "out/page.md").read_text()
    assert reproduce("plain").exit_code == 0  # beside it, in the same folder
    assert (mine / "vanilla").is_dir()
    assert "--wording" not in (shipped / "out/page.md").read_text()


def test_a_smoke_page_says_in_its_first_line_what_it_shows(shipped):
    assert reproduce("plain", "--extent", "smoke").exit_code == 0
    first = (shipped / "out/page.md").read_text().partition("\n")[0]
    assert first.startswith("# Mine")
    assert first.endswith(": a smoke run, which shows only that tables run")
