"""The labelled NOVA benchmark: groups, originals and noise pools, with every flag kept.

The files are not shipped: `NOVARAG_DATA` names the folder that holds `naacl/*.parquet`, and
`public_data` makes them of what was released.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from novarag.answers.opening.open_table import read_table
from novarag.errors import DataError, UnknownNameError
from novarag.prose import say
from novarag.records import AnswerForm, Passage, PassageGroup, Question
from novarag.taxonomy import GroupKind, PassageKind, Provenance, group_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")
DATASETS = {
    "hotpotqa": ("train", "test"),
    "nq": ("test",),
    "strategyqa": ("test",),
    "bamboogle": ("test",),
}
"""The four question sets and their splits."""

POOLS = ("bamboogle", "strategyqa")
HOW_TO_GET = say(
    "set NOVARAG_DATA, or pass `data`, to the folder that holds naacl/*.parquet;"
    " `public_data('nova-benchmark')` says which files these are made of, and makes them."
)
"""What errors say where the released benchmark is not there."""

_SUPPORT = {"gold", "consistent"}
_EMPTY = "placeholder_text"
_NOT_COUNTERFACTUAL = frozenset({"cf_contains_answer_not_claim", "cf_answer_equals_gold"})
_LEAKS = "noise_contains_answer"


def load_benchmark(
    name: str, *, part: str = "test", k: int = 3, data: str | Path | None = None
) -> list[PassageGroup]:
    """Load labelled groups in the order of the source; a question's id is equal across files.

    At k=3 the gold passage of every counterfactual group stands first: shuffle before use.

    Args:
        name: Name of the set of questions: "hotpotqa", "nq", "strategyqa" or "bamboogle".
        part: The split of the set; "train" is there for hotpotqa alone.
        k: The number of passages in a group, 3 or 5.
        data: The folder that holds naacl/; None takes the folder that NOVARAG_DATA names.
    """
    _known(name, part)
    if k not in {3, 5}:
        raise UnknownNameError(f"k={k}", ["k=3", "k=5"])
    return _each(
        f"{name}_{part}_k{k}",
        data,
        lambda row: PassageGroup(
            id=row["id"],
            question=_question(row),
            passages=tuple(_passage(p) for p in row["passages"]),
            flags=tuple(row["flags"]),
        ),
    )


def load_originals(
    name: str, *, part: str = "test", data: str | Path | None = None
) -> list[PassageGroup]:
    """Load the public questions, each with its gold passage alone."""
    _known(name, part)
    return _each(
        f"original_{name}_{part}",
        data,
        lambda row: PassageGroup(
            id=row["id"],
            question=_question(row),
            passages=(_gold(row["gold_passage"]),),
            flags=(*row["flags"], *(["in_prepared"] if row["in_prepared"] else [])),
        ),
    )


def load_pool(
    name: str, *, data: str | Path | None = None
) -> list[tuple[Question, tuple[Passage, ...]]]:
    """Load the generated passages of each question, three of each kind, and its gold passage."""
    if name not in POOLS:
        raise UnknownNameError(name, POOLS)
    return _each(
        f"noise_pool_{name}",
        data,
        lambda row: (_question(row), (_gold(row["gold_passage"]), *map(_passage, row["passages"]))),
    )


def strict_kind(group: PassageGroup) -> GroupKind | None:
    """Name a group by what its passages provably say, where the published label may be wrong.

    A placeholder says nothing, a counterfactual passage that states the gold answer supports it,
    and so does a noise passage that leaks it. `group.kind` is the published label.
    """
    if group.kinds is None:
        return None
    said = (
        _carried(k, frozenset(p.flags)) for p, k in zip(group.passages, group.kinds, strict=True)
    )
    return group_kind(kind for kind in said if kind is not None)


def _carried(kind: PassageKind, flags: frozenset[str]) -> PassageKind | None:
    if _EMPTY in flags:
        return None
    if kind is PassageKind.COUNTERFACTUAL and flags & _NOT_COUNTERFACTUAL:
        return PassageKind.GOLD
    if kind in {PassageKind.RELEVANT, PassageKind.IRRELEVANT} and _LEAKS in flags:
        return PassageKind.GOLD
    return kind


def _known(name: str, split: str) -> None:
    if name not in DATASETS:
        raise UnknownNameError(name, DATASETS)
    if split not in DATASETS[name]:
        raise UnknownNameError(split, DATASETS[name])


def _each(name: str, data: str | Path | None, make: Callable[[dict[str, Any]], _T]) -> list[_T]:
    """Make something of each row of a released file, or raise `DataError` at one that is none."""
    path = _place(name, data)
    made = []
    for number, row in enumerate(read_table(path).to_dicts(), start=1):
        try:
            made.append(make(row))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"this is not a row of the released file ({type(error).__name__}: {error}).",
                hint=say("make it again: `public_data('nova-benchmark')` says how."),
                source=str(path),
                row=number,
            ) from error
    return made


def _place(name: str, data: str | Path | None) -> Path:
    folder = data or os.environ.get("NOVARAG_DATA")
    if not folder:
        raise DataError("nobody said where the benchmark data is.", hint=HOW_TO_GET)
    path = Path(folder) / "naacl" / f"{name}.parquet"
    if not path.is_file():
        raise DataError("there is no such file.", hint=HOW_TO_GET, source=str(path))
    return path


def _question(row: Mapping[str, Any]) -> Question:
    binary = row["question_type"] == "binary"
    return Question(
        id=row["qid"],
        text=row["question"],
        answers=tuple(row["answers"]),
        form=AnswerForm.YES_NO if binary else AnswerForm.OPEN,
    )


def _gold(text: str) -> Passage:
    return Passage(text=text, kind=PassageKind.GOLD, provenance=Provenance.ORIGINAL)


def _passage(cell: Mapping[str, Any]) -> Passage:
    label, meta = cell["label"], cell["meta"]
    return Passage(
        text=cell["text"],
        kind=PassageKind.GOLD if label in _SUPPORT else PassageKind(label),
        claim=meta["counterfactual_answer"] or meta["alternative_expression"],
        provenance=Provenance.ORIGINAL if label == "gold" else Provenance.GENERATED,
        flags=tuple(cell["flags"]),
    )
