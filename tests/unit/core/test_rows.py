"""A trial as a row: written once, read back as it was, and declared in one place."""

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import novarag
from novarag import (
    Completion,
    Flaw,
    Grade,
    Judgment,
    Response,
    Trial,
    UsageError,
    Utility,
    tabulate,
    to_pandas,
)
from novarag.examples import EXAMPLE_GROUP
from novarag.rows import GRADED, READ, SAID, TRIALS, from_row, lay_out, parquet_bytes, to_row
from novarag.taxonomy import EvidenceState

SRC = Path(novarag.__file__).parent
GROUP = replace(EXAMPLE_GROUP, id="g")
CAME = Completion(
    text="Answer: 1871", model="m", truncated=True, reasoning="Hm.", tokens=("a", "b"),
    logprobs=(-0.5, -1.25), alternatives=(("True", -0.1), ("False", -2.0)),
)  # fmt: skip
SAYS = Response(
    answer="1871",
    confidence=0.7,
    judgment=Judgment(
        passages=(Utility.HIGHLY_RELEVANT, Utility.IRRELEVANT, Utility.RELEVANT),
        group=EvidenceState.CONFLICTING,
    ),
    rule_step=True,
)
PLAIN = Trial(group=GROUP, strategy="nova", sample=3, completion=CAME, response=SAYS)
TRIALS_SEEN = [
    *(replace(PLAIN, grade=grade) for grade in (None, *Grade)),
    replace(PLAIN, response=None, flaw=Flaw.EMPTY, completion=Completion(text="", model="m")),
    replace(PLAIN, response=None),
    replace(PLAIN, response=Response(answer="", confidence=0.0)),
    replace(PLAIN, response=replace(SAYS, judgment=Judgment(passages=()), rule_step=None)),
    replace(PLAIN, response=replace(SAYS, judgment=Judgment(passages=(), group=None))),
]


@pytest.mark.parametrize("trial", TRIALS_SEEN, ids=range(len(TRIALS_SEEN)))
def test_a_trial_survives_the_disk(trial, tmp_path):
    row = to_row(trial, request="r", prompt_hash="p")
    path = tmp_path / "table.parquet"
    path.write_bytes(parquet_bytes(lay_out([row], TRIALS)))
    table = pl.read_parquet(path)
    assert dict(table.schema) == TRIALS
    assert from_row(GROUP, table.select(*SAID, *GRADED).row(0)) == trial
    assert from_row(GROUP, table.select(SAID).row(0)) == replace(trial, grade=None)


def test_a_table_is_the_first_columns_of_a_row():
    table = tabulate(TRIALS_SEEN)
    assert dict(table.schema) == READ == {name: TRIALS[name] for name in READ}
    assert table.rows() == lay_out([to_row(t) for t in TRIALS_SEEN], TRIALS).select(*READ).rows()
    assert table["passages_judged"].to_list()[:2] == [3, 3]
    assert tabulate([]).schema == table.schema


def _dicts(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            yield {key.value for key in node.keys if isinstance(key, ast.Constant)}


def test_the_schema_of_a_trial_is_declared_in_one_place():
    """A second dict with most of the columns would be a second schema, or a second writer."""
    found = {
        path.relative_to(SRC).as_posix()
        for path in SRC.rglob("*.py")
        for names in _dicts(ast.parse(path.read_text("utf-8")))
        if len(names & READ.keys()) > len(READ) // 2
    }
    assert found == {"rows.py"}


CELLS = pl.DataFrame(
    {
        "text": ["a", None], "flag": [True, None], "known": [True, False], "count": [1, None],
        "place": [1, 2], "share": [0.5, None], "words": [["x"], None],
    },
    schema_overrides={"count": pl.Int16, "place": pl.Int32},
)  # fmt: skip


def test_a_pandas_frame_is_the_one_that_polars_makes_with_pyarrow():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    theirs = CELLS.to_pandas()
    theirs["words"] = [None if row is None else list(row) for row in theirs["words"]]
    pandas.testing.assert_frame_equal(to_pandas(CELLS), theirs)


def test_a_pandas_frame_needs_no_pyarrow():
    pytest.importorskip("pandas")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from novarag import ask, tabulate, to_pandas\n"
        "from novarag.examples import EXAMPLE_GROUP\n"
        "run = ask([EXAMPLE_GROUP], 'nova', 'simulated:base')\n"
        "for frame in (to_pandas(tabulate(run)), to_pandas(run.trials_table())):\n"
        "    print(frame.shape[0], frame['strategy'][0], frame['confidence'].dtype)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "1 nova float64\n" * 2


def test_without_pandas_its_name_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="install pandas"):
        to_pandas(CELLS)
