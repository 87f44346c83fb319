"""The docs name every table and figure of the paper, and what makes it, as the presets do."""

import re

import pytest

from novarag.config.grid import EXPERIMENTS, load_grid
from novarag.presets import paper_tables
from tools.paper_labels import LABEL, PAGE, labels_of, listed

HERE = listed(PAGE.read_text("utf-8"))
DERIVED = {
    ("fig:barplot", "human-study"),
    ("fig:spider_plot", "human-study"),
    ("fig:figure_1_demonstration", "main-k3"),
    ("table:rag-test-cot-simplified", "closed-book"),
    ("table:real_rag_contriever_facts_nq_bamboogle", "real-dense"),
}
"""Labels that are a part of a table of ours, which names the whole one."""


def test_every_label_is_made_by_a_table_or_has_a_reason_why_not():
    assert len(HERE) > 30
    for label, said in HERE.items():
        assert re.fullmatch(LABEL, label)
        name = re.match(r"`([a-z0-9-]+)`", said)
        assert name is None or name[1] in EXPERIMENTS, label
        assert name or said.startswith("not made: "), label


def test_presets_and_page_say_the_same():
    by_presets = {(label, name) for name in EXPERIMENTS for label in load_grid(name).paper}
    by_page = {
        (label, name[1]) for label, said in HERE.items() if (name := re.match("`([^`]+)`", said))
    }
    assert by_page == by_presets | DERIVED
    assert {name for _, name in by_page} | {"accuracy", "judgments"} == set(EXPERIMENTS)


def test_every_table_with_figures_is_named():
    known = {label.partition(":")[2] for label in HERE}
    assert set(paper_tables()) - {"text"} <= known


def test_labels_are_read_from_latex():
    said = ("label{app:x}", "label{fig:a}", "label{table:b_2}", "ref{tab:c}", "label{fig:a}")
    assert labels_of("".join(f"\\{part} and " for part in said)) == ["fig:a", "table:b_2"]


@pytest.mark.data
def test_the_paper_has_no_other_tables_and_figures():
    from tools.paper_figures import PAPER

    assert sorted(labels_of((PAPER / "nova.tex").read_text("utf-8"))) == sorted(HERE)
