"""From a log to a sheet, and from what graders saved to a graded table."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

import novarag
from novarag import Columns, DataError, UsageError
from novarag.flows.events import FileWritten
from novarag.study.grades import grades_text
from tests.support.simulated import simulate, write_run

EVIL = "<script>alert(1)</script>\u202e{{ 7 * 7 }}"
STATES = ("consistent", "conflicting", None)


def made_log(rows=400):
    """A log whose every twentieth reply was not read; an answer is right where its number is even."""
    levels = (0.3, 0.6, 0.8, 0.9, 0.95, 1.0)
    return pl.DataFrame(
        {
            "question": [f"What is {i}?" for i in range(rows)],
            "answer": [f"{EVIL} it is {i}" for i in range(rows)],
            "confidence": [None if i % 20 == 0 else levels[i % 6] for i in range(rows)],
            "evidence": [STATES[i % 3] for i in range(rows)],
            "passages": [[f"first of {i}", f"second of {i}"] for i in range(rows)],
            "model": ["m"] * rows,
        }
    )


def saved(path, sheet, grades, rater="Ada"):
    path.write_text(grades_text(sheet, grades, rater=rater))
    return path


def truth(picked):
    """Grade as the log was made."""
    names = picked.rows["question"].to_list()[: picked.picked]
    return ["right" if int(name[8:-1]) % 2 == 0 else "wrong" for name in names]


def test_from_a_log_to_a_calibration(tmp_path):
    told, out = [], tmp_path / "sheet"
    picked = novarag.pick_answers(made_log(), out, n=60, on_event=told.append)
    assert {event.path for event in told[1:]} == {out / "sheet.html", out / "picked.json"}
    assert repr(picked) == (
        f"Picked {picked.sheet}: 60 of 380 questions in {len(picked.strata)} strata, 20 unread"
    )
    assert picked.rows["weight"].sum() == pytest.approx(400)
    scores = truth(picked)
    file = saved(tmp_path / "ada.json", picked.sheet, scores)
    told.clear()
    found = novarag.read_grades(out, file, tmp_path / "graded.csv", on_event=told.append)
    assert told == [FileWritten(tmp_path / "graded.csv")]
    assert found.counts == {
        "right": scores.count("right"),
        "wrong": scores.count("wrong"),
        "unread": 4,
    }
    assert found.graded == 60
    assert found.raters == ("Ada",)
    assert repr(found).startswith("GradedTable: ")
    table = pl.read_csv(tmp_path / "graded.csv")
    assert table["weight"].sum() == pytest.approx(400)
    graded = table.filter(pl.col("confidence").is_not_null())
    assert graded["correct"].to_list() == [score == "right" for score in scores]
    unread = table.filter(pl.col("confidence").is_null())
    assert unread["correct"].to_list() == [False] * 4
    assert unread["weight"].to_list() == [5.0] * 4
    assert set(table["evidence"]) <= {*STATES}
    made = novarag.calibrate(tmp_path / "graded.csv")
    assert (made.fitted.questions, made.fitted.unread, made.source.model) == (60, 4, "m")


def test_where_nobody_could_tell_the_others_of_the_stratum_stand_in(tmp_path):
    picked = novarag.pick_answers(made_log(), tmp_path / "sheet", n=60)
    scores = truth(picked)
    scores[:3] = ["cannot tell", None, "right"]
    other = ["wrong", None, "wrong", *scores[3:]]
    first = saved(tmp_path / "a.json", picked.sheet, scores)
    second = saved(tmp_path / "b.json", picked.sheet, other, rater="Bo")
    found = novarag.read_grades(str(tmp_path / "sheet"), [first, second])
    said = found.table["grading"].to_list()
    assert said[:3] == ["wrong", "not graded", "disputed"], "who cannot tell leaves it to others"
    assert found.table["correct"].to_list()[:3] == [False, None, None]
    assert found.table["weight"].to_list()[1:3] == [None, None]
    assert found.table["weight"].sum() == pytest.approx(400)
    alone = novarag.read_grades(tmp_path / "sheet", first)
    assert alone.counts["cannot tell"] == 1
    assert alone.table["weight"].sum() == pytest.approx(400)


def test_questions_of_a_calibration_are_left_out(tmp_path):
    log = made_log()
    fitted = novarag.calibrate(log[:100].with_columns(correct=pl.Series([True, False] * 50)))
    picked = novarag.pick_answers(log, n=60, calibration=fitted)
    assert picked.skipped == 100
    assert not set(picked.rows["question"]) & set(log["question"][:100])
    assert picked.rows["weight"].sum() == pytest.approx(300)


def test_the_sheet_shows_the_texts_and_no_confidence(tmp_path):
    log = made_log().with_columns(stated=pl.col("confidence"), why=pl.lit(f"hearsay {EVIL}"))
    novarag.pick_answers(
        log.drop("confidence"), tmp_path / "a", n=60, columns=Columns(confidence="stated")
    )
    page = (tmp_path / "a" / "sheet.html").read_text()
    assert page.count("passages 2</bdi>") == 60
    assert "hearsay" not in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "0.95" not in page
    novarag.pick_answers(
        log, tmp_path / "b", n=60, columns=Columns(confidence="stated"), show=["why"]
    )
    page = (tmp_path / "b" / "sheet.html").read_text()
    assert page.count("hearsay &lt;script&gt;") == 60
    assert "passages 2" not in page


def test_a_run_is_shown_with_its_questions_and_passages(tmp_path):
    rows = simulate(40, samples=2, models=("alpha",), seed=1)
    write_run(tmp_path / "run", rows, questions=20)
    picked = novarag.pick_answers(tmp_path / "run", tmp_path / "sheet", n=30)
    assert picked.rows["question"].n_unique() == picked.rows.height, "one answer a question"
    page = (tmp_path / "sheet" / "sheet.html").read_text()
    assert page.count("<summary><bdi>Passage 1</bdi>") == picked.picked
    groups = {g.id: g for g in novarag.open_run(tmp_path / "run").groups()}
    for group in picked.rows["group"][: picked.picked]:
        assert groups[group].question.text in page
    trials = list(novarag.open_run(tmp_path / "run"))
    assert novarag.pick_answers(trials, n=30).picked == 30


def test_a_sheet_is_not_written_over_another(tmp_path):
    log = made_log()
    first = novarag.pick_answers(log, tmp_path / "sheet", n=60)
    assert novarag.pick_answers(log, tmp_path / "sheet", n=60).sheet == first.sheet
    with pytest.raises(UsageError, match="holds another sheet"):
        novarag.pick_answers(log, tmp_path / "sheet", n=60, seed=1)
    other = saved(tmp_path / "x.json", "another", ["right"])
    with pytest.raises(DataError, match="of the sheet 'another'"):
        novarag.read_grades(tmp_path / "sheet", other)
    kept = tmp_path / "sheet" / "picked.json"
    kept.write_text(kept.read_text().replace("What is", "What was", 1))
    with pytest.raises(DataError, match="changed after it was written"):
        novarag.read_grades(tmp_path / "sheet", other)


def test_what_is_refused_names_the_parameter(tmp_path):
    log = made_log()
    with pytest.raises(UsageError, match="`n` must be 1 or more, and `spread` from 0 to 1"):
        novarag.pick_answers(log, spread=2)
    with pytest.raises(DataError, match=r"pass `show=NAME`"):
        novarag.pick_answers(log, show=["nothing"])
    with pytest.raises(DataError, match=r"pass `answer=NAME`"):
        novarag.pick_answers(log.drop("answer"))
    with pytest.raises(UsageError, match=r"give the one `pick_answers\(\.\.\.\)` wrote"):
        novarag.read_grades(tmp_path / "none", [])
    picked = novarag.pick_answers(log, tmp_path / "sheet")
    with pytest.raises(TypeError, match="grades must be a list of paths, not int"):
        novarag.read_grades(tmp_path / "sheet", 3)
    empty = saved(tmp_path / "empty.json", picked.sheet, [None])
    with pytest.raises(UsageError, match="no answer was graded right or wrong"):
        novarag.read_grades(tmp_path / "sheet", empty)


def test_from_a_notebook_and_a_thread():
    async def notebook():
        return novarag.pick_answers(made_log(), n=60)

    alone = asyncio.run(notebook())
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(novarag.pick_answers, made_log(), n=60).result().sheet == alone.sheet
