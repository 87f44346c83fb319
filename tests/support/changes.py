"""Answers before and after a change, of a respondent who boasts by a known share; and a repository."""

from __future__ import annotations

import csv
import os
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from pathlib import Path


def answers(
    n: int = 300, *, boast: float = 0.0, seed: int = 0, unread: int = 0, shuffled: bool = False
) -> pl.DataFrame:
    """Answers whose chances are 0.2, 0.5 and 0.8; a boast of 1 states 100 % for all of them.

    The same seed makes the same questions with the same answers, whatever the boast. `shuffled`
    confidences tell nothing of the answer, `unread` of the first ones are missing.
    """
    rng = np.random.default_rng(seed)
    chance = rng.choice([0.2, 0.5, 0.8], n)
    right = rng.random(n) < chance
    stated = chance + boast * (1 - chance)
    if shuffled:
        stated = rng.permutation(stated)
    return pl.DataFrame(
        {
            "question": [f"q{i}" for i in range(n)],
            "confidence": [None if i < unread else float(c) for i, c in enumerate(stated)],
            "correct": right,
            "state": ["conflicting" if i % 2 else "consistent" for i in range(n)],
        },
        schema_overrides={"confidence": pl.Float64},
    )


def write_table(path: Path, table: pl.DataFrame) -> Path:
    """Write a table as CSV, and return the place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(table.columns)
        rows.writerows(["" if cell is None else cell for cell in row] for row in table.iter_rows())
    return path


def plain_environment() -> dict[str, str]:
    """What git and its hooks do not look into: no settings of the user, none of a hook."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {
        **kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a.example",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a.example",
    }  # fmt: skip


def git(home: Path, *words: str) -> str:
    """Call git in a folder, and return what it prints."""
    done = subprocess.run(
        ["git", *words], cwd=home, env=plain_environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(home: Path, message: str = "a") -> str:
    """Commit all there is, and return the commit."""
    git(home, "add", "-A")
    git(home, "commit", "-qm", message)
    return git(home, "rev-parse", "HEAD")


def repository(home: Path) -> Path:
    """Make an empty repository whose branch is main."""
    home.mkdir(parents=True, exist_ok=True)
    git(home, "init", "-q", "-b", "main")
    return home
