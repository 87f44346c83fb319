"""How each real tool is run over the same cases, and what it then says of them.

A driver takes cases and the settings of `ReplyScorer`, and returns a score and whether it passed for
each case, in order; the dots stand for a tool that has no passing.
"""

import asyncio
import gc
import importlib
import json
import os
import subprocess
import sys
from math import isnan
from pathlib import Path

import pytest

from novarag.integrations.table import ADAPTERS
from tests.support.driven_sinks import langfuse, mlflow_traces, phoenix

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "RAGAS_DO_NOT_TRACK": "true"}
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "MLFLOW_DISABLE_TELEMETRY": "true"}
os.environ |= {"MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false", "MLFLOW_GENAI_EVAL_MAX_WORKERS": "1"}

EMPTY = "Empty Response"  # what LlamaIndex puts in the place of an empty reply


def module(name):
    return importlib.import_module(ADAPTERS[name].module)


def deepeval(cases, settings):
    """Run DeepEval's own `evaluate`, which copies metrics and keeps their data."""
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.test_case import LLMTestCase

    made = [
        LLMTestCase(input=c.question, actual_output=c.reply, retrieval_context=c.passages)
        for c in cases
    ]
    found = evaluate(
        made,
        [module("DeepEval").StatedConfidence(**settings)],
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        cache_config=CacheConfig(write_cache=False),
    )
    by_name = {r.input: r.metrics_data[0] for r in found.test_results}
    return [(d.score, d.success) for d in (by_name[c.question] for c in cases)]


def mlflow(cases, settings):
    """Run MLflow's own `evaluate` on a store in a file of its own."""
    import mlflow as tool

    tool.set_tracking_uri(f"sqlite:///{Path(settings['gate']).parent / 'mlflow.db'}")
    rows = [
        {"inputs": {"question": c.question, "passages": c.passages}, "outputs": c.reply}
        for c in cases
    ]
    scorer = module("MLflow").stated_confidence(**settings)
    table = tool.genai.evaluate(data=rows, scorers=[scorer]).result_df
    by_name = {
        request["question"]: assessments
        for request, assessments in zip(table["request"], table["assessments"], strict=True)
    }
    found = []
    for case in cases:
        [one] = [a for a in by_name[case.question] if a["assessment_name"] == "stated_confidence"]
        feedback = one["feedback"]
        if feedback.get("value") is None:
            assert feedback["error"]["error_code"] == "UNREAD_REPLY"
        found.append((feedback.get("value"), one["metadata"]["decision"] == "answer"))
    return found


def llamaindex(cases, settings):
    """Run LlamaIndex's own runner over strings."""
    from llama_index.core.evaluation import BatchEvalRunner

    runner = BatchEvalRunner({"ours": module("LlamaIndex").StatedConfidence(**settings)}, workers=2)
    found = asyncio.run(
        runner.aevaluate_response_strs(
            queries=[c.question for c in cases],
            response_strs=[c.reply for c in cases],
            contexts_list=[c.passages for c in cases],
        )
    )
    assert [one.invalid_result for one in found["ours"]] == [
        one.score is None for one in found["ours"]
    ]
    return [(one.score, one.passing) for one in found["ours"]]


def llamaindex_engine(cases, settings):
    """Run a query engine of LlamaIndex's own parts; by turns it is awaited, and streams."""
    from llama_index.core import get_response_synthesizer
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import ResponseMode
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    class Model(CustomLLM):
        said: str

        @property
        def metadata(self):
            return LLMMetadata()

        def complete(self, prompt, formatted=False, **_):
            return CompletionResponse(text=self.said)

        def stream_complete(self, prompt, formatted=False, **_):
            for end, one in enumerate(self.said, 1):
                yield CompletionResponse(text=self.said[:end], delta=one)

    class ColumnValue(BaseRetriever):
        def __init__(self, passages):
            super().__init__()
            self.passages = passages

        def _retrieve(self, query_bundle):
            nodes = [TextNode(text=text, metadata={"source": "a.md"}) for text in self.passages]
            return [NodeWithScore(node=node, score=1.0) for node in nodes]

    found = []
    for number, case in enumerate(cases):
        inner = RetrieverQueryEngine(
            ColumnValue(case.passages),
            get_response_synthesizer(
                Model(said=case.reply),
                response_mode=ResponseMode.SIMPLE_SUMMARIZE,
                streaming=number % 4 > 1,
            ),
        )
        engine = module("LlamaIndex-engine").ConfidentEngine(inner, withheld="Ask us.", **settings)
        awaited = number % 2
        response = (
            asyncio.run(engine.aquery(case.question)) if awaited else engine.query(case.question)
        )
        told = response.metadata["novarag"]
        assert [p["source"] for p in told["passages"]] == ["a.md"] * len(case.passages)
        assert len(response.source_nodes) == len(case.passages)
        assert response.response == (case.reply if told["decision"] == "answer" else "Ask us.")
        assert any("text_qa_template" in name for name in engine.get_prompts())
        found.append((told["confidence"], told["decision"] == "answer"))
    return found


def ragas(cases, settings):
    """Run ragas' own `evaluate`, which has no passing; NaN is its unmeasured."""
    from ragas import EvaluationDataset, SingleTurnSample, evaluate

    rows = [
        SingleTurnSample(user_input=c.question, retrieved_contexts=c.passages, response=c.reply)
        for c in cases
    ]
    metric = module("ragas").StatedConfidence(**settings)
    found = evaluate(EvaluationDataset(samples=rows), metrics=[metric], show_progress=False)
    return [(None if isnan(x) else x, ...) for x in found["stated_confidence"]]


def langchain(cases, settings):
    """Run an agent whose model searches once and then answers."""
    from langchain.agents import create_agent
    from langchain_core.documents import Document
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **_):
            return self

    found = []
    for case in cases:

        @tool(response_format="content_and_artifact")
        def search(query: str, passages=tuple(case.passages)):
            """Search."""
            return "found", [Document(page_content=text) for text in passages]

        call = {"name": "search", "args": {"query": "x"}, "id": "1"}
        said = iter([AIMessage(content="", tool_calls=[call]), AIMessage(content=case.reply)])
        agent = create_agent(
            Model(messages=said),
            [search],
            middleware=[module("LangChain").Confidence(withheld="Ask us.", **settings)],
        )
        last = agent.invoke({"messages": [("user", case.question)]})["messages"][-1]
        told = last.response_metadata["novarag"]
        assert len(told["passages"]) == len(case.passages)
        assert last.text == (case.reply if told["decision"] == "answer" else "Ask us.")
        found.append((told["confidence"], told["decision"] == "answer"))
    return found


def haystack(cases, settings):
    """Run a pipeline that was written to a file and read again."""
    from haystack import Document, Pipeline

    written = Pipeline()
    made = module("Haystack").StatedConfidence(withheld="Ask us.", settings=settings)
    written.add_component("confidence", made)
    trusted = [ADAPTERS["Haystack"].module]
    pipeline = Pipeline.loads(written.dumps(), allowed_modules=trusted)
    found = []
    for case in cases:
        given = {
            "query": case.question,
            "replies": [case.reply],
            "documents": [Document(content=text) for text in case.passages],
        }
        out = pipeline.run({"confidence": given})["confidence"]
        [told] = out["verdicts"]
        answers = told["decision"] == "answer"
        assert out["answers"] == [told["answer"] if answers else "Ask us."]
        found.append((told["confidence"], answers))
    return found


def inspect_ai(cases, settings):
    """Run inspect's own `eval` with its mock model, and read the log that it wrote."""
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    replies = {case.question: case.reply for case in cases}

    def answer(messages, *_):
        output = ModelOutput.from_content("mockllm/model", replies[messages[-1].text])
        output.usage = ModelUsage()  # else it counts tokens with a file from the network
        return output

    samples = [
        Sample(id=i, input=case.question, metadata={"passages": case.passages})
        for i, case in enumerate(cases)
    ]
    task = Task(dataset=samples, scorer=module("inspect_ai").confidence(**settings))
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    (log,) = evaluate(task, model=model, log_dir="logs", display="none", score_display=False)
    assert log.status == "success", log.error
    read = read_eval_log(log.location)
    scores = {sample.id: sample.scores["confidence"] for sample in read.samples}
    (shown,) = read.results.scores
    values = [scores[i].value for i in range(len(cases))]
    measured = [value for value in values if not isnan(value)]
    assert (shown.scored_samples, shown.unscored_samples) == (len(measured), 7)
    assert shown.metrics["mean"].value == pytest.approx(sum(measured) / len(measured))
    told = [scores[i].metadata["novarag"] for i in range(len(cases))]
    assert [isnan(value) for value in values] == [one["confidence"] is None for one in told]
    decided = [one["decision"] == "answer" for one in told]
    gc.collect()  # streams that it left open complain here, where nobody minds
    return [(None if isnan(x) else x, y) for x, y in zip(values, decided, strict=True)]


PROVIDER = """module.exports = class {
  id() { return "said"; }
  async callApi(prompt, context) { return { output: context.vars.reply }; }
};"""
CHECKS = """import json
from novarag.integrations.core import ReplyScorer
from novarag.integrations.promptfoo import get_assert

score = ReplyScorer.__call__

def noting(self, question, passages, said, confidence=None):
    with open("handed.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps([question, passages, said]) + "\\n")
    return score(self, question, passages, said, confidence)

ReplyScorer.__call__ = noting
"""


def promptfoo(cases, settings):
    """Run promptfoo's own `eval`, which starts a Python for each assertion."""
    program = os.environ.get("NOVARAG_PROMPTFOO")
    if not program:
        pytest.fail("NOVARAG_PROMPTFOO names no program: make test-integrations installs it")
    Path("provider.cjs").write_text(PROVIDER, "utf-8")
    Path("checks.py").write_text(CHECKS, "utf-8")
    check = {"type": "python", "value": "file://checks.py", "config": settings}
    told = {
        "prompts": ["{{question}}"],
        "providers": ["file://provider.cjs"],
        "defaultTest": {"options": {"disableVarExpansion": True}, "assert": [check]},
        "tests": [{"vars": case._asdict()} for case in cases],
    }
    Path("promptfooconfig.json").write_text(json.dumps(told), "utf-8")
    quiet = dict.fromkeys(("TELEMETRY", "UPDATE", "REMOTE_GENERATION", "SHARING"), "1")
    env = {f"PROMPTFOO_DISABLE_{name}": on for name, on in quiet.items()}
    env |= {"PROMPTFOO_PYTHON": sys.executable, "PROMPTFOO_CONFIG_DIR": str(Path("home").resolve())}
    program = Path(os.environ["NOVARAG_START"], program)  # a test runs in a folder of its own

    def run(*words):
        return subprocess.run(
            ["node", program, *words], env=os.environ | env, capture_output=True, text=True
        )

    assert run("--version").stdout.split()[-1] == ADAPTERS["promptfoo"].versions
    done = run("eval", "-c", "promptfooconfig.json", "-o", "out.json", "--no-cache", "-j", "2")
    assert done.returncode == 100, done.stderr[-3000:]  # its own code for "some tests failed"
    rows = json.loads(Path("out.json").read_text("utf-8"))["results"]["results"]
    by_name = {row["vars"]["question"]: row for row in rows}
    return [_of_promptfoo(by_name[case.question]) for case in cases]


def _of_promptfoo(row):
    """Return score and passing; without a named score it must be a failure that says why."""
    (one,) = row["gradingResult"]["componentResults"]
    if "confidence" not in row["namedScores"]:
        assert (one["pass"], row["namedScores"]) == (False, {})
        assert "UnreadReply: not measured: the reply could not be read" in one["reason"]
        assert row["error"] == one["reason"]
        return None, False
    assert one["score"] == row["namedScores"]["confidence"]
    return one["score"], one["pass"]


DRIVERS = {
    "DeepEval": deepeval, "MLflow": mlflow, "LlamaIndex": llamaindex,
    "LlamaIndex-engine": llamaindex_engine, "ragas": ragas, "inspect_ai": inspect_ai,
    "promptfoo": promptfoo, "LangChain": langchain, "Haystack": haystack, "Langfuse": langfuse,
    "Phoenix": phoenix, "MLflow-traces": mlflow_traces,
}  # fmt: skip
