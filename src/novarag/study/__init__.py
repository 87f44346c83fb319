"""The human study: blind sheets to rate replies on, ratings read back, and what they say."""

from __future__ import annotations

from novarag.study.analysis import StudyReport, analyse
from novarag.study.ratings import StudyRatings, ratings_text, read_ratings
from novarag.study.rubric import RUBRIC, Criterion, Rubric, read_rubric
from novarag.study.sheet import RatingSheet, SheetKey, draw_places, key_text, make_sheet, read_key
from novarag.study.simulated import simulated_ratings

__all__ = [
    "RUBRIC",
    "Criterion",
    "RatingSheet",
    "Rubric",
    "SheetKey",
    "StudyRatings",
    "StudyReport",
    "analyse",
    "draw_places",
    "key_text",
    "make_sheet",
    "ratings_text",
    "read_key",
    "read_ratings",
    "read_rubric",
    "simulated_ratings",
]
