"""From a reply to a decision: the one place where what was said becomes what it is worth.

A `Scorer` holds a strategy, and where there are some a calibration, a gate and a policy. It takes
an `Exchange`, a question with its passages and what was said to it, and returns an `Answer`, whose
`to_dict` is the object that the gateway and every adapter hand on. Nothing here asks a model, opens
a file or loads a frame.
"""

from novarag.scoring.answer import Answer, AnswerObject, Exchange, PassageMeta, stated_exchange
from novarag.scoring.policy import Action, Policy
from novarag.scoring.scorer import Scorer

__all__ = [
    "Action",
    "Answer",
    "AnswerObject",
    "Exchange",
    "PassageMeta",
    "Policy",
    "Scorer",
    "stated_exchange",
]
