"""Probes: change a question's passages, and hold answers and confidences against each other.

No label is needed. Two different answers to one question cannot both be right, and a confidence
that moves more than the answers do is not about the answers.
"""

from __future__ import annotations

from novarag.probes.card import (
    FEWEST,
    LEVEL,
    ProbeCard,
    RelationFinding,
    RelationVerdict,
    WideRangeCause,
    make_card,
)
from novarag.probes.matching import DEFAULT_RISK, NO_RISK, MatchingRisk, estimate_risk
from novarag.probes.profiles import PROFILES, ProbeProfile, calls_a_question, find_profile
from novarag.probes.proved_excess import ProvedExcess, prove
from novarag.probes.relations import RELATIONS, Relation, RelationBasis, RelationKind
from novarag.probes.replies import ProbeReplies
from novarag.probes.variants import (
    VARIANTS,
    Variant,
    VariantContext,
    VariantNeed,
    contradictions_in,
    find_variant,
    passages_of,
    split_id,
    variant_id,
)

__all__ = [
    "DEFAULT_RISK",
    "FEWEST",
    "LEVEL",
    "NO_RISK",
    "PROFILES",
    "RELATIONS",
    "VARIANTS",
    "MatchingRisk",
    "ProbeCard",
    "ProbeProfile",
    "ProbeReplies",
    "ProvedExcess",
    "Relation",
    "RelationBasis",
    "RelationFinding",
    "RelationKind",
    "RelationVerdict",
    "Variant",
    "VariantContext",
    "VariantNeed",
    "WideRangeCause",
    "calls_a_question",
    "contradictions_in",
    "estimate_risk",
    "find_profile",
    "find_variant",
    "make_card",
    "passages_of",
    "prove",
    "split_id",
    "variant_id",
]
