"""Reports: the same figures three ways, plain words, foreign text kept foreign."""

import json

import numpy as np
import polars as pl
import pytest

from novarag import measure
from novarag.metrics import measure_table
from novarag.report import Heading, summary, to_html, to_json, to_markdown, write_report
from novarag.report.svg import reliability, risk_coverage
from novarag.report.templating import template_text, text_hash
from novarag.report.words import number
from novarag.texts import escape_markdown, plain_text

HEADING = Heading(title="A title", sources=["a.csv"], made="2026-01-01", version="0", notes=["n"])


def table(n=300, *, seed=0, right=lambda c: c, c=None):
    rng = np.random.default_rng(seed)
    c = rng.integers(0, 11, n) / 10 if c is None else np.full(n, c)
    y = rng.random(n) < right(c)
    return pl.DataFrame({"question": [f"q{i}" for i in range(n)], "confidence": c, "correct": y})


def report(frame, **options):
    return measure(frame, replicates=150, **options)


def test_json_holds_every_figure_and_no_nan():
    found = report(table(right=lambda c: 1 + 0 * c))
    whole = json.loads(to_json(found, HEADING))
    assert whole["overall"]["figures"]["auroc"] == {
        "value": None,
        "low": None,
        "high": None,
        "n": 300,
    }
    assert whole["heading"]["title"] == "A title"
    assert len(whole["overall"]["bins"]["count"]) == 10


def test_page_needs_nothing_from_outside():
    html = to_html(report(table(), by=[]), HEADING)
    assert "http://" not in html
    assert "https://" not in html
    assert html.count("<script") == 1  # ours, known to the policy by its hash
    assert f"script-src 'sha256-{text_hash(template_text('slider.js'))}'" in html
    assert " style=" not in html
    assert "default-src 'none'" in html
    assert html.count("<svg") == 2


def test_a_page_without_a_slider_may_run_no_script():
    html = to_html(report(table(5)), HEADING)
    assert "<script" not in html
    assert "script-src" not in html


def test_three_files_are_written(tmp_path):
    written = write_report(report(table()), HEADING, tmp_path / "new" / "folder")
    assert [p.name for p in written] == ["report.json", "report.md", "report.html"]
    assert all(p.stat().st_size > 500 for p in written)


def test_groups_refusals_and_unread_rows_are_shown():
    frame = table(300).with_columns(
        model=pl.Series(["big"] * 140 + ["other"] * 140 + ["small"] * 20),
        confidence=pl.when(pl.int_range(pl.len()) < 30).then(None).otherwise("confidence"),
        flaw=pl.when(pl.int_range(pl.len()) < 30).then(pl.lit("the reply is empty")),
    )
    found = report(frame, by="model")
    for text in (to_html(found, HEADING), to_markdown(found, HEADING)):
        assert "20 read and graded rows, fewer than the 50 a figure needs" in text
        assert "could not be read" in text
    html = to_html(found, HEADING)
    assert "the reply is empty" in html
    assert "Macro average" in html
    assert "Differences between groups" in html


def test_a_table_too_small_still_makes_a_page():
    found = report(table(5))
    assert "Nothing can be said yet" in to_html(found, HEADING)
    assert "Nothing can be said yet" in to_markdown(found, HEADING)
    assert reliability(found.overall) == ""
    assert risk_coverage(found.overall) == ""


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (table(right=lambda c: c * 0.3), "over-confident by"),
        (table(right=lambda c: 0.7 + 0.3 * c), "under-confident by"),
        (table(2000), "no miscalibration is shown"),
        (table(c=0.5, right=lambda c: c), "better than a coin"),
        (table(1000, right=lambda c: 1 - c), "points the wrong way"),
        (table(right=lambda c: (c >= 0.5) * 1.0), "clearly tells"),
        (table(1000, right=lambda c: 0.4 + 0.2 * c), "tells right answers from wrong ones"),
        (table(right=lambda c: 1 + 0 * c), "All answers were right"),
        (
            table(right=lambda c: c * 0.2),
            "have a worse Brier score than always stating the accuracy",
        ),
        (table(600), "have a better Brier score than always stating the accuracy"),
        (table(300, c=0.5, right=lambda c: c), "not shown to differ in Brier score"),
        (table(right=lambda c: 0 * c), "All answers were wrong"),
    ],
)
def test_summary_in_plain_words(frame, says):
    lines = " ".join(summary(report(frame)))
    assert says in lines
    assert "ECE" not in lines


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (table(right=lambda c: 0.2 + 0 * c), "not attainable"),
        (table(600, right=lambda c: (c >= 0.5) * 1.0), "wrong at most one time in ten"),
    ],
)
def test_without_decisions_a_threshold_is_said_to_be_unchecked(frame, says):
    assert says in " ".join(summary(measure_table(frame, replicates=150)))


def test_the_summary_does_not_contradict_itself():
    for seed in range(12):
        lines = " ".join(
            summary(report(table(300, seed=seed, right=lambda c: np.clip(c - 0.055, 0, 1))))
        )
        assert not ("over-confident by" in lines and "no miscalibration" in lines)


def test_all_right_leaves_room_for_doubt():
    f = report(table(200, c=0.9, right=lambda c: 1 + 0 * c)).overall.figures
    assert (f["accuracy"].value, f["accuracy"].high) == (1, 1)
    assert 0.97 < f["accuracy"].low < 0.99
    assert f["overconfidence"].low < f["overconfidence"].high


def test_ungraded_and_unread_rows_are_named_with_reasons():
    frame = table(300).with_columns(
        confidence=pl.when(pl.int_range(pl.len()) < 1).then(None).otherwise("confidence"),
        correct=pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise("correct"),
        flaw=pl.when(pl.int_range(pl.len()) < 1).then(pl.lit("the reply is empty")),
    )
    lines = " ".join(summary(report(frame)))
    assert "1 reply (0.3 %) could not be read" in lines
    assert "Mostly: the reply is empty (1)." in lines
    assert "1 answer was read but not graded" in lines


def test_numbers_as_people_read_them():
    assert number("brier", None) == number("brier", float("nan")) == "\u2013"
    assert number("coverage_at_10", 0.0) == "none"


HOSTILE = "<img src=x onerror=alert(1)>|`**[a](javascript:b)\u202e\x00{{7*7}}"


def test_foreign_text_is_escaped():
    frame = table(200).with_columns(model=pl.lit(HOSTILE))
    heading = Heading(title=HOSTILE, sources=[HOSTILE], made="", version="", notes=[HOSTILE])
    found = report(frame, by="model")
    html, markdown = to_html(found, heading), to_markdown(found, heading)
    for text in (html, markdown):
        assert "<img" not in text
        assert "\u202e" not in text
        assert "\x00" not in text
    assert html.count("{{7*7}}") >= 4
    assert markdown.count("\\{\\{7\\*7\\}\\}") >= 4
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "\\[a\\](javascript\\:b)" in markdown


def test_long_foreign_text_is_cut():
    assert len(plain_text("x" * 1000)) == 200
    assert escape_markdown("a|b\nc") == "a\\|b\\\\u000ac"


def test_many_groups_are_listed_but_not_all_drawn():
    frame = pl.concat([table(60, seed=i).with_columns(g=pl.lit(f"g{i:02d}")) for i in range(30)])
    html = to_html(measure(frame, by="g", replicates=100), HEADING)
    assert "The first 24 of 30 groups are drawn" in html
    assert html.count("<svg") == 72  # a small one of each, two large ones where each is judged
    assert "60 of 2175" in html
