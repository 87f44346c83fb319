"""Ratings as raters save them: checked against the key, and taken out of blindness."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from novarag.errors import DataError, UsageError
from novarag.study.sheet import letter
from novarag.texts import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.stats.arrays import Floats
    from novarag.study.sheet import SheetKey

FORMAT = "novarag study ratings 1"
_CUT = 60  # characters of foreign text in an error
_Cells = dict[tuple[int, int, int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRatings:
    """Scores by rater, question, system and criterion; a missing one is NaN.

    `simulated` says that nobody gave them.
    """

    key: SheetKey
    raters: tuple[str, ...]
    scores: Floats
    simulated: bool = False


def read_ratings(key: SheetKey, texts: Mapping[str, str]) -> StudyRatings:
    """Read the files of raters, given as texts by their names; each rater counts once.

    A missing rating is left missing; it is counted when the ratings are analysed.
    """
    if not texts:
        raise UsageError("there are no ratings: give the files that raters saved")
    sources: dict[str, str] = {}
    raters, tables, simulated = [], [], set()
    for source, text in texts.items():
        content = _content(text, key, source)
        rater = _rater(content, source)
        before = sources.setdefault(" ".join(rater.casefold().split()), source)
        if before != source:
            raise DataError(
                f"the rater {rater[:_CUT]!r} is in {before} too.",
                hint="give one file for each rater: the last one saved holds all of it.",
                source=source,
            )
        raters.append(rater)
        tables.append(_table(content["ratings"], key, source))
        simulated.add(content.get("simulated") is True)
    if len(simulated) > 1:
        raise UsageError("some of these ratings are simulated and some are not: read them apart")
    return StudyRatings(
        key=key, raters=tuple(raters), scores=np.stack(tables), simulated=simulated == {True}
    )


def _content(text: str, key: SheetKey, source: str) -> dict[str, Any]:
    try:
        content = parse_json(text)
    except ValueError:
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(
            "these are not ratings.",
            hint="give the files that the sheet's Save button wrote.",
            source=source,
        )
    if content.get("sheet") != key.sheet:
        raise DataError(
            f"these ratings are of the sheet {str(content.get('sheet'))[:_CUT]!r}, and the key is"
            f" that of {key.sheet!r}.",
            hint="give the folder whose sheet.html this rater was sent.",
            source=source,
        )
    if not isinstance(content.get("ratings"), list):
        raise DataError(
            "there is no list of ratings.", hint="ask the rater to save again.", source=source
        )
    return content


def _rater(content: dict[str, Any], source: str) -> str:
    rater = content.get("rater")
    if not isinstance(rater, str) or not rater.strip():
        raise DataError(
            "the rater has no name.", hint="ask for it, and write it into the file.", source=source
        )
    return rater.strip()


def _table(ratings: list[Any], key: SheetKey, source: str) -> Floats:
    criteria = {c.name: i for i, c in enumerate(key.rubric.criteria)}
    letters = {letter(i): i for i in range(len(key.systems))}
    cells: _Cells = {}
    for number, rating in enumerate(ratings, start=1):
        try:
            entry, shown = rating["entry"], letters[rating["reply"]]
            criterion, score = criteria[rating["criterion"]], rating["score"]
        except (KeyError, TypeError):
            entry, shown, criterion, score = None, 0, 0, None
        known = type(entry) is int and 1 <= entry <= len(key.entries)
        if not known or type(score) is not int or not 1 <= score <= key.rubric.points:
            raise DataError(
                "no such question, reply, criterion or score is on the sheet.",
                hint="ask the rater to save again; files are not to be edited by hand.",
                source=source,
                row=number,
            )
        cell = (entry - 1, key.entries[entry - 1].order[shown], criterion)
        if cells.setdefault(cell, score) != score:
            raise DataError(
                "this was rated before, with another score.",
                hint="ask the rater to save again.",
                source=source,
                row=number,
            )
    table = np.full((len(key.entries), len(key.systems), len(criteria)), np.nan)
    for cell, score in cells.items():
        table[cell] = score
    return table


def ratings_text(ratings: StudyRatings, rater: int) -> str:
    """Write one rater's scores as the sheet's Save button does; `read_ratings` reads them back."""
    key = ratings.key
    rows = [
        {"entry": e + 1, "reply": letter(place), "criterion": criterion.name, "score": int(score)}
        for e, hidden in enumerate(key.entries)
        for place, system in enumerate(hidden.order)
        for c, criterion in enumerate(key.rubric.criteria)
        if not np.isnan(score := ratings.scores[rater, e, system, c])
    ]
    content: dict[str, Any] = {"format": FORMAT, "sheet": key.sheet, "rater": ratings.raters[rater]}
    if ratings.simulated:
        content["simulated"] = True
    return json.dumps({**content, "ratings": rows}, indent=1) + "\n"
