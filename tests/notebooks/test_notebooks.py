"""Notebooks run to their end in an empty folder, show tables and pictures, and run no markup."""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import monotonic

import pytest

from tests.conftest import ROOT

NAMES = ("compare-my-method", "log-to-threshold", "nova-pipeline", "rag-with-confidence")
TOGETHER = 360
"""Seconds that all of them may take."""
ONE_CELL = 180
HOSTILE = "<script>alert('markup')</script>"
HARMFUL_TAGS = {"script", "iframe", "object", "embed", "link", "img", "base", "form", "meta"}
pytestmark = pytest.mark.notebooks


def stored(name):
    return json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))


def source(cell):
    return "".join(cell["source"])


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Each notebook as it is after running, with its seconds."""
    if not os.environ.get("CI"):  # where it must be there
        pytest.importorskip("nbclient", reason="pip install --group notebooks")
    return {name: execute(name, tmp_path_factory) for name in NAMES}


def execute(name, folders):
    """Run a notebook in an empty folder, by a kernel that nobody else can talk to."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    home, folder = folders.mktemp("home"), folders.mktemp(name)
    notebook = nbformat.reads(json.dumps(stored(name)), as_version=4)
    nbformat.validate(notebook)
    sockets = Path(mkdtemp())  # a socket's path must be short
    kernel = Config(KernelManager={"transport": "ipc", "ip": str(sockets / "kernel")})
    own = {"MPLBACKEND", "PYTHONPATH", "PYTHONWARNINGS"}
    env = {key: value for key, value in os.environ.items() if key not in own}
    env |= {"HOME": str(home), "IPYTHONDIR": str(home), "MPLCONFIGDIR": str(home)}
    begun = monotonic()
    client = NotebookClient(
        notebook, config=kernel, timeout=ONE_CELL, resources={"metadata": {"path": str(folder)}}
    )
    try:
        client.execute(env=env)
    finally:
        rmtree(sockets)
    return notebook, monotonic() - begun


def outputs(notebook):
    return [out for cell in notebook.cells for out in cell.get("outputs", [])]


def shown(notebook, kind):
    """What a notebook shows of one MIME type."""
    return [out["data"][kind] for out in outputs(notebook) if kind in out.get("data", {})]


class Markup(HTMLParser):
    """The tags of a piece of HTML or SVG that could run or load something."""

    def __init__(self, text):
        super().__init__()
        self.harmful = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        loads = [
            name
            for name, value in attributes
            if name.startswith("on")
            or name in {"src", "srcdoc", "action"}
            or (name.endswith("href") and not (value or "").startswith("#"))
        ]
        self.harmful += [tag] if tag in HARMFUL_TAGS or loads else []


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "<b onclick='a()'>x</b>",
        "<a href='javascript:a()'>x</a>",
        "<img src=x>",
        "<SCRIPT>",
    ],
)
def test_harmful_markup_would_be_found(text):
    assert Markup(f"<div>{text}</div>").harmful


def test_the_notebooks_are_these():
    assert tuple(sorted(path.stem for path in (ROOT / "notebooks").iterdir())) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored_is_small_and_holds_no_outputs(name):
    found = stored(name)
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert (ROOT / "notebooks" / f"{name}.ipynb").stat().st_size < 20_000
    assert set(found["metadata"]) == {"kernelspec", "language_info"}
    ids = [cell["id"] for cell in found["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", one) for one in ids)
    for cell in found["cells"]:
        assert not cell["metadata"]
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_begins_with_what_it_gives_and_for_whom(name):
    first = stored(name)["cells"][0]
    assert first["cell_type"] == "markdown"
    for words in ("\n**What you get:** ", "\n**For whom:** ", "`novarag[plot]`"):
        assert words in source(first)
    assert re.search("simulated|made up", source(first))


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_to_its_end_and_shows_tables_and_pictures(executed, name):
    notebook, _ = executed[name]
    kinds = [(out["output_type"], out.get("name")) for out in outputs(notebook)]
    assert not [kind for kind in kinds if kind[0] == "error"]
    assert ("stream", "stderr") not in kinds
    assert shown(notebook, "text/html")
    assert shown(notebook, "image/png")
    silent = [cell.id for cell in notebook.cells if cell.id.endswith("plot") and not cell.outputs]
    assert not silent


@pytest.mark.parametrize("name", NAMES)
def test_what_it_shows_runs_and_loads_nothing(executed, name):
    notebook, _ = executed[name]
    for text in shown(notebook, "text/html") + shown(notebook, "image/svg+xml"):
        assert "<script" not in text.lower()
        assert not Markup(text).harmful


def test_hostile_names_and_answers_are_shown_letter_by_letter(executed):
    hostile = [name for name in NAMES if HOSTILE in "".join(map(source, stored(name)["cells"]))]
    assert hostile == ["log-to-threshold", "rag-with-confidence"]
    for name in hostile:
        shows = [text for text in shown(executed[name][0], "text/html") if "alert(" in text]
        assert any("&lt;script&gt;alert(" in text for text in shows)


def test_a_rehearsal_says_in_its_outputs_that_it_is_simulated(executed):
    (card,) = shown(executed["nova-pipeline"][0], "text/markdown")
    assert "simulated:base is a simulated respondent" in card.replace("\\", "")


def test_all_of_them_take_six_minutes_at_most(executed, capsys):
    seconds = {name: took for name, (_, took) in executed.items()}
    with capsys.disabled():
        print("", *(f"{name}: {took:.1f} s" for name, took in seconds.items()), sep="\n")
    assert sum(seconds.values()) <= TOGETHER
