"""Every cell of every table of a report is read back out of the page and held against report.json."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from novarag import measure
from novarag.calls import Cost
from novarag.metrics import METRICS, measure_table
from novarag.report import Heading, write_report
from novarag.report.advice import SHOWN
from novarag.report.page import KEYS, TILES
from novarag.report.words import RATIO_TITLES

NUMBER = re.compile(r"(?<![\w.])([+\-\u2212]?)(\d[\d,]*)(\.\d+)?")
TILE = re.compile(r'<div class="tile"><span>[^<]*</span><b>([^<]*)</b><span>([^<]*)</span>')
RIVALS = ("brier", "ece", "auroc", "aurc")


class Tables(HTMLParser):
    """The tables of a page by the label of their scroller, as rows of cells; and sliders, tiles."""

    def __init__(self, text):
        super().__init__()
        self.found, self.sliders, self.label, self.cell = {}, [], None, None
        self.tiles = TILE.findall(text)
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("class") == "wide":
            self.label = given["aria-label"]
            self.found.setdefault(self.label, [])
            self.found[self.label].append([])
        elif given.get("class") == "slider":
            self.sliders.append(given)
        elif tag == "tr" and self.label:
            self.found[self.label][-1].append([])
        elif tag == "td":
            self.found[self.label][-1][-1].append("")
            self.cell = True
        elif tag == "small" and self.cell:
            self.found[self.label][-1][-1][-1] += " | "

    def handle_endtag(self, tag):
        if tag == "td":
            self.cell = None

    def handle_data(self, data):
        if self.cell:
            self.found[self.label][-1][-1][-1] += data

    def rows(self, label):
        """Rows with cells, of the only table with this label; taken out, so that what is left shows."""
        (table,) = self.found.pop(label)
        return [row for row in table if row]


def values(cell):
    """Every number of a cell with half a unit of its last digit; a percent counts as a share."""
    scale = 0.01 if "%" in cell or "pts" in cell else 1.0
    for sign, whole, part in NUMBER.findall(cell.replace("none", "0")):
        size = float(whole.replace(",", "") + part) * (-1 if sign in {"-", "\u2212"} else 1)
        yield size * scale, 0.5 * 10.0 ** -max(len(part) - 1, 0) * scale + 1e-9


def same(cell, *expected):
    shown = list(values(cell))
    known = [e for e in expected if e is not None]
    assert len(shown) == len(known), (cell, expected)
    for (value, room), wanted in zip(shown, known, strict=True):
        assert abs(value - wanted) <= room, (cell, expected)


def parts(figure):
    return figure["value"], figure["low"], figure["high"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    stated = rng.choice([0.5, 0.6, 0.75, 0.9, 0.97, 1.0], 700)
    return pl.DataFrame(
        {
            "question": [f"q{i}" for i in range(700)],
            "confidence": np.where(rng.random(700) < 0.05, np.nan, stated),
            "correct": rng.random(700) < stated,
            "flaw": rng.choice(["empty", "no number"], 700),
            "system": rng.choice(["one", "other"], 700),
        }
    )


def read_back(folder):
    report = json.loads((folder / "report.json").read_text())
    return report, Tables((folder / "report.html").read_text())


def check_thresholds(rows, one):
    for row, c in zip(rows, one["thresholds"], strict=True):
        same(row[0], c["risk"])
        if c["threshold"] is None:
            same(row[1], c["need"])
            continue
        half = c["half"]
        if c["failed"]:
            same(row[1], c["threshold"])
            assert "no threshold to advise" in row[1]
        else:
            same(row[1], c["threshold"])
            same(row[2], c["kept"])
        if half is None:
            assert row[-1] == "not checked"
            continue
        share, counted = row[-1].rsplit("|", 1)
        same(share, *parts(half["error"]))
        wrong, stated = counted.split(" at ")
        same(wrong, half["wrong"], half["answered"])
        same(stated, half["at"])


def check_reach(rows, slider, counts):
    for name in ("kept", "wrong"):
        assert list(map(int, slider[f"data-{name}"].split())) == counts[name]
    assert int(slider["data-answers"]) == counts["answers"]
    for row, at in zip(rows, SHOWN, strict=True):
        kept, wrong = counts["kept"][at], counts["wrong"][at]
        same(row[0], at / 100)
        same(row[1], kept)
        same(row[2], kept / counts["answers"])
        same(row[3], wrong)
        assert kept or row[4] == "–"
        if kept:
            same(row[4], wrong / kept)


def check_flaws(rows, panel):
    for row, (name, count) in zip(rows, panel["flaws"].items(), strict=True):
        assert row[0] == name
        same(row[1], count)
        same(row[2], count / panel["rows"])


def test_one_system(table, tmp_path):
    measure(table, replicates=120, out=tmp_path)
    report, page = read_back(tmp_path)
    (one,), overall = report["judged"], report["overall"]
    assert any(c["threshold"] is not None for c in one["thresholds"])
    check_thresholds(page.rows("Thresholds by risk"), one)
    check_reach(page.rows("What every threshold keeps"), page.sliders[0], one["at_or_above"])
    stated, *others = page.rows("Baselines")
    for cell, name in zip(stated[1:], RIVALS, strict=True):
        same(cell, *parts(overall["figures"][name]))
    for row, figures in zip(others, overall["baselines"].values(), strict=True):
        for cell, name in zip(row[1:], RIVALS, strict=True):
            same(cell, *parts(figures[name]))
    names = [*METRICS, *(name for name in RATIO_TITLES if name in overall["figures"])]
    for row, name in zip(page.rows("Every figure, and what would fool it"), names, strict=True):
        same(row[1], *parts(overall["figures"][name]))
    check_flaws(page.rows("Replies that could not be read"), overall)
    for tile, name in zip(page.tiles, KEYS, strict=True):
        same(" ".join(tile), *parts(overall["figures"][name]))
    assert page.found == {}


def check_panel(row, panel, *, pooled=False):
    for cell, name in zip(row[2:], TILES, strict=False):
        if panel.get("figures") is None or (pooled and name == "coverage_at_10"):
            continue
        more = {
            "brier": panel["baselines"]["constant"]["brier"]["value"],
            "ece": panel["floor"]["line"],
        }
        beside = [more[name]] if name in more and not pooled else []
        same(cell, *parts(panel["figures"][name]), *beside)
    same(row[1], panel["rows"], *([] if pooled else [panel["questions"]]))
    same(row[2 + len(TILES)], *parts(panel["figures"]["unread"]))


def check_groups(page, report):
    rows = page.rows("Figures by group")
    for row, panel in zip(rows, report["groups"], strict=False):
        assert row[0] == panel["name"]
        check_panel(row, panel)
    return rows[len(report["groups"]) :]


def test_systems_compared(table, tmp_path):
    measure(table, by="system", replicates=120, out=tmp_path)
    report, page = read_back(tmp_path)
    for row, one in zip(page.rows("Verdicts and thresholds"), report["judged"], strict=True):
        panel = next(p for p in report["groups"] if p["name"] == one["name"])
        same(row[2], *parts(panel["figures"]["mean_confidence"]))
        same(row[3], *parts(panel["figures"]["accuracy"]))
        for cell, c in zip(row[4:8], one["thresholds"], strict=True):
            if c["threshold"] is None:
                same(cell, c["need"])
            else:
                certified = [] if c["failed"] else [c["threshold"], c["kept"]]
                same(cell, *certified, *(parts(c["half"]["error"]) if c["half"] else ()))
        same(row[8], one["recalibrated"]["after"], one["recalibrated"]["before"])
        same(row[9], panel["figures"]["accuracy"]["n"], panel["rows"])
    macro, pooled = check_groups(page, report)
    for cell, name in zip(macro[2:], TILES, strict=False):
        same(cell, *parts(report["macro"][name]))
    check_panel(pooled, report["overall"], pooled=True)
    differences = sorted(report["differences"], key=lambda d: d["p"])
    for row, d in zip(page.rows("Differences between groups"), differences, strict=True):
        assert (row[1], row[2]) == (d["one"], d["other"])
        same(row[3], *parts(d["figure"]))
        same(row[4], d["shared_questions"])
        assert "< 0.001" in row[5] or same(row[5], d["p_holm"]) is None
    check_flaws(page.rows("Replies that could not be read"), report["overall"])
    kept = page.found.pop("What every threshold keeps")
    for (_, *rows), slider, one in zip(kept, page.sliders, report["judged"], strict=True):
        check_reach(rows, slider, one["at_or_above"])
    assert set(page.found) == {"Every figure, and what would fool it"}  # words alone


def test_methods_ranked(tmp_path):
    rng = np.random.default_rng(0)
    chance = rng.random(200)
    stated = {"honest": chance, "bold": 0 * chance + 0.95}
    rows = [
        pl.DataFrame({"question": [f"q{i}" for i in range(200)], "confidence": c})
        .with_columns(correct=pl.Series(rng.random(200) < chance), method=pl.lit(name))
        for name, c in stated.items()
    ]  # fmt: skip
    costs = {n: Cost(calls=400, prompt_tokens=20_000, completion_tokens=1_030) for n in stated}
    found = measure_table(pl.concat(rows), by="method", replicates=120)
    heading = Heading(title="t", sources=["s"], made="d", version="0", costs=costs, apart=True)
    write_report(found, heading, tmp_path)
    report, page = read_back(tmp_path)
    panels = {panel["name"]: panel for panel in report["groups"]}
    for row, one in zip(page.rows("Methods ranked by Brier"), report["ranked"], strict=True):
        figures = panels[one["name"]]["figures"]
        assert row[0] == one["name"]
        same(row[1], *parts(figures["brier"]))
        if one["behind"]:
            same(row[2], *parts(one["behind"]))
            assert "< 0.001" in row[3] or same(row[3], one["p"]) is None
        same(row[4], *parts(figures["auroc"]))
        same(row[5], *parts(figures["ece"]))
        same(row[6], one["calls"])
        assert abs(sum(v for v, _ in values(row[7])) - one["tokens"]) < 0.6
    assert page.found


def test_a_changed_cell_is_noticed():
    same("0.283 | 0.257 to 0.308", 0.2831, 0.2571, 0.3079)
    for cell in ("0.284 | 0.257 to 0.308", "28.3 % | 0.257 to 0.308", "0.283"):
        with pytest.raises(AssertionError):
            same(cell, 0.2831, 0.2571, 0.3079)
