"""Two thousand hostile strings in every text field: no script runs, none is left unescaped."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from novarag import measure
from novarag.report import Heading, write_report
from novarag.report.examples import pick_examples
from novarag.report.templating import template_text

pytestmark = pytest.mark.browser

SEEDS = [
    "<script>document.title='HACKED'</script>",
    "<img src=x onerror=\"document.title='HACKED'\">",
    "<svg onload=document.title='HACKED'>",
    "\"><script>document.title='HACKED'</script>",
    "' autofocus onfocus=document.title='HACKED' x='",
    "</title><script>document.title='HACKED'</script>",
    "</style><script>document.title='HACKED'</script>",
    "</svg><script>document.title='HACKED'</script>",
    "<iframe srcdoc=\"<script>parent.document.title='HACKED'</script>\">",
    "<a href=\"javascript:document.title='HACKED'\">x</a>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<base href='http://127.0.0.1:9/'>",
    "<link rel=stylesheet href='http://127.0.0.1:9/x.css'>",
    "<details open ontoggle=document.title='HACKED'>",
    "<body onload=document.title='HACKED'>",
    "<math><mtext><table><mglyph><style><img src=x onerror=document.title='HACKED'>",
    "{{ 7 * 7 }}{% for x in range(9) %}x{% endfor %}",
    "${7*7}#{7*7}<%= 7*7 %>{{constructor.constructor('document.title=1')()}}",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1+1|cmd",
    "-2+3+cmd|' /C calc'!A0",
    "\u202e\u2066evil\u2069 txt.exe",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 <b>",
    "a\x00b\x1b[31mred\x07",
    "|---|\n|x|`code`**bold**[a](javascript:b)",
    "&lt;script&gt;document.title='HACKED'&lt;/script&gt;",
    "<!--",
    "]]>",
    "\ufeff<\u200bscript>",
    "%s%n%x{0}{question}",
    "A" * 3000,
]


def hostile(n=2000):
    rng = np.random.default_rng(0)
    strings = list(SEEDS)
    while len(strings) < n:
        a, b = rng.integers(0, len(SEEDS), 2)
        strings.append(f"{SEEDS[a]} {len(strings)} {SEEDS[b]}")
    return strings


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    strings = hostile()
    rng = np.random.default_rng(1)
    n = len(strings)
    big = np.repeat(np.arange(12), 60)
    which = np.concatenate([np.arange(n), big])
    frame = pl.DataFrame(
        {
            "question": [strings[(i + j) % n] for j, i in enumerate(which)],
            "group": [strings[i] for i in which],
            "confidence": np.where(
                rng.random(which.size) < 0.1, np.nan, rng.integers(0, 11, which.size) / 10
            ),
            "correct": rng.random(which.size) < 0.5,
            "flaw": [strings[i] for i in which],
            "answer": [strings[-i - 1] for i in which],
            "gold": [strings[(3 * i) % n] for i in which],
        },
        schema_overrides={"confidence": pl.Float64},
    )
    heading = Heading(
        title=strings[0], sources=strings[:40], made="2026-01-01", version="0", notes=strings[:40]
    )
    folder = tmp_path_factory.mktemp("hostile")
    found = measure(frame, by="group", replicates=100)
    heading = replace(heading, meanings={text: text for text in strings[:40]})
    rows = frame.filter(pl.col("confidence").is_not_nan())
    texts = {name: name for name in ("question", "answer", "gold")}
    shown = {
        panel.name: pick_examples(rows[i * 100 :], texts, seed=i)
        for i, panel in enumerate(p for p in found.groups if not p.refusal)
    }
    write_report(found, heading, folder, examples=shown)
    return folder


OURS = {
    "html", "head", "meta", "link", "title", "style", "body", "main", "h1", "h2", "p", "section",
    "div", "span", "b", "bdi", "small", "figure", "figcaption", "svg", "g", "rect", "line", "path",
    "circle", "text", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "dl", "dt",
    "dd", "h3", "label", "input", "output", "script", "code",
}  # fmt: skip


class Elements(HTMLParser):
    """The tags, attribute names and link targets of a page, as a parser sees them."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.links, self.ids = set(), set(), set(), set()
        self.scripts = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value for name, value in attrs if name in {"href", "xlink:href"}}
        self.ids |= {value for name, value in attrs if name == "id"}
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.lasttag == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data


def test_nothing_is_left_unescaped(page):
    text = (page / "report.html").read_text("utf-8")
    assert len(text) > 500_000
    seen = Elements()
    seen.feed(text)
    assert seen.tags == OURS
    assert seen.scripts == [template_text("slider.js")]
    assert seen.ids <= {f"{kind}-{i}" for kind in ("ring", "threshold") for i in range(30)}
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert not seen.attributes & {"src", "srcdoc", "style", "action", "formaction"}
    assert seen.links == {"data:,"}
    for control in "\x00\x1b\x07\u202e\u2066\u2069\u200b":
        assert control not in text
    assert "{{ 7 * 7 }}" in html.unescape(text)
    markdown = (page / "report.md").read_text("utf-8")
    assert "<script" not in markdown
    assert not re.search(r"(?<!\\)\]\(javascript", markdown)
    json.loads((page / "report.json").read_text("utf-8"))


def chromium(*arguments, profile):
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-sync", "--disable-background-networking", "--disable-component-update",
    ]  # fmt: skip
    command = [shutil.which("chromium"), *flags, f"--user-data-dir={profile}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout


def test_no_script_runs_in_a_browser(page, tmp_path):
    dom = chromium("--dump-dom", (page / "report.html").as_uri(), profile=tmp_path / "p")
    title = html.unescape(re.search(r"<title>(.*?)</title>", dom, re.DOTALL)[1])
    assert title == SEEDS[0]
    assert "HACKED</title>" not in dom
    assert not re.search(r"<iframe|<img", dom, re.IGNORECASE)
    assert len(re.findall(r"<script", dom, re.IGNORECASE)) == 1
    assert 'class="slider" hidden' not in dom  # ours did run
    assert dom.count('class="slider"') >= 12


def test_the_same_browser_does_run_such_scripts(tmp_path):
    bait = tmp_path / "bait.html"
    bait.write_text(f"<!doctype html><title>t</title>{SEEDS[0]}{SEEDS[1]}", encoding="utf-8")
    dom = chromium("--dump-dom", bait.as_uri(), profile=tmp_path / "p")
    assert "<title>HACKED</title>" in dom
