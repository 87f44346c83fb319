"""Hostile names, texts and titles on every other kind of page, and what the policy stops."""

import base64
import hashlib
import json
import re

import polars as pl
import pytest

import novarag
from novarag.attacks import Attack, AttackCase, AttackGoal, AttackOutcome, AttackPlace
from novarag.attacks.result import AttackResult
from novarag.calibration.graded_answers import AnswerSource
from novarag.calls import Cost
from novarag.filters import STAGES
from novarag.records import Question
from novarag.report.attack import write_attack_page
from novarag.report.funnel import write_funnel_report
from novarag.report.study import write_study
from novarag.report.tables_page import tables_html
from novarag.report.training import training_page
from novarag.study import analyse, make_sheet, simulated_ratings
from novarag.texts import escape_markdown
from tests.browser.test_hostile import SEEDS
from tests.support.browser import Browser
from tests.support.pages import graded_table, make_page, training_facts
from tests.support.studied import systems

pytestmark = pytest.mark.browser
EVIL = [text for text in SEEDS if "HACKED" in text or "<" in text]


def funnel(folder):
    counts, reasons, runs = [], [], []
    for evil in EVIL:
        row = {"model": evil, "kind": None, "stage": "total", "kept": 10}
        counts += [
            row,
            row | {"kind": "consistent", "kept": 6},
            row | {"kind": "irrelevant", "kept": 4},
        ]
        reasons.append({"model": evil, "stage": "format", "reason": evil, "count": 4, "kind": None})
        runs.append({"name": evil, "run": "f", "model": evil, "strategy": evil, "trials": 10,
                     "structured": False, "missing_shards": 0, "dead_requests": 3})  # fmt: skip
    settings = {
        "rules": "stated",
        "alignment": "brier",
        "balance": "uniform",
        "common": 1,
        "seed": 0,
    }
    told = {"stages": list(STAGES), "settings": settings, "runs": runs, "counts": counts}
    write_funnel_report(told | {"reasons": reasons}, folder, version="1")
    return folder / "report.html"


def study(folder):
    sheet = make_sheet(systems(names=tuple(EVIL[:6])), questions=4)
    means = dict.fromkeys(sheet.key.systems, 3.0)
    write_study(
        analyse(simulated_ratings(sheet, means), replicates=100), folder, made="d", version="0"
    )
    return folder / "report.html"


def states(frame):
    names = dict(zip(("conflicting", "consistent", "insufficient"), EVIL[:3], strict=True))
    return frame.with_columns(pl.col("evidence").replace(names))


def calibration(folder):
    source = AnswerSource(model=EVIL[0], prompt=EVIL[1])
    novarag.calibrate(
        states(graded_table()), out=folder / "c.json", page=folder / "c.html", source=source
    )
    return folder / "c.html"


def profile(folder):
    rows = [
        {"id": f"{i}{evil}", "question": evil, "answers": [evil], "passages": [evil, f"{evil} {i}"]}
        for i, evil in enumerate(EVIL)
    ]
    (folder / "groups.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    novarag.annotate(folder / "groups.jsonl", folder / "out", replicates=100)
    return folder / "out" / "report.html"


def training(folder):
    page = folder / "t.html"
    page.write_text(training_page(training_facts("".join(EVIL))), "utf-8")
    return page


def tables(folder):
    rows = "".join(f"| {escape_markdown(evil, longest=4000)} | 0.5 |\n" for evil in EVIL)
    raw = "".join(f"{evil}\n\n" for evil in EVIL)  # not even escaped
    page = folder / "p.html"
    page.write_text(tables_html(f"# T\n\n{raw}\n## A\n\n| a | b |\n|---|---|\n{rows}", {}), "utf-8")
    return page


def probe(folder):
    def bot(question, passages):
        return {"answer": question + passages[0], "confidence": 0.9}

    bot.model = "".join(EVIL)
    rows = [
        {"id": f"{i}{evil}", "question": evil, "passages": [evil, f"{evil} {i}"]}
        for i, evil in enumerate(EVIL)
    ]
    novarag.probe(rows, app=bot, out=folder, page=folder / "p.html", junit=folder / "j.xml")
    return folder / "p.html"


def attack(folder):
    cases = []
    for i, evil in enumerate(EVIL):
        order = Attack(
            name=f"{i}{evil}",
            kind=evil,
            goal=AttackGoal.RAISE,
            states=100,
            texts=(evil,),
            reference=evil,
        )
        first, after = (AttackOutcome(answer=evil, confidence=c, decision=evil) for c in (0.1, 1.0))
        cases += [
            AttackCase(
                question=Question(id=f"{i}", text=evil), group=f"{i}", attack=order,
                place=AttackPlace.LAST, defence="plain", planted=evil, passages=(evil, f"{evil}\n{evil}"),
                before=first, repeat=first, after=after,
            )
        ]  # fmt: skip
    told = AttackResult(
        model="m", strategy=EVIL[0], cases=tuple(cases), defences=("plain",), action="remove",
        margin=0.05, decides="the gate decides", cost=Cost(), missing=1, flagged=0, passages=1,
        notes=tuple(EVIL),
    )  # fmt: skip
    return write_attack_page(told, folder / "a.html")


# The page of a gate has no words but ours.
KINDS = {
    f.__name__: f for f in (funnel, study, calibration, probe, profile, training, tables, attack)
}
FOREIGN = """[...document.querySelectorAll('*')].filter(e =>
  ['IFRAME', 'IMG', 'OBJECT', 'EMBED', 'FORM', 'BASE', 'MATH'].includes(e.tagName.toUpperCase())
  || (e.tagName === 'A' && !e.getAttribute('href').startsWith('#'))
  || [...e.attributes].some(a => a.name.startsWith('on') || a.name === 'style')
).map(e => e.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("kind", KINDS)
def test_foreign_text_is_text_on_every_page(browser, tmp_path, kind):
    browser.open(KINDS[kind](tmp_path))
    assert "HACKED" not in browser.run("document.title")
    assert browser.run("document.querySelectorAll('script').length") == 0
    assert browser.run(FOREIGN) == []
    assert "HACKED" in browser.run("document.body.textContent")  # it is there, as text
    assert browser.errors == []


def test_the_policy_allows_our_script_by_its_hash_and_nothing_else(browser, tmp_path):
    page = make_page("measure", tmp_path)
    text = page.read_text("utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (named,) = re.findall(r"script-src 'sha256-([^']+)'", text)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == named
    assert "unsafe" not in text.partition("</head>")[0]
    forms = [
        "<script>document.title='HACKED'</script>",
        "<img src=data:, onerror=\"document.title='HACKED'\">",
        "<iframe srcdoc=\"<script>parent.document.title='HACKED'</script>\"></iframe>",
        "<p onclick=\"document.title='HACKED'\" class=bait>x</p>",
        "<script src='data:text/javascript,document.title=1'></script>",
    ]
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(text.replace("<main>", "<main>" + "".join(forms), 1), "utf-8")
    browser.open(spoilt)
    browser.run("document.querySelector('.bait').click()")
    assert browser.run("document.title") == "How honest is the confidence?"
    assert browser.run("document.querySelector('.slider').hidden") is False  # ours did run
    refused = [error for error in browser.errors if "Content Security Policy" in error]
    assert len(refused) >= len(forms) - 1
    browser.errors.clear()
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace(script, f"{script}\ndocument.title='HACKED'"), "utf-8")
    browser.open(changed)
    assert browser.run("document.title") == "How honest is the confidence?"
    assert browser.run("document.querySelector('.slider').hidden") is True  # not ours any more
    browser.errors.clear()
