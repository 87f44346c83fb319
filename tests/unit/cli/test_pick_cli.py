"""`novarag grading pick` and `novarag grading grades` as their users meet them."""

import json

from typer.testing import CliRunner

from novarag.cli import app
from novarag.study.grades import grades_text

run = CliRunner().invoke


def test_from_a_csv_to_a_graded_table(tmp_path):
    log, sheet = tmp_path / "log.csv", tmp_path / "sheet"
    lines = [f"Q{i},A{i},{(i * 7) % 101},c{i}" for i in range(200)]
    lines[3] = "Q3,A3,,c3"
    log.write_text("query,said,sure,context\n" + "\n".join(lines) + "\n")
    options = ["--question", "query", "--answer", "said", "--confidence", "sure", "--percent"]
    made = run(app, ["grading", "pick", str(log), "--n", "40", "--out", str(sheet), "--show", "context", *options])  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "40 answers of 199 questions to grade" in made.output
    assert "1 replies could not be read" in made.output
    assert f"novarag grading grades {sheet} RATINGS.json" in made.output
    page = (sheet / "sheet.html").read_text()
    assert page.count('value="3"') == 40
    name = json.loads((sheet / "picked.json").read_text())["content"]["sheet"]
    said = [*["right", "wrong"] * 19, "wrong", None]
    (tmp_path / "ada.json").write_text(grades_text(name, said, rater="Ada"))
    out = tmp_path / "graded.csv"
    read = run(
        app, ["grading", "grades", str(sheet), str(tmp_path / "ada.json"), "--out", str(out)]
    )
    assert read.exit_code == 0, read.output
    for line in ("1 not graded", "19 right", "20 wrong", "1 unread"):
        assert line in read.output.splitlines()
    fitted = run(app, ["calibrate", str(out), "--out", str(tmp_path / "calibration.json")])
    assert fitted.exit_code == 0, fitted.output
    again = run(app, ["grading", "pick", str(log), "--n", "40", "--out", str(tmp_path / "next"), *options, "--calibration", str(tmp_path / "calibration.json")])  # fmt: skip
    assert "40 questions left out: the calibration was fitted on them" in again.output
