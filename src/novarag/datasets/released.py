"""The released files of the NOVA benchmark as tables: groups, public questions, pools of noise.

Nothing is left out and no order is changed. What the files do not say is added: a name for each
row, one for each question that is equal wherever the question is, and the flags of
`nova-flags.json`, which tell passages that do not carry their label.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import sha1
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TEXTS = pl.List(pl.String)
_META = {
    "counterfactual_answer": "Counterfactual Answer",
    "alternative_expression": "Alternative Expression",
    "keywords": "Shared Topic/Keywords",
    "topic": "Topic",
}
_PASSAGE = pl.Struct(
    {
        "id": pl.String,
        "text": pl.String,
        "label": pl.String,
        "meta": pl.Struct(dict.fromkeys(_META, pl.String)),
        "flags": _TEXTS,
    }
)
_QUESTION: dict[str, Any] = {
    "id": pl.String,
    "qid": pl.String,
    "dataset": pl.String,
    "split": pl.String,
    "question": pl.String,
    "answers": _TEXTS,
    "question_type": pl.String,
    "gold_passage": pl.String,
}
GROUPS = _QUESTION | {"k": pl.Int8, "passages": pl.List(_PASSAGE), "flags": _TEXTS}
ORIGINALS = _QUESTION | {"in_prepared": pl.Boolean, "flags": _TEXTS}
POOLS = _QUESTION | {"passages": pl.List(_PASSAGE), "flags": _TEXTS}
_YES_NO = frozenset({"yes", "no"})
# Left out where two spellings of a question are one, as in the released files.
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def convert_groups(
    parts: Mapping[str, bytes], *, name: str, dataset: str, split: str, k: int
) -> pl.DataFrame:
    """Make labelled groups of k passages."""
    (content,) = parts.values()
    own = {"dataset": dataset, "split": split}
    rows = [
        _asked(row, f"{dataset}-{split}-k{k}-{row['id']}", own)
        | {"k": k, "passages": _passages(row, _flags(name, "passages", number))}
        for number, row in enumerate(orjson.loads(content))
    ]
    for number, row in enumerate(rows):
        raised = {flag for passage in row["passages"] for flag in passage["flags"]}
        row["flags"] = [*_flags(name, "rows", number), *(f"passage:{f}" for f in sorted(raised))]
    return pl.DataFrame(rows, schema=GROUPS)


def convert_originals(
    parts: Mapping[str, bytes], *, name: str, dataset: str, split: str
) -> pl.DataFrame:
    """Make public questions with their gold passage; the other files say which were used."""
    content, *others = parts.values()
    used = {row["question"] for part in others for row in orjson.loads(part)}
    own = {"dataset": dataset, "split": split}
    rows = [
        _asked(row, f"{dataset}-{split}-orig-{row['id']}", own)
        | {"in_prepared": row["question"] in used, "flags": _flags(name, "rows", number)}
        for number, row in enumerate(orjson.loads(content))
    ]
    return pl.DataFrame(rows, schema=ORIGINALS)


def convert_pools(
    parts: Mapping[str, bytes], *, name: str, dataset: str, split: str
) -> pl.DataFrame:
    """Make pools: each question with the passages that were generated for it."""
    (content,) = parts.values()
    own = {"dataset": dataset, "split": split}
    rows = [
        _asked(row, f"{dataset}-pool-{row['id']}", own)
        | {
            "passages": _passages(row, _flags(name, "passages", number)),
            "flags": _flags(name, "rows", number),
        }
        for number, row in enumerate(orjson.loads(content))
    ]
    return pl.DataFrame(rows, schema=POOLS)


def question_name(text: str) -> str:
    """Name a question by its words, however they are set.

    >>> question_name("Who wrote the Band's song?") == question_name("who wrote a band song")
    True
    """
    plain = unicodedata.normalize("NFKD", text).lower()
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    plain = re.sub(r"(?<=\d),(?=\d)", "", re.sub("['\u2019]s", "", plain))
    words = _ARTICLES.sub(" ", re.sub(r"[^a-z0-9 ]", " ", plain)).split()
    return sha1(" ".join(words).encode(), usedforsecurity=False).hexdigest()[:12]


def _asked(row: Mapping[str, Any], name: str, own: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": name,
        "qid": question_name(row["question"]),
        **own,
        "question": row["question"],
        "answers": row["gt_answer"],
        "question_type": "binary" if {a.lower() for a in row["gt_answer"]} <= _YES_NO else "open",
        "gold_passage": row["gt_passage"],
    }


def _passages(row: Mapping[str, Any], flags: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"p{number}",
            "text": cell["content"],
            "label": "gold" if cell["type"] == "gt_passage" else cell["type"],
            "meta": {name: cell.get(theirs) for name, theirs in _META.items()},
            "flags": flags.get(str(number), []),
        }
        for number, cell in enumerate(row["passages"])
    ]


@lru_cache(maxsize=1)
def _all_flags() -> dict[str, dict[str, dict[str, Any]]]:
    found = orjson.loads(files("novarag.datasets").joinpath("nova-flags.json").read_bytes())
    names: list[str] = found["flags"]

    def named(numbers: Iterable[int]) -> list[str]:
        return [names[number] for number in numbers]

    return {
        table: {
            "rows": {row: named(numbers) for row, numbers in kept["rows"].items()},
            "passages": {
                row: {place: named(numbers) for place, numbers in cells.items()}
                for row, cells in kept["passages"].items()
            },
        }
        for table, kept in found["tables"].items()
    }


def _flags(table: str, of: str, row: int) -> Any:  # noqa: ANN401 - of a row, or by passage
    return _all_flags()[table][of].get(str(row), [] if of == "rows" else {})
