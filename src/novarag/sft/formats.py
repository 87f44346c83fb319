"""The formats that trainers read. To add one: write a function and add it to the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from novarag.sft.recipe import merge_yaml, train_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from novarag.sft.examples import TrainingExample
    from novarag.sft.export_split import RejectedExample

    File = tuple[str, Iterable[bytes]]

# Legal inside a JSON string, yet many readers take them for the end of a line.
_LINE_ENDS = {
    "\u2028".encode(): rb"\u2028",
    "\u2029".encode(): rb"\u2029",
    "\u0085".encode(): rb"\u0085",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportBundle:
    """What a format writes down: the examples of each split, and what a trainer must know."""

    splits: Mapping[str, Sequence[TrainingExample]]
    base: str | None
    longest: int


def json_line(row: dict[str, Any]) -> bytes:
    """Write a row as JSON that stays one line, whatever its texts hold."""
    line = orjson.dumps(row)
    for raw, escaped in _LINE_ENDS.items():
        line = line.replace(raw, escaped)
    return line


def canonical_row(example: TrainingExample) -> dict[str, Any]:
    """Lay an example out as a conversational prompt and completion, as TRL reads it."""
    written = {} if example.target is None else {"target": example.target}
    return {
        "prompt": [{"role": "user", "content": example.prompt}],
        "completion": [{"role": "assistant", "content": example.completion}],
        "question": example.question,
        "group": example.group,
        "kind": example.kind,
        "confidence": example.confidence,
        "correct": example.correct,
        **written,
    }


def rejected_row(rejected: RejectedExample) -> dict[str, Any]:
    """Lay out an example that was rejected, with its length and the reason."""
    example = rejected.example
    return {"reason": rejected.reason, "tokens": example.tokens, **canonical_row(example)}


def openai_row(example: TrainingExample) -> dict[str, Any]:
    """Lay an example out as messages, as the fine-tuning service of OpenAI reads it."""
    return {
        "messages": [
            {"role": "user", "content": example.prompt},
            {"role": "assistant", "content": example.completion},
        ]
    }


def _sharegpt_row(example: TrainingExample) -> dict[str, Any]:
    return {
        "conversations": [
            {"from": "human", "value": example.prompt},
            {"from": "gpt", "value": example.completion},
        ]
    }


def _alpaca_row(example: TrainingExample) -> dict[str, Any]:
    return {"instruction": example.prompt, "input": "", "output": example.completion}


def lines(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Write rows as lines of JSON."""
    for row in rows:
        yield json_line(row) + b"\n"


def _array(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Write rows as one JSON array, a row a line."""
    lead = b"[\n"
    for row in rows:
        yield lead + json_line(row)
        lead = b",\n"
    yield b"\n]\n" if lead != b"[\n" else b"[]\n"


def _canonical(bundle: ExportBundle) -> Iterator[File]:
    for name, examples in bundle.splits.items():
        yield f"{name}.jsonl", lines(map(canonical_row, examples))


def _openai(bundle: ExportBundle) -> Iterator[File]:
    for name, examples in bundle.splits.items():
        yield f"openai/{name}.jsonl", lines(map(openai_row, examples))


def _llama_factory(bundle: ExportBundle) -> Iterator[File]:
    listed: dict[str, Any] = {}
    for name, examples in bundle.splits.items():
        for shape, row in (("sharegpt", _sharegpt_row), ("alpaca", _alpaca_row)):
            file = f"{shape}_{name}.json"
            listed[f"novarag_{shape}_{name}"] = {"file_name": file, **_COLUMNS[shape]}
            yield f"llama-factory/{file}", _array(map(row, examples))
    content = orjson.dumps(listed, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    yield "llama-factory/dataset_info.json", [content]
    train = train_yaml(
        dataset="novarag_sharegpt_train",
        dev="novarag_sharegpt_dev" if bundle.splits.get("dev") else None,
        base=bundle.base,
        longest=bundle.longest,
    )
    yield "llama-factory/train.yaml", [train.encode()]
    yield "llama-factory/merge.yaml", [merge_yaml(base=bundle.base).encode()]


_COLUMNS: dict[str, dict[str, Any]] = {
    "sharegpt": {
        "formatting": "sharegpt",
        "columns": {"messages": "conversations"},
        "tags": {
            "role_tag": "from",
            "content_tag": "value",
            "user_tag": "human",
            "assistant_tag": "gpt",
        },
    },
    "alpaca": {
        "formatting": "alpaca",
        "columns": {"prompt": "instruction", "query": "input", "response": "output"},
    },
}

FORMATS: dict[str, Callable[[ExportBundle], Iterator[File]]] = {
    "canonical": _canonical,
    "llama-factory": _llama_factory,
    "openai": _openai,
}
"""Every format by name: a function that yields names of files and their content."""
