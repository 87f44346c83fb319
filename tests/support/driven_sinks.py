"""How answers are sent to each real sink, and what it then holds of them."""

from pathlib import Path

import pytest

from novarag import send_answers
from novarag.integrations.core import ReplyScorer
from novarag.integrations.table import ADAPTERS
from tests.support import sinks


def sent(name, cases, settings, places, server=None):
    """Send what our core says of each case to a tool."""
    told = [ReplyScorer(**settings)(*case) for case in cases]
    file = Path(settings["gate"]).parent / "answers.jsonl"
    sinks.write_answers(file, told, places)
    done = send_answers(
        file, ADAPTERS[name].module.rpartition(".")[2].partition("_")[0], server=server
    )
    assert done.refused == ()
    assert done.unread == 7
    return told


def langfuse(cases, settings):
    """Send to a stand-in of Langfuse, which reads every score with its client's models."""
    places = sinks.ids(len(cases))
    kept, answer = sinks.langfuse_models()
    with pytest.MonkeyPatch.context() as patch, sinks.stand_in(answer) as heard:
        patch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
        patch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-2")
        sent("Langfuse", cases, settings, places, heard.url)
    found = {(one.trace_id, one.name): one.value for one in kept.values()}
    assert len(found) == len(kept)
    return [
        (
            None if isinstance(stated, str) else stated,
            found[place.trace, "novarag_decision"] == "answer",
        )
        for place in places
        for stated in [found[place.trace, "novarag_confidence"]]
    ]


def phoenix(cases, settings):
    """Send to a server of Phoenix, and read back with its own client."""
    url, places = sinks.phoenix(), sinks.ids(len(cases), seed=1)
    sinks.phoenix_spans(url, places, [len(case.passages) for case in cases])
    told = sent("Phoenix", cases, settings, places, url)
    found = {(a["span_id"], a["name"]): a["result"] for a in sinks.phoenix_annotations(url, places)}
    documents = sinks.phoenix_documents(url)
    for place, one in zip(places, told, strict=True):
        labels = {e["documentPosition"]: e["label"] for e in documents[place.retriever]}
        judged = {i: p["judgment"] for i, p in enumerate(one["passages"]) if p["judgment"]}
        assert labels == judged
        assert all(e["score"] is None for e in documents[place.retriever])
    return [
        (
            found[place.span, "novarag_confidence"].get("score"),
            found[place.span, "novarag_decision"]["label"] == "answer",
        )
        for place in places
    ]


def mlflow_traces(cases, settings):
    """Send to traces in a store of MLflow."""
    uri = f"sqlite:///{Path(settings['gate']).parent / 'mlflow.db'}"
    places = sinks.mlflow_traces(uri, len(cases))
    sent("MLflow-traces", cases, settings, places, uri)
    found = []
    for feedback in sinks.mlflow_feedback(uri, places).values():
        by_name = {one.name: one for one in feedback}
        stated = by_name["novarag_confidence"]
        assert (stated.feedback.error is not None) == (stated.feedback.value is None)
        passed = by_name["novarag_decision"].feedback.value == "answer"
        found.append((stated.feedback.value, passed))
    return found
