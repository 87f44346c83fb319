"""promptfoo: a Python assertion whose score is the confidence an answer deserves.

A file of yours, `from novarag.integrations.promptfoo import get_assert`, is the value of an
assertion `type: python`, and its `config` has the settings of `Scorer`. The test's `vars` have
`question` and `passages`; where they have a `confidence` (0 to 1), the output is its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novarag.errors import NovaragError
from novarag.integrations.core import ReplyScorer, explained

if TYPE_CHECKING:
    from collections.abc import Mapping


class UnreadReply(NovaragError):  # noqa: N818 - a state of a reply, as tools show it
    """A reply that could not be read, so that there is nothing to measure."""


def get_assert(output: object, context: Mapping[str, Any]) -> dict[str, Any]:
    """Score an output; a gate says whether it passes, and without one the assertion's threshold.

    promptfoo has no result without a score, so a reply that could not be read is raised: it is
    promptfoo's failure of an assertion, with the flaw as its reason and no named score.
    """
    if not isinstance(output, str):
        raise UnreadReply(f"the output is no text but {type(output).__name__}")
    verdict = ReplyScorer(**context.get("config") or {})(
        context["vars"]["question"],
        context["vars"].get("passages"),
        output,
        context["vars"].get("confidence"),
    )
    if verdict["confidence"] is None:
        raise UnreadReply(f"not measured: {verdict['reason']}")
    return {
        "pass": verdict["decision"] != "abstain",
        "score": verdict["confidence"],
        "reason": explained(verdict),
        "namedScores": {"confidence": verdict["confidence"]},
        "metadata": {"novarag": dict(verdict)},
    }
