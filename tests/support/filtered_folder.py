"""A small folder as `novarag train filter` writes it, for the tests of exporting."""

import json

import polars as pl

from novarag.checksums import file_checksum
from novarag.records import AnswerForm, Passage, PassageGroup, Question
from novarag.rows import TRIALS
from novarag.runs.group_table import write_groups
from novarag.sealed_json import SEAL, seal_files
from novarag.strategies import STRATEGIES
from novarag.taxonomy import PassageKind

STAGES = ["format", "judgment", "rules", "alignment", "common", "balance"]
KINDS = {
    "consistent": (PassageKind.GOLD, None),
    "counterfactual": (PassageKind.COUNTERFACTUAL, "1999"),
    "irrelevant": (PassageKind.IRRELEVANT, None),
}


def make_group(question, kind):
    passage_kind, claim = KINDS[kind]
    return PassageGroup(
        id=f"{question}/{kind}",
        question=Question(
            id=question, text=f"When was {question} lit?", answers=("1871",), form=AnswerForm.OPEN
        ),
        passages=(
            Passage(
                text=f"A {kind} text.\nWith {{question}} in it.", kind=passage_kind, claim=claim
            ),
            Passage(text="Bread rises slowly.", kind=PassageKind.IRRELEVANT),
        ),
    )


def make_row(group, **changes):
    strategy = STRATEGIES[changes.get("strategy", "nova")]
    return {
        "question": group.question.id, "group": group.id, "kind": group.kind.value,
        "strategy": strategy.name, "model": "small/model", "sample": 3, "answer": "1871",
        "confidence": 0.8, "correct": True,
        "reply": "Step 1: it says so.\nAnswer: 1871\nConfidence: 80%", "reasoning": None,
        "prompt_hash": strategy.render(group).hash, "run": "run-1", "target": None,
    } | changes  # fmt: skip


def make_rows(questions=4):
    return [make_row(make_group(f"q{i}", kind)) for i in range(questions) for kind in KINDS]


def make_tally(rows):
    models = sorted({row["model"] for row in rows}) or ["small/model"]
    counts = [
        {"model": model, "kind": kind, "stage": stage, "kept": 100 - 10 * place}
        for model in models
        for place, stage in enumerate(["total", *STAGES])
        for kind in (None, "consistent", "counterfactual", "irrelevant")
    ]
    reasons = [
        {"model": model, "kind": kind, "stage": "format", "reason": "no answer found", "count": 5}
        for model in models
        for kind in ("consistent", "irrelevant")
    ]
    runs = [
        {"name": f"run of {model}", "run": "ab12", "model": model, "strategy": "nova", "trials": 1600,
         "structured": False}
        for model in models
    ]  # fmt: skip
    settings = {"seed": 0, "balance": "uniform", "alignment": "brier"}
    return {
        "stages": STAGES, "settings": settings, "runs": runs, "counts": counts, "reasons": reasons,
    }  # fmt: skip


def write_filtered(folder, rows, *, groups=None, tally=None):
    folder.mkdir(parents=True, exist_ok=True)
    schema = {**TRIALS, "run": pl.String, "target": pl.Float64}
    frame = pl.DataFrame(rows, schema={name: schema[name] for name in make_row_names()})
    frame.write_parquet(folder / "kept.parquet")
    if groups is None:
        names = dict.fromkeys((row["question"], row["group"].rpartition("/")[2]) for row in rows)
        groups = [make_group(*name) for name in names]
    (folder / "groups.parquet").write_bytes(write_groups([(g.id, g) for g in groups]))
    (folder / "tally.json").write_text(json.dumps(tally or make_tally(rows)), "utf-8")
    return reseal(folder)


def reseal(folder):
    """Vouch for the files as they are now."""
    names = ("kept.parquet", "groups.parquet", "tally.json")
    files = {name: file_checksum(folder / name) for name in names}
    (folder / SEAL).write_bytes(seal_files(files))
    return folder


def make_row_names():
    return list(make_row(make_group("q", "consistent")))


def contents(folder):
    """Every file of a folder by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
