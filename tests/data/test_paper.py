"""The shipped figures against the paper's own source."""

import importlib
import os
import re
from importlib.resources import files

import pytest

from novarag.presets import paper_figures

pytestmark = pytest.mark.data


@pytest.fixture
def proof(data, monkeypatch):
    module = importlib.import_module("tools.paper_figures")
    paper = data.resolve().parent / "paper"
    if not paper.is_dir() and not os.environ.get("CI"):
        pytest.skip("the paper's source is not beside the benchmark data")
    monkeypatch.setattr(module, "PAPER", paper)
    return module


def test_the_file_is_what_the_paper_says(proof):
    text, counts, misprints = proof.made()
    assert text == proof.TARGET.read_text("utf-8")
    assert sum(values for *_, values in counts) == 2318
    assert len(misprints) == 1


def test_every_printed_value_stands_on_its_line(proof):
    tex = (proof.PAPER / "nova.tex").read_text("utf-8").splitlines()
    for line, value, metric in paper_figures().select("line", "value", "metric").iter_rows():
        if metric in ("ece", "auroc"):
            assert f"{value:.3f}" in tex[line - 1]
        elif metric.startswith("kept_"):
            assert re.search(rf"\b{value:.0f}\b", tex[line - 1])


@pytest.mark.parametrize(
    ("table", "change", "complaint"),
    [
        ("main_results", {"datasets": ("hotpotqa", "strategyqa", "nq", "bamboogle", "average")}, "columns"),
        ("llama_noise_only", {"datasets": ("strategyqa", "hotpotqa", "nq", "bamboogle", "average")}, "columns"),
        ("ood_results", {"halves": 1}, "columns"),
    ],
)  # fmt: skip
def test_a_wrong_column_order_is_noticed(proof, monkeypatch, table, change, complaint):
    from dataclasses import replace

    monkeypatch.setitem(proof.SPECS, table, replace(proof.SPECS[table], **change))
    with pytest.raises(proof.MismatchError, match=complaint):
        proof.made()


def cited():
    """Yield the line and the quoted words of every citation in the preset of `build`."""
    text = files("novarag").joinpath("presets", "build", "paper.toml").read_text("utf-8")
    for line in text.splitlines():
        said = line.partition("#")[2]
        for number, words in re.findall(r'L([0-9]{1,4})[^"]{0,80}"([^"]{1,200})"', said):
            yield int(number), words


@pytest.mark.parametrize(("number", "words"), list(cited()))
def test_a_sentence_of_the_preset_stands_on_its_line_of_the_paper(proof, number, words):
    line = (proof.PAPER / "nova.tex").read_text("utf-8").splitlines()[number - 1]
    assert words in re.sub(r"\\(?:textit|textbf|emph)\{([^{}]{0,80})\}", r"\1", line)
