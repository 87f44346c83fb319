"""promptfoo: an assertion in Python whose score is the confidence an answer deserves.

`value: file://assertion.py` with `from novarag.integrations.promptfoo import get_assert`. The
variables of a test have the `question` and its `passages` (a list, or texts as JSON); the output is
the reply. `config` of the assertion holds the settings of `Scorer`, such as `gate: gate.json`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson

from novarag.integrations.core import Scorer, explained


def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Grade one output; it passes where the gate, if there is one, lets the answer through.

    promptfoo knows no score that is missing: a reply that could not be read fails, its score is
    the 0 that promptfoo asks of what fails, and `namedScores` has no confidence of it.
    """
    given = context["vars"]
    passages = given.get("passages") or []
    passages = orjson.loads(passages) if isinstance(passages, str) else passages
    score = _scorer(orjson.dumps(context.get("config") or {}))
    told = score(given["question"], passages, output, given.get("confidence"))
    stated = told["confidence"]
    return {
        "pass": told["decision"] != "abstain",
        "score": 0.0 if stated is None else stated,
        "reason": explained(told),
        "namedScores": {} if stated is None else {"novarag_confidence": stated},
        "metadata": {"novarag": dict(told)},
    }


@lru_cache(maxsize=8)
def _scorer(settings: bytes) -> Scorer:
    return Scorer(**orjson.loads(settings))
