"""The figures the paper's prose states: what is printed on the line, and what it means.

Differences are NOVA minus vanilla in the direction that is better, as fractions of one (points);
where the paper means a relative change, the metric says so. `p_below` are bounds on p-values.
"""

from __future__ import annotations

LLAMA, QWEN = "Llama-3.1-8B-Instruct", "Qwen2.5-7B-Instruct"
DS_LLAMA, DS_QWEN = "DeepSeek-R1-Distill-Llama-8B", "DeepSeek-R1-Distill-Qwen-7B"
CRITERIA = (
    "detailed and transparent reasoning", "easy to follow",
    "factual correctness without hallucination", "pertinence to the question",
    "readability and conciseness",
)  # fmt: skip
ABOUT = "The paper says approximately."
POINTS = "Absolute: points of ECE."
FIGURE = (
    "Mean over NQ and Bamboogle, against gold-only; of a figure without numbers. No position of"
    " the gold passage in the model_*_cot tables gives this value."
)
BENCHMARK = (
    "The files hold question and group pairs over fewer questions; the half-width is that of"
    " a binomial share."
)


def row(line, metric, value, **of):
    return {"line": line, **of, "metric": metric, "value": value}


NOVA_AVERAGE = {"method": "nova", "dataset": "average"}

TEXT = [
    # the benchmark (table dataset_stats_2)
    *((p, row(line, "questions", n, dataset=d, note=BENCHMARK)) for line, d, p, n in (
        (179, "hotpotqa", "800", 800), (180, "strategyqa", "800", 800), (181, "nq", "800", 800),
        (182, "bamboogle", "150", 150))),
    *((p, row(line, "half_width", float(p), dataset=d, note=BENCHMARK)) for line, d, p in (
        (179, "hotpotqa", "0.0347"), (180, "strategyqa", "0.0347"), (181, "nq", "0.0347"),
        (182, "bamboogle", "0.0800"))),
    # real retrieval
    ("14.6\\%", row(512, "ece_drop", 0.146, retriever="bm25", note=POINTS, **NOVA_AVERAGE)),
    ("19.1\\%", row(512, "ece_drop", 0.191, retriever="contriever", **NOVA_AVERAGE,
        note="Absolute; L2201 states the same table's drop as 39.0 %, relative.")),
    ("39.0\\%", row(2201, "relative_ece_drop", 0.39, retriever="contriever", **NOVA_AVERAGE,
        note="Relative; L512 states the same table's drop as 19.1 points.")),
    ("$0.542$", row(1936, "ece", 0.542, k=3, model=DS_QWEN, method="cot", dataset="average",
        note="Misprint: this figure is in no table; rag-test-cot-simplified prints 0.552 and 0.583.")),
    # accuracy, at the settings of main_results
    *((p, row(533, "accuracy_gain", v, k=3, model=m, note=n, **NOVA_AVERAGE)) for m, p, v, n in (
        (QWEN, "1.20\\%", 0.012, None), (DS_QWEN, "1.67\\%", 0.0167, None),
        (DS_LLAMA, "1.15\\%", 0.0115, None), (LLAMA, "approximately 5\\%", -0.05, ABOUT))),
    # passage judgments
    *((p, row(2259, "judgment_accuracy_gain", v, model=m, method="nova", note=ABOUT))
        for m, p, v in (
            (LLAMA, "approximately 10\\%", 0.10), (QWEN, "approximately 10\\%", 0.10),
            (DS_LLAMA, "about 5\\%", 0.05), (DS_QWEN, "about 5\\%", 0.05))),
    # the human study
    ("4 PhD-level annotators", row(1131, "raters", 4)),
    ("40 queries in total", row(1131, "rated_queries", 40,
        note="The same line says 40 responses; each query shows five.")),
    ("$0.703$", row(1132, "krippendorff_alpha", 0.703)),
    ("$0.610$", row(1132, "mean_pairwise_kappa", 0.61)),
    ("4.56--4.75", row(1135, "lowest_mean_rating", 4.56, method="nova",
        note="Of the five criteria; the paper does not say which.")),
    ("4.56--4.75", row(1135, "highest_mean_rating", 4.75, method="nova",
        note="Of the five criteria; the paper does not say which.")),
    *(("$p < 0.001$", row(1135, "p_below", 0.001, method=m, setting=c,
        note="NOVA against this method, Dunn with Bonferroni."))
        for m in ("vanilla", "cot", "label-only") for c in CRITERIA),
    ("$p < 0.01$", row(1136, "p_below", 0.01, method="noise-aware", setting=CRITERIA[4],
        note="NOVA against this method, Dunn with Bonferroni.")),
    ("$p < 0.05$", row(1136, "p_below", 0.05, method="noise-aware", setting=CRITERIA[1],
        note="NOVA against this method, Dunn with Bonferroni.")),
    # headline claims
    ("10.9\\% in-domain", row(1740, "ece_drop", 0.109, k=3, note=POINTS, **NOVA_AVERAGE)),
    ("8.0\\% out-of-domain", row(1740, "ece_drop", 0.08, k=5, note=POINTS, **NOVA_AVERAGE)),
    # controlled noise, NQ and Bamboogle, against gold-only
    *((p, row(line, metric, float(p[:-2]) / 100, model=m, method="cot", setting=f"gold+{kind}",
        note=FIGURE))
        for line, metric, kind, m, p in (
            (1971, "ece_rise", "counterfactual", LLAMA, "31.6\\%"),
            (1971, "ece_rise", "counterfactual", DS_LLAMA, "35.1\\%"),
            (1971, "auroc_drop", "counterfactual", LLAMA, "9.1\\%"),
            (1971, "auroc_drop", "counterfactual", DS_LLAMA, "16.1\\%"),
            (1980, "auroc_drop", "relevant", LLAMA, "4.6\\%"),
            (1980, "auroc_drop", "relevant", DS_LLAMA, "10.7\\%"),
            (1986, "auroc_drop", "irrelevant", LLAMA, "8.6\\%"),
            (1986, "auroc_drop", "irrelevant", DS_LLAMA, "15.7\\%"))),
]  # fmt: skip
