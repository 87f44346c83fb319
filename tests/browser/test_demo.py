"""The demo in a browser, served as a user serves it: links, the form, and what a passage may do."""

import os
from pathlib import Path

import pytest

from tests.browser.test_hostile import SEEDS
from tests.support.browser import Browser
from tests.support.demos import demo_running

pytestmark = [pytest.mark.browser, pytest.mark.allow_hosts(["127.0.0.1"])]

READY = "document.readyState === 'complete'"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with demo_running(tmp_path_factory.mktemp("demo")) as running:
        yield running


@pytest.fixture
def browser(tmp_path):
    with Browser(tmp_path / "profile") as found:
        found.look(1280, 900)
        yield found


def visit(browser, address):
    browser.ask("Page.navigate", url=address)
    browser.wait(f"{READY} && location.protocol === 'http:'")


def leave_by(browser, code):
    """Do what leads to another page, and wait for it."""
    browser.run(f"window.before = true; {code}")
    browser.wait(f"window.before === undefined && {READY}")


def word(browser):
    return browser.run("document.querySelector('.verdict .word').textContent")


def test_a_link_decides_a_prepared_question(browser, demo):
    visit(browser, demo.address)
    assert word(browser) == "✕ Keep it back"
    leave_by(browser, "document.querySelector('.prepared a:nth-child(2)').click()")
    assert word(browser) == "✓ Give the answer"
    assert browser.run("document.querySelector('.prepared [aria-current]').textContent") == "Passages agree"  # fmt: skip
    assert browser.errors == []


def test_the_form_asks_what_is_typed_and_no_script_of_it_runs(browser, demo):
    visit(browser, demo.address)
    passages = "\n\n".join(SEEDS[:8]).replace("\\", "\\\\").replace("`", "\\`")
    fill = f"""
      document.querySelector('details').open = true;
      document.querySelector('#question').value = "Who built <img src=x onerror=alert(1)>?";
      document.querySelector('#answer').value = "Ada";
      document.querySelector('#passages').value = String.raw`{passages}`;
      document.querySelector('form button').click()"""
    leave_by(browser, fill)
    assert browser.run("location.pathname + location.hash") == "/#ask"
    assert browser.run("document.title") == "novarag: may this answer be given?"
    assert browser.run("document.querySelectorAll('.passages li').length") == 8
    assert browser.run("document.querySelectorAll('script, img, iframe').length") == 0
    assert "onerror" in browser.run("document.querySelector('.asked').textContent")
    assert browser.errors == []


def test_another_page_can_neither_read_it_nor_frame_it_nor_post_to_it(browser, demo, tmp_path):
    """From a page of a file, which is another site to the demo."""
    bait = tmp_path / "bait.html"
    bait.write_text(
        f"<!doctype html><title>bait</title><iframe src='{demo.address}'></iframe>"
        f"<form method=post action='{demo.address}'><input name=question value=x></form>",
        "utf-8",
    )
    browser.open(bait)
    assert browser.run(f"fetch('{demo.address}').then(() => 'read', () => 'refused')") == "refused"
    assert browser.run("document.querySelector('iframe').contentDocument") is None
    browser.run("document.querySelector('form').submit()")
    browser.wait(f"location.protocol === 'http:' && {READY}")
    assert "another page sent this request" in browser.run("document.body.textContent")


@pytest.mark.parametrize("page", ["", "?ask=agree", "?ask=junk", "?ask=mistaken"])
def test_nothing_is_cut_on_a_phone_and_axe_finds_nothing(browser, demo, page):
    visit(browser, demo.address + page)
    browser.look(390, 844)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.run("[...document.querySelectorAll('.wide')].every(e => e.scrollWidth <= e.clientWidth)")  # fmt: skip
    place = os.environ.get("NOVARAG_AXE")
    if not place:
        pytest.skip("all but axe-core, which `make axe` fetches: NOVARAG_AXE names its axe.min.js")
    browser.run(f"{Path(place).read_text('utf-8')}; true")
    for dark in (False, True):
        browser.look(390, 844, dark=dark)
        run = "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.nodes[0].html]))"
        assert browser.run(run) == []
