"""The measure report in a real browser: a slider that counts right, whole without it, print."""

import base64
import json

import numpy as np
import polars as pl
import pytest

from novarag import measure
from novarag.report.advice import part
from tests.support.browser import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    rng = np.random.default_rng(0)
    stated = rng.integers(10, 21, 400) / 20
    frame = pl.DataFrame(
        {
            "question": [
                f"What is the capital of the {i}th country on the list?" for i in range(400)
            ],
            "answer": [f"The city number {i}, as the second passage says" for i in range(400)],
            "confidence": stated,
            "correct": rng.random(400) < 0.7 * stated,
            "system": rng.choice(["support-bot-v2 (retrieval, reranked)", "plain"], 400),
        }
    )
    measure(frame, replicates=150, out=folder / "alone")
    measure(frame, replicates=150, by="system", out=folder / "compared")
    return folder


@pytest.fixture
def browser(tmp_path):
    with Browser(tmp_path / "profile") as found:
        yield found
        assert found.errors == []


def test_wide_tables_keep_their_first_column_and_can_be_reached_by_keyboard(browser, pages):
    browser.look(390, 900)
    browser.open(pages / "compared" / "report.html")
    wide = "document.querySelector('.wide')"
    assert browser.run(f"{wide}.scrollWidth > {wide}.clientWidth")
    assert browser.run(f"{wide}.tabIndex") == 0
    browser.run(f"{wide}.scrollLeft = 200")
    first = f"{wide}.querySelector('tbody td').getBoundingClientRect().left"
    assert abs(browser.run(first) - browser.run(f"{wide}.getBoundingClientRect().left")) < 2


def test_the_slider_says_what_the_report_counted(browser, pages):
    browser.look(1280, 900)
    browser.open(pages / "alone" / "report.html")
    counted = json.loads((pages / "alone" / "report.json").read_text())["judged"][0]["at_or_above"]
    assert browser.run("document.querySelector('.slider').hidden") is False
    static = browser.run("document.querySelector('.slider output').textContent")
    assert static.startswith(f"At {counted['start']} % or more: ")
    assert f">{static}</output>" in (pages / "alone" / "report.html").read_text()
    for at in (0, 60, 95, 100):
        browser.run(
            f"(() => {{ const i = document.querySelector('.slider input'); i.value = {at};"
            " i.dispatchEvent(new Event('input')); })()"
        )
        kept, wrong = counted["kept"][at], counted["wrong"][at]
        assert browser.run("document.querySelector('.slider output').textContent") == (
            f"At {at} % or more: {kept:,} of {counted['answers']:,} answers"
            f" ({part(kept, counted['answers'])} %), {wrong:,} of them wrong ({part(wrong, kept)} %)."
        )


def test_without_scripts_the_page_is_whole(browser, pages):
    browser.look(1280, 900)
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(pages / "alone" / "report.html")
    text = browser.run("document.body.innerText")
    assert "Try a threshold" not in text
    assert "What every threshold keeps" in text
    assert "Do not act on this confidence as it is" in text


def test_print_opens_every_drawer(browser, pages):
    browser.open(pages / "alone" / "report.html")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    shown = browser.run(
        "[...document.querySelectorAll('details .example')].filter(e => e.checkVisibility({contentVisibilityAuto: true})).length"
    )
    assert shown == browser.run("document.querySelectorAll('.example').length") > 8
    assert not browser.run("document.querySelector('.slider').getClientRects().length")
    made = browser.ask("Page.printToPDF", printBackground=True)["data"]
    assert base64.b64decode(made).startswith(b"%PDF")
