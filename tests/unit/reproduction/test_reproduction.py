"""Tables as data: where their groups come from, how they are measured, what the page says."""

import asyncio
from dataclasses import replace

import polars as pl
import pytest

from novarag import DataError, Passage, PassageGroup, Question, UsageError
from novarag.calls import Cost
from novarag.config.grid import (
    DATASETS,
    EXPERIMENTS,
    GridSetting,
    TableGrid,
    TableSystem,
    is_grid,
    load_grid,
)
from novarag.datasets.groups import group_line
from novarag.errors import UnknownNameError
from novarag.flows.reproduce.cells import CellInput, Precision, measure_ablation, measure_grid
from novarag.flows.reproduce.groups import DataScope, make_groups
from novarag.flows.reproduce.page import PageHeader, TableResult, page
from novarag.flows.reproduce.papers import printed, printed_swap, quoted
from novarag.metrics import METRICS
from novarag.metrics.views import RATIOS
from novarag.strategies import STRATEGIES
from novarag.taxonomy import PassageKind
from novarag.uncertainty import METHODS

FEW = Precision(replicates=100, min_rows=10)
PLAIN = GridSetting(groups="released")


def grid(**more):
    told = {"title": "T", "settings": (PLAIN,), "systems": (TableSystem(name="Vanilla"),)}
    return TableGrid(**told | {"datasets": ("nq",)} | more)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_shipped_table_names_what_there_is(name):
    found = load_grid(name)
    for system in found.systems:
        assert system.strategy in STRATEGIES
        assert system.method in METHODS
    assert all(metric in METRICS or metric in RATIOS for metric in found.metrics)
    assert list(found.cells())


def test_equal_groups_have_equal_keys_in_whatever_table():
    assert load_grid("main-k3").settings[0].key == load_grid("accuracy").settings[0].key
    keys = [s.key for s in load_grid("gold-position").settings]
    assert len(set(keys)) == len(keys)
    assert GridSetting(groups="closed-book", k=0).key == "closed-book"
    assert GridSetting(groups="clean", split="train").key == "clean-train-k3"
    assert GridSetting(groups="clean").label == "clean-k3"
    assert GridSetting(groups="file", file="own/five.jsonl").label == "file-five"  # of any size


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tables_are_asked_as_in_the_paper_unless_one_says_otherwise(name):
    found = load_grid(name)
    assert found.ask.max_tokens == 2048  # L159
    asked = [system for system in found.systems if system.method != "verbal"]
    assert {system.strategy for system in asked if system.model == "base"} <= {"cot"}  # L1918
    other = found.asked_by("vanilla")
    for before, after in zip(found.systems, other.systems, strict=True):
        moved = before.method != "verbal" and before.model == "base"
        assert after == (replace(before, strategy="vanilla") if moved else before)


def test_a_table_of_ones_own_may_have_longer_replies(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text("[ask]\nmax_tokens = 9000\n")
    assert load_grid("main-k3", mine).ask.max_tokens == 9000
    mine.write_text("[ask]\nstructured = true\n")
    found = load_grid("main-k3", mine).ask
    assert (found.max_tokens, found.structured) == (2048, True)


def test_raters_see_ten_questions_of_each_set():
    assert load_grid("human-study").datasets == DATASETS  # L1130


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"table": "pie"}, "pie"),
        ({"systems": (TableSystem(name="x", model="other"),)}, "other"),
        ({"systems": (TableSystem(name="x", settings=("nowhere",)),)}, "nowhere"),
        ({"systems": ()}, "at least one"),
        ({"systems": (TableSystem(name="x"), TableSystem(name="x", strategy="cot"))}, "one name"),
        ({"table": "ablation"}, "two systems"),
        ({"metrics": ("rocauc",)}, "rocauc"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(more, problem):
    with pytest.raises((UnknownNameError, UsageError), match=problem):
        grid(**more)


def test_what_is_a_table_and_what_is_not(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('title = "x"\n[[systems]]\nname = "a"\n[[settings]]\ngroups = "file"\n')
    assert is_grid(["main-k3"])
    assert is_grid([str(mine)])
    assert not is_grid(["retrieval-bm25", str(tmp_path / "none.toml")])
    mine.write_text(mine.read_text() + "colour = 3\n")
    with pytest.raises(DataError, match="there is no key"):
        load_grid(str(mine))


# — groups —


def make_file(path, questions=30):
    rows = []
    for i in range(questions):
        question = Question(id=f"q{i}", text=f"Who built bridge {i}?", answers=(f"Ada {i}",))
        for j in range(2):
            passages = (
                Passage(text=f"Ada {i} built it, says {j}.", kind=PassageKind.GOLD),
                Passage(text=f"Rain {i} {j}.", kind=PassageKind.IRRELEVANT),
            )
            rows.append(PassageGroup(question=question, passages=passages, id=f"q{i}/{j}"))
    path.write_bytes(b"".join(map(group_line, rows)))
    return GridSetting(groups="file", file=str(path), k=2)


def made(setting, **where):
    return asyncio.run(make_groups(setting, "nq", DataScope(**where)))


def test_few_questions_are_the_same_few_in_every_setting(tmp_path):
    setting = make_file(tmp_path / "groups.jsonl")
    assert len(made(setting)) == 60
    few = made(setting, questions=7)
    assert len(few) == len({g.question.id for g in few}) == 7
    assert few == made(setting, questions=7)
    more = {g.question.id for g in made(setting, questions=12)}
    assert {g.question.id for g in few} < more
    assert {g.question.id for g in made(setting, questions=7, seed=1)} != {
        g.question.id for g in few
    }


def test_a_set_that_cannot_be_made_says_why():
    for setting, problem in (
        (GridSetting(groups="magic"), "magic"),
        (GridSetting(groups="file"), "file"),
        (GridSetting(groups="retrieved", search="bm25"), "`index`"),
        (GridSetting(groups="mix"), "names its mix"),
    ):
        with pytest.raises((UsageError, UnknownNameError), match=problem):
            made(setting)


# — cells —


def answers(system, *, right, confidence, count=40):
    return pl.DataFrame(
        {
            "question": [f"q{i}" for i in range(count)],
            "group": [f"g{i}" for i in range(count)],
            "confidence": [confidence(i) for i in range(count)],
            "correct": [right(i) for i in range(count)],
        }
    )


def asked(name, table, dataset="nq", setting=PLAIN):
    system = TableSystem(name=name)
    return CellInput(
        setting=setting, dataset=dataset, system=system, table=table, cost=Cost(calls=80)
    )


def test_cells_have_figures_costs_and_an_average_over_all_datasets():
    good = answers("good", right=lambda i: i % 2 == 0, confidence=lambda i: 0.9 - 0.8 * (i % 2))
    told = grid(datasets=("nq", "hotpotqa"), metrics=("ece", "auroc"), paper=("main_results",))
    rows = [asked("Vanilla", good), asked("Vanilla", good, dataset="hotpotqa")]
    found = measure_grid(told, rows, FEW)
    assert [c.dataset for c in found.cells] == ["nq", "hotpotqa", "average", "pooled"]
    assert found.cells[0].floor > 0
    assert 0.2 < found.cells[0].constant < 0.3
    assert found.cells[0].figures["auroc"].value == 1.0
    assert found.cells[0].cost.calls == 80
    assert found.cells[2].rows == 80
    assert dict(found.cells[2].paper["ece"])["Llama-3.1-8B-Instruct"] == 0.411
    alone = measure_grid(told, rows[:1], FEW)
    assert [c.dataset for c in alone.cells] == ["nq"]  # no average over a part of the datasets
    refused = measure_grid(told, rows, Precision(replicates=100, min_rows=50))
    assert "fewer than the 50" in refused.cells[0].refusal
    mixed = [rows[0], asked("Vanilla", good.head(12), dataset="hotpotqa")]
    partly = measure_grid(told, mixed, Precision(replicates=100, min_rows=20)).cells
    assert partly[2].figures == {}  # an average over one of two is none
    assert partly[2].refusal == "hotpotqa has too few rows"
    assert partly[3].dataset == "pooled"


def group_with(i):
    kinds = (
        [PassageKind.GOLD, PassageKind.COUNTERFACTUAL]
        if i % 2
        else [PassageKind.IRRELEVANT, PassageKind.IRRELEVANT]
    )
    question = Question(id=f"q{i}", text="?", answers=("x",))
    passages = tuple(Passage(text=str(j), kind=k) for j, k in enumerate(kinds))
    return PassageGroup(question=question, passages=passages, id=f"g{i}")


def test_the_ablation_swaps_one_set_and_leaves_out_what_failed():
    base = answers("base", right=lambda i: i % 3 == 0, confidence=lambda _: 0.95)
    tuned = answers("tuned", right=lambda i: i % 3 == 0, confidence=lambda i: 0.35)
    told = grid(
        systems=(
            TableSystem(name="Vanilla"),
            TableSystem(name="NOVA", strategy="nova", model="tuned"),
        ),
        metrics=("brier",),
        table="ablation",
    )
    rows = [asked("Vanilla", base), asked("NOVA", tuned.head(39))]
    found = measure_ablation(told, rows, {"nq": [group_with(i) for i in range(40)]}, FEW)
    cells = {c.system: c for c in found.cells if c.dataset == "nq"}
    assert cells["Vanilla"].rows == cells["NOVA"].rows == 39
    value = {name: c.figures["brier"].value for name, c in cells.items()}
    assert value["NOVA"] < value["A \u2192 NOVA"] < value["Vanilla"]
    assert value["B \u2192 NOVA"] == value["Vanilla"]
    assert cells["Vanilla"].cost.calls == 80
    assert cells["A \u2192 NOVA"].cost is None


# — beside the paper —


def test_a_printed_figure_is_found_by_its_setting_and_never_by_another():
    rows = load_grid("gold-position")
    at = {s.name: s for s in rows.settings}
    (cot,) = rows.systems
    first = printed(rows, at["gold + counterfactual, place 1"], cot, "nq", "ece")
    third = printed(rows, at["gold + counterfactual, place 3"], cot, "nq", "ece")
    assert dict(first)["Llama-3.1-8B-Instruct"] != dict(third)["Llama-3.1-8B-Instruct"]
    assert printed(rows, at["gold only"], cot, "nq", "brier") == ()
    sampling = load_grid("sampling")
    values = {
        s.name: dict(printed(sampling, sampling.settings[0], s, "nq", "ece"))
        for s in sampling.systems
    }
    assert values["Base, Self-freq"] != values["NOVA, Self-freq"]
    swaps = load_grid("rules")
    assert printed_swap(swaps, "A conflict -> tuned", "nq", "ece") == ()
    assert len(printed_swap(swaps, "A -> tuned", "nq", "ece")) == 2
    assert any("krippendorff alpha 0.703" in line for line in quoted(["krippendorff_alpha"]))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_table_in_the_papers_wording_asks_by_its_prompts_and_keeps_its_figures(name):
    ours, theirs = load_grid(name), load_grid(name).worded("paper")
    assert ours.worded("own") == ours
    for one, other in zip(ours.systems, theirs.systems, strict=True):
        worded = f"{one.strategy}-paper"
        assert other.strategy == (worded if worded in STRATEGIES else one.strategy)
        assert replace(other, strategy=one.strategy) == one
    for (setting, dataset, one), (_, _, other) in zip(ours.cells(), theirs.cells(), strict=True):
        for metric in ours.metrics:
            shown = printed(ours, setting, one, dataset, metric)
            assert printed(theirs, setting, other, dataset, metric) == shown


def test_a_wording_that_is_none_is_refused():
    with pytest.raises(UnknownNameError, match="papers"):
        load_grid("main-k3").worded("papers")


# — the page —


def test_the_page_shows_both_figures_the_interval_and_how_to_make_it():
    good = answers("good", right=lambda i: i % 2 == 0, confidence=lambda i: 0.9 - 0.8 * (i % 2))
    told = grid(metrics=("ece", "brier"), paper=("main_results",), title="Main", quotes=("raters",))
    cells = measure_grid(told, [asked("Vanilla", good)], FEW).cells
    bare = grid(metrics=(), title="Bare")
    few = measure_grid(told, [asked("Vanilla", good.head(5))], FEW).cells
    text = page(
        [
            TableResult(name="main", grid=told, command="novarag paper reproduce main", cells=cells,
                 pictures={"x.svg": "<svg/>"}),
            TableResult(name="bare", grid=bare, command="novarag paper reproduce bare", lines=["Words."]),
            TableResult(name="few", grid=told, command="novarag paper reproduce few", cells=few),
        ],
        PageHeader(title="Page", banner="**Banner.**", machine="a machine", date="2026-01-01",
             models={"base": "m"}, notes=["A note."]),
    )  # fmt: skip
    assert "**Banner.**" in text
    assert "| [Main](#main) | `novarag paper reproduce main` | ECE, Vanilla, nq | 0.465" in text
    assert "ECE: paper" in text
    assert "Brier: paper" not in text
    assert "![Main](x.svg)" in text
    assert "refused: 5 read and graded rows" in text
    assert "see there" in text
    assert "Words." in text
    assert "raters 4" in text
    assert "(floor 0." in text
    assert "(constant 0.2" in text
    assert "| 2 | " in text  # calls an answer
