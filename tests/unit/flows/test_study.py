"""The human study from Python: a sheet of runs, and what the ratings show."""

import asyncio

import pytest

import novarag
from novarag.errors import UsageError
from novarag.flows.events import FileWritten
from novarag.study import RUBRIC, ratings_text, simulated_ratings
from tests.support.simulated import simulate, write_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("vanilla", "nova"):
        rows = simulate(10, samples=1, models=("alpha",), seed=1)
        write_run(folder / name, [r | {"reply": f"{r['group']} {name}"} for r in rows], questions=5)
    return [folder / "vanilla", folder / "nova"]


def test_from_runs_to_a_report(runs, tmp_path):
    told, out = [], tmp_path / "sheet"
    sheet = novarag.make_rating_sheet(runs, out, question_count=6, on_event=told.append)
    assert sheet.key.systems == ("vanilla", "nova")
    assert repr(sheet) == f"Sheet {sheet.id}: 6 questions, replies of vanilla, nova"
    assert {event.path for event in told} == {out / "sheet.html", out / "key.json"}
    given = simulated_ratings(sheet, {"vanilla": 2.0, "nova": 4.0})
    files = [tmp_path / f"{i}.json" for i in range(2)]
    for i, file in enumerate(files):
        file.write_text(ratings_text(given, i))
    told.clear()
    report = novarag.read_rating_files(
        str(out), files, tmp_path / "report", replicates=100, on_event=told.append
    )
    assert FileWritten(tmp_path / "report" / "study.json") in told
    assert sorted(p.name for p in (tmp_path / "report").iterdir()) == [
        "report.html",
        "report.md",
        "study.json",
    ]
    lines = repr(report).splitlines()
    assert lines[0] == "StudyReport: 6 questions, 2 raters"
    assert len(lines) == 1 + len(RUBRIC.criteria)
    assert ": vanilla " in lines[1]

    async def notebook():
        return novarag.read_rating_files(out, [str(f) for f in files], replicates=100)

    assert asyncio.run(notebook()).criteria == report.criteria
    assert novarag.read_rating_files(out, files[0], replicates=100).raters == report.raters[:1]


def test_without_a_place_nothing_is_written(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sheet = novarag.make_rating_sheet(runs, question_count=3, criteria=RUBRIC, show_answers=True)
    assert (len(sheet.entries), sheet.answers) == (3, True)
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_names_the_parameter(runs, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file; `out` takes a folder"):
        novarag.make_rating_sheet(runs, tmp_path / "file", question_count=3)
    with pytest.raises(UsageError, match="two at least"):
        novarag.make_rating_sheet(str(runs[0]))
    with pytest.raises(UsageError, match=r"give the one `make_rating_sheet\(\.\.\.\)` wrote"):
        novarag.read_rating_files(tmp_path / "none", [])


def test_another_type_says_what_was_expected(runs):
    with pytest.raises(TypeError, match="runs must be a list of paths, not int"):
        novarag.make_rating_sheet(3)
    with pytest.raises(TypeError, match="ratings must be a list of paths, not list"):
        novarag.read_rating_files(".", [3])
    with pytest.raises(TypeError, match="criteria must be a file or a Rubric, not int"):
        novarag.make_rating_sheet(runs, criteria=3)
