"""The page of tables: our Markdown as HTML, foreign text as text."""

from novarag.report.tables_page import tables_html
from novarag.texts import escape_markdown

EVIL = "<img src=x onerror=alert(1)>|`**[a](#b)** ![x](y.svg) &lt;b&gt; \\"
PAGE = """# The tables

Made on a day. Models asked:

- base: `a|b`

| table | ours |
|---|---|
| [One](#one) | 0.5 |

## One <span id="one"></span>
`novarag paper reproduce one`

A **bold** word.

![a picture](one.svg)

## Two <span id="two"></span>

| system | Brier |
|---|---|
| {evil} | &lt; 0.001 |
"""


def made(evil="x"):
    return tables_html(PAGE.replace("{evil}", evil), {"one.svg": "<svg/>"})


def test_every_part_of_our_markdown_becomes_its_element():
    html = made()
    assert "<title>The tables</title>" in html
    assert '<li><a href="#one">One</a></li>\n<li><a href="#two">Two</a></li>' in html
    assert '<h2 id="one">One</h2>' in html
    assert "<code>novarag paper reproduce one</code>" in html
    assert "<b>bold</b>" in html
    assert "<li>base: <code>a|b</code></li>" in html
    assert '<td class="name"><a href="#one">One</a></td><td>0.5</td>' in html
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+"' in html
    assert "<td>&lt; 0.001</td>" in html
    assert html.count('<div class="wide" role="group"') == 3  # two tables, a picture
    assert "|---" not in html
    assert "script-src" not in html


def test_foreign_text_comes_through_as_it_was_and_means_nothing():
    html = made(escape_markdown(EVIL))
    assert "<img src=x" not in html
    shown = "&lt;img src=x onerror=alert(1)&gt;|`**[a](#b)** ![x](y.svg) &amp;lt;b&amp;gt; \\"
    assert f'<td class="name">{shown}</td>' in html.replace("&#39;", "'")


def test_links_lead_nowhere_else():
    html = made("[a](javascript:b) [c](http://d) ![e](http://f)")
    assert "javascript:b" in html
    assert 'href="java' not in html
    assert 'href="http' not in html
    assert 'src="http' not in html
