"""Files to call the verbs with: one good of each sort, and odd ones under every ending."""

import gzip
import json
import os
from itertools import cycle
from pathlib import Path

import polars as pl

from novarag.study.grades import grades_text
from tests.support.odd.running import call
from tests.support.served_folder import make_base, make_model

DEEP = "[" * 100_000 + "]" * 100_000
FAIRLY_DEEP = '{"a":' * 300 + "1" + "}" * 300
ENDINGS = (".jsonl", ".csv", ".parquet", ".json", ".toml", ".jsonl.gz", ".csv.gz", ".txt", "")

CONTENTS = {
    "empty": b"",
    "space": b" \n\n\t\n",
    "mark": b"\xef\xbb\xbf",
    "deep": DEEP.encode() + b"\n",
    "fairly-deep": FAIRLY_DEEP.encode() + b"\n",
    "deep-cell": b'{"question": "q", "id": "1", "answers": '
    + DEEP.encode()
    + b', "passages": []}\n',
    "half-character": b'{"question": "\\ud83d", "id": "\\udfff", "text": "\\ud83d", "passages": '
    b'["\\ud83d"], "confidence": 0.5, "correct": true, "answers": ["\\ud83d"]}\n',
    "latin": '{"question": "où", "text": "où"}\n'.encode("latin-1"),
    "utf16": '{"question": "q"}\n'.encode("utf-16"),
    "nul": b"\0" * 64,
    "nul-inside": b'{"question": "a\\u0000b", "text": "a\\u0000b", "passages": ["\\u0000"]}\n',
    "number": b"7\n",
    "list": b"[1, 2]\n",
    "null": b"null\n",
    "cut": b'{"question": "q", "passages": ["a"',
    "huge-number": b'{"question": "q", "confidence": 1' + b"0" * 400 + b', "correct": 1}\n',
    "big-integer": b'{"question": "q", "confidence": 99999999999999999999, "correct": 1, "id": '
    b'99999999999999999999999999999999, "passages": []}\n',
    "too-many-digits": b'{"question": "q", "confidence": ' + b"9" * 5000 + b"}\n",
    "not-a-number": b'{"question": "q", "confidence": NaN, "correct": Infinity, "passages": []}\n',
    "truth": b'{"question": "q", "confidence": true, "correct": true}\n',
    "wrong-types": b'{"question": 7, "id": {}, "passages": {"a": 1}, "answers": {"b": []}, '
    b'"text": [], "confidence": "high", "correct": "perhaps"}\n',
    "mixed": b'{"question": "q", "text": 1, "passages": [1]}\n{"question": ["q"], "text": "t"}\n',
    "twice": b"question,confidence,confidence,correct\nq,0.1,0.9,1\n",
    "ragged": b"question,confidence,correct\nq,0.1\nq,0.2,1,5,6\n",
    "quote": b'question,confidence,correct\n"q,0.1,1\n',
    "toml-dots": b".".join([b"a"] * 5000) + b" = 1\n",
    "toml-deep": b"a = " + DEEP.encode() + b"\n",
    "random": bytes(range(256)) * 8,
    "not-gzip": b"\x1f\x8b\x08\x00broken",
}
"""What odd files hold; each is written under every ending."""

PLACES = (
    "missing/file.jsonl", "folder", "loop", "loop/file.jsonl", "dangling", "x" * 300 + ".jsonl",
    "ünï cödé/日本 🦉.jsonl", "/dev/null", "folder/../answers.csv", "-", "", ".", "good/run/trials",
    "answers.csv/inside.jsonl", "'; drop table", "a\nb.jsonl", "bytes\udcff.jsonl", "../" * 50,
    "s3://", "file:///nowhere/x", "good/run/manifest.json", "link-to-folder",
)  # fmt: skip
"""Odd places to read from."""

OUTS = (
    "answers.csv", "folder", "loop", "loop/inside", "dangling", "/dev/full", "/dev/null/x",
    "x" * 300, "answers.csv/inside", "ünï cödé/日本 🦉", "", ".", "bytes\udcff", "a\nb",
    "s3://", "good/run", "good/filtered", "link-to-folder", "deep/" * 200 + "out",
)  # fmt: skip
"""Odd places to write to."""

PIPELINE = {
    "out": "built",
    "model": {"endpoints": ["simulated:base"], "attempts": 1, "timeout": 1.0},
    "questions": {"file": "pool.jsonl", "limit": 2},
    "groups": {"audit": False},
    "ask": {"samples": 2},
    "export": {"formats": ["canonical"]},
}
EXPERIMENT = {
    "out": "experimented",
    "model": {"endpoints": ["simulated:base"], "attempts": 1, "timeout": 1.0},
    "questions": {"file": "pool.jsonl", "limit": 2},
    "retrieve": {"object": "searching:search"},
    "ask": {"strategies": ["vanilla"]},
    "measure": {"replicates": 100},
}
GRID = {
    "title": "A table",
    "out": "gridded",
    "datasets": ["nq"],
    "replicates": 100,
    "model": {"endpoints": ["simulated:base"], "attempts": 1, "timeout": 1.0},
    "settings": [{"name": "own", "groups": "file", "file": "groups.jsonl", "k": 3}],
    "systems": [{"name": "Vanilla"}],
}
GATEWAY = {
    "upstreams": {"main": {"url": "http://127.0.0.1:9/v1", "timeout": 1.0}},
    "models": {"support": {"upstream": "main", "name": "llama", "policy": {"unread": "abstain"}}},
    "limits": {"deadline": 5.0, "in_flight": 10},
    "texts": {"abstain": "No."},
}
CRITERIA = {
    "criteria": [{"name": "clear", "title": "Clear", "asks": "Is it clear?"}],
    "points": 5, "low": "no", "high": "yes",
}  # fmt: skip

_BENCHMARK = tuple(
    f"{begin}{name}{end}"
    for name in ("strategyqa", "hotpotqa", "nq", "bamboogle")
    for begin, end in (
        ("", "_test_k3"),
        ("", "_test_k5"),
        ("original_", "_test"),
        ("noise_pool_", ""),
    )
)
_SEARCH = 'def search(query, k):\n    return ["The lighthouse was lit in 1871."] * k\n'
_MODEL = ("--model", "simulated:base")


def make_files(home: Path) -> None:
    """Write good and odd files into a folder, which must be the working one."""
    _make_odd(home)
    _make_good(home)


def _make_odd(home: Path) -> None:
    odd = home / "odd"
    odd.mkdir()
    for name, content in CONTENTS.items():
        for ending in ENDINGS:
            packed = gzip.compress(content) if ending.endswith(".gz") else content
            keep = name in {"not-gzip", "empty"}
            (odd / f"{name}{ending}").write_bytes(content if keep else packed)
    for folder in ("folder", "folder-of-odd", "ünï cödé", "nothing"):
        (home / folder).mkdir()
    (home / "folder/foreign.txt").write_text("not ours")
    (home / "loop").symlink_to("loop")
    (home / "dangling").symlink_to("nowhere")
    (home / "link-to-folder").symlink_to("folder")
    (home / "folder-of-odd/deep.jsonl").write_bytes(CONTENTS["deep"])
    Path(os.fsdecode(bytes(home / "folder-of-odd") + b"/bytes\xff.jsonl")).write_bytes(b"{}\n")


def _make_good(home: Path) -> None:
    (home / "searching.py").write_text(_SEARCH)
    (home / "broken.py").write_text("def broken(:\n")
    _good("example", "answers.csv")
    _good("example", "pool.jsonl")
    pool = (home / "pool.jsonl").read_text().splitlines(keepends=True)
    (home / "pool.jsonl").write_text("".join(pool[:24]))
    _good("train", "group", "pool.jsonl", "--out", "audited.jsonl", "--no-audit")
    (home / "pool.jsonl").write_text("".join(pool[:12]))
    _good("train", "group", "pool.jsonl", "--out", "groups.jsonl", "--no-audit")
    _good("ask", "groups.jsonl", *_MODEL, "--out", "good/run", "-n", "2")
    _good("ask", "groups.jsonl", *_MODEL, "--out", "good/other", "-n", "2", "-s", "cot")
    _good("train", "filter", "good/run", "--out", "good/filtered")
    _good("train", "export", "good/filtered", "--out", "good/export")
    _good(
        "paper",
        "study",
        "sheet",
        "good/run",
        "good/other",
        "--out",
        "good/sheet",
        "--questions",
        "2",
    )
    _good("calibrate", "answers.csv", "--out", "good/calibration.json")
    _good(
        "grading", "pick", "answers.csv", "--answer", "system", "--n", "20", "--out", "good/picked"
    )
    _good("retrieval", "annotate", "groups.jsonl", "--out", "good/annotated")
    make_model(_new(home / "good/trained"), make_base(_new(home / "good/base")))
    naacl = _new(home / "data/naacl")
    for name, content in zip(_BENCHMARK, cycle(CONTENTS.values()), strict=False):
        (naacl / f"{name}.parquet").write_bytes(content)
    for number, name in enumerate(_BENCHMARK[::2]):
        frame = pl.DataFrame({"id": ["1"], "question": [None], "flags": [[]]})
        frame.head(number % 2).write_parquet(naacl / f"{name}.parquet")
    (home / "text.txt").write_text("The lighthouse was lit in 1871.")
    (home / "corpus.jsonl").write_text('{"id": "1", "text": "The lighthouse was lit in 1871."}\n')
    (home / "schema.json").write_text('{"type": "object"}')
    (home / "mix.json").write_text('{"consistent": 0.7, "irrelevant": 0.3}')
    (home / "criteria.json").write_text(json.dumps(CRITERIA))
    key = json.loads((home / "good/sheet/key.json").read_text())
    for rater in ("ann", "ben"):
        (home / f"{rater}.json").write_text(json.dumps(_ratings(key, rater)))
    sheet = json.loads((home / "good/picked/picked.json").read_text())["content"]["sheet"]
    (home / "graded.json").write_text(grades_text(sheet, ["right", "wrong"] * 10, rater="Ada"))
    tables = {"pipeline": PIPELINE, "experiment": EXPERIMENT, "grid": GRID, "gateway": GATEWAY}
    for name, table in tables.items():
        (home / f"{name}.toml").write_text(toml_of(table))


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _ratings(key: dict, rater: str) -> dict:
    rows = [
        {"entry": entry, "reply": reply, "criterion": one["name"], "score": 3}
        for entry in range(1, len(key["entries"]) + 1)
        for reply in "AB"
        for one in key["rubric"]["criteria"]
    ]
    told = {"format": "novarag study ratings 1", "sheet": key["sheet"], "rater": rater}
    return {**told, "ratings": rows}


def _good(*words: str) -> None:
    done = call(words, limit=60)
    if done.fault or done.code not in {0, 1}:
        raise AssertionError(f"a good call failed: {words}: {done}")


def toml_of(table: dict) -> str:
    """Write a table of settings as TOML: tables in tables, lists of tables, plain values."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: object) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{k} = {_value(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_value, value)) + "]"
        case Raw():
            return str(value)
        case _:
            return json.dumps(value)


class Raw(str):
    """A value that is TOML already."""
