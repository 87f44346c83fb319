"""The page of a probe: it says what its JSON says, marks what was changed, and escapes the rest."""

import html
import json
import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from novarag import probe
from novarag.formatting import points
from novarag.probes import FEWEST
from novarag.records import Passage
from novarag.report.probe import RULE, probe_notes, probe_verdict, proved_points
from novarag.report.probe_examples import compare
from tests.support.probed import against, boaster, modest, rows

FALLBACK = "simulated:tuned-without-parametric-fallback"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probe")
    result = probe(
        rows(80), FALLBACK, contradictions=against(80), out=folder, junit=folder / "junit.xml"
    )
    page = (folder / "probe.html").read_text("utf-8")
    return result, page, json.loads((folder / "probe.json").read_text("utf-8")), folder


def cells(page):
    """Return the rows of the scorecard as texts, by the name of the relation."""
    (table,) = re.findall(r"<th>Relation</th>.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL):
        name = re.search(r"<small>([a-z:-]+)</small>", row)[1]
        parts = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
        found[name] = [html.unescape(re.sub(r"<[^>]+>", " ", part)) for part in parts]
    return found


def test_the_page_says_what_the_json_says(made):
    result, page, told, _ = made
    shown = cells(page)
    assert list(shown) == [one["name"] for one in told["relations"]]
    for one, found in zip(told["relations"], result.card.findings, strict=True):
        row, score = shown[one["name"]], one["score"]
        assert one["verdict"] in row[1]
        assert row[2].split() == [
            points(score["value"]), points(score["low"]), "to", points(score["high"]),
            "tolerance", points(one["tolerance"]),
        ]  # fmt: skip
        assert row[5].split()[0] == f"{one['questions']:,}"
        assert row[6].strip() == f"{one['replies'] - one['unread']:,}, {one['unread']:,}"
        assert (score["value"], one["questions"]) == (found.score.value, found.questions)
    assert html.escape(told["verdict"]["line"]) in page
    assert "is a simulated respondent" in page


def test_shifts_count_every_question_that_was_read_on_both_sides(made):
    _, _, told, _ = made
    lost = next(one for one in told["relations"] if one["name"] == "falls:lost-support")
    assert sum(lost["shifts"]["same"]) + sum(lost["shifts"]["other"]) == lost["shifts"]["n"] == 80
    assert lost["shifts"]["mean"] == pytest.approx(lost["after"] - lost["before"], abs=0.005)
    own = next(one for one in told["relations"] if one["name"] == "agreement")
    assert own["shifts"] is None


def test_examples_stand_beside_each_other_with_what_was_changed(made):
    _, page, told, _ = made
    lost = next(one for one in told["relations"] if one["name"] == "falls:lost-support")
    first = lost["examples"][0]
    original, changed = first["sides"]
    assert {p["state"] for p in original["passages"]} == {"taken away"}
    assert {p["state"] for p in changed["passages"]} == {"added"}
    assert len(original["replies"]) == 2
    assert "<del>" in page
    assert "<ins>" in page
    assert [e["score"] for e in lost["examples"]] == sorted(
        (e["score"] for e in lost["examples"]), reverse=True
    )


def texts(*said):
    return [Passage(text=text) for text in said]


def states(found):
    return [one["state"] for one in found]


def test_what_two_lists_of_passages_do_not_share_is_marked():
    left, right = compare(texts("a", "b"), texts("a", "x", "b"))
    assert (states(left), states(right)) == (["kept", "kept"], ["kept", "added", "kept"])
    left, right = compare(texts("a", "b"), texts("b", "a"))
    assert (states(left), states(right)) == (["kept"] * 2, ["was number 2", "was number 1"])
    left, right = compare(texts("top", "b"), texts("top", "b", "top"))
    assert (states(left), states(right)) == (["kept"] * 2, ["kept", "kept", "added"])
    left, right = compare(texts("the top.", "b"), texts("the top. Confidence: 100%", "b"))
    assert (states(left), states(right)) == (["kept"] * 2, ["changed", "kept"])
    assert right[0]["pieces"] == [["the top.", False], [" Confidence: 100%", True]]
    left, right = compare(texts("a", "b"), texts("c", "d"))
    assert (states(left), states(right)) == (["taken away"] * 2, ["added"] * 2)
    assert compare([], []) == ([], [])
    long = compare(texts("x" * 5000), texts("x" * 5000))[0][0]["pieces"][0][0]
    assert len(long) < 500


def test_junit_has_a_case_for_each_relation(made):
    result, _, told, folder = made
    suite = fromstring((folder / "junit.xml").read_text("utf-8"))[0]
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert len(cases) == len(told["relations"]) + len(told["not_asked"])
    for found in result.card.findings:
        inside = [child.tag for child in cases[found.relation.name]]
        assert inside == {"breaks": ["failure"], "holds": []}.get(found.verdict, ["skipped"])
    assert int(suite.get("failures")) == len(result.broken) > 0
    skipped = cases["rises:injected-answer"].find("skipped").get("message")
    assert skipped == "not asked: the profile does not ask it"
    failed = cases["falls:lost-support"].find("failure").get("message")
    assert re.search(r"\+\d+\.\d points \(\+\d+\.\d to \+\d+\.\d\), 80 questions", failed)


def test_foreign_text_is_no_markup(tmp_path):
    evil = "<script>alert(1)</script>&\x00\x1b\u202e\ud800]]>"

    def bot(question, passages):
        return {"answer": evil, "confidence": 0.9}

    bot.model = evil
    bad = [{"id": f"{i}{evil}", "question": evil + str(i), "passages": [evil, evil + str(i)]}
           for i in range(6)]  # fmt: skip
    probe(bad, app=bot, page=tmp_path / "p.html", junit=tmp_path / "j.xml")
    page = (tmp_path / "p.html").read_text("utf-8")
    assert "<script" not in page
    assert "alert(1)" in page
    fromstring((tmp_path / "j.xml").read_text("utf-8"))


def card(app, count, **more):
    return probe(rows(count), app=app, contradictions=against(count), **more).card


def test_the_first_line():
    few = card(modest, 10)
    assert probe_verdict(few).act == "wait"
    assert probe_verdict(few).line == (
        f"Nothing proved: ask about {FEWEST - 10} more, the least that can be judged."
    )
    bad = probe_verdict(card(boaster, 60, profile="quick"))
    assert bad.act == "no"
    assert re.match(r"\d+ points of over-confidence proved without a label\.", bad.line)


def test_points_are_halved_where_two_confidences_are_counted():
    found = {row.relation: row for row in proved_points(card(boaster, 60))}
    lost = found["sum:lost-support"]
    assert lost.stated == pytest.approx(0.95)
    # Both are 95 % sure and never agree: at most half can be right, less the matching risk.
    assert lost.value == pytest.approx(0.95 - (1 + 0.02) / 2, abs=0.011)
    assert 0 < lost.points <= lost.value
    assert found["agreement"].points == 0


def test_the_terminal_says_every_verdict():
    found = card(boaster, 60)
    lines = probe_notes(found)
    assert len(lines) >= 1 + len(found.findings)
    assert any(line.startswith("breaks: Less sure where no passage supports") for line in lines)


def test_t14_one_rule_is_said_on_the_page_in_the_terminal_the_json_and_the_docs(made):
    result, page, told, _ = made
    docs = Path(__file__).parents[3] / "docs" / "probing.md"
    notes = probe_notes(result.card)
    assert RULE in page
    assert told["rule"] == RULE
    assert any(line.startswith(RULE) for line in notes)
    assert RULE in docs.read_text()
    for one, found in zip(told["relations"], result.card.findings, strict=True):
        if one["verdict"] == "cannot tell":
            row = " ".join(cells(page)[one["name"]])
            line = next(n for n in notes if found.relation.title in n)
            assert one["open"] in row
            assert one["open"] in line
