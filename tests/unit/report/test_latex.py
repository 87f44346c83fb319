"""Tables for a paper: rows of as many cells as there are columns, whatever stands in them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import UnknownNameError
from novarag.report.latex import escape_latex, write_tabular
from novarag.report.shown_tables import ShownCell, ShownTable
from novarag.texts import plain_text
from tests.support.shown_results import named, plain_results

COMMANDS = {
    "textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textless": "<",
    "textgreater": ">", "textbar": "|", "char34": '"', "textendash": "\u2013", "ldots": "\u2026",
}  # fmt: skip
TOKEN = re.compile(r"\\(char34|[A-Za-z]+)\{\}|\\(.)|\{([\[\]*])\}|(.)", re.DOTALL)
ACTIVE = set('\\{}$&#_^~%[]*<>|"')
TEXTS = st.one_of(
    st.sampled_from(
        ["[1cm]", "*", "a & b \\\\ \\midrule", "\\input{/etc/passwd}", "%", "^^M", "$x$"]
    ),
    st.text(max_size=40),
    st.text('\\{}$&#_^~%[]*<>|"\n\r a-', max_size=30),
)


def read_cell(written):
    """Read a cell as LaTeX does; an active character that stands bare is an error."""
    said = []
    for match in TOKEN.finditer(written):
        command, escaped, braced, bare = match.groups()
        assert bare is None or bare not in ACTIVE, (bare, written)
        said.append(COMMANDS[command] if command else escaped or braced or bare)
    return "".join(said)


@given(TEXTS)
def test_a_text_is_read_back_as_it_was_and_nothing_of_it_acts(text):
    assert read_cell(escape_latex(text)) == plain_text(text)


@given(st.lists(st.lists(TEXTS, min_size=3, max_size=3), min_size=1, max_size=4), TEXTS)
def test_no_text_leaves_its_cell(rows, header):
    table = ShownTable(
        (header, "b", "c"), tuple(tuple(ShownCell(text, text) for text in row) for row in rows)
    )
    lines = write_tabular(table).splitlines()
    assert lines[:2] == [r"\begin{tabular}{lrr}", r"\toprule"]
    assert lines[3] == r"\midrule"
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    assert len(lines) == 6 + len(rows)
    for line, row in zip(lines[4:-2], rows, strict=True):
        assert line.endswith(r" \\")
        cells = re.split(r"(?<!\\) & ", line[:-3])
        wanted = [plain_text(t) + (f" ({plain_text(t)})" if t else "") for t in row]
        assert [read_cell(cell) for cell in cells] == wanted


def test_a_measurement_has_a_row_for_all_and_for_each_group():
    found = plain_results()["measurement"]
    lines = found.to_latex(["brier"]).splitlines()
    assert lines[2] == r" & answers & questions & Brier \\"
    figure = found.overall.figures["brier"]
    said = f"{figure.value:.3f} ({figure.low:.3f} to {figure.high:.3f})"
    assert lines[4] == rf"all & 480 & 240 & {said} \\"
    assert len(lines) == 9
    with pytest.raises(UnknownNameError, match="'nonsense' is not one of"):
        found.to_latex(["nonsense"])


def test_a_comparison_has_a_row_for_each_budget():
    lines = named("comparison", "R&D").to_latex().splitlines()
    assert lines[4].startswith(r"Brier of R\&D & ")
    assert lines[4].endswith(r" & kept \\")
    assert len(lines) == 6 + 6
