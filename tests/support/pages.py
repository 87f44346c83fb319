"""Every kind of page that the product writes, on small tables, for looking at and for reading back.

Usage: python -m tests.support.pages FOLDER writes them; with --looks it also takes their pictures
at four widths, light, dark and in greyscale, and as they print.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from contextlib import chdir
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from typer.testing import CliRunner

import novarag
from novarag.cli import app
from novarag.demo.chain import DemoChain, make_chain
from novarag.demo.questions import join_passages, prepared_questions
from novarag.flows.sync import run_sync
from novarag.report.demo import DemoForm, demo_page
from novarag.report.study import grades_html, write_sheet, write_study
from novarag.report.training import training_page
from novarag.study import analyse, make_sheet, simulated_ratings
from novarag.study.grades import GradeEntry, sheet_id
from tests.support.graded_answers import draw_graded
from tests.support.simulated import simulate, write_run
from tests.support.studied import systems

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTHS = (390, 768, 1280, 1920)
QUICK = {"replicates": 120}


def answers(n: int = 400, seed: int = 0, boast: float = 0.7) -> pl.DataFrame:
    """Answers of a boasting system, with texts, unread replies and two systems."""
    rng = np.random.default_rng(seed)
    stated = rng.choice([0.55, 0.75, 0.8, 0.85, 0.95, 1.0], n)
    return pl.DataFrame(
        {
            "question": [f"What is the capital of the {i}th country on the list?" for i in range(n)],
            "answer": [f"The city number {i}, as the second passage says" for i in range(n)],
            "confidence": np.where(rng.random(n) < 0.06, np.nan, stated),
            "correct": rng.random(n) < boast * stated,
            "flaw": rng.choice(["no confidence found", "no answer found"], n),
            "system": rng.choice(["support-bot-v2 (retrieval, reranked)", "plain"], n),
        }
    )  # fmt: skip


def honest(n: int = 3000) -> pl.DataFrame:
    """Answers of a system that is right as often as it says."""
    rng = np.random.default_rng(4)
    stated = rng.choice([0.5, 0.7, 0.9, 0.98, 1.0], n)
    return pl.DataFrame(
        {"question": [f"q{i}" for i in range(n)], "confidence": stated}
        | {"correct": rng.random(n) < stated}
    )


def graded_table(n: int = 400, seed: int = 0, **more: object) -> pl.DataFrame:
    """Graded answers as `calibrate` and `gate` read them."""
    graded = draw_graded(n, seed=seed, **more)  # type: ignore[arg-type]
    return pl.DataFrame(
        {
            "question": graded.question_ids,
            "confidence": graded.confidence,
            "correct": graded.correct,
            "evidence": [graded.state_name(s) for s in graded.state],
        }
    )


def _report(table: Callable[[], pl.DataFrame], **more: object) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        novarag.measure(table(), out=folder, **QUICK, **more)  # type: ignore[arg-type]
        return folder / "report.html"

    return make


def _calibration(folder: Path) -> Path:
    page = folder / "calibration.html"
    novarag.calibrate(graded_table(), out=folder / "calibration.json", page=page)
    return page


def _gate(folder: Path) -> Path:
    page = folder / "gate.html"
    novarag.gate(graded_table(boast=0.2), risk=0.3, out=folder / "gate.json", page=page)
    return page


def _judge(folder: Path) -> Path:
    rng = Random(0)
    people = [rng.choice(["right", "right", "wrong"]) for _ in range(120)]
    judge = [one if rng.random() < 0.85 else "wrong" for one in people]
    rows = {"correct": people[:80] + [None] * 40, "judge": judge, "model": ["one", "two <b>"] * 60}
    page = folder / "judge.html"
    novarag.measure_judge(rows, mark="judge", repeats=["judge"], by="model", page=page)
    return page


def _no_gate(folder: Path) -> Path:
    novarag.gate(graded_table(60, boast=2.0), risk=0.02, page=folder / "gate.html")
    return folder / "gate.html"


def _funnel(folder: Path) -> Path:
    runs = []
    for model in ("alpha-7b-instruct", "beta"):
        rows = simulate(20, samples=4, models=(model,), seed=len(model))
        write_run(folder / "runs" / model, rows, questions=10)
        runs.append(folder / "runs" / model)
    novarag.filter_trials(runs, folder / "kept")
    return folder / "kept" / "report.html"


def bridges(count: int = 60) -> list[dict[str, object]]:
    """Questions with labelled passages, as lines of a file."""
    return [
        {
            "id": f"q{i}", "question": f"Who built bridge {i}?", "answers": [f"Ada Bridger{i}"],
            "passages": [
                {"text": f"Bridge {i} was built by Ada Bridger{i}.", "kind": "gold"},
                {"text": f"Bridge {i} was built by Bo Other{i}.", "kind": "counterfactual",
                 "claim": f"Bo Other{i}"},
                {"text": f"It rained on day {i}.", "kind": "irrelevant"},
            ],
        }
        for i in range(count)
    ]  # fmt: skip


def _bridges(folder: Path) -> Path:
    path = folder / "groups.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in bridges()), "utf-8")
    return path


def _profile(folder: Path) -> Path:
    bare = [
        row | {"passages": [p["text"] for p in row["passages"]]}  # type: ignore[attr-defined]
        for row in bridges()
    ]
    path = folder / "bare.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in bare), "utf-8")
    novarag.annotate(path, folder / "out", **QUICK)
    return folder / "out" / "report.html"


def _study(folder: Path) -> Path:
    sheet = make_sheet(systems(), questions=8)
    means = dict(zip(sheet.key.systems, (2.0, 3.0, 4.0), strict=True))
    report = analyse(simulated_ratings(sheet, means), replicates=100)
    write_study(report, folder, made="2026-01-01", version="0")
    return folder / "report.html"


def _sheet(folder: Path) -> Path:
    write_sheet(make_sheet(systems(), questions=6, answers=True), folder)
    return folder / "sheet.html"


def _grades(folder: Path) -> Path:
    entries = [
        GradeEntry(
            question=f"Who built bridge {i}?", answer="Ada Bridger",
            texts=(("Passage 1", "The bridge was built by Ada Bridger."),),
            accepted=("Ada Bridger",),
        )
        for i in range(6)
    ]  # fmt: skip
    page = folder / "grades.html"
    page.write_text(grades_html(sheet_id(entries), entries), "utf-8")
    return page


def training_facts(name: str = "small/model-1b") -> dict[str, object]:
    """What a training says of itself, as `training.json` holds it."""
    losses = [{"step": i + 1, "loss": 2.4 / (1 + i / 12) + 0.1 * (i % 3)} for i in range(60)]
    rows = [
        {"split": "train", "kind": None, "all": True, "examples": 480, "questions": 240},
        {"split": "train", "kind": name, "all": False, "examples": 240, "questions": 120},
    ]
    return {
        "base": {"name": name, "fingerprint": "3f" * 32},
        "variant": "other", "precision": "bf16", "version": "0", "losses": losses,
        "dev_losses": [{"step": 30, "loss": 1.1}, {"step": 60, "loss": 0.8}], "examples": rows,
        "left_out": [{"split": "train", "reason": "longer than the longest", "count": 3}],
        "settings": [
            {"name": "learning_rate", "value": 0.0002, "said": "the paper, appendix B"},
            {"name": "target_modules", "value": ["q_proj", "v_proj", name], "said": "given"},
            {"name": "merge", "value": True, "said": "given"},
        ],
        "data": {"files": [{"name": f"{name}.jsonl", "sha256": "9a" * 32}]},
        "versions": {"torch": "2.13.0", "transformers": "5.0.0"},
    }  # fmt: skip


def _training(folder: Path) -> Path:
    page = folder / "training.html"
    page.write_text(training_page(training_facts()), "utf-8")
    return page


TABLE = """
title = "Mine"
metrics = ["brier", "accuracy", "ece", "auroc"]
datasets = ["mine"]
min_rows = 10
replicates = 100
picture = "forest"

[[settings]]
groups = "file"
file = "groups.jsonl"

[[systems]]
name = "Vanilla"

[[systems]]
name = "Ensemble"
method = "ensemble"
strategy = "cot"

[[systems]]
name = "NOVA"
strategy = "nova"
model = "tuned"

[model]
endpoints = ["simulated:base"]
"""


def _call(folder: Path, *words: str) -> None:
    with chdir(folder):
        done = CliRunner().invoke(app, words)
    if done.exit_code:
        raise RuntimeError(done.output) from done.exception


def _tables(folder: Path) -> Path:
    _bridges(folder)
    (folder / "mine.toml").write_text(TABLE, "utf-8")
    _call(folder, "run", "experiment", "mine.toml")
    return folder / "experiment" / "mine.html"


def _estimate(folder: Path) -> Path:
    _bridges(folder)
    told = ("run", "estimate", "groups.jsonl", "--model", "simulated:base", "--out", "estimate")
    methods = [
        word
        for name in ("verbal", "ensemble", "self-frequency", "p-true")
        for word in ("--method", name)
    ]
    _call(folder, *told, *methods, "--replicates", "120")
    return folder / "estimate" / "report" / "report.html"


def _probe(respondent: str, profile: str, count: int = 80) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        pool = folder / "pool.jsonl"
        pool.write_text("".join(json.dumps(row) + "\n" for row in bridges(count)), "utf-8")
        bare = [
            {**row, "passages": [p for p in row["passages"] if p["kind"] != "counterfactual"]}  # type: ignore[attr-defined]
            for row in bridges(count)
        ]
        novarag.probe(
            bare,
            f"simulated:{respondent}",
            profile=profile,
            contradictions=pool,
            out=folder / "out",
        )
        return folder / "out" / "probe.html"

    return make


def _attack(folder: Path) -> Path:
    _bridges(folder)
    told = ("attack", "groups.jsonl", "--model", "simulated:obedient", "--out", "attack")
    defences = ("--defences", "plain,framed,structured,screen")
    _call(folder, *told, *defences, "--max-calls", "2400")
    return folder / "attack" / "attack.html"


def _demo(name: str, fault: str = "") -> Callable[[Path], Path]:
    """Return what writes the demo's page on a prepared question, or on a form with a fault."""

    def make(folder: Path) -> Path:
        chain = made_chain()
        prepared = prepared_questions()
        asked = prepared[name].asked
        form = DemoForm(
            question=asked.question, answer=asked.answer,
            passages=join_passages(asked.passages), fault=fault,
        )  # fmt: skip
        answer = None if fault else run_sync(chain.answer(asked))
        page = folder / "demo.html"
        text = demo_page(
            chain.measurement, chain.gate, form=form, answer=answer,
            prepared={one.name: one.title for one in prepared.values()},
            chosen="" if fault else name,
        )  # fmt: skip
        page.write_text(text, "utf-8")
        return page

    return make


@cache
def made_chain() -> DemoChain:
    return make_chain()


PAGES: dict[str, Callable[[Path], Path]] = {
    "measure": _report(answers),
    "measure-usable": _report(honest),
    "measure-few": _report(partial(answers, 12)),
    "measure-compared": _report(answers, by="system"),
    "measure-calibrated": _report(answers, calibrate=True),
    "estimate": _estimate,
    "probe": _probe("base", "full"),
    "probe-held": _probe("tuned", "standard"),
    "probe-few": _probe("tuned", "quick", 12),
    "attack": _attack,
    "run": _tables,
    "calibrate": _calibration,
    "judge": _judge,
    "gate": _gate,
    "gate-refused": _no_gate,
    "filter": _funnel,
    "annotate": _profile,
    "study": _study,
    "sheet": _sheet,
    "grades": _grades,
    "train": _training,
    "demo": _demo("contradict"),
    "demo-limit": _demo("mistaken"),
    "demo-fault": _demo("junk", "there are 9 passages; the demo takes 8"),
}
"""Every kind of page, and what writes one into a folder of its own."""


def make_page(kind: str, folder: Path) -> Path:
    """Write a page of one kind."""
    place = folder / kind
    place.mkdir(parents=True, exist_ok=True)
    return PAGES[kind](place)


def take_looks(pages: dict[str, Path], folder: Path) -> None:
    """Take pictures of each page at every width, light and dark, in greyscale, and as it prints."""
    from tests.support.browser import Browser

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, Browser(profile) as browser:
        for name, page in pages.items():
            browser.open(page)
            for width in WIDTHS:
                for dark in (False, True):
                    browser.look(width, 900, dark=dark)
                    shot = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                    browser.picture(shot, whole=True)
            made = browser.ask("Page.printToPDF", printBackground=True)["data"]
            (folder / f"{name}.pdf").write_bytes(base64.b64decode(made))
            print(name)


if __name__ == "__main__":
    place = Path(sys.argv[1]).resolve()
    made = {kind: make_page(kind, place) for kind in PAGES}
    if "--looks" in sys.argv:
        take_looks(made, place / "looks")
