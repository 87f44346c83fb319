"""What people met at the door: 31 findings of six kinds of users, each a test by its number.

Where another test shows that a finding is closed, `ELSEWHERE` names it.
"""

import asyncio
import csv
import re
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import novarag
from novarag.cli import app
from novarag.cli.verbs import PANELS
from novarag.flows.measure import make_heading
from novarag.report import to_markdown

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
run = CliRunner().invoke

ELSEWHERE = {
    4: "tests/unit/cli/test_tables_cli.py::test_what_is_open_is_told_at_once_with_a_command_that_works",
    7: "tests/unit/report/test_read_back.py::test_systems_are_never_pooled",
    9: "tests/docs/test_installed.py::test_what_is_printed_leads_from_a_raw_table_to_a_live_answer",
    14: "tests/unit/flows/test_public_data.py::test_every_error_that_misses_data_names_this_verb",
    16: "tests/unit/cli/test_reproduce_cli.py::test_a_table_of_ones_own_from_file_to_page",
    19: "tests/browser/test_every_page.py::test_a_page_is_whole_for_every_eye_and_hand",
    20: "tests/unit/cli/test_reproduce_cli.py::test_all_without_an_index_makes_what_needs_none_and_names_the_rest",
    21: "tests/unit/report/test_ranking.py::test_the_best_stands_first_and_others_are_behind_it",
    22: "tests/unit/report/test_read_back.py::test_rows_shown_are_of_their_bin_and_the_surest_wrong_come_first",
    23: "tests/unit/report/test_read_back.py::test_the_report_begins_with_its_verdict_in_all_three_files",
    24: "tests/unit/datasets/test_pages.py::test_a_folder_of_pages",
    31: "tests/unit/cli/test_startup.py::test_measure_starts_quickly",
}


def test_each_of_the_31_findings_has_a_test():
    own = {int(name[5:7]) for name in globals() if re.match(r"test_\d\d_", name)}
    assert own | set(ELSEWHERE) == set(range(1, 32))
    assert not own & set(ELSEWHERE)
    for place in ELSEWHERE.values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), place


def rows(n=200):
    rng = np.random.default_rng(0)
    stated = rng.choice([0.6, 0.8, 0.97], n)
    return stated, rng.random(n) < np.where(stated == 0.97, 0.99, 0.5)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(*words):
    done = run(app, ["measure", *words, "--replicates", "100"])
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def write(path, header, table, **how):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, **how).writerows([header, *table])


def test_01_a_percent_sign_is_read_with_and_without_the_flag(desk):
    table = [(f"{100 * s:.0f}%", int(r)) for s, r in zip(*rows(), strict=True)]
    write(desk / "a.csv", ["confidence", "correct"], table)
    plain, told = measured("a.csv"), measured("a.csv", "--percent")
    assert plain.stdout == told.stdout
    assert "200 answers, all read" in plain.stdout


def test_02_a_quoted_empty_cell_is_empty(desk):
    table = [(s, int(r)) for s, r in zip(*rows(), strict=True)]
    write(desk / "a.csv", ["confidence", "correct"], [("", 1), *table], quoting=csv.QUOTE_ALL)
    assert '\n"","1"' in (desk / "a.csv").read_text()
    assert "200 of 201 answers were read" in measured("a.csv").stdout


@pytest.mark.parametrize(
    "words", [("up", "down"), ("👍", "👎"), ("yes", "no"), ("✓", "✗"), ("5", "1")]
)
def test_03_thumbs_and_other_words_are_grades(desk, words):
    table = [(s, words[0] if r else words[1]) for s, r in zip(*rows(), strict=True)]
    write(desk / "a.csv", ["confidence", "thumbs"], table)
    more = ["--right", "5"] if "5" in words else []
    assert f"{rows()[1].sum()} right" in measured("a.csv", "--correct", "thumbs", *more).stderr


def frame(n=600, **more):
    stated, right = rows(n)
    named = {"question": [f"q{i}" for i in range(n)], "confidence": stated, "correct": right}
    return pl.DataFrame(named | more)


@pytest.fixture(scope="module")
def found():
    return novarag.measure(frame(), replicates=100)


def test_05_every_risk_has_its_threshold_or_what_it_would_take(found):
    said = "\n".join(novarag.report.sentences.answer_first(found))
    for risk in (5, 10, 20, 30):
        assert re.search(rf"At most {risk} % wrong: (answer at [\d.]+ % or more|not attain)", said)
    assert novarag.gate(frame(), risk=0.07).risk == 0.07  # any other is asked for by itself


def test_06_a_threshold_says_what_is_kept_and_what_of_that_is_wrong(found):
    said = "\n".join(novarag.report.sentences.answer_first(found))
    assert re.search(r"or more, which keeps [\d.]+ % of the answers\. Checked: one half", said)
    wrong = (
        r"of the other half, [\d.]+ % of the answers stated at [\d.]+ % or more are wrong \(95 %"
    )
    assert re.search(wrong, said)
    assert "% of the answers are." not in said


def test_08_the_headline_counts_what_was_read():
    table = frame().with_columns(
        confidence=pl.when(pl.int_range(600) % 6 == 0).then(None).otherwise("confidence")
    )
    lines = novarag.report.sentences.answer_first(novarag.measure(table, replicates=100))
    assert "500 of 600 answers were read" in lines[0]
    assert any("Over 500 of 600 answers" in line for line in lines)


def say(_prompt):
    return "Passage Classifications: highly relevant\nGroup Judgment: consistent\nAnswer: x\nConfidence: 90%"


def test_10_one_call_without_await_also_in_a_notebook():
    async def notebook():
        return novarag.answer("Who?", ["x did."], say)

    assert asyncio.run(notebook()).answer == novarag.answer("Who?", ["x did."], say).answer == "x"


def test_11_wrong_types_are_said_at_once_and_an_endpoint_alone_will_do():
    question = novarag.Question(id="q", text="Who?")
    with pytest.raises(TypeError, match=r"Passage\(text=...\), not str"):
        novarag.PassageGroup(question=question, passages=("a", "b"))
    group = novarag.PassageGroup(question=question, passages=(novarag.Passage(text="a"),))
    with pytest.raises(TypeError, match="model must be 'URL=NAME'"):
        novarag.ask([group], "nova", 3)
    endpoint = novarag.Endpoint(url="http://localhost/v1", model="m")
    assert novarag.ChatLLM(endpoint).patience == novarag.ChatLLM([endpoint]).patience
    with pytest.raises(TypeError, match="endpoints must be Endpoint"):
        novarag.ChatLLM("http://localhost/v1=m")


def test_12_help_begins_with_what_one_calls_and_results_show_themselves(found):
    shown = novarag.__doc__.splitlines()
    assert shown[2].strip().startswith("answer ")
    named = [line.split()[0].rstrip(",") for line in shown[2:9]]
    assert set(named) <= set(novarag.__all__)
    assert len(repr(found).splitlines()) < 25
    assert "array(" not in repr(found)


def test_13_a_prompt_and_its_reader_are_two_lines_and_documented():
    strategy = novarag.STRATEGIES["nova"]
    group = novarag.PassageGroup(
        question=novarag.Question(id="q", text="Who?"), passages=(novarag.Passage(text="x did."),)
    )
    prompt = strategy.render(group).text
    assert strategy.read(say(prompt)).confidence == 0.9
    page = (DOCS / "strategies.md").read_text("utf-8")
    assert re.search(r"prompt = STRATEGIES\[.*\]\.render\(group\)(.|\n)*?\.read\(", page)


def test_15_the_help_of_answer_offers_no_simulated_respondent():
    assert "simulated" not in run(app, ["answer", "--help"]).stdout
    assert "simulated:base" in run(app, ["ask", "--help"]).stdout


def test_17_next_steps_work(desk):
    rows = '{"question": "Who?", "answer": "Ada", "passages": ["Ada did."]}\n'
    (desk / "groups.jsonl").write_text(rows)
    (group,) = novarag.load_groups("groups.jsonl")
    assert group.question.answers == ("Ada",)  # one answer, in the singular
    assert run(app, ["retrieval", "annotate", "groups.jsonl", "--out", "profile"]).exit_code == 0
    told = ["ask", "groups.jsonl", "--model", "simulated:base", "--samples", "4", "--out", "run"]
    done = run(app, told)
    assert "next: novarag run show run, then novarag measure run" in done.stdout
    assert "novarag filter" not in done.stdout  # nobody knows what its passages are
    labelled = rows.replace('["Ada did."]', '[{"text": "Ada did.", "kind": "gold"}]')
    (desk / "groups.jsonl").write_text(labelled)
    assert "novarag train filter again" in run(app, [*told[:-1], "again"]).stdout


def test_18_extras_are_installed_from_where_the_package_is():
    said = (
        subprocess.run(
            ["git", "grep", "-l", "pip install 'novarag\\["],
            cwd=ROOT,
            capture_output=True,
            text=True,
        ).stdout.split()
        if (ROOT / ".git").exists()
        else []
    )
    assert [file for file in said if file.startswith(("src/", "docs/"))] in (
        [],
        ["docs/decisions/index.md"],
    )
    assert metadata("novarag")["Name"] == "novarag"


def test_25_the_readme_promises_nothing_that_is_there():
    assert "come next" not in (ROOT / "README.md").read_text("utf-8")


def test_26_summaries_are_whole_and_verbs_stand_in_named_groups():
    page = (DOCS / "cli.md").read_text("utf-8")
    listed = re.findall(r"^\* `[a-z-]+`: (.*)$", page, re.MULTILINE)
    assert len(listed) > 25
    assert [line for line in listed if line.endswith("...")] == []
    first, *others = PANELS
    assert first == "Start here"
    assert len(PANELS[first]) <= 7
    assert next(iter(PANELS[first])) == "measure"
    assert all(others)


def test_27_the_home_page_is_a_sentence_a_line_to_install_a_picture_and_three_ways():
    page = (DOCS / "index.md").read_text("utf-8")
    order = ["**One honest number", "pip install .", "$ novarag measure", "![", "## Three ways in"]
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    assert all(f"**I have {what}" in page for what in ("a table", "an app", "a paper"))
    assert re.search(r"\]\((guides/rag-app|from-python)\.md\)", page)


def test_28_docs_are_sorted_by_what_people_want():
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    for part in ("tutorials/", "guides/", "reference/", "explanation/", "evidence/"):
        assert f": {part}" in menu or f"- {part}" in menu
        assert list((DOCS / part).rglob("*.md"))


def test_29_markdown_has_no_stray_escapes(found):
    text = to_markdown(found, make_heading("A: b + c", sources=["a+b.csv"], notes=["x: y"]))
    assert not re.search(r"\\[:+]|none \(\)|\(\)", text)


def test_30_semicolons_are_read_and_a_workbook_without_its_extra_says_what_to_do(desk, monkeypatch):
    table = [(f"{s:.2f}".replace(".", ","), int(r)) for s, r in zip(*rows(), strict=True)]
    write(desk / "a.csv", ["confidence", "correct"], table, delimiter=";")
    assert "200 answers, all read" in measured("a.csv").stdout
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    book = ROOT / "tests" / "gauntlet" / "openpyxl.xlsx"
    with pytest.raises(
        novarag.UsageError, match=r"pip install '\.\[excel\]'.*save the sheet as CSV"
    ):
        novarag.measure(book)
