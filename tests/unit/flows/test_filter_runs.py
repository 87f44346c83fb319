"""Filtering runs: streamed shard by shard it gives what one funnel over everything gives."""

import json
import re
from dataclasses import replace

import polars as pl
import pytest
from typer.testing import CliRunner

from novarag import DataError, StorageError, UsageError, funnel
from novarag.calls import Sampling
from novarag.cli import app
from novarag.filters import STAGES, Options
from novarag.flows.filter_runs import filter_runs
from novarag.flows.harvest import HarvestedTables
from novarag.flows.sources import open_sources
from novarag.noise import NoisePlan
from novarag.report.funnel import funnel_notes, retention, write_funnel_report
from novarag.rows import TRIALS
from novarag.runs import open_run, open_store, read_manifest, write_manifest
from novarag.runs.finished import shard_name, table_name
from novarag.runs.group_table import read_groups, write_groups
from novarag.runs.manifest import groups_name
from tests.support.simulated import finish, simulate, table, write_run

run = CliRunner().invoke
ALPHA = simulate(60, samples=6, models=("alpha",), seed=1)
BETA = simulate(60, samples=6, models=("beta",), seed=2)
WHO = ["model", "question", "group", "sample"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "a", ALPHA, questions=7)
    write_run(folder / "b", BETA, questions=11, sampling=Sampling(regex="x"))
    return folder


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def dropped(folder):
    return pl.concat(pl.read_parquet(p) for p in sorted((folder / "dropped").iterdir()))


@pytest.mark.parametrize(
    "options",
    [
        Options(common=2),
        Options(rules="keyword", balance="none", seed=4),
        Options(alignment="soft", balance="downsample-consistent"),
    ],
    ids=str,
)
def test_a_stream_of_shards_gives_what_the_whole_gives(runs, tmp_path, options):
    done = []
    sources = open_sources([str(runs / "a"), str(runs / "b")])
    found = filter_runs(sources, tmp_path / "out", options, on_event=done.append)
    whole = funnel(table(ALPHA + BETA), options=options)
    kept = pl.read_parquet(tmp_path / "out" / "kept.parquet")
    assert kept.columns == [*TRIALS, "run", "target"]
    assert kept.select(WHO).rows() == whole.kept.select(WHO).rows()
    assert kept["target"].to_list() == whole.kept["target"].to_list()
    assert dict(kept.select("model", "run").unique().rows()) == {"alpha": "a", "beta": "b"}
    lost = dropped(tmp_path / "out")
    assert lost.columns == [
        "run", "question", "group", "kind", "model", "sample", "stage", "reason",
    ]  # fmt: skip
    order = [*WHO, "stage", "reason"]
    assert sorted(lost.select(order).rows()) == sorted(whole.dropped.select(order).rows())
    told = json.loads((tmp_path / "out" / "tally.json").read_bytes())
    assert told == found.summary
    assert told["counts"] == list(whole.tally.counts())
    assert told["reasons"] == list(whole.tally.all_reasons())
    assert told["stages"] == list(STAGES)
    assert [(r["name"], r["structured"], r["trials"]) for r in told["runs"]] == [
        ("a", False, len(ALPHA)),
        ("b", True, len(BETA)),
    ]
    groups = read_groups((tmp_path / "out" / "groups.parquet").read_bytes())
    assert {g.id for g in groups} == set(kept["group"])
    assert len(groups) == found.groups == kept["group"].n_unique()
    assert len(done) >= sum(len(s.finished) for s in sources)
    assert not [p for p in tmp_path.iterdir() if p.name != "out"]


def test_the_layout_of_groups_is_that_of_a_run(runs, tmp_path):
    filter_runs(open_sources([str(runs / "a")]), tmp_path / "out", Options())
    groups = pl.read_parquet(tmp_path / "out" / "groups.parquet")
    assert groups.schema == pl.read_parquet(runs / "a" / groups_name(0)).schema


def test_repeated_it_is_byte_identical_and_replaces_what_was_there(runs, tmp_path):
    arguments = ["train", "filter", str(runs / "a"), str(runs / "b"), "--out"]
    first = run(app, [*arguments, str(tmp_path / "one")])
    assert first.exit_code == 0, first.output
    run(app, [*arguments, str(tmp_path / "two"), "--balance", "none", "--no-common"])
    (tmp_path / "two" / "dropped" / "99999.parquet").write_bytes(b"old")
    (tmp_path / "two" / "mine.txt").write_text("mine", "utf-8")
    refused = run(app, [*arguments, str(tmp_path / "two")])
    assert "such as 'mine.txt'" in str(refused.exception)
    assert (tmp_path / "two" / "mine.txt").read_text("utf-8") == "mine"
    (tmp_path / "two" / "mine.txt").unlink()
    assert run(app, [*arguments, str(tmp_path / "two")]).exit_code == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_the_command_prints_the_tally_beside_the_papers(runs, tmp_path):
    result = run(app, ["train", "filter", str(runs / "b"), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    total = next(line for line in lines if line.startswith("total"))
    assert re.split(r"\s{2,}", total) == [
        "total",
        "1,080",
        "100.0 %",
        "360",
        "360",
        "360",
        "100.0 %",
    ]
    assert [
        line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in STAGES
    ] == list(STAGES)
    assert any(line.startswith("format") and line.endswith("81.5 to 98.9 %") for line in lines)
    assert "- b: all 1,080 replies were held to a format by structured output." in lines
    assert "never a target" in result.stdout
    assert "a passage is misjudged" in result.stdout


def test_the_command_can_leave_judgments_out(runs, tmp_path):
    words = ["train", "filter", str(runs / "b"), "--out", str(tmp_path / "out"), "--unjudged"]
    result = run(app, words)
    assert "Unjudged: replies were held to no judgment of passages" in result.stdout
    assert "misjudged" not in result.stdout
    assert "another response is better aligned" in result.stdout


def test_a_run_that_is_not_finished_is_refused_or_counted(tmp_path):
    write_run(tmp_path / "a", ALPHA, questions=7)
    (tmp_path / "a" / shard_name(2)).unlink()
    with pytest.raises(UsageError, match=r"1 of 9 shards are missing.*`partial_runs`"):
        open_sources([str(tmp_path / "a")])
    result = run(app, ["train", "filter", str(tmp_path / "a"), "--out", str(tmp_path / "o")])
    assert "or add --partial to go without them" in str(result.exception)
    result = run(
        app, ["train", "filter", str(tmp_path / "a"), "--out", str(tmp_path / "o"), "--partial"]
    )
    assert result.exit_code == 0
    assert "a: 1 shards are not finished and not counted" in result.stdout
    told = json.loads((tmp_path / "o" / "tally.json").read_bytes())
    assert told["runs"][0]["missing_shards"] == 1
    assert told["runs"][0]["trials"] == len(ALPHA) - 7 * 3 * 6


def test_a_run_without_a_finished_shard_is_refused(tmp_path):
    write_run(tmp_path / "a", ALPHA, questions=60)
    (tmp_path / "a" / shard_name(0)).unlink()
    with pytest.raises(UsageError, match="no finished shard"):
        open_sources([str(tmp_path / "a")], partial=True)


def test_a_run_on_an_object_store_gives_the_same(runs, tmp_path):
    for place, out in ((str(runs / "a"), "disk"), ((runs / "a").as_uri(), "store")):
        filter_runs(open_sources([place]), tmp_path / out, Options())
    assert contents(tmp_path / "disk") == contents(tmp_path / "store")


def test_a_question_in_two_shards_is_refused(tmp_path):
    write_run(tmp_path / "a", ALPHA, questions=7)
    run = open_run(tmp_path / "a")
    finish(run.store, 8, run.manifest.run, pl.concat([run.table(8), run.table(1).tail(1)]))
    with pytest.raises(StorageError, match="a question is in the shards 1 and 8"):
        filter_runs(open_sources([str(tmp_path / "a")]), tmp_path / "out", Options())
    assert not (tmp_path / "out").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_runs_that_do_not_belong_together_are_refused(runs, tmp_path):
    with pytest.raises(UsageError, match="2 of these runs are of the model 'alpha'"):
        open_sources([str(runs / "a"), str(runs / "a")])
    gamma = simulate(60, samples=6, models=("gamma",), seed=3)
    write_run(tmp_path / "c", gamma, questions=60, asks="Other {}?")
    sources = open_sources([str(runs / "a"), str(tmp_path / "c")])
    with pytest.raises(DataError, match="has other content than in another run"):
        filter_runs(sources, tmp_path / "out", Options())
    (tmp_path / "c" / groups_name(0)).write_bytes(write_groups([]))
    with pytest.raises(StorageError, match=r"groups/00000\.parquet is damaged"):
        filter_runs(sources, tmp_path / "out", Options())


def test_runs_of_one_name_are_told_apart(tmp_path):
    for parent, rows in (("x", ALPHA), ("y", BETA)):
        write_run(tmp_path / parent / "run", rows, questions=60)
    places = [str(tmp_path / parent / "run") for parent in "xy"]
    assert [source.name for source in open_sources(places)] == places


def test_tables_that_are_old_torn_or_gone_are_named(tmp_path):
    write_run(tmp_path / "a", ALPHA, questions=60)
    path = tmp_path / "a" / table_name("trials", 0)
    whole = path.read_bytes()
    sources = open_sources([str(tmp_path / "a")])
    old = sources[0].table(0).drop("rule_step")
    finish(sources[0].store, 0, sources[0].manifest.run, old)
    with pytest.raises(UsageError, match=r"`reread\("):
        filter_runs(sources, tmp_path / "out", Options())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StorageError, match="damaged"):
        filter_runs(sources, tmp_path / "out", Options())
    path.unlink()
    with pytest.raises(StorageError, match="missing"):
        filter_runs(sources, tmp_path / "out", Options())


def test_a_folder_with_other_things_is_left_alone(runs, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("x", "utf-8")
    sources = open_sources([str(runs / "a")])
    with pytest.raises(UsageError, match="other files"):
        filter_runs(sources, tmp_path / "out", Options())
    with pytest.raises(UsageError, match="is a file"):
        filter_runs(sources, tmp_path / "out" / "thesis.txt", Options())


def test_nothing_kept_is_a_result_too(tmp_path):
    rows = [row | {"flaw": "no answer found"} for row in ALPHA]
    write_run(tmp_path / "a", rows, questions=60)
    result = run(app, ["train", "filter", str(tmp_path / "a"), "--out", str(tmp_path / "out")])
    assert result.exit_code == 1, result.output
    assert "alpha: 0 of 1,080 trials are kept (0.0 %)." in result.stdout
    assert "nothing is kept" in result.stderr
    kept = pl.read_parquet(tmp_path / "out" / "kept.parquet")
    assert kept.schema == pl.Schema({**TRIALS, "run": pl.String, "target": pl.Float64})
    assert read_groups((tmp_path / "out" / "groups.parquet").read_bytes()) == []


# — the report —


HOSTILE = '<script>alert(1)</script>"|`x`'


def hostile():
    row = {"model": HOSTILE, "kind": None, "stage": "total", "kept": 10}
    reason = {"model": HOSTILE, "stage": "format", "reason": HOSTILE, "count": 4}
    return {
        "stages": list(STAGES),
        "settings": {"rules": "stated", "alignment": "brier", "balance": "uniform", "common": 1, "seed": 0},
        "runs": [
            {"name": HOSTILE, "run": "f", "model": HOSTILE, "strategy": HOSTILE, "trials": 10,
             "structured": False, "missing_shards": 0, "dead_requests": 3}
        ],
        "counts": [row, row | {"kind": "consistent", "kept": 6}, row | {"kind": "irrelevant", "kept": 4}],
        "reasons": [reason | {"kind": None}, reason | {"kind": "irrelevant"}],
    }  # fmt: skip


def test_foreign_texts_mean_nothing_in_the_report(tmp_path):
    write_funnel_report(hostile(), tmp_path, version="1")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<script" not in (tmp_path / "funnel-1.svg").read_text("utf-8")
    lines = (tmp_path / "report.md").read_text("utf-8")
    assert "<script" not in lines
    assert "`x`" not in lines.replace("\\`", "")


def test_the_notes_say_what_one_should_know():
    notes = funnel_notes(hostile())
    assert f"{HOSTILE}: of the kind irrelevant nothing is left to balance." in notes
    assert f"{HOSTILE}: 3 requests failed and brought no trial." in notes
    assert "No reply was held to the format by structured output." in notes


def test_the_paper_table_is_as_printed():
    assert {len(counts) for counts in retention().values()} == {1 + len(STAGES)}
    assert sum(counts[1] for counts in retention().values()) == 347022
    assert all(list(c) == sorted(c, reverse=True) for c in retention().values())


def test_a_kill_while_putting_in_place_leaves_the_old_result(runs, tmp_path, monkeypatch):
    sources, out = open_sources([str(runs / "a")]), tmp_path / "out"
    filter_runs(sources, out, Options())
    before = contents(out)

    def fail(_summary, folder):
        (folder / "report.html").write_text("half", "utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filter_runs(sources, out, Options(balance="none"), finish=fail)
    assert contents(out) == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_passage_with_odd_line_ends_stops_nobody(runs, tmp_path):
    groups = pl.read_parquet(runs / "a" / groups_name(0))
    harvest = HarvestedTables(open_sources([str(runs / "a"), str(runs / "b")]), tmp_path)
    odd = groups.with_columns(question=pl.lit("one\u2028two\x85three"))
    assert harvest._new(odd, harvest.sources[0]).height == groups.height
    assert harvest._new(odd.clear(), harvest.sources[0]).height == 0


def test_a_run_of_noise_is_not_filtered(tmp_path):
    write_run(tmp_path / "a", ALPHA[:16], questions=60)
    store = open_store(tmp_path / "a")
    manifest = read_manifest(store)
    settings = replace(manifest.settings, noise=NoisePlan())
    write_manifest(store, replace(manifest, settings=settings))
    with pytest.raises(UsageError, match="is a run of noise"):
        open_sources([str(tmp_path / "a")], partial=True)


def test_the_released_flags_reach_the_runs_and_are_written_down(runs, tmp_path):
    found = run(app, [
        "train", "filter", str(runs / "a"), str(runs / "b"), "--tolerate-mismatch", "--drop-longest", "0.05",
        "--out", str(tmp_path / "kept"),
    ])  # fmt: skip
    assert found.exit_code == 0, found.output
    tally = json.loads((tmp_path / "kept" / "tally.json").read_text("utf-8"))
    assert tally["settings"]["tolerate_mismatch"] is True
    assert tally["settings"]["drop_longest"] == 0.05
    assert any(
        row["reason"] == "among the longest replies of its group" for row in tally["reasons"]
    )
    plain = run(
        app, ["train", "filter", str(runs / "a"), str(runs / "b"), "--out", str(tmp_path / "plain")]
    )
    assert plain.exit_code == 0
    strict = json.loads((tmp_path / "plain" / "tally.json").read_text("utf-8"))
    assert "drop_longest" not in strict["settings"]
    misjudged = [
        sum(
            r["count"]
            for r in t["reasons"]
            if r["reason"] == "a passage is misjudged" and r["kind"] is None
        )
        for t in (strict, tally)
    ]
    assert misjudged[0] > misjudged[1] > 0
