"""Applications of the real LangChain and LlamaIndex, probed as functions and over HTTP."""

import asyncio
import json
import re

import pytest
from typer.testing import CliRunner

import novarag
from novarag.cli import app as command
from tests.support.probed import rows, serving, write_lines

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.enable_socket,  # theirs may look at their own host
    pytest.mark.filterwarnings("default"),
]
PROMPT = "Question: {question}\n\n{context}\n\nReply with Answer: and Confidence:."
QUESTIONS = 55


def reply_to(text):
    """Play the model: take the builder from the prompt, and be 95 % sure whatever it says."""
    named = re.findall(r"built by (\w+)", text)
    return f"Answer: {named[0] if named else 'nobody'}\nConfidence: 95%"


def langchain_app():
    from langchain_core.messages import AIMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda

    model = RunnableLambda(lambda prompt: AIMessage(reply_to(prompt.to_string())))
    chain = ChatPromptTemplate.from_template(PROMPT) | model

    async def app(question, passages):
        said = await chain.ainvoke({"question": question, "context": "\n\n".join(passages)})
        return said.content

    return app


def llamaindex_app():
    from llama_index.core import PromptTemplate
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.llms.callbacks import llm_completion_callback
    from llama_index.core.response_synthesizers import get_response_synthesizer
    from llama_index.core.schema import NodeWithScore, TextNode

    class Played(CustomLLM):
        @property
        def metadata(self):
            return LLMMetadata(context_window=8000, num_output=100, model_name="played")

        @llm_completion_callback()
        def complete(self, prompt, formatted=False, **kwargs):
            return CompletionResponse(text=reply_to(prompt))

        @llm_completion_callback()
        def stream_complete(self, prompt, formatted=False, **kwargs):
            yield self.complete(prompt)

    template = PromptTemplate(
        "Question: {query_str}\n\n{context_str}\n\nReply with Answer: and Confidence:."
    )
    synthesizer = get_response_synthesizer(llm=Played(), text_qa_template=template)

    def app(question, passages):
        nodes = [NodeWithScore(node=TextNode(text=text), score=1.0) for text in passages]
        return str(synthesizer.synthesize(question, nodes))

    return app


APPS = {"langchain": langchain_app, "llamaindex": llamaindex_app}


def scores(content):
    return {one["name"]: (one["verdict"], one["score"]) for one in content["relations"]}


@pytest.mark.parametrize("framework", APPS)
def test_an_application_is_probed_as_a_function_and_over_http(tmp_path, framework):
    app = APPS[framework]()
    groups = write_lines(tmp_path / "groups.jsonl", rows(QUESTIONS))
    called = novarag.probe(
        groups, app=app, strategy="vanilla", profile="quick", out=tmp_path / "called"
    )
    assert called.cost.calls == 3 * QUESTIONS
    assert called.card.unread == 0
    assert "falls:lost-support" in called.broken

    def over_http(question, passages):
        said = app(question, passages)
        return {"reply": asyncio.run(said) if asyncio.iscoroutine(said) else said}

    with serving(over_http) as (url, asked):
        words = ["probe", str(groups), "--app", url, "--strategy", "vanilla", "--profile", "quick",
                 "--out", str(tmp_path / "http"), "--fail-on", "breaks"]  # fmt: skip
        done = CliRunner().invoke(command, words)
    assert done.exit_code == 3, done.output
    assert len(asked) == 3 * QUESTIONS
    one, two = (
        json.loads((tmp_path / name / "probe.json").read_text("utf-8"))
        for name in ("called", "http")
    )
    assert scores(one) == scores(two)
