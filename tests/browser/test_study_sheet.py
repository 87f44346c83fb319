"""The rating sheet in a real browser: blind, kept, saved, and read back; hostile text stays text."""

import json
import re
import time

import numpy as np
import pytest

from novarag.report.study import grades_html, write_sheet
from novarag.study import analyse, make_sheet, read_ratings
from novarag.study.grades import GradeEntry, grade_key, settle, sheet_id
from tests.support.browser import Browser
from tests.support.studied import SYSTEMS, systems, trial

pytestmark = pytest.mark.browser
EVIL = [
    "<script>document.title='HACKED'</script>",
    "<img src=x onerror=\"document.title='HACKED'\">",
    "</script><script>document.title='HACKED'</script>",
    "</p></section><form action=x><input type=radio name='1.A.factual' value=1 checked>",
    "<!-- {{ 7 * 7 }} ${7*7} \u202e\x00\x1b[31m",
    "' autofocus onfocus=document.title='HACKED' x='",
    "<style>*{display:none}</style><base href='http://127.0.0.1:9/'>",
]
EACH = 3 * 5  # ratings of one question


@pytest.fixture(scope="module")
def sheet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sheet")
    made = make_sheet(systems(12), questions=6)
    write_sheet(made, folder)
    return made, folder / "sheet.html"


@pytest.fixture
def browser(tmp_path):
    (tmp_path / "saved").mkdir()
    with Browser(tmp_path / "profile", downloads=tmp_path / "saved") as found:
        found.look(1200, 900)
        yield found
        assert found.errors == []


def saved(tmp_path, count=1):
    """Wait for a file to be there whole, as the browser writes it under another name first."""
    end = time.monotonic() + 30
    while len(files := sorted((tmp_path / "saved").glob("*.json"))) < count:
        assert time.monotonic() < end, "nothing was saved"
        time.sleep(0.05)
    return files[-1]


def rate(browser, choose):
    """Click every scale of the sheet, question by question, as a rater would."""
    browser.run(
        "document.querySelectorAll('fieldset').forEach((set, i) => {"
        f"const pick = ({choose})(i); if (pick) set.querySelectorAll('input')[pick - 1].click(); }})"
    )


def test_the_page_is_blind_and_shows_one_question_at_a_time(browser, sheet):
    made, page = sheet
    browser.open(page)
    whole = browser.run("document.documentElement.outerHTML")
    for name in SYSTEMS:
        assert name not in whole
    assert browser.run("document.querySelectorAll('section.entry:not([hidden])').length") == 1
    orders = {
        tuple(re.findall(r"r\d", browser.run(f"[...document.querySelectorAll('section.entry')[{i}].querySelectorAll('article .text')].map(e => e.textContent).join(' ')")))
        for i in range(6)
    }  # fmt: skip
    assert len(orders) > 1
    assert orders == {tuple(f"r{i}" for i in h.order) for h in made.key.entries}


def test_ratings_survive_a_reload_and_the_saved_file_is_read_back(browser, sheet, tmp_path):
    made, page = sheet
    browser.open(page)
    browser.run("document.getElementById('save').click()")
    assert "Write your name first" in browser.run("document.getElementById('says').textContent")
    browser.run("document.getElementById('rater').focus()")
    browser.ask("Input.insertText", text="Ada L.")
    rate(browser, "i => i % 7 === 6 ? 0 : i % 5 + 1")
    browser.run("document.querySelectorAll('#pages button')[3].click()")
    told = browser.run("document.getElementById('count').textContent")
    browser.reload()
    assert browser.run("document.getElementById('count').textContent") == told == "78 of 90"
    assert browser.run("document.getElementById('rater').value") == "Ada L."
    assert browser.run("document.querySelector('[aria-current]').textContent") == "4"
    browser.run("document.getElementById('save').click()")
    assert "12 ratings are still open" in browser.run("document.getElementById('says').textContent")
    file = saved(tmp_path)
    assert file.name == f"ratings-{made.id}-Ada-L-.json"
    found = read_ratings(made.key, {"a": file.read_text("utf-8")})
    assert found.raters == ("Ada L.",)
    assert not found.simulated
    assert int(np.isnan(found.scores).sum()) == 12
    for i in range(90):
        entry, shown, criterion = i // EACH, i % EACH // 5, i % 5
        score = found.scores[0, entry, made.key.entries[entry].order[shown], criterion]
        assert np.isnan(score) if i % 7 == 6 else score == i % 5 + 1
    assert analyse(found, replicates=100).raters[0].missing == 12


def test_a_saved_file_goes_on_in_another_browser(browser, sheet, tmp_path):
    made, page = sheet
    browser.open(page)
    rows = [{"entry": 2, "reply": "B", "criterion": "factual", "score": 4}]
    told = {"format": "novarag study ratings 1", "sheet": made.id, "rater": "Bo", "ratings": rows}
    for name, content in (("other.json", told | {"sheet": "x"}), ("mine.json", told)):
        (tmp_path / name).write_text(json.dumps(content))
        document = browser.ask("DOM.getDocument")["root"]["nodeId"]
        field = browser.ask("DOM.querySelector", nodeId=document, selector="#load")["nodeId"]
        browser.ask("DOM.setFileInputFiles", nodeId=field, files=[str(tmp_path / name)])
        browser.wait("document.getElementById('says').textContent !== ''")
        if name == "other.json":
            said = browser.run("document.getElementById('says').textContent")
            assert "not a file saved from this sheet" in said
            assert browser.run("document.getElementById('rater').value") == ""
    browser.wait("document.getElementById('rater').value === 'Bo'")
    assert browser.run("document.querySelector('input:checked').name") == "2.B.factual"
    browser.reload()
    assert browser.run("document.querySelector('input:checked').value") == "4"


def test_a_rater_needs_no_mouse(browser, sheet):
    browser.open(sheet[1])
    browser.run("document.querySelector('fieldset input').focus()")
    for key in ("4", "2", "9", "5"):
        browser.press(key)
    chosen = "[...document.querySelectorAll('input:checked')].map(r => r.name + r.value).join(' ')"
    assert browser.run(chosen) == "1.A.reasoning4 1.A.followable2 1.A.factual5"
    browser.press("n")
    assert browser.run("document.querySelector('[aria-current]').textContent") == "2"
    assert browser.run("document.activeElement.textContent") == "Question 2 of 6"
    browser.press("3")
    assert browser.run("document.activeElement.name") == "2.A.reasoning"
    assert browser.run("document.querySelectorAll('input:checked').length") == 3
    browser.press("p")
    browser.press("p")
    assert browser.run("document.querySelector('[aria-current]').textContent") == "1"
    browser.run("document.getElementById('rater').focus()")
    for key in "n5":
        browser.press(key)
    assert browser.run("document.getElementById('rater').value") == "n5"
    assert browser.run("document.querySelector('[aria-current]').textContent") == "1"


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_screen(browser, sheet, width):
    browser.look(width, 800)
    browser.open(sheet[1])
    assert browser.run("document.documentElement.scrollWidth") <= width
    small = "[...document.querySelectorAll('section:not([hidden]) .points span')].filter(s => s.getBoundingClientRect().height < 36 || s.getBoundingClientRect().width < 36).length"
    assert browser.run(small) == 0


def test_answers_are_graded_with_three_keys(browser, tmp_path):
    entries = [
        GradeEntry(question=f"q{i}{evil}", answer=evil, texts=((evil, evil),), accepted=(evil,))
        for i, evil in enumerate(EVIL)
    ]
    page = tmp_path / "grades.html"
    page.write_text(grades_html(sheet_id(entries), entries), "utf-8")
    browser.open(page)
    for key in "132":
        browser.press(key)
    browser.press("p")
    browser.press("1")
    chosen = "[...document.querySelectorAll('input:checked')].map(r => r.name + r.value).join(' ')"
    assert browser.run(chosen) == "1.A.grade1 2.A.grade3 3.A.grade1"
    assert browser.run("document.querySelector('[aria-current]').textContent") == "4"
    for _ in EVIL:
        browser.press("2")
    assert browser.run("document.getElementById('count').textContent") == "7 of 7"
    assert browser.run("document.title") == "Grading sheet"
    assert browser.run("document.querySelectorAll('img, form, base, style ~ style').length") == 0
    browser.run("document.getElementById('rater').value = 'Ada'")
    browser.run("document.getElementById('save').click()")
    key = grade_key(sheet_id(entries), [entry.question for entry in entries])
    found = settle(read_ratings(key, {"a": saved(tmp_path).read_text("utf-8")}))
    assert found == ["right", "cannot tell", "right", *["wrong"] * 4]


def test_hostile_text_stays_text(browser, tmp_path):
    held = {
        name: [trial(f"q{i}{evil}", f"{evil} {name[-1]}", evil) for i, evil in enumerate(EVIL)]
        for name in ("a", "b")
    }
    made = make_sheet(held, questions=len(EVIL), answers=True)
    write_sheet(made, tmp_path)
    browser.open(tmp_path / "sheet.html")
    assert browser.run("document.title") == "Rating sheet"
    assert browser.run("document.querySelectorAll('script').length") == 1
    assert browser.run("document.querySelectorAll('img, form, base, style ~ style').length") == 0
    assert browser.run("document.querySelectorAll('section.entry').length") == len(EVIL)
    assert browser.run("document.querySelectorAll('input:checked').length") == 0
    shown = browser.run("document.querySelector('main').textContent")
    for evil in EVIL[:4]:
        assert shown.count(evil) >= 4
    assert "{{ 7 * 7 }}" in shown
    for control in "\u202e\x00\x1b":
        assert control not in shown
    browser.run("document.getElementById('rater').value = '</script>'")
    rate(browser, "() => 3")
    browser.run("document.getElementById('save').click()")
    found = read_ratings(made.key, {"a": saved(tmp_path).read_text("utf-8")})
    assert found.raters == ("</script>",)
    assert (found.scores == 3).all()


def test_no_script_but_ours_may_run(browser, sheet, tmp_path):
    """The policy stops what escaping would miss: a script written straight into the page."""
    text = sheet[1].read_text("utf-8")
    spoilt = text.replace("<main>", "<main><script>document.title='HACKED'</script>", 1)
    page = tmp_path / "spoilt.html"
    page.write_text(spoilt, "utf-8")
    browser.open(page)
    assert browser.run("document.title") == "Rating sheet"
    assert len(browser.errors) == 1
    assert "Content Security Policy" in browser.errors.pop()
