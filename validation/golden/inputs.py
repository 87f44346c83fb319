"""The small inputs of every command: questions, corpora, settings, replies, a trained folder.

They are written here and not by either install, so that both begin with the same bytes.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS = 24


def write_inputs(place: Path, server: str) -> None:
    """Write every input file; `server` is the address of the chaos server."""
    place.mkdir(parents=True)
    for name, text in {
        "groups.jsonl": lines(_groups()),
        "plain.jsonl": lines(_plain()),
        "one.json": json.dumps(_groups()[0]),
        "groups.csv": _GROUPS_CSV,
        "questions.jsonl": lines(_questions()),
        "ask.jsonl": lines(_asked()),
        "corpus.jsonl": lines(_corpus()),
        "released.jsonl": lines(_retrieved()),
        "percent.csv": _PERCENT,
        "gold.jsonl": lines(_gold_rows()),
        "replies.jsonl": lines(_reply_rows()),
        "guesses.csv": _GUESSES,
        "own.py": _OWN,
        "form.json": '{"type": "object", "properties": {"answer": {"type": "string"}}}',
        "passage.txt": "The Brent Rock lighthouse was lit on 3 May 1871.\n",
        "passages.jsonl": lines([{"text": "It was lit in 1884."}, {"text": "Bread rises."}]),
        "criteria.toml": 'points = 7\n[[criteria]]\nname = "fun"\ntitle = "Fun"\nasks = "Fun?"\n',
        "table.toml": _TABLE,
        "rules.toml": _RULES,
        "kept.toml": _KEPT,
        "study.toml": _STUDY,
        "judgments.toml": _JUDGMENTS,
        "broken.toml": "[ask]\nsample = 3\n",
        "bm25.toml": _BM25,
        "own.toml": _OWN_SEARCH,
        "build.toml": _BUILD.replace("SERVER", server),
        "build-simulated.toml": _BUILD_SIMULATED,
        "build-paper.toml": _BUILD_PAPER.replace("SERVER", server),
    }.items():
        (place / name).write_text(text, "utf-8")


def lines(rows: list[dict[str, object]]) -> str:
    """Lay rows out as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def first_lines(source: str, target: str, count: int):
    """Return what copies the first lines of a file of the work folder to another."""

    def copy(work: Path) -> None:
        held = (work / source).read_text("utf-8").splitlines(keepends=True)
        (work / target).write_text("".join(held[:count]), "utf-8")

    return copy


def losing(*names: str):
    """Return what deletes files of the work folder, as a bad disk would."""

    def lose(work: Path) -> None:
        for name in names:
            (work / name).unlink()

    return lose


def copying(source: str, target: str):
    """Return what copies a folder of the work folder."""
    return lambda work: shutil.copytree(work / source, work / target)


def spoiling(name: str, at: int = 40):
    """Return what flips a byte of a file."""

    def spoil(work: Path) -> None:
        content = bytearray((work / name).read_bytes())
        content[at] ^= 1
        (work / name).write_bytes(content)

    return spoil


def after(*steps):
    """Return what takes several steps, one after the other."""

    def walk(work: Path) -> None:
        for step in steps:
            step(work)

    return walk


def rated(folder: str, *raters: str, missing: bool = False):
    """Return what writes the ratings of some raters, by the key of a sheet."""

    def rate(work: Path) -> None:
        key = json.loads((work / folder / "key.json").read_text("utf-8"))
        for number, rater in enumerate(raters):
            rows = [
                {"entry": e + 1, "reply": "ABCDEF"[at], "criterion": criterion["name"],
                 "score": 1 + (3 * system + e * (number + 1) + c) % key["rubric"]["points"]}
                for e, entry in enumerate(key["entries"])
                for at, system in enumerate(entry["order"])
                for c, criterion in enumerate(key["rubric"]["criteria"])
                if not (missing and (e + at + c + number) % 7 == 0)
            ]  # fmt: skip
            sheet = {"format": "novarag study ratings 1", "sheet": key["sheet"], "rater": rater}
            (work / f"{rater}.json").write_text(json.dumps(sheet | {"ratings": rows}), "utf-8")

    return rate


def _groups() -> list[dict[str, object]]:
    rows = []
    for i in range(QUESTIONS):
        gold = {"text": f"Bridge {i} was built by Ada Bridger{i}.", "kind": "gold"}
        false = {"text": f"Bridge {i} was built by Bo Other{i}.", "kind": "counterfactual",
                 "claim": f"Bo Other{i}"}  # fmt: skip
        near = {"text": f"Bridge {i} has {i + 2} arches, and is red.", "kind": "relevant"}
        far = {"text": f"It rained on day {i}: «ça alors», said the baker.", "kind": "irrelevant"}
        shown = ([gold, false, far], [near, gold, far], [far, near, far])[i % 3]
        rows.append({"id": f"q{i}", "question": f"Who built bridge {i}?",
                     "answers": [f"Ada Bridger{i}", "Bridger"][: 1 + i % 2],
                     "passages": shown})  # fmt: skip
    rows[5] |= {"question": "Is bridge 5 of stone?", "answers": ["yes"]}
    return rows


def _plain() -> list[dict[str, object]]:
    """Rows without kinds, one without answers, one of them twice."""
    rows: list[dict[str, object]] = [
        {"id": f"p{i}", "question": f"When was lighthouse {i} lit?", "answers": ["1871", "1899"],
         "passages": [f"It was lit in {1850 + i}.", "Bread.", "Salt."]}
        for i in range(20)
    ]  # fmt: skip
    rows[7].pop("answers")
    return [*rows, rows[3]]


def _questions() -> list[dict[str, object]]:
    return [
        {"id": f"q{i}", "question": f"Who built lighthouse{i} of Cape{i}?",
         "answers": [f"Builder{i}"],
         "passages": [{"text": f"Lighthouse{i} was built by Builder{i}, who came from far away.",
                       "kind": "gold", "provenance": "original"}]}
        for i in range(20)
    ]  # fmt: skip


def _corpus() -> list[dict[str, object]]:
    return [
        {"id": f"d{i}", "title": f"Cape{i}", "text": f"Lighthouse{i} was built by Builder{i}. "
         + f"It stands {i} miles from the town, and {'old' if i % 2 else 'new'} ships pass. " * 9}
        for i in range(30)
    ]  # fmt: skip


def _asked() -> list[dict[str, object]]:
    return [
        {"id": f"q{i}", "question": f"Who built lighthouse{i}?", "answers": [f"Builder{i}"]}
        for i in range(12)
    ]


def _retrieved() -> list[dict[str, object]]:
    """Groups as a search finds them: no kinds, some passages that state another answer."""
    rows = []
    for i in range(16):
        said = f"Builder{i}" if i % 3 else f"Mason{i}"
        rows.append({"id": f"r{i}", "question": f"Who built the lighthouse of Cape Nord {i}?",
                     "answers": [f"Builder{i}"],
                     "passages": [f"The lighthouse of Cape Nord {i} was built by {said} in 1871.",
                                  f"Cape Nord {i} has a lighthouse, which many visit.",
                                  "Sourdough bread rises slowly."]})  # fmt: skip
    return rows


_GROUPS_CSV = "question,answers,passage_1,passage_2\n" + "".join(
    f"Who built tower {i}?,Cy Tower{i},Tower {i} is Cy Tower{i}'s work.,It snowed.\n"
    for i in range(6)
)
_PERCENT = "question,system,confidence,right\n" + "".join(
    f"q{i},{('one', 'two')[i % 2]},{-1 if i % 11 == 5 else (37 * i) % 101},{int(i % 3 > 0)}\n"
    for i in range(90)
)
_GUESSES = "question,said,truth\n" + "".join(
    f'q{i},"Guess: Paris{i % 4}\nProbability: 0.{i % 10}5",Paris{i % 3}\n' for i in range(40)
)


def _gold_rows() -> list[dict[str, object]]:
    return [
        {"question": f"q{i}", "confidence": (17 * i % 21) / 20 if i % 9 else None,
         "answer": ("the Ada Bridger.", "Bo", "I do not know")[i % 3],
         "accepted": ["Ada Bridger", "A. Bridger"], "model": f"m{i % 2}"}
        for i in range(60)
    ]  # fmt: skip


def _reply_rows() -> list[dict[str, object]]:
    return [
        {"question": f"q{i}", "accepted": [f"{1800 + i % 5}"], "kind": ("a", "b")[i % 2],
         "text": f"Step 1: x.\nAnswer: {1800 + i % 7}\nConfidence: {i * 13 % 101}%"
         if i % 8 else "I am not sure."}
        for i in range(60)
    ]  # fmt: skip


_OWN = '''"""What a user may hand in: a search, a model of entailment."""


def search(query, k):
    words = query.split()
    return [{"id": f"{query}-{i}", "text": f"{words[-1]} {i}: Builder{i}"} for i in range(k)]


def weigh(pairs):
    return [((len(p) % 7 + 1) / 10, 0.2, 0.8 - (len(p) % 7 + 1) / 10) for p, _ in pairs]


def raises(query, k):
    raise RuntimeError("no luck")
'''

_ENDPOINT = '[model]\nendpoints = ["simulated:base"]\n'
_TABLE = f"""
title = "Mine"
metrics = ["brier", "accuracy"]
datasets = ["mine"]
replicates = 100
picture = "forest"
out = "table"

[[settings]]
groups = "file"
file = "groups.jsonl"

[[systems]]
name = "Vanilla"

[[systems]]
name = "Ensemble"
method = "ensemble"

[[systems]]
name = "NOVA"
strategy = "nova"
model = "tuned"

{_ENDPOINT}
[tuned]
endpoints = ["simulated:tuned"]
"""
_TWO = _TABLE.replace('[[systems]]\nname = "Ensemble"\nmethod = "ensemble"\n\n', "")
_RULES = _TWO.replace('picture = "forest"', 'table = "ablation"')
_KEPT = _TABLE.replace('picture = "forest"', 'table = "retention"').replace('"table"', '"kept"')
_STUDY = _TWO.replace('picture = "forest"', 'table = "study"').replace('"table"', '"rated"')
_JUDGMENTS = f"""
out = "judged-table"
questions = 12
replicates = 100
{_ENDPOINT}
[tuned]
endpoints = ["simulated:tuned"]
"""
_BM25 = f"""
out = "bm25"
{_ENDPOINT}
[questions]
file = "ask.jsonl"
[corpus]
files = ["corpus.jsonl"]
words = 40
[retrieve]
k = 3
[ask]
strategies = ["vanilla", "cot-paper"]
shard_size = 5
[measure]
replicates = 100
"""
_OWN_SEARCH = f"""
out = "found"
seed = 3
{_ENDPOINT}
[questions]
file = "ask.jsonl"
limit = 10
[retrieve]
object = "own:search"
k = 3
[annotate]
replicates = 100
[ask]
strategies = ["nova", "vanilla"]
structured = true
max_tokens = 300
[measure]
replicates = 100
by = ["strategy", "kind"]
"""
_BUILD = """
out = "built"
[model]
endpoints = ["SERVER=chaos"]
concurrency = 8
[questions]
file = "questions.jsonl"
[noise]
[groups]
audit = false
[ask]
samples = 6
shard_size = 8
[filter]
balance = "none"
"""
_BUILD_SIMULATED = f"""
out = "pipeline"
seed = 1
{_ENDPOINT}
[questions]
file = "pools.jsonl"
limit = 40
[groups]
one_each = true
margin = 1.0
[ask]
samples = 4
max_tokens = 400
shard_size = 15
[filter]
alignment = "soft"
[export]
dev = 0.2
base = "tiny"
"""
_BUILD_PAPER = """
out = "paper"
[model]
endpoints = ["SERVER=chaos"]
[questions]
file = "questions.jsonl"
limit = 12
[groups]
mix = "gold+counterfactual"
[ask]
samples = 8
[filter]
balance = "none"
"""
