"""What retrieved passages really are, beside a known answer: four words, with evidence."""

from novarag.annotation.agreement import Agreement, agree
from novarag.annotation.annotate import LEAST, Annotation, QuotedEvidence, annotate
from novarag.annotation.model import PassageOrigin
from novarag.annotation.profile import PoolProfile, make_profile, settled, with_kinds
from novarag.annotation.votes import Vote, combine, combine_all, read_judge, render_judge

__all__ = [
    "LEAST",
    "Agreement",
    "Annotation",
    "PassageOrigin",
    "PoolProfile",
    "QuotedEvidence",
    "Vote",
    "agree",
    "annotate",
    "combine",
    "combine_all",
    "make_profile",
    "read_judge",
    "render_judge",
    "settled",
    "with_kinds",
]
