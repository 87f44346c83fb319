"""`novarag paper study` as its users meet it: from runs to a sheet, from ratings to a report."""

import json

import pytest
from typer.testing import CliRunner

from novarag import DataError, UsageError
from novarag.cli import app
from novarag.flows.study import read_replies
from novarag.runs.finished import shard_name
from novarag.study import make_sheet, ratings_text, read_key, simulated_ratings
from tests.support.simulated import simulate, write_run

run = CliRunner().invoke


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three systems of one model, asked the same 30 questions in shards of other sizes."""
    folder = tmp_path_factory.mktemp("runs")
    for size, name in ((7, "vanilla"), (11, "cot"), (30, "nova")):
        rows = simulate(30, samples=2, models=("alpha",), seed=size)
        rows = [r | {"reply": f"{r['group']} #{r['sample']} of {name[::-1]}"} for r in rows]
        write_run(folder / name, rows, questions=size)
    return folder


def places(runs):
    return [str(runs / name) for name in ("vanilla", "cot", "nova")]


def sheet(runs, out, *more):
    return run(
        app,
        ["paper", "study", "sheet", *places(runs), "--out", str(out), "--questions", "12", *more],
    )


def test_from_runs_to_a_report(runs, tmp_path):
    made = sheet(runs, tmp_path / "sheet")
    assert made.exit_code == 0, made.output
    assert "12 questions, 3 replies each" in made.output
    key = read_key((tmp_path / "sheet" / "key.json").read_text())
    page = (tmp_path / "sheet" / "sheet.html").read_text()
    assert key.systems == ("vanilla", "cot", "nova")
    for entry in key.entries:
        shown = [page.index(f"{entry.group} #0 of {key.systems[i][::-1]}") for i in entry.order]
        assert shown == sorted(shown)
    assert "#1 of" not in page
    again = sheet(runs, tmp_path / "sheet")
    assert again.exit_code == 0
    assert (tmp_path / "sheet" / "sheet.html").read_text() == page

    drawn = make_sheet(read_replies(places(runs), questions=12), questions=12)
    assert drawn.key == key
    given = simulated_ratings(drawn, {"vanilla": 2.0, "cot": 3.0, "nova": 4.5}, missing=0.05)
    files = [tmp_path / f"{i}.json" for i in range(4)]
    for i, file in enumerate(files):
        file.write_text(ratings_text(given, i))
    out = tmp_path / "report"
    read = run(
        app,
        ["paper", "study", "read", str(tmp_path / "sheet"), *map(str, files), "--out", str(out)],
    )
    assert read.exit_code == 0, read.output
    for part in ("SIMULATED", "simulated rater 1: ", "missing", "nova has the highest mean"):
        assert part in read.output
    assert sorted(p.name for p in out.iterdir()) == ["report.html", "report.md", "study.json"]
    told = json.loads((out / "study.json").read_text())
    assert told["systems"] == ["vanilla", "cot", "nova"]


def test_a_sheet_that_people_may_be_rating_is_not_replaced(runs, tmp_path):
    assert sheet(runs, tmp_path / "s").exit_code == 0
    other = sheet(runs, tmp_path / "s", "--seed", "1")
    assert isinstance(other.exception, UsageError)
    assert "holds another sheet, and ratings of it need its key; give another --out" in str(
        other.exception
    )


def test_criteria_of_ones_own(runs, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('points = 7\n[[criteria]]\nname = "fun"\ntitle = "Fun"\nasks = "Is it fun?"\n')
    assert sheet(runs, tmp_path / "s", "--criteria", str(own), "--show-answers").exit_code == 0
    page = (tmp_path / "s" / "sheet.html").read_text()
    assert page.count('type="radio"') == 12 * 3 * 7
    assert "Is it fun?" in page
    assert "Accepted" in page
    own.write_bytes(b"\xff")
    assert isinstance(sheet(runs, tmp_path / "s", "--criteria", str(own)).exception, DataError)


def test_what_cannot_be_compared_is_refused(runs, tmp_path):
    def refusal(*words):
        return str(
            run(
                app, ["paper", "study", "sheet", *map(str, words), "--out", str(tmp_path / "x")]
            ).exception
        )

    assert "two at least" in refusal(runs / "nova")
    assert "is given twice" in refusal(runs / "nova", runs / "nova")
    assert "not a run" in refusal(runs / "nova", tmp_path)
    assert "30 questions have a reply" in refusal(*places(runs), "--questions", "31")
    write_run(tmp_path / "half", simulate(20, models=("b",), samples=1), questions=5)
    (tmp_path / "half" / shard_name(1)).unlink()
    assert "is not finished" in refusal(runs / "nova", tmp_path / "half")
    assert not (tmp_path / "x").exists()


def test_ratings_are_refused_in_words(runs, tmp_path):
    sheet(runs, tmp_path / "s")
    file = tmp_path / "a.json"
    file.write_text("{}")

    def refusal(*words):
        return str(run(app, ["paper", "study", "read", *map(str, words)]).exception)

    out = ("--out", tmp_path / "r")
    assert "is not a folder" in refusal(tmp_path / "no", file, *out)
    assert "there is no such file" in refusal(tmp_path, file, *out)
    assert "there is no such file" in refusal(tmp_path / "s", tmp_path / "b.json", *out)
    assert "these are not ratings" in refusal(tmp_path / "s", file, *out)
    assert "given twice" in refusal(tmp_path / "s", file, file, *out)
    key = read_key((tmp_path / "s" / "key.json").read_text())
    row = {"entry": 1, "reply": "A", "criterion": "factual", "score": 3}
    told = {"format": "novarag study ratings 1", "sheet": key.sheet, "rater": "A", "ratings": [row]}
    file.write_text(json.dumps(told))
    assert "has other files in it" in refusal(tmp_path / "s", file, "--out", tmp_path / "s")
    assert "is a file" in refusal(tmp_path / "s", file, "--out", file)
    done = run(
        app,
        ["paper", "study", "read", str(tmp_path / "s"), str(file), "--out", str(tmp_path / "r")],
    )
    assert done.exit_code == 0, done.output
    assert "A: 1 ratings, 179 missing" in done.output
