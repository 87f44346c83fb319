"""Small logistic models, asked in turn: does it support, does it deny, is it related?

The weights are fitted on labelled training passages by `tools/annotation_fit.py` and shipped as
JSON. What is expected of the passages matters: passages written for their question (`planted`)
often state another answer, retrieved ones hardly ever do, and words alone cannot tell the two. And
a search finds passages by their words, so sharing words is worth less there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from novarag.annotation.matching import STRONG, MentionKind
from novarag.stats.logistic import LogisticModel
from novarag.taxonomy import PassageKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.annotation.features import AnswerFeatures

KINDS = (
    PassageKind.GOLD,
    PassageKind.COUNTERFACTUAL,
    PassageKind.RELEVANT,
    PassageKind.IRRELEVANT,
)
"""The order of every vector of chances."""

Chances = tuple[float, float, float, float]
CAP = 0.5  # what a mention is worth whose surroundings do not speak of the question
_ENOUGH = 0.4  # share of the question that must stand around an unmistakable answer
_ENOUGH_COMMON = 0.7  # around one that may turn up by chance, or is only half mentioned
_COMMON = 0.65  # rarity under which an answer may turn up by chance


class PassageOrigin(StrEnum):
    """Where passages come from, and so how likely they state another answer."""

    RETRIEVED = "retrieved"
    PLANTED = "planted"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindWeights:
    """The fitted models and the temperature that makes their chances honest."""

    support: LogisticModel
    rival: LogisticModel
    relevance: LogisticModel
    nearness: LogisticModel
    temperature: Mapping[PassageOrigin, float]

    def chances(self, clues: AnswerFeatures, expect: PassageOrigin) -> Chances:
        """Return the chance of each kind."""
        support = _chance(self.support, clues.support_row) if clues.mention is not None else 0.0
        if expect is PassageOrigin.RETRIEVED and not is_in_context(clues):
            support = min(support, CAP)
        planted = expect is PassageOrigin.PLANTED and clues.rival is not None
        rival = _chance(self.rival, clues.rival_row) if planted else 0.0
        related = (
            _chance(self.nearness, clues.nearness_row)
            if expect is PassageOrigin.RETRIEVED
            else _chance(self.relevance, clues.relevance_row)
        )
        rest = (1 - support) * (1 - rival)
        raw = np.array([support, (1 - support) * rival, rest * related, rest * (1 - related)])
        soft = raw ** (1 / self.temperature[expect])
        a, b, c, d = (soft / soft.sum()).tolist()
        return a, b, c, d


def is_in_context(clues: AnswerFeatures) -> bool:
    """Say whether enough of the question stands around a mention to rule out chance."""
    if clues.mention is None or clues.in_question or clues.mention.how is MentionKind.SURNAME:
        return False  # a father has the surname of his son
    sure = clues.mention.how in STRONG and clues.rarity >= _COMMON
    return clues.around >= (_ENOUGH if sure else _ENOUGH_COMMON)


def _chance(model: LogisticModel, row: tuple[float, ...]) -> float:
    return float(model.chances(np.array([row]))[0, 1])


@lru_cache(maxsize=1)
def shipped_weights() -> KindWeights:
    """Load the weights that ship with the package."""
    text = files("novarag.annotation").joinpath("weights.json").read_text("utf-8")
    stored: dict[str, Any] = json.loads(text)
    return KindWeights(
        support=_model(stored["support"]),
        rival=_model(stored["rival"]),
        relevance=_model(stored["relevance"]),
        nearness=_model(stored["nearness"]),
        temperature={PassageOrigin(name): value for name, value in stored["temperature"].items()},
    )


def _model(stored: Mapping[str, Any]) -> LogisticModel:
    parts = {name: np.array(stored[name]) for name in ("mean", "scale", "slopes", "offsets")}
    return LogisticModel(**parts)
