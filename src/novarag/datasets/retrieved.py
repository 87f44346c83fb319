"""Questions with known gold passages in a corpus: what groups from real retrieval are made of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novarag.answers.opening.gold import form_of
from novarag.answers.opening.open_table import read_table
from novarag.errors import DataError
from novarag.grading import normalize
from novarag.prose import say
from novarag.records import Question
from novarag.seeding import rng_for

if TYPE_CHECKING:
    from polars import DataFrame

RETRIEVED_SPLITS = ("train", "dev", "test")
_LEARNT = frozenset({"nq-open-oracle", "hotpotqa-dev500"})
_TESTED = frozenset({"naacl-nq-test", "naacl-hotpotqa-test"})
_DEV = 0.15  # share of the questions outside the test sets that tune, as in `clean`


def corpus_file(data: str | Path | None = None) -> Path:
    """Name the file with the corpus, which must be there."""
    return _file("corpus", data)


def corpus_texts(data: str | Path | None = None) -> dict[str, str]:
    """Read the text of every passage of the corpus, without its title, by its name."""
    table = read_table(corpus_file(data))
    return dict(table.select("id", "text").iter_rows())


def retrieved_questions(
    data: str | Path | None = None,
) -> dict[str, list[tuple[Question, tuple[str, ...]]]]:
    """Return each split's questions with the names of their gold passages.

    The test questions are those of the released benchmark; train and dev know none of them, by
    name or by words.
    """
    rows = read_table(_file("questions", data)).sort("qid")
    found: dict[str, list[tuple[Question, tuple[str, ...]]]] = {s: [] for s in RETRIEVED_SPLITS}
    known, tested = set[str](), _names(rows)
    for dataset in (_TESTED, _LEARNT):
        for row in rows.iter_rows(named=True):
            words = normalize(row["question"])
            if row["dataset"] not in dataset or not row["gold_ids"] or words in known:
                continue
            if dataset is _LEARNT and tested.intersection(row["same_as"]):
                continue
            known.add(words)
            found[_split(row)].append((_question(row), tuple(row["gold_ids"])))
    return found


def _names(rows: DataFrame) -> frozenset[str]:
    """Name the questions of the tests."""
    tested = rows.filter(rows["dataset"].is_in(sorted(_TESTED)))
    return frozenset(tested["qid"].to_list())


def _split(row: dict[str, Any]) -> str:
    if row["dataset"] in _TESTED:
        return "test"
    return "dev" if rng_for(0, row["qid"], "split").random() < _DEV else "train"


def _question(row: dict[str, Any]) -> Question:
    answers = tuple(row["answers"])
    return Question(id=row["qid"], text=row["question"], answers=answers, form=form_of(answers))


def _file(name: str, data: str | Path | None) -> Path:
    folder = Path(data or os.environ.get("NOVARAG_DATA") or "")
    path = folder / "retrieval" / f"{name}.parquet"
    if not path.is_file():
        raise DataError(
            "the questions and the corpus of real retrieval are not there.",
            hint=say(
                "set NOVARAG_DATA, or pass `data`, to the folder with retrieval/*.parquet;"
                " `public_data('retrieval')` says which files these are made of, and makes"
                " them."
            ),
            source=str(path),
        )
    return path
