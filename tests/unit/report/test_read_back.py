"""Every figure that a person sees on the page stands in report.json, as it is there."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from novarag import load_gate, measure
from tests.support.pages import make_page

OWN = {"95", "0.5", "1", "0", "100", "0.50", "0.05"}  # of intervals, coins and scales
ROUND = {str(n) for n in range(0, 101, 10)}  # ticks of the axes


class Words(HTMLParser):
    """The text of a page as a reader sees it, without style, script and pictures' ticks."""

    def __init__(self):
        super().__init__()
        self.text, self.off = [], 0

    def handle_starttag(self, tag, attrs):
        self.text.append(" ")
        if tag in {"style", "script", "title"}:
            self.off += 1
        for name, value in attrs:
            if name.startswith("data-") and name != "data-mark" and name != "data-frame":
                self.text.append(f"{value} ")

    def handle_endtag(self, tag):
        if tag in {"style", "script", "title"}:
            self.off -= 1
        self.text.append(" ")

    def handle_data(self, data):
        if not self.off:
            self.text.append(data)


NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def numbers(text):
    return {found.replace(",", "") for found in NUMBER.findall(text)}


def leaves(value):
    """Yield every number of a report, and every text."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    elif value is not None and not isinstance(value, bool):
        yield value


def written(report):
    """Every way in which a number of the report may be written on a page."""
    ways = set()
    for leaf in leaves(report):
        if isinstance(leaf, str):
            ways |= numbers(leaf)
            continue
        for value in (leaf, 100 * leaf, 1 - leaf, 100 * (1 - leaf)):
            shown = abs(value)
            ways |= {f"{shown:.{digits}f}" for digits in range(4)}
            ways |= {f"{round(shown, 2):g}", f"{shown + 1e-9:.1f}"}
    return ways | shares(report)


def shares(report):
    """Every share of counts that are in the report."""
    ways = set()
    for one in report["judged"]:
        counts = one["at_or_above"]
        for kept, wrong in zip(counts["kept"], counts["wrong"], strict=True):
            ways.add(f"{100 * kept / counts['answers'] + 1e-9:.1f}")
            if kept:
                ways.add(f"{100 * wrong / kept + 1e-9:.1f}")
    for panel in (report["overall"], *report["groups"]):
        missing = panel["rows"] - panel["read"]
        ways |= {str(missing), f"{100 * missing / panel['rows']:.1f}"}
        ways |= {f"{100 * count / panel['rows']:.1f}" for count in panel["flaws"].values()}
        bins = panel["bins"]
        if bins:
            ways |= {f"{100 * n / sum(bins['count']):.0f}" for n in bins["count"]}
    return ways


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    stated = rng.integers(8, 21, 500) / 20
    return pl.DataFrame(
        {
            "question": [f"which city is it ({chr(97 + i % 26)})" for i in range(500)],
            "answer": "some city",
            "confidence": np.where(rng.random(500) < 0.1, np.nan, stated),
            "correct": rng.random(500) < stated,
            "flaw": "empty",
            "system": rng.choice(["one", "other"], 500),
        }
    ).with_columns(question=pl.concat_str(pl.col("question"), pl.int_range(500).map_elements(
        lambda i: "".join(chr(97 + int(d)) for d in str(i)), return_dtype=pl.String)))  # fmt: skip


@pytest.mark.parametrize("by", [(), ("system",)])
def test_every_figure_on_the_page_is_in_the_json(table, tmp_path, by):
    measure(table, by=by, replicates=150, out=tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    page = Words()
    page.feed((tmp_path / "report.html").read_text())
    seen = numbers("".join(page.text))
    assert len(seen) > 150
    strays = seen - written(report) - OWN - ROUND
    assert not strays, sorted(strays)


def test_a_figure_that_is_not_there_is_found_out(table, tmp_path):
    measure(table, replicates=150, out=tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert not numbers("it keeps 31.4159 %, 77,777 answers") & written(report)


def test_the_report_begins_with_its_verdict_in_all_three_files(table, tmp_path):
    measure(table, replicates=150, out=tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    line = report["verdict"]["line"]
    markdown = (tmp_path / "report.md").read_text()
    html = (tmp_path / "report.html").read_text()
    assert list(report)[:3] == ["heading", "verdict", "judged"]
    for text, order in (
        (markdown, (line, "## What to do", "## Evidence")),
        (html, (line, "<h2>What to do", "<h2>Evidence", "<h2>Rows behind", "<h2>Baselines")),
    ):
        places = [text.index(part) for part in order]
        assert places == sorted(places)
    assert not re.search(r"\\[:+]|none \(\)|\(\)", markdown)


def test_systems_are_never_pooled(table, tmp_path):
    measure(table, by="system", replicates=150, out=tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert [one["name"] for one in report["judged"]] == ["one", "other"]
    assert report["verdict"]["kind"] == "compared"
    assert all(len(one["thresholds"]) == 4 for one in report["judged"])


def test_texts_are_left_out_where_asked(table, tmp_path):
    measure(table, replicates=150, out=tmp_path / "with")
    measure(table, replicates=150, out=tmp_path / "without", texts=False)
    for name in ("report.html", "report.json"):
        assert "which city" in (tmp_path / "with" / name).read_text()
        assert "which city" not in (tmp_path / "without" / name).read_text()
    assert "which city" not in (tmp_path / "with" / "report.md").read_text()


def test_a_table_without_texts_shows_no_rows(table, tmp_path):
    plain = table.select("confidence", "correct", question=pl.int_range(pl.len()).cast(pl.String))
    measure(plain, replicates=150, out=tmp_path)
    assert "Rows behind the figures" not in (tmp_path / "report.html").read_text()


def test_rows_shown_are_of_their_bin_and_the_surest_wrong_come_first(table, tmp_path):
    measure(table, replicates=150, out=tmp_path)
    shown = json.loads((tmp_path / "report.json").read_text())["examples"]["all"]
    wrong = shown["confident_wrong"]
    assert [e["confidence"] for e in wrong] == sorted(
        (e["confidence"] for e in wrong), reverse=True
    )
    assert not any(e["correct"] for e in wrong)
    surest = table.filter(~pl.col("correct") & pl.col("confidence").is_not_nan())[
        "confidence"
    ].max()
    assert wrong[0]["confidence"] == surest
    for number, some in shown["bins"].items():
        assert {min(int(10 * e["confidence"] + 1e-9), 9) for e in some} == {int(number)}


@pytest.mark.parametrize(("kind", "name"), [("study", "study.json"), ("annotate", "profile.json")])
def test_every_figure_on_other_pages_is_in_their_json(tmp_path, kind, name):
    page = make_page(kind, tmp_path)
    report, seen = json.loads(page.with_name(name).read_text()), Words()
    seen.feed(page.read_text())
    ways = {way for leaf in leaves(report) for way in _ways(leaf)}
    dates = {"2026", "01"}
    shown = numbers("".join(seen.text))
    assert len(shown) > 15
    assert shown - ways - OWN - ROUND - dates == set()


def _ways(leaf):
    if isinstance(leaf, str):
        return numbers(leaf)
    return {f"{abs(v):.{digits}f}" for v in (leaf, 100 * leaf) for digits in range(4)} | {
        f"{leaf:g}"
    }


def test_the_path_of_a_gate_is_in_its_json(tmp_path):
    page = make_page("gate", tmp_path)
    gate = load_gate(page.with_name("gate.json"))
    table = page.read_text().partition("<th>Outcome</th>")[2].partition("</table>")[0]
    rows = [re.findall(r"<td>(?:<bdi>)?([^<]*)", row) for row in table.split("<tr")[1:]]
    for row, step in zip(rows, gate.path, strict=True):
        wanted = (100 * step.threshold, step.answered, step.errors, step.p_value)
        shown = (float(cell.removesuffix(" %")) for cell in row[1:5])
        assert tuple(shown) == pytest.approx(wanted, rel=0.005)
        assert row[6] == ("passed" if step.passed else "failed")
