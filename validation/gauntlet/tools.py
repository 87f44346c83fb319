"""Logs, and exports of evaluation tools, written by the tools themselves where they can be installed."""

from __future__ import annotations

import gzip
import json
import logging
import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validation.gauntlet.base import Answer, Entry, answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOLES = answers(holes=True)
PLAIN = answers()
FEW = PLAIN[:18]  # what a tool keeps beside each of its samples is long
_WHEN = datetime(2026, 11, 16, 12, tzinfo=UTC)


def _record(row: Answer) -> dict[str, Any]:
    grade = None if row.correct is None else ("up" if row.correct else "down")
    return {
        "question": row.question,
        "answer": row.said,
        "confidence": row.confidence,
        "thumbs": grade,
    }


# --- logs ----------------------------------------------------------------------------------------


def _logged(
    form: str, say: Callable[[Answer], str], *, between: bool = False
) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        handler = logging.FileHandler(path, mode="w", encoding="utf-8")
        handler.setFormatter(logging.Formatter(form, datefmt="%Y-%m-%dT%H:%M:%S"))
        log = logging.getLogger("rag")
        log.addHandler(handler)
        for number, row in enumerate(HOLES):
            if between and number % 10 == 0:
                log.warning("the index was slow")
            log.info(say(row))
        handler.close()

    return make


def _json(row: Answer) -> str:
    return json.dumps(_record(row), ensure_ascii=False)


def _nested(row: Answer) -> str:
    flat = _record(row)
    return json.dumps(
        {
            "event": "answered",
            "request": {"question": flat["question"]},
            "response": {"text": flat["answer"], "confidence": flat["confidence"]},
            "feedback": {"thumbs": flat["thumbs"]},
        }
    )


def _pairs(row: Answer) -> str:
    cells = _record(row)
    stated = "" if row.confidence is None else f"{100 * row.confidence:.0f}%"
    question = json.dumps(cells["question"], ensure_ascii=False)
    return f"event=answered question={question} confidence={stated} thumbs={cells['thumbs'] or ''}"


def log_tables() -> Iterator[Entry]:
    prefix = "%(asctime)s %(levelname)s %(name)s "
    for file, form, say, between in (
        ("log_json.jsonl", "%(message)s", _json, False),
        ("log_nested.jsonl", "%(message)s", _nested, False),
        ("log_prefix.log", prefix + "%(message)s", _json, False),
        ("log_pairs.log", prefix + "%(message)s", _pairs, False),
        ("log_between.log", prefix + "%(message)s", _json, True),
    ):
        command = f"logging.Formatter({form!r}), {say.__name__.strip('_')}"
        yield Entry(
            file, "python logging", command, _logged(form, say, between=between), truth="holes"
        )


# --- exports -------------------------------------------------------------------------------------


def _packed(path: Path, text: str) -> None:
    path.write_bytes(
        gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode()
    )


def _langfuse(version: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        from langfuse import api

        numeric, words = (
            (api.ScoreV3_Numeric, api.ScoreV3_Categorical)
            if version == 3
            else (api.Score_Numeric, api.Score_Categorical)
        )
        made = []
        for number, row in enumerate(HOLES):
            shared: dict[str, Any] = {
                "source": "API", "timestamp": _WHEN, "environment": "default", "created_at": _WHEN,
                "updated_at": _WHEN,
            }  # fmt: skip
            if version == 3:
                shared |= {"project_id": "p", "subject": {"kind": "trace", "id": f"trace-{number}"}}
            else:
                shared |= {"trace_id": f"trace-{number}"}
            if row.confidence is not None:
                made.append(
                    numeric(
                        id=f"c{number}",
                        name="confidence",
                        value=row.confidence,
                        data_type="NUMERIC",
                        **shared,
                    )
                )
            word = _record(row)["thumbs"]
            if word is not None:
                text = {"value": word} if version == 3 else {"value": 1.0, "string_value": word}
                made.append(
                    words(id=f"t{number}", name="thumbs", data_type="CATEGORICAL", **text, **shared)
                )
        data = [json.loads(one.json(by_alias=True)) for one in made]
        _packed(path, json.dumps({"data": data, "meta": {"limit": 200}}))

    return make


def _deepeval(path: Path) -> None:
    from deepeval.test_run.api import LLMApiTestCase, MetricData
    from deepeval.test_run.test_run import TestRun

    run = TestRun(testFile="test_rag.py", testPassed=0, testFailed=0)
    for number, row in enumerate(PLAIN):
        metric = MetricData(
            name="Correctness", threshold=0.5, success=bool(row.correct), score=float(bool(row.correct)),
            reason="", strictMode=False, evaluationModel="none",
        )  # fmt: skip
        case = LLMApiTestCase(
            name=f"test_{number}", input=row.question, actualOutput=row.said, expectedOutput="Ada",
            success=bool(row.correct), metricsData=[metric], runDuration=0.1, order=number,
            metadata={"confidence": row.confidence},
        )  # fmt: skip
        run.test_cases.append(case)
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "run.json").open("w+") as file:
        run.save(file)
        _packed(path, (Path(folder) / "run.json").read_text())


def _ragas(write: Callable[[Any, Path], object]) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        from ragas.callbacks import ChainRun
        from ragas.dataset_schema import EvaluationDataset, EvaluationResult, SingleTurnSample

        samples = [
            SingleTurnSample(
                user_input=row.question,
                response=row.said,
                reference="Ada",
                retrieved_contexts=["x"],
            )
            for row in PLAIN
        ]
        scores = [
            {"answer_correctness": float(bool(row.correct)), "confidence": row.confidence}
            for row in PLAIN
        ]
        data = EvaluationDataset(samples=samples)
        root = ChainRun(
            run_id="r",
            parent_run_id=None,
            name="evaluation",
            inputs={},
            metadata={},
            outputs={},
            children=[],
        )
        found = EvaluationResult(
            scores=scores, dataset=data, binary_columns=[], ragas_traces={"r": root}
        )
        write(found.to_pandas(), path)

    return make


def _inspect(form: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        import inspect_ai
        from inspect_ai.dataset import Sample
        from inspect_ai.model import ModelOutput, get_model
        from inspect_ai.scorer import Score, accuracy, scorer
        from inspect_ai.solver import solver

        by_question = {row.question: row for row in FEW}

        @scorer(metrics=[accuracy()], name="stated")
        def stated() -> Any:
            async def score(state: Any, target: Any) -> Score:
                row = by_question[state.input_text]
                return Score(
                    value="C" if row.correct else "I",
                    answer=row.said,
                    metadata={"confidence": row.confidence},
                )

            return score

        @solver
        def canned() -> Any:
            async def solve(state: Any, generate: Any) -> Any:
                state.output = ModelOutput.from_content("mockllm/model", "Ada")
                return state

            return solve

        task = inspect_ai.Task(
            solver=canned(),
            dataset=[Sample(id=n, input=row.question, target="Ada") for n, row in enumerate(FEW)],
            scorer=stated(),
        )
        with tempfile.TemporaryDirectory() as folder:
            inspect_ai.eval(
                task, model=get_model("mockllm/model"), log_dir=folder,
                log_format=form, display="none",
            )  # fmt: skip
            [made] = [p for p in Path(folder).iterdir() if p.suffix == f".{form}"]
            if path.suffix == ".gz":
                _packed(path, made.read_text())
            else:
                shutil.copyfile(made, path)

    return make


_PROVIDER = """
module.exports = class {
  id() { return 'canned'; }
  async callApi(prompt, context) {
    const { said, stated } = context.vars;
    return { output: JSON.stringify({ answer: said, confidence: stated }) };
  }
};
"""


def _promptfoo(form: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "provider.js").write_text(_PROVIDER)
            tests = [
                {
                    "vars": {
                        "question": row.question,
                        "said": row.said,
                        "stated": row.confidence,
                        "right": row.correct,
                    },
                    "assert": [{"type": "javascript", "value": "context.vars.right"}],
                }
                for row in PLAIN
            ]
            config = {
                "prompts": ["{{question}}"],
                "providers": ["file://provider.js"],
                "tests": tests,
            }
            (place / "promptfooconfig.json").write_text(json.dumps(config))
            quiet = {
                "PROMPTFOO_DISABLE_TELEMETRY": "1",
                "PROMPTFOO_DISABLE_UPDATE": "1",
                "PROMPTFOO_CONFIG_DIR": folder,
            }
            subprocess.run(
                [os.environ.get("PROMPTFOO", "promptfoo"), "eval", "--no-cache", "-c",
                 "promptfooconfig.json", "-o", f"out.{form}"],
                cwd=folder, env=os.environ | quiet, capture_output=True, timeout=180, check=False,
            )  # fmt: skip
            _packed(path, (place / f"out.{form}").read_text())

    return make


def export_tables() -> Iterator[Entry]:
    thumbs = ("--correct", "thumbs")
    for version in (2, 3):
        yield Entry(
            f"langfuse_scores_v{version}.json.gz", "langfuse", f"the SDK's records of scores, v{version}",
            _langfuse(version), first=thumbs, truth="scored",
        )  # fmt: skip
    yield Entry("deepeval_run.json.gz", "deepeval", "TestRun.save(file)", _deepeval, first=())
    for file, command, write in (
        ("ragas.csv", "EvaluationResult.to_pandas().to_csv(path)", lambda f, p: f.to_csv(p, index=False)),
        ("ragas.jsonl", "EvaluationResult.to_pandas().to_json(lines=True)", lambda f, p: f.to_json(p, orient="records", lines=True)),
    ):  # fmt: skip
        yield Entry(
            file, "ragas", command, _ragas(write), first=("--correct", "answer_correctness")
        )
    for form, file in (("json", "inspect_log.json.gz"), ("eval", "inspect_log.eval")):
        command = f"inspect_ai.eval(task, log_format={form!r})"
        yield Entry(file, "inspect_ai", command, _inspect(form), first=(), truth="first 18")
    for form, first in (("json", ()), ("jsonl", ()), ("csv", ("--confidence", "stated"))):
        yield Entry(
            f"promptfoo.{form}.gz",
            "promptfoo",
            f"promptfoo eval -o out.{form}",
            _promptfoo(form),
            first=first,
        )


def _traces(path: Path) -> None:
    data = [
        {
            "id": f"trace-{number}", "timestamp": "2026-11-16T12:00:00Z", "name": "rag", "input": {"question": row.question},
            "output": {"answer": row.said, "confidence": row.confidence}, "htmlPath": f"/trace/{number}", "latency": 1.2,
            "scores": [] if row.correct is None else [{"name": "thumbs", "dataType": "CATEGORICAL", "value": None, "stringValue": "up" if row.correct else "down"}],
        }
        for number, row in enumerate(HOLES)
    ]  # fmt: skip
    _packed(path, json.dumps({"data": data, "meta": {"page": 1}}))


def hand_exports() -> Iterator[Entry]:
    yield Entry(
        "hand_langfuse_traces.json.gz", "by hand", "as GET /api/public/traces answers, after its documentation",
        _traces, truth="holes", by_hand=True,
    )  # fmt: skip
