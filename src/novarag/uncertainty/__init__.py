"""Ways to come by an answer with a confidence. To add one: write a function, give it a row here.

A method says which replies it needs and is handed those, trial by trial, and nothing else: it
cannot see what another method made of them, nor whether an answer is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.uncertainty.needs import GREEDY, Need, serving, union
from novarag.uncertainty.sampled import ensemble
from novarag.uncertainty.stated import verbal

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

METHODS: dict[str, Method] = {m.name: m for m in (VERBAL, ENSEMBLE)}
"""Every method by name, in the order reports show them."""

__all__ = ["GREEDY", "METHODS", "Method", "Need", "ensemble", "serving", "union", "verbal"]
