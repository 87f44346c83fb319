"""Judges of FaithBench held against people: the interval covers, and costs nothing."""

import numpy as np
import polars as pl
import pytest

from novarag.stats.corrected_rate import correct_rate

pytestmark = pytest.mark.data
TIMES = 400


@pytest.mark.parametrize("judge", ["gpt-4o", "gpt-4-turbo", "o1-mini"])
@pytest.mark.parametrize("labelled", [10, 20, 40])
def test_sources_drawn_with_replacement(data, judge, labelled):
    table = pl.read_parquet(data / "claims" / "faithbench_sentences.parquet")
    wrong = (table["worst"] == "unwanted").to_numpy().astype(float)
    marks = (table[judge] < 0.5).to_numpy().astype(float)
    source = table["source_id"].to_numpy()
    rows = [np.flatnonzero(source == name) for name in np.unique(source)]
    rng = np.random.default_rng(37)
    found = []
    for _ in range(TIMES):
        drawn = [rows[at] for at in rng.integers(0, len(rows), len(rows))]
        at = np.concatenate(drawn)
        cluster = np.repeat(np.arange(len(drawn)), [own.size for own in drawn])
        label = np.where(cluster < labelled, wrong[at], np.nan)
        found.append(correct_rate(marks[at], label, cluster))
    covered = np.mean([one.low <= wrong.mean() <= one.high for one in found])
    assert 0.91 <= covered <= 0.98  # 93 to 97 %, and two standard errors of 400 draws
    width = np.mean([one.high - one.low for one in found])
    assert width <= 1.03 * np.mean([one.alone_high - one.alone_low for one in found])
