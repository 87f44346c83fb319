"""Every page that the product writes, in a real browser.

No cut at four widths, none on paper, no violation that axe-core knows, all of it within reach of a
keyboard, and nothing told by colour alone.
"""

import json
import os
import re
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import pytest

from tests.support.browser import Browser
from tests.support.pages import PAGES, WIDTHS, make_page

pytestmark = pytest.mark.browser

TEMPLATES = (
    "attack", "calibration", "demo", "funnel", "gate", "grades", "judge", "probe", "profile", "report", "sheet", "study", "tables",
    "training",
)  # fmt: skip
PAPER = 718  # pixels between the margins of A4
OPEN = "document.querySelectorAll('details').forEach(d => d.open = true)"
CUT = """[...document.querySelectorAll('body *')]
  .filter(e => !e.closest('.wide') && !e.closest('svg') && !e.closest('.unseen'))
  .filter(e => e.getClientRects().length)
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(e => e.tagName + '.' + e.className)"""
BROKEN = """[...document.querySelectorAll('.wide th, .wide td:not(.name):not(.text):not(.short)')]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""
UNMARKED = """[...document.querySelectorAll('body *')]
  .filter(e => !e.closest('svg') && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX))
  .filter(e => e.scrollWidth > e.clientWidth && !(e.tabIndex === 0 && e.ariaLabel))
  .map(e => e.className)"""
OFF_PAPER = f"""[...document.querySelectorAll('table, svg, img, p')]
  .filter(e => e.getClientRects().length)
  .filter(e => e.getBoundingClientRect().right > {PAPER} + 1).map(e => e.tagName)"""
GREY = """[...document.querySelectorAll('svg')].map(s => ({
  label: s.getAttribute('aria-label'),
  kinds: [...new Set([...s.querySelectorAll('rect, path, circle')].map(e => e.getAttribute('class')))],
  texts: [...s.querySelectorAll('text')].map(t => t.textContent),
}))"""
SIGNS = "[...document.querySelectorAll('.verdict .word, .badge')].map(e => e.textContent)"
GRADES = """[...document.querySelectorAll('[class^=grade-]')]
  .map(e => e.className.slice(6) + e.textContent)"""
HIDDEN = """[...document.querySelectorAll('details table')]
  .filter(e => !e.checkVisibility({contentVisibilityAuto: true})).length"""
SCROLLS = "[...document.querySelectorAll('.wide')].map(e => getComputedStyle(e).overflowX)"
REACHABLE = """(() => {
  const shown = e => e.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true});
  const all = [...document.querySelectorAll('a[href], summary, input, textarea, button, [tabindex="0"]')]
    .filter(e => !e.disabled && shown(e));
  window.first = new Set();
  window.stops = all.filter(e => {
    if (e.type !== 'radio') return true;
    const fresh = !first.has(e.name);
    first.add(e.name);
    return fresh;
  });
  window.reached = new Map();
  addEventListener('focusin', e => {
    const seen = [e.target, e.target.nextElementSibling].filter(Boolean).map(x => getComputedStyle(x));
    reached.set(e.target, seen.some(s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2));
  });
  return stops.length;
})()"""
MISSED = """stops.filter(e => !reached.get(e))
  .map(e => e.tagName + '.' + e.className + ' ' + (e.ariaLabel || e.textContent).slice(0, 40)
    + (reached.has(e) ? ': no focus to be seen' : ': not reached'))"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return a function that makes a page of a kind, once."""
    folder = tmp_path_factory.mktemp("pages")
    return lru_cache(lambda kind: make_page(kind, folder))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


def axe_core():
    """The checker's own script; CI fetches it, and never does without."""
    place = os.environ.get("NOVARAG_AXE")
    assert place or not os.environ.get("CI"), "CI runs `make axe` and sets NOVARAG_AXE"
    return Path(place).read_text("utf-8") if place else None


def test_no_kind_of_page_is_left_out():
    pages = files("novarag.report").joinpath("templates").iterdir()
    kinds = {p.name for p in pages if p.name.endswith(".html.j2")}
    assert kinds == {f"{name}.html.j2" for name in ("base", "parts", "fragment", *TEMPLATES)}


def cuts(browser):
    for width in WIDTHS:
        browser.look(width, 900)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert (browser.run(CUT), browser.run(UNMARKED), browser.run(BROKEN)) == ([], [], []), width


def reach(browser):
    """Press Tab until everything that can be used was reached, and showed that it was."""
    browser.look(390, 900)
    stops = browser.run(REACHABLE)
    for _ in range(stops + 2):
        browser.press("Tab")
    assert browser.run(MISSED) == []


def violations(browser, axe):
    browser.run(f"{axe}; true")
    run = "axe.run(document, {}).then(r => r.violations.map(v => [v.id, v.nodes[0].html]))"
    browser.look(1280, 900)
    assert browser.run(run.replace("{}", "{resultTypes: ['violations']}")) == []
    browser.look(390, 900, dark=True)
    contrast = "{resultTypes: ['violations'], runOnly: ['color-contrast', 'target-size']}"
    assert browser.run(run.replace("{}", contrast)) == []


def colours(browser):
    """A verdict has its sign, a series its name at the mark, a grade its word."""
    for box in browser.run(SIGNS):
        assert box[0] in "✕✓?"
    assert set(browser.run(GRADES)) <= {"rightright", "wrongwrong"}
    for picture in browser.run(GREY):
        named, series = " ".join(picture["texts"]), picture["kinds"]
        for hue in filter(None, (re.fullmatch(r"(?:outline )?hue-(\d)", s or "") for s in series)):
            assert f"R{int(hue[1]) + 1}" in named, picture["label"]
        if "flow consistent" in series:
            assert picture["texts"].count("consistent") == 1
        if "kind-gold" in series:
            assert "supports the answer" in named


def paper(browser):
    browser.look(PAPER, 1000, media="print")
    assert browser.run(OFF_PAPER) == []
    assert browser.run(HIDDEN) == 0
    assert set(browser.run(SCROLLS)) <= {"visible"}  # paper does not scroll


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_whole_for_every_eye_and_hand(browser, page, kind):
    browser.look(1280, 900)
    browser.open(page(kind))
    browser.run(OPEN)
    cuts(browser)
    colours(browser)
    reach(browser)
    axe = axe_core()
    if axe:
        violations(browser, axe)
    browser.open(page(kind))
    paper(browser)
    assert browser.errors == []
    if not axe:
        pytest.skip("all but axe-core, which `make axe` fetches: NOVARAG_AXE names its axe.min.js")


def test_drawers_and_the_slider_answer_to_keys(browser, page):
    browser.look(1280, 900)
    browser.open(page("measure"))
    browser.run("document.querySelector('summary').focus()")
    browser.press("Enter")
    assert browser.run("document.querySelector('details').open")
    browser.run("document.querySelector('.slider input').focus()")
    before = browser.run("document.querySelector('.slider output').textContent")
    browser.press("ArrowLeft")
    assert browser.run("document.querySelector('.slider output').textContent") != before


def test_a_scroller_moves_by_keys(browser, page):
    browser.look(390, 900)
    browser.open(page("measure-compared"))
    browser.run("document.querySelector('.wide').focus()")
    browser.press("ArrowRight")
    browser.wait("document.querySelector('.wide').scrollLeft > 0")


@pytest.mark.parametrize(
    ("kind", "act"), [("measure", "no"), ("measure-usable", "yes"), ("measure-few", "wait")]
)
def test_pages_of_every_verdict_are_looked_at(page, kind, act):
    report = json.loads(page(kind).with_name("report.json").read_text())
    assert report["verdict"]["act"] == act
