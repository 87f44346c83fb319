"""The comment and the XML of a comparison: verdict first, and foreign text does nothing."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from novarag.metrics.budgets import BudgetCheck, PairedTables
from novarag.probes import RelationVerdict
from novarag.probes.changes import compare_verdicts
from novarag.report.comparison import (
    MARK,
    SHOWN,
    Comparison,
    comparison_json,
    comparison_lines,
    comparison_markdown,
    verdict_line,
)
from novarag.report.junit import comparison_junit
from novarag.stats.budgets import BudgetStanding
from novarag.stats.figure import Figure

KEPT = BudgetCheck(metric="auroc", limit=0.03, held=BudgetStanding.KEPT, old=0.8, new=0.79,
                   worse=Figure(0.01, -0.01, 0.03, 300), questions=300)  # fmt: skip
BROKEN = BudgetCheck(metric="brier", limit=0.02, held=BudgetStanding.BROKEN, old=0.2, new=0.29,
                     worse=Figure(0.09, 0.05, 0.12, 300), questions=300)  # fmt: skip
OPEN = BudgetCheck(metric="accuracy", limit=0.02, held=BudgetStanding.CANNOT_TELL, old=0.5, new=0.49,
                   worse=Figure(0.01, -0.02, 0.04, 300), questions=300, needed=1200)  # fmt: skip
REFUSED = BudgetCheck(
    metric="unread", limit=0.02, held=BudgetStanding.CANNOT_TELL, why="20 rows, too few"
)
NEWLY = compare_verdicts(
    {"agreement": RelationVerdict.BREAKS}, {"agreement": RelationVerdict.HOLDS}
)
STILL = compare_verdicts({"agreement": RelationVerdict.HOLDS}, {"agreement": RelationVerdict.HOLDS})
GONE = compare_verdicts({}, {"agreement": RelationVerdict.HOLDS})


def made(*budgets, relations=(), strict=False, **more):
    given_ = {"paired": PairedTables(shared=300, only_new=0, only_old=0, read=300), "new": ("new.csv",),
              "old": ("old.csv",), "notes": ()}  # fmt: skip
    return Comparison(
        budgets=budgets, relations=tuple(relations), strict=strict, replicates=100, seed=0,
        **{**given_, **more},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "says", "fails"),
    [
        (made(KEPT), "Kept: 1 budget, and nothing is broken.", False),
        (made(KEPT, OPEN), "Not enough questions to tell for 1 of 2 budgets. Nothing is shown to be broken.", False),
        (made(KEPT, OPEN, strict=True), "Not enough questions to tell for 1 of 2 budgets. This fails, as it was asked to.", True),
        (made(OPEN, REFUSED), "Cannot tell for 2 of 2 budgets. Nothing is shown to be broken.", False),
        (made(KEPT, relations=GONE), "Cannot tell for 1 of 2 budgets. Nothing is shown to be broken.", False),
        (made(BROKEN, OPEN), "Broken, 1 of 2 budgets: Brier is worse by +0.090 (+0.050 to +0.120), allowed are 0.02.", True),
        (made(KEPT, relations=NEWLY), "Broken, 1 of 2 budgets: the relation agreement held before and breaks now.", True),
    ],
)  # fmt: skip
def test_the_verdict_stands_first_everywhere(found, says, fails):
    assert verdict_line(found) == says
    assert comparison_lines(found)[0] == says
    assert found.fails is fails
    assert comparison_markdown(found).splitlines()[:3] == [MARK, "", f"**{says}**"]
    told = json.loads(comparison_json(found))
    assert (told["verdict"], told["fails"]) == (says, fails)
    assert repr(found).splitlines()[:2] == ["Comparison:", f"  {says}"]


def test_many_broken_budgets_are_counted():
    many = [replace(BROKEN, group=f"g{i}") for i in range(SHOWN + 5)]
    found = made(KEPT, *many)
    assert "; and 42 more." in verdict_line(found)
    text = comparison_markdown(found)
    assert len([line for line in text.splitlines() if line.startswith("| Brier")]) == SHOWN
    assert "6 more rows stand in compare.json." in text
    assert len(json.loads(comparison_json(found))["budgets"]) == SHOWN + 6


def cells(text):
    """The rows of the tables of a text, as a renderer sees them."""
    rows, cell = [], False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and cell:
            rows[-1].append(token.content)
        cell = token.type in {"td_open", "th_open"}
    return rows


def test_the_table_says_what_was_and_what_is():
    rows = cells(comparison_markdown(made(KEPT, OPEN, REFUSED, BROKEN, relations=NEWLY)))
    assert rows[1] == ["Brier", "0.200", "0.290", "+0.090 (+0.050 to +0.120)", "0.02", "**broken**"]
    assert rows[2][-1] == "not enough questions to tell: 300, about 1,200 would be"
    assert rows[2][3:5] == ["+1.0 points (-2.0 to +4.0)", "2 points"]
    assert rows[3] == ["Unread", "–", "–", "20 rows, too few", "2 points", "cannot tell"]
    assert rows[4][0] == "AUROC"
    assert rows[6][1:] == ["holds", "breaks", "**broken**"]


def test_relations_that_are_kept_are_counted_alone():
    text = comparison_markdown(made(relations=STILL, paired=None))
    assert "1 relation of probes not broken by the change." in text
    assert "|" not in text
    gone = comparison_markdown(made(relations=GONE, paired=None))
    assert "| holds | not asked | cannot tell |" in gone
    assert "0 relations of probes not broken" in gone


def test_what_was_left_out_is_said():
    paired = PairedTables(shared=300, only_new=2, only_old=1, read=290)
    text = comparison_markdown(made(KEPT, paired=paired))
    assert (
        "300 questions on both sides, 290 of them read and graded on both; left out: 2 only after the change, 1 only before it."
        in text
    )
    open_ended = replace(OPEN, needed=None, worse=Figure(0.02, None, None, 300))
    text = comparison_markdown(made(open_ended, new=("a", "b", "c", "d"), old=()))
    assert "+2.0 points (– to –)" in text
    assert "| not enough questions to tell |" in text
    assert "Before: nothing; now: `a`, `b`, `c`, 1 more." in text


HOSTILE = [
    "@everyone", "[x](javascript:alert(1))", "![x](http://a.example/p.png)", "<script>alert(1)</script>",
    "a | b | c", "`code` @all", "``` @all", "x\n\n# title @all", "www.a.example", "https://a.example/x",
    "<!-- novarag compare -->", "a@b.example", "#1", "owner/repo#1", "&lt;img&gt;", "\\` @all", "\\",
    "*b*", "\u202eabc", "", "  ", "~~~", "<details><summary>x", "\x1b[31m", "`" * 9, "|" * 9, "a" * 5000,
]  # fmt: skip


def spoilt(text):
    paired = PairedTables(shared=300, only_new=0, only_old=0, read=300)
    return made(
        replace(BROKEN, group=text), replace(KEPT, group=text), relations=NEWLY,
        new=(text,), old=(text, text), notes=(text,), paired=paired,
    )  # fmt: skip


def harmless(text):
    """Every foreign word is inside code, and nothing else than our own words is alive."""
    found = spoilt(text)
    comment = comparison_markdown(found)
    tokens = MarkdownIt("commonmark").enable("table").parse(comment)
    kinds = {token.type for token in tokens}
    assert [t.content.strip() for t in tokens if t.type == "html_block"] == [MARK]
    assert not kinds & {"heading_open", "fence", "code_block", "blockquote_open", "hr"}
    alive = []
    for token in tokens:
        for child in token.children or []:
            assert child.type in {"text", "code_inline", "strong_open", "strong_close", "softbreak"}
            alive += [child.content] if child.type == "text" else []
    words = " ".join(alive)
    assert not re.search(r"[@<>`]|://|www\.|#\d", words), words
    rows = cells(comment)
    assert {len(row) for row in rows[:3]} == {6}
    assert {len(row) for row in rows[3:]} == {4}
    assert len(comment) < 10_000


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_do_nothing_in_a_comment(text):
    harmless(text)


@given(st.text(st.characters(codec=None), max_size=60))
def test_no_name_does_anything_in_a_comment(text):
    harmless(text)


def read_junit(found):
    root = ET.fromstring(comparison_junit(found))
    [suite] = root
    for name in ("tests", "failures", "skipped", "errors"):
        assert root.get(name) == suite.get(name)
    assert int(suite.get("tests")) == len(suite)
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
    return suite


def test_each_budget_is_a_test_case():
    budgets = (KEPT, OPEN, REFUSED, BROKEN)
    suite = read_junit(made(*budgets, relations=NEWLY))
    kinds = {case.get("name"): [part.tag for part in case] for case in suite}
    assert kinds == {"auroc": [], "accuracy": ["skipped"], "unread": ["skipped"],
                     "brier": ["failure"], "agreement": ["failure"]}  # fmt: skip
    assert suite.find("testcase[@name='brier']/failure").get("message") == (
        "broken: worse by +0.090 (+0.050 to +0.120), allowed are 0.02"
    )
    assert (
        suite.find("testcase[@name='unread']/skipped").get("message")
        == "cannot tell: 20 rows, too few"
    )
    strict = read_junit(made(*budgets, relations=GONE, strict=True))
    assert len(strict.findall("testcase/failure")) == 4
    assert not strict.findall("testcase/skipped")


@pytest.mark.parametrize("text", [*HOSTILE, "\x00\x08\x0b\ufffe\uffff\ud800", "]]>", "<a b='\"&"])
def test_names_of_any_characters_are_valid_xml(text):
    assert len(read_junit(spoilt(text))) == 3


@given(st.text(st.characters(codec=None), max_size=60))
def test_any_name_is_valid_xml_and_json(text):
    read_junit(spoilt(text))
    comparison_json(spoilt(text)).encode("utf-8")
