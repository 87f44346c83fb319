"""Tables behind statements that were once false, drawn by seed so that they can be made again."""

from __future__ import annotations

import numpy as np
import polars as pl

from novarag.calibration.checked_thresholds import _half

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])


def log_with_unread_rows(
    *,
    read: int = 1206,
    ungraded: int = 180,
    unread_graded: int = 213,
    unread_ungraded: int = 594,
    seed: int = 0,
) -> pl.DataFrame:
    """Draw a log of which people graded a part: unread replies with and without a grade (T1).

    `read` rows are read and graded, `ungraded` read alone; rows come in no order.
    """
    rng = np.random.default_rng(seed)
    rows = read + ungraded + unread_graded + unread_ungraded
    stated = rng.choice(LEVELS, rows)
    right = rng.random(rows) < stated - 0.2
    confidence = [float(value) for value in stated[: read + ungraded]]
    graded = [bool(value) for value in right]
    cells = {
        "question": [f"What does clause {i} of the contract say?" for i in range(rows)],
        "confidence": [*confidence, *[None] * (unread_graded + unread_ungraded)],
        "correct": [
            *graded[:read],
            *[None] * ungraded,
            *[False] * unread_graded,
            *[None] * unread_ungraded,
        ],
    }
    frame = pl.DataFrame(
        cells, schema={"question": pl.String, "confidence": pl.Float64, "correct": pl.Boolean}
    )
    return frame[rng.permutation(rows).tolist()]


def answers_near_a_risk(rows: int = 240, *, wrong: float = 0.03, seed: int = 0) -> pl.DataFrame:
    """Draw answers of which so many are wrong at the top, so that 5 % is on the edge (T8)."""
    rng = np.random.default_rng(seed)
    stated = rng.choice([0.6, 0.8, 0.95], rows, p=[0.2, 0.2, 0.6])
    right = rng.random(rows) < np.where(stated > 0.9, 1 - wrong, stated)
    return pl.DataFrame(
        {"question": [f"q{i}" for i in range(rows)], "confidence": stated, "correct": right}
    )


def misleading_halves(*, each: int = 140, wrong: tuple[int, int] = (6, 33)) -> pl.DataFrame:
    """Make answers that pass at a risk of 20 % where a half chooses, and fail where one checks (T9).

    `wrong` counts the wrong answers of the half that `measure` chooses on, and of the other.
    """
    first = _half(np.arange(2 * each), 0)
    right = np.ones(2 * each, dtype=np.bool_)
    for half, count in zip((first, ~first), wrong, strict=True):
        right[np.flatnonzero(half)[:count]] = False
    return pl.DataFrame(
        {
            "question": [f"q{i}" for i in range(2 * each)],
            "confidence": np.full(2 * each, 0.9),
            "correct": right,
        }
    )


SEGMENTS = {"north": 0.68, "south": 0.66, "east": 0.48, "west": 0.65, "centre": 0.67}
"""How often each of five segments is right; one is planted worst (T2)."""


def answers_by_segment(
    rights: dict[str, float] = SEGMENTS, *, each: int = 160, seed: int = 0
) -> pl.DataFrame:
    """Draw answers of segments that are right so often; confidence says a little of it (T2)."""
    rng = np.random.default_rng(seed)
    segment = np.repeat(list(rights), each)
    right = rng.random(segment.size) < np.repeat(list(rights.values()), each)
    stated = np.clip(rng.choice(LEVELS, segment.size) - 0.1 * ~right, 0, 1).round(2)
    return pl.DataFrame(
        {
            "question": [f"q{i}" for i in range(segment.size)],
            "segment": segment,
            "confidence": stated,
            "correct": right,
        }
    )


MODELS = {"large": 0.92, "medium": 0.85, "small": 0.68}
"""How often three models are right that are pooled in one table (T10)."""


def pooled_models(
    column: str = "Modell",
    rights: dict[str, float] = MODELS,
    *,
    rows: int = 900,
    noise: int = 8,
    seed: int = 0,
) -> pl.DataFrame:
    """Draw answers of models pooled under one column, beside columns that say nothing (T10)."""
    rng = np.random.default_rng(seed)
    model = rng.choice(list(rights), rows)
    right = rng.random(rows) < np.array([rights[name] for name in model])
    return pl.DataFrame(
        {
            "question": [f"q{i}" for i in range(rows)],
            "confidence": rng.choice([0.8, 0.9, 0.95, 1.0], rows),
            "correct": right,
            column: model,
            **{f"noise {i}": rng.integers(0, 2 + i % 8, rows) for i in range(noise)},
        }
    )


def spelt(text: str, copy: int, rng: np.random.Generator) -> str:
    """Spell a question in another way: spaces, case, punctuation, numbering (M6)."""
    ways = (
        lambda: text + " " * (copy + 1),
        lambda: "".join(c.upper() if rng.random() < 0.5 else c.lower() for c in text),
        lambda: text.replace(" ", "  ", 1 + copy % 3).rstrip("?") + "?!."[: copy % 4],
        lambda: f"{copy + 1}. {text}",
        lambda: f"({copy}) {text.upper()} ",
        lambda: f'Q{copy}: "{text}"',
    )
    return ways[rng.integers(len(ways))]()


def hidden_repeats(
    *, questions: int = 30, copies: int = 20, wrong: float = 0.2, seed: int = 0
) -> pl.DataFrame:
    """Draw questions with so many copies each, spelt in other ways and graded alike (M6).

    Every question has a confidence of its own, which says nothing of whether it is right.
    """
    rng = np.random.default_rng(seed)
    right = rng.random(questions) >= wrong
    stated = rng.uniform(0.5, 1, questions).round(2)
    cells = [
        (spelt(f"What does clause {_name(q)} of the contract say?", copy, rng), q)
        for q in range(questions)
        for copy in range(copies)
    ]
    order = rng.permutation(len(cells))
    return pl.DataFrame(
        {
            "question": [cells[i][0] for i in order],
            "confidence": [float(stated[cells[i][1]]) for i in order],
            "correct": [bool(right[cells[i][1]]) for i in order],
        }
    )


def _name(number: int) -> str:
    """Name a clause in letters: numbering is left to the spelling."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")
