"""Ways to come by an answer with a confidence. To add one: write a function, give it a row here.

A method says which replies it needs and is handed those, trial by trial, and nothing else: it
cannot see what another method made of them, nor whether an answer is right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.uncertainty.needs import GREEDY, Need, serving, union
from novarag.uncertainty.sample_agreement import (
    eigen_laplacian,
    ensemble,
    lexical_similarity,
    self_frequency,
)
from novarag.uncertainty.semantic import Equivalence, by_entailment, semantic_entropy
from novarag.uncertainty.stated_confidence import p_true, verbal
from novarag.uncertainty.token_likelihood import likelihood, perplexity
from novarag.uncertainty.unlabelled import perturbation_consistency, retrieval_score

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.records import Flaw, Response


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to come by an answer with a confidence.

    `of` is called with the trials of each need, in the order of `needs`, and returns a response,
    or the flaw that kept it from one. `means` says how the confidence comes about.
    """

    name: str
    title: str
    needs: tuple[Need, ...]
    of: Callable[..., Response | Flaw]
    means: str
    cites: str | None = None

    def beside(self, strategy: str) -> Method:
        """Say its needs in a study of a strategy, whose replies serve it if it names that one."""
        own = (replace(n, strategy=None) if n.strategy == strategy else n for n in self.needs)
        return replace(self, needs=tuple(own))


VERBAL = Method(
    name="verbal",
    title="Verbal",
    needs=(GREEDY,),
    of=verbal,
    means="The confidence that the likeliest reply states.",
)
ENSEMBLE = Method(
    name="ensemble",
    title="Ensemble(3)",
    needs=(Need(samples=3, temperature=0.7),),
    of=ensemble,
    means="Three replies; the answer that most of them give, with the mean of its confidences.",
)

_TEN = Need(samples=10, temperature=1.0)
_TOKENS = Need(logprobs=True)
_VERDICT = Need(follow_up="p-true", logprobs=True, alternatives=20)

SELF_FREQUENCY = Method(
    name="self-frequency",
    title="Self-frequency",
    needs=(_TEN,),
    of=self_frequency,
    means="Ten replies; the answer that most of them give, with its share of the ten.",
    cites="arXiv:2306.13063",
)
LEXICAL_SIMILARITY = Method(
    name="lexical-similarity",
    title="Lexical similarity",
    needs=(GREEDY, _TEN),
    of=lexical_similarity,
    means="Mean ROUGE-L F1 over all pairs of ten sampled answers.",
    cites="arXiv:2302.09664",
)
EIGEN_LAPLACIAN = Method(
    name="eigen-laplacian",
    title="EigValLaplacian",
    needs=(GREEDY, _TEN),
    of=eigen_laplacian,
    means="(N - U) / (N - 1) of N = 10 sampled answers; U, the number of meanings, is the sum of"
    " max(0, 1 - eigenvalue) of the Laplacian of their Jaccard similarities.",
    cites="arXiv:2305.19187",
)
P_TRUE = Method(
    name="p-true",
    title="P(True)",
    needs=(GREEDY, _VERDICT),
    of=p_true,
    means="Asked whether its answer is correct: P(True) / (P(True) + P(False)) of the first token.",
    cites="arXiv:2207.05221",
)
MULTI_STEP = Method(
    name="multi-step",
    title="Multi-step",
    needs=(Need(strategy="multi-step"),),
    of=verbal,
    means="The product of the confidences that the likeliest reply states in each of its steps.",
    cites="arXiv:2306.13063",
)
LIKELIHOOD = Method(
    name="likelihood",
    title="Likelihood",
    needs=(_TOKENS,),
    of=likelihood,
    means="The product of the probabilities of the answer's tokens in the likeliest reply.",
)
PERPLEXITY = Method(
    name="perplexity",
    title="Perplexity",
    needs=(_TOKENS,),
    of=perplexity,
    means="One over the perplexity of the answer's tokens in the likeliest reply: the geometric"
    " mean of their probabilities.",
)
SEMANTIC_ENTROPY = Method(
    name="semantic-entropy",
    title="Semantic entropy",
    needs=(GREEDY, _TEN),
    of=semantic_entropy,
    means="1 - H / log N, where H is the entropy of N = 10 sampled answers over their meanings;"
    " equal normalised words mean the same.",
    cites="arXiv:2302.09664",
)
TOP_K = Method(
    name="top-k",
    title="Top-k",
    needs=(Need(strategy="top-k"),),
    of=verbal,
    means="The confidence of the best of four guesses that the likeliest reply makes.",
    cites="arXiv:2305.14975",
)

METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        VERBAL,
        ENSEMBLE,
        SELF_FREQUENCY,
        LEXICAL_SIMILARITY,
        EIGEN_LAPLACIAN,
        P_TRUE,
        MULTI_STEP,
        LIKELIHOOD,
        PERPLEXITY,
        SEMANTIC_ENTROPY,
        TOP_K,
    )
}
"""Every method by name, in the order reports show them."""

__all__ = [
    "GREEDY",
    "METHODS",
    "Equivalence",
    "Method",
    "Need",
    "by_entailment",
    "eigen_laplacian",
    "ensemble",
    "lexical_similarity",
    "likelihood",
    "p_true",
    "perplexity",
    "perturbation_consistency",
    "retrieval_score",
    "self_frequency",
    "semantic_entropy",
    "serving",
    "union",
    "verbal",
]
