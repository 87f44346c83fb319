"""Tables of the real pandas, pyarrow and Hugging Face datasets."""

import math
import re

import numpy as np
import polars as pl
import pytest

from novarag import Columns, UsageError, figures_frame, measure, read_answers
from tests.support.oracles import need

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("default")]

RNG = np.random.default_rng(5)
COLUMNS = {
    "qid": [f"q{i // 2}" for i in range(200)],
    "p": [None if i % 20 == 0 else round(float(x), 2) for i, x in enumerate(RNG.random(200))],
    "ok": [None if i % 50 == 1 else bool(x) for i, x in enumerate(RNG.integers(0, 2, 200))],
    "model": ["a" if x else "b" for x in RNG.integers(0, 2, 200)],
}
NAMES = {"confidence": "p", "correct": "ok", "question": "qid"}


def take(table, **columns):
    return read_answers(table, columns=Columns(**columns)).table


def in_pandas():
    return need("pandas").DataFrame(COLUMNS)


def in_pandas_of_numpy():
    pd = need("pandas")
    ok = [math.nan if x is None else float(x) for x in COLUMNS["ok"]]
    return pd.DataFrame({**COLUMNS, "ok": ok}).astype({"p": "float64"})


def in_pandas_nullable():
    return in_pandas().convert_dtypes()


def in_pandas_by_index():
    return in_pandas().set_index("qid")


def in_pandas_shuffled():
    return in_pandas().sample(frac=1, random_state=1)


def in_pyarrow():
    return need("pyarrow").table(COLUMNS)


def in_batches():
    return in_pyarrow().to_batches()[0]


def in_datasets():
    return need("datasets").Dataset.from_dict(COLUMNS)


def in_datasets_formatted():
    return in_datasets().with_format("numpy")


def in_datasets_shuffled():
    return in_datasets().shuffle(seed=3)


def in_datasets_streamed():
    return in_datasets().to_iterable_dataset()


@pytest.fixture(scope="module")
def expected():
    return figures_frame(measure(take(pl.DataFrame(COLUMNS), **NAMES), by="model"))


@pytest.mark.parametrize(
    "make",
    [
        in_pandas, in_pandas_of_numpy, in_pandas_nullable, in_pandas_by_index, in_pandas_shuffled,
        in_pyarrow, in_batches, in_datasets, in_datasets_formatted, in_datasets_shuffled,
        in_datasets_streamed,
    ],
)  # fmt: skip
def test_every_library_gives_the_same_figures(make, expected):
    answers = take(make(), **NAMES)
    assert answers["confidence"].null_count() == 10
    assert answers["correct"].null_count() == 4
    found = figures_frame(measure(answers, by="model"))
    for column in ("value", "low", "high"):
        both = pl.DataFrame({"ours": expected[column], "theirs": found[column]}).drop_nulls()
        assert both.height > 50
        assert np.allclose(both["ours"], both["theirs"], equal_nan=True)


def test_chosen_rows_of_a_dataset_are_the_ones_taken():
    chosen = in_datasets().select(range(60, 160))
    assert take(chosen, **NAMES)["question"].to_list() == COLUMNS["qid"][60:160]


def test_a_dataset_of_several_splits_is_refused():
    splits = need("datasets").DatasetDict({"train": in_datasets()})
    with pytest.raises(UsageError, match=r"several tables \(train\)"):
        take(splits, **NAMES)


def test_the_page_on_plug_ins(root, tmp_path, monkeypatch):
    page = (root / "docs/plugins.md").read_text("utf-8")
    (block,) = [
        b
        for b in re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        if "datasets" in b
    ]
    need("datasets")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    rows = pl.DataFrame(COLUMNS).rename({"qid": "question", "p": "confidence", "ok": "correct"})
    rows.write_csv("answers.csv")
    exec(
        compile(
            block.replace("from_csv(", "from_csv(cache_dir='.', path_or_paths="), "page", "exec"
        ),
        {},
    )


def test_figures_go_back_to_pandas(expected):
    need("pandas")
    frame = expected.to_pandas()
    assert frame.set_index(["group", "metric"]).loc[("all", "ece"), "value"] > 0
