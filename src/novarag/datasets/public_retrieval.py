"""Public questions with known gold passages, and the corpus they are searched in."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from novarag.datasets.released import question_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TEXTS = pl.List(pl.String)
CORPUS: dict[str, Any] = dict.fromkeys(("id", "title", "text", "source", "url"), pl.String)
QUESTIONS: dict[str, Any] = {
    "qid": pl.String,
    "dataset": pl.String,
    "question": pl.String,
    "answers": _TEXTS,
    "gold_ids": _TEXTS,
    "related_ids": _TEXTS,
    "label_source": pl.String,
    "answerable": pl.Boolean,
    "same_as": _TEXTS,
}
LARGEST = 1 << 28
"""Bytes that a compressed part may unpack to."""


@dataclass(slots=True)
class _SearchSet:
    """A corpus without repeated texts, and questions with the names of their gold passages."""

    passages: dict[str, dict[str, str | None]] = field(default_factory=dict)
    questions: list[dict[str, Any]] = field(default_factory=list)

    def hold(self, name: str, title: str, text: str, source: str) -> str:
        """Put a passage into the corpus; return the name that its text has there."""
        row = {"id": name, "title": title, "text": text, "source": source, "url": None}
        return str(self.passages.setdefault(text, row)["id"])

    def ask(self, name: str, dataset: str, row: dict[str, Any], gold: Iterable[str]) -> None:
        """Add a question."""
        self.questions.append(
            {
                "qid": name,
                "dataset": dataset,
                "question": row["question"],
                "answers": row["answers"],
                "gold_ids": list(dict.fromkeys(gold)),
                "related_ids": [],
                "label_source": row["label_source"],
                "answerable": True,
            }
        )


def convert_corpus(parts: Mapping[str, bytes], *, name: str) -> pl.DataFrame:  # noqa: ARG001
    """Make the corpus: the gold passages of all questions, and passages of other questions."""
    return pl.DataFrame(list(_sets(parts).passages.values()), schema=CORPUS)


def convert_questions(parts: Mapping[str, bytes], *, name: str) -> pl.DataFrame:  # noqa: ARG001
    """Make the questions; those with the same words share their gold passages."""
    rows = _sets(parts).questions
    alike: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault(question_name(row["question"]), []).append(row)
    for same in alike.values():
        gold = list(dict.fromkeys(name for row in same for name in row["gold_ids"]))
        for row in same:
            row["gold_ids"] = gold
            row["same_as"] = [other["qid"] for other in same if other is not row]
    return pl.DataFrame(rows, schema=QUESTIONS)


def _sets(parts: Mapping[str, bytes]) -> _SearchSet:
    """Read NQ-open with its passages, 2WikiMultihopQA's corpus, and NOVA's NQ and HotpotQA."""
    oracle, wiki, *released = parts.values()
    sets = _SearchSet()
    for number, line in enumerate(_unzipped(oracle).splitlines()):
        row = orjson.loads(line) | {"label_source": "human (NQ long answer)"}
        gold = [
            sets.hold(f"nq{number}_{place}", cell["title"], cell["text"], "nq-open-oracle")
            for place, cell in enumerate(row["ctxs"])
        ]
        sets.ask(f"nqo-{number}", "nq-open-oracle", row, gold)
    for dataset, part in zip(("nq", "hotpotqa"), released, strict=True):
        for row in orjson.loads(part):
            source, at = f"naacl-{dataset}-test", row["id"]
            held = sets.hold(f"na-{dataset}-{at}", "", row["gt_passage"], f"{source}-gold")
            known = {"answers": row["gt_answer"], "label_source": "NOVA's gold passage"}
            sets.ask(f"{source}-{at}", source, row | known, [held])
    for number, row in enumerate(orjson.loads(wiki)):
        sets.hold(f"tw{number}", row["title"], row["text"], "2wikimultihopqa-corpus")
    return sets


def _unzipped(content: bytes) -> bytes:
    """Unpack what is compressed, if it is not far larger than anybody would make it."""
    with gzip.open(BytesIO(content)) as file:
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError("it unpacks to far more than it should")
    return text
