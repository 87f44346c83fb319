"""Results that show themselves: in a notebook, as a picture, in a paper; names of others do nothing."""

import subprocess
import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from novarag import UnknownNameError, UsageError, measure
from novarag.probes import RelationVerdict
from novarag.probes.changes import compare_verdicts
from novarag.report.calibration import calibration_verdict
from novarag.report.comparison import verdict_line
from novarag.report.probe import probe_verdict
from novarag.report.sentences import headline
from novarag.texts import plain_text
from tests.support.shown_results import KINDS, named, plain_results

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

TAGS = {"div", "span", "bdi", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
HARMLESS = "plain name"
HOSTILE = [
    "<script>alert(1)</script>", "</bdi></div><img src=x onerror=alert(1)>", '" onmouseover="a()',
    "&lt;b&gt;", "{{ 7 * 7 }}", "<!-- ", "]]>", "\u202egnp", "a\x00b", "'; background: url(x)",
]  # fmt: skip
PICTURED = ("measurement", "calibration", "gate", "comparison")


class Fragment(HTMLParser):
    """The tags of a fragment with their attributes, and its texts."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        # The label is a text; what it says is looked at beside the others.
        self.tags.append((tag, [a for a in attributes if a[0] != "aria-label"]))
        self.texts += [value for name, value in attributes if name == "aria-label"]

    def handle_endtag(self, tag):
        self.tags.append((f"/{tag}", []))

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        self.tags.append(("!", data))

    def unknown_decl(self, data):
        self.tags.append(("!", data))


@cache
def harmless(kind):
    return Fragment(named(kind, HARMLESS)._repr_html_())


@pytest.mark.parametrize("kind", KINDS)
@given(name=st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=50)))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_name_changes_no_tag_of_a_fragment_and_is_shown_as_it_is(kind, name):
    plain = harmless(kind)
    found = Fragment(named(kind, name)._repr_html_())
    assert found.tags == plain.tags
    assert {tag.strip("/") for tag, _ in found.tags} <= TAGS
    assert any(plain_text(name, longest=999)[:40] in text for text in found.texts)


def test_a_fragment_needs_nothing_of_elsewhere():
    for kind in KINDS:
        html = plain_results()[kind]._repr_html_()
        assert "<script" not in html
        assert "<style" not in html
        assert "http" not in html
        assert "url(" not in html
        assert "src=" not in html


def told(kind):
    """What the page of a result says first."""
    found = plain_results()[kind]
    return {
        "measurement": lambda: headline(found).line,
        "calibration": lambda: calibration_verdict(found.fitted).line,
        "gate": lambda: found.promise,
        "answer": lambda: found.answer,
        "run": lambda: "Finished: nothing is left to ask.",
        "comparison": lambda: verdict_line(found),
        "probe": lambda: probe_verdict(found.card).line,
    }[kind]()


@pytest.mark.parametrize("kind", KINDS)
def test_a_fragment_says_what_the_page_says_first(kind):
    texts = Fragment(plain_results()[kind]._repr_html_()).texts
    assert told(kind) in texts


def test_a_fragment_has_the_figures_that_are_printed():
    found = plain_results()["measurement"]
    texts = Fragment(found._repr_html_()).texts
    for panel in (found.overall, *found.groups):
        assert panel.name in texts
        assert f"{panel.figures['brier'].value:.3f}" in texts
        assert f"brier {panel.figures['brier'].value:.3f}" in repr(found)
    answer = plain_results()["answer"]
    said = " ".join(Fragment(answer._repr_html_()).texts)
    assert "confidence 70 % as stated, not calibrated" in said
    assert "evidence consistent" in said
    assert f"{answer.decision}: {answer.reason}" in said


@pytest.mark.parametrize("kind", PICTURED)
@pytest.mark.parametrize("name", ["$\\frac{$", "_hidden", "\\input{x}", "100 % & more", "\u202eb"])
def test_a_name_in_a_picture_is_neither_a_formula_nor_hidden(kind, name):
    from matplotlib import pyplot as plt

    with matplotlib.rc_context({"text.parse_math": True}):
        ax = named(kind, name).plot()
        ax.figure.canvas.draw()
    shown = [
        text for text in ax.findobj(matplotlib.text.Text) if plain_text(name) in text.get_text()
    ]
    assert shown
    assert not any(text.get_parse_math() or text.get_usetex() for text in shown)
    plt.close("all")


@pytest.mark.parametrize("kind", PICTURED)
def test_a_picture_is_drawn_into_the_axes_that_are_given(kind):
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    assert plain_results()[kind].plot(right) is right
    assert right.has_data()
    assert not left.has_data()
    assert figure.axes == [left, right]
    plt.close("all")


def test_a_reliability_diagram_has_the_bins_their_intervals_and_their_counts():
    from matplotlib import pyplot as plt

    found = plain_results()["measurement"]
    panel = found.groups[1]
    ax = found.plot(group=panel.name)
    full = panel.bins.count > 0
    line = next(line for line in ax.lines if line.get_label() == "0" or len(line.get_xdata()) > 2)
    assert list(line.get_xdata()) == list(panel.bins.confidence[full])
    assert list(line.get_ydata()) == list(panel.bins.accuracy[full])
    ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    assert ends == pytest.approx(np.stack([panel.bins.low[full], panel.bins.high[full]], axis=1))
    written = {text.get_text() for text in ax.texts}
    assert written == {f"{count:.0f}" for count in panel.bins.count[full]}
    plt.close("all")


def test_a_gate_is_drawn_with_its_threshold_where_the_risk_still_holds():
    from matplotlib import pyplot as plt

    gate = plain_results()["gate"]
    ax = gate.plot()
    (said,) = [text.get_text() for text in ax.texts]
    assert said == "20 % or more, keeps 100 %"
    assert any(list(line.get_ydata()) == [gate.risk] * 2 for line in ax.lines)
    plt.close("all")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(UsageError, match=r"install matplotlib: pip install '\.\[plot\]'"):
        plain_results()["gate"].plot()


def test_what_cannot_be_drawn_is_said():
    found = plain_results()["measurement"]
    with pytest.raises(UnknownNameError, match="always sure"):
        found.plot(group="nobody")
    few = measure({"confidence": [0.5, 0.6], "correct": [True, False]}, replicates=20)
    with pytest.raises(UsageError, match="there is nothing to draw: "):
        few.plot()


def test_nothing_loads_reports_or_matplotlib_before_they_are_asked_for():
    code = (
        "import sys, novarag\n"
        "from novarag import Answer, Calibration, Gate, Run\n"
        "from novarag.metrics import Measurement\n"
        "print([m for m in sys.modules if m.startswith(('novarag.report.', 'matplotlib', 'jinja2'))])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"


def test_a_measurement_becomes_a_tabular():
    table = plain_results()["measurement"].to_latex(["brier"])
    assert table.startswith("\\begin{tabular}{lrrr}\n\\toprule\n & answers & questions & Brier ")


def test_results_that_know_little_are_shown_too():
    made = plain_results()["calibration"]
    assert "it does not say what it was fitted on" in replace(made, fitted=None)._repr_html_()
    found = plain_results()["measurement"]
    many = replace(found, groups=tuple(replace(found.groups[0], name=f"g{i}") for i in range(30)))
    assert "… and 6 more rows." in many._repr_html_()
    with pytest.raises(UsageError, match="30 groups cannot be told apart in one picture"):
        many.plot()
    run = plain_results()["run"]
    lost = replace(run, store=SimpleNamespace(place="lost", read=_fail, names=_fail))
    assert "Not readable: no disk" in lost._repr_html_()


def _fail(*_):
    raise OSError("no disk")


def test_what_could_not_be_compared_or_tested_is_said_in_the_picture():
    from matplotlib import pyplot as plt

    found = plain_results()["comparison"]
    refused = replace(found.budgets[0], worse=None, why="20 rows, too few")
    relations = compare_verdicts(
        {"agreement": RelationVerdict.BREAKS}, {"agreement": RelationVerdict.HOLDS}
    )
    mixed = replace(found, budgets=(refused,), relations=relations)
    assert [text.get_text() for text in mixed.plot().texts] == ["20 rows, too few"]
    texts = Fragment(mixed._repr_html_()).texts
    assert {"20 rows, too few", relations[0].title, "broken"} <= set(texts)
    untested = replace(plain_results()["gate"], path=(), threshold=None).plot()
    assert "too few rows for a single test" in {text.get_text() for text in untested.texts}
    plt.close("all")
