"""The paper's figures as shipped: what they are named, and what they say of each other."""

import polars as pl
import pytest

from novarag.datasets import DATASETS
from novarag.errors import UnknownNameError
from novarag.presets import paper_figures, paper_tables
from novarag.presets.paper import SCHEMA
from novarag.report.funnel import retention

MODELS = {
    "Llama-3.1-8B-Instruct",
    "Qwen2.5-7B-Instruct",
    "DeepSeek-R1-Distill-Llama-8B",
    "DeepSeek-R1-Distill-Qwen-7B",
}


def value(table, **of):
    found = paper_figures(table).filter(**of)
    assert found.height == 1, found
    return found["value"][0]


def test_every_figure_says_what_it_is():
    figures = paper_figures()
    assert dict(figures.schema) == SCHEMA
    assert figures.select("table", "line", "metric", "value").null_count().sum_horizontal()[0] == 0
    printed = figures.filter(pl.col("table") != "text")
    assert printed.select("model", "dataset").null_count().sum_horizontal()[0] == 0
    assert set(figures["model"].drop_nulls()) == MODELS
    assert set(figures["dataset"].drop_nulls()) == {*DATASETS, "average"}
    assert set(figures["retriever"].drop_nulls()) == {"bm25", "contriever"}
    known = [c for c in SCHEMA if c not in ("line", "value", "note")]
    assert not figures.select(known).is_duplicated().any()
    scores = printed.filter(pl.col("metric").is_in(["ece", "auroc"]))
    assert scores["value"].is_between(0, 1).all()
    assert set(printed["metric"]) - {"ece", "auroc"} == {
        f"kept_{s}"
        for s in ("sampled", "format", "judgment", "rules", "alignment", "common", "balance")
    }


def test_figures_are_found_by_name():
    assert paper_tables()[-1] == "text"
    assert len(paper_tables()) == 16
    main = paper_figures("table:main_results", dataset="average", metric="ece", method="nova")
    assert main["value"].to_list() == [0.266, 0.264, 0.311, 0.344]
    assert paper_figures("main_results", model="Qwen2.5-7B-Instruct").height == 70
    with pytest.raises(UnknownNameError, match="nonsense"):
        paper_figures("nonsense")
    with pytest.raises(UnknownNameError, match="strategyqa"):
        paper_figures(dataset="StrategyQA")


def test_the_column_orders_that_differ():
    assert value("main_results", line=2043, dataset="strategyqa", metric="ece") == 0.285
    assert value("llama_noise_only", line=576, dataset="bamboogle", metric="ece") == 0.822
    right = value("ood_results", line=2164, model="DeepSeek-R1-Distill-Qwen-7B", dataset="bamboogle",
                  metric="auroc")  # fmt: skip
    assert right == 0.626
    left = value("real_rag_contriever_facts_nq_bamboogle", line=2238, model="Qwen2.5-7B-Instruct",
                 metric="ece")  # fmt: skip
    assert left == 0.517
    assert (
        value(
            "model_DeepSeek_R1_Distill_Llama_8B_cot",
            setting="gold+relevant",
            position=2,
            dataset="strategyqa",
            metric="auroc",
        )
        == 0.74
    )


def test_averages_are_those_of_their_columns_but_for_the_known_misprint():
    keys = ["table", "line", "model", "metric"]
    figures = paper_figures().filter(pl.col("metric").is_in(["ece", "auroc"]))
    figures = figures.filter(pl.col("table") != "text")
    of = figures.filter(pl.col("dataset") != "average").group_by(keys).agg(
        mean=pl.col("value").mean()
    )  # fmt: skip
    printed = figures.filter(dataset="average").join(of, on=keys)
    wrong = printed.filter((pl.col("value") - pl.col("mean")).abs() > 0.00101)
    assert printed.height > 400
    assert wrong.select("line", "metric", "value").rows() == [(789, "auroc", 0.717)]
    assert "0.807" in wrong["note"][0]


def test_tables_that_repeat_each_other_agree():
    keys = ["model", "method", "retriever", "dataset", "metric"]

    def by(table):
        return paper_figures(table).select(*keys, "value")

    real = pl.concat([by("real_rag_bm25_facts"), by("real_rag_Contriever_facts")])
    for table in (
        "rag-test-cot-simplified",
        "real_rag_versus_non_real_rag",
        "real_rag_contriever_facts_nq_bamboogle",
    ):
        both = by(table).filter(pl.col("method") != "closed-book").join(real, on=keys, how="left")
        assert (both["value"] == both["value_right"]).all(), table
    swaps = by("naacl-transfer-comparison").filter(pl.col("method") != "swap")
    both = swaps.join(by("main_results"), on=["model", "method", "dataset", "metric"])
    assert both.height == 40
    assert (both["value"] == both["value_right"]).all()


def test_headline_claims_follow_from_the_tables():
    for table, retriever, k, said in (
        ("main_results", None, 3, 0.109),
        ("ood_results", None, 5, 0.08),
        ("real_rag_bm25_facts", "bm25", None, 0.146),
        ("real_rag_Contriever_facts", "contriever", None, 0.191),
    ):
        ece = paper_figures(table, dataset="average", metric="ece")
        drop = ece.filter(method="vanilla")["value"] - ece.filter(method="nova")["value"]
        claim = paper_figures("text", metric="ece_drop").filter(
            pl.col("retriever").eq_missing(retriever) & pl.col("k").eq_missing(k)
        )
        assert claim["value"].to_list() == [said]
        assert drop.mean() == pytest.approx(said, abs=0.001)


def test_the_funnel_report_shows_the_papers_counts_as_whole_numbers():
    assert list(retention()) == ["DS-R1-Llama", "DS-R1-Qwen", "Llama-3.1", "Qwen-2.5"]
    assert retention()["Qwen-2.5"] == (96000, 94898, 31065, 26221, 3609, 2801, 1945)
    assert all(type(count) is int for counts in retention().values() for count in counts)
