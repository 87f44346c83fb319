"""What retrieved passages really are, beside a known answer: four words, with evidence."""

from novarag.annotation.agreement import Agreement, agree
from novarag.annotation.judging import Vote, combine, combine_all, read_judge, render_judge
from novarag.annotation.model import Expect
from novarag.annotation.profile import Profile, make_profile, settled, with_kinds
from novarag.annotation.verdicts import LEAST, Annotation, Evidence, annotate

__all__ = [
    "LEAST",
    "Agreement",
    "Annotation",
    "Evidence",
    "Expect",
    "Profile",
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
