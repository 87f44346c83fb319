"""The benchmark of the funnel: it runs on today's columns, and its verdicts can fail."""

import math

import pytest

from benchmarks import funnel_speed
from benchmarks.funnel_speed import LIMIT_MB, bare, judge, make_run, replies, slope, stages


def at(size, *, power=1.0, replies_power=1.0, mb=300.0):
    def cost(by, us):
        net = us * size * (size / 1_000_000) ** (by - 1) / 1e6
        return {"net": net, "cpu": net + 0.5, "mb": mb}

    return {"stages": cost(power, 2), "replies": cost(replies_power, 6), "bare": cost(1.0, 1.5)}


def failed(**more):
    sizes = (1_000_000, 10_000_000)
    verdicts = judge({size: at(size, **more) for size in sizes})
    return [words.partition(":")[0] for words, holds in verdicts.items() if not holds]


def test_a_linear_funnel_holds_and_any_other_fails():
    assert failed() == []
    grown = "stages, from 1,000,000 to 10,000,000 the cost grows as size to the power 1.20"
    assert any(words.startswith(grown) for words in failed(power=1.2))
    assert [w.partition(",")[0] for w in failed(replies_power=1.2)] == ["replies of the kept"]
    assert len(failed(power=2.0)) == 3  # seconds, growth, and the ratio to bare Polars
    assert failed(mb=LIMIT_MB + 1) == [
        "stages, peak memory", "replies of the kept, peak memory",
    ]  # fmt: skip


def test_what_is_too_quick_to_measure_is_no_proof():
    assert math.isnan(slope((10, 0.0), (100, 1.0)))
    quick = {size: at(size) for size in (10, 100)}
    quick[10]["stages"]["net"] = -0.1
    assert not all(judge(quick).values())
    assert all(judge({1_000_000: at(1_000_000)}).values())  # one size has no growth


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(funnel_speed, "QUESTIONS", 20)
    monkeypatch.setattr(funnel_speed, "SHARD", 20 * 3 * 16)
    make_run(tmp_path / "run", 1500)
    return tmp_path / "run"


def test_all_that_is_measured_runs_on_the_columns_of_today(run, tmp_path):
    found = stages(run, tmp_path / "out")
    assert found["trials"] == 1500
    assert replies(run, tmp_path / "out")["kept"] == found["kept"] > 30
    assert bare(run, tmp_path / "bare") == found
