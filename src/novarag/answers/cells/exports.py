"""Exports of evaluation tools as flat rows, known by their own fields.

Each names what its columns are called, so that nobody has to say so again; what was taken is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from novarag.answers.cells.shapes import JsonRow, ShapedRows, are_objects, flat
from novarag.texts import parse_json

_INSPECT_GRADES = {"C": "correct", "I": "incorrect"}


def shape_export(value: object) -> ShapedRows | None:
    """Turn an export of a tool into rows; None where it is none that is known."""
    for shape in (_promptfoo, _deepeval, _inspect, _langfuse_scores, _langfuse_traces):
        if found := shape(value):
            return found
    return None


def known_columns(names: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """Know a flat table of a tool by its columns: its name, and what they are called there."""
    for tool, needed, meant in _FLAT:
        if needed <= set(names):
            return tool, {ours: theirs for ours, theirs in meant.items() if theirs in names}
    return "", {}


_FLAT: tuple[tuple[str, frozenset[str], dict[str, str]], ...] = (
    (
        "ragas", frozenset({"user_input", "response"}),
        {"question": "user_input", "answer": "response"},
    ),
    ("promptfoo", frozenset({"Status", "Score", "Grader Reason"}), {"correct": "Status"}),
    ("inspect_ai", frozenset({"sample_id", "eval_id", "epoch"}), {"question": "id"}),
)  # fmt: skip


def _objects(value: object, *places: str) -> list[JsonRow]:
    """Return the list of objects at a place within objects, or the value itself if it is one."""
    for place in places:
        if isinstance(value, dict) and place in value:
            value = value[place]
    return value if isinstance(value, list) and are_objects(value) else []


def _all_have(rows: Iterable[JsonRow], *keys: str) -> bool:
    return all(key in row for row in rows for key in keys)


def _parsed(text: object) -> object:
    """Return the object that a text is in JSON, or the text."""
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return text
    try:
        return parse_json(text)
    except ValueError:
        return text


def _shaped(rows: list[JsonRow], said: str, meant: Mapping[str, Sequence[str]]) -> ShapedRows:
    """Name columns by the first of their places that a row has."""
    there = {name for row in rows for name in row}
    names = {
        ours: next(place for place in places if place in there)
        for ours, places in meant.items()
        if any(place in there for place in places)
    }
    return ShapedRows(rows, said, names)


def _promptfoo(value: object) -> ShapedRows | None:
    found = _objects(value, "results", "results")
    if not found or not _all_have(found, "success", "gradingResult", "vars"):
        return None
    kept = ("success", "score", "vars", "namedScores", "metadata", "provider", "error")
    rows = [flat({k: one[k] for k in kept if k in one} | {"output": _output(one)}) for one in found]
    places = ("namedScores", "metadata", "output", "vars")
    return _shaped(
        rows, "an export of promptfoo",
        {"correct": ["success"], "confidence": [f"{place}.confidence" for place in places],
         "question": ["vars.question", "vars.query", "vars.input"],
         "answer": ["output.answer", "output"]},
    )  # fmt: skip


def _output(one: JsonRow) -> object:
    response = one.get("response")
    return _parsed(response.get("output")) if isinstance(response, dict) else None


def _deepeval(value: object) -> ShapedRows | None:
    found = _objects(value, "testCases") if isinstance(value, dict) else []
    found = found or (_objects(value, "test_results") if isinstance(value, dict) else [])
    if not found or not _all_have(found, "success"):
        return None
    if not any("metricsData" in one or "metrics_data" in one for one in found):
        return None
    rows = [
        flat({k: v for k, v in one.items() if "etrics" not in k} | _metrics(one)) for one in found
    ]
    places = ("metadata", "additionalMetadata", "additional_metadata", "metrics")
    return _shaped(
        rows, "an export of deepeval",
        {"correct": ["success"], "confidence": [f"{place}.confidence" for place in places],
         "question": ["input"], "answer": ["actualOutput", "actual_output"]},
    )  # fmt: skip


def _metrics(case: JsonRow) -> JsonRow:
    data = case.get("metricsData") or case.get("metrics_data") or []
    return {"metrics": {str(one.get("name")): one.get("score") for one in data}}


def _inspect(value: object) -> ShapedRows | None:
    if not isinstance(value, dict) or "eval" not in value:
        return None
    samples = _objects(value, "samples")
    return shape_samples(samples) if _all_have(samples, "id", "epoch") and samples else None


def shape_samples(samples: Sequence[JsonRow]) -> ShapedRows:
    """Turn samples of a log of inspect_ai into rows."""
    rows = [_sample(one) for one in samples]
    stated = sorted({n for row in rows for n in row if n.endswith(".confidence")})
    own = [name.removesuffix(".confidence") for name in stated if name.startswith("scores.")]
    graded = own or sorted({n for row in rows for n in row if n.startswith("scores.")})
    meant = {"question": ["id"], "answer": ["answer"]}
    if len(stated) == 1:
        meant["confidence"] = stated
    if len(graded) == 1:
        meant["correct"] = graded
    return _shaped(rows, "a log of inspect_ai", meant)


def _sample(one: JsonRow) -> JsonRow:
    row: JsonRow = {
        "id": one.get("id"),
        "epoch": one.get("epoch"),
        "input": _text(one.get("input")),
    }
    for name, score in (one.get("scores") or {}).items():
        graded = score.get("value")
        row[f"scores.{name}"] = (
            _INSPECT_GRADES.get(graded, graded) if isinstance(graded, str) else graded
        )
        row.setdefault("answer", score.get("answer"))
        row |= flat(score.get("metadata") or {}, prefix=f"scores.{name}.")
    return row | flat(one.get("metadata") or {}, prefix="metadata.")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _langfuse_scores(value: object) -> ShapedRows | None:
    found = _objects(value, "data")
    if not found or not _all_have(found, "id", "name", "value", "dataType", "source"):
        return None
    traces: dict[str, JsonRow] = {}
    again = 0
    for score in sorted(found, key=lambda one: str(one.get("timestamp") or "")):
        row = traces.setdefault(_subject(score), {"trace": _subject(score)})
        name = str(score["name"])
        again += name in row
        row[name] = _score(score)
    late = f", of {again:,} given again the latest" if again else ""
    said = f"scores of langfuse, {len(found):,} of {len(traces):,} traces{late}"
    return _shaped(list(traces.values()), said, {"question": ["trace"]})


def _subject(score: JsonRow) -> str:
    subject = score.get("subject")
    named = subject.get("traceId") or subject.get("id") if isinstance(subject, dict) else None
    return str(score.get("traceId") or named or score["id"])


def _score(score: JsonRow) -> object:
    if score.get("dataType") == "NUMERIC":
        return score["value"]
    return score.get("stringValue") or score["value"]


def _langfuse_traces(value: object) -> ShapedRows | None:
    found = _objects(value, "data")
    if not found or not _all_have(found, "id", "timestamp", "scores", "output"):
        return None
    rows = [_trace(one) for one in found]
    places = ("scores", "output", "metadata")
    return _shaped(
        rows, "traces of langfuse",
        {"confidence": [f"{place}.confidence" for place in places],
         "question": ["input.question", "input.query", "input", "id"],
         "answer": ["output.answer", "output"]},
    )  # fmt: skip


def _trace(one: JsonRow) -> JsonRow:
    kept: dict[str, Any] = {
        k: one.get(k) for k in ("id", "name", "sessionId", "userId", "metadata")
    }
    kept |= {k: _parsed(one.get(k)) for k in ("input", "output")}
    scores = one.get("scores")
    if isinstance(scores, list):
        kept["scores"] = {
            str(s["name"]): _score(s) for s in scores if isinstance(s, dict) and "name" in s
        }
    elif isinstance(scores, Mapping):
        kept["scores"] = scores
    return flat({name: part for name, part in kept.items() if part not in (None, {})})
