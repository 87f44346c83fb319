"""Answers sent to a real Phoenix and a real store of MLflow: each once, through kills and changes.

Langfuse's server does not run here; its own client is held against what we send instead.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest

from novarag import send_answers
from tests.support import sinks

os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false"}
pytestmark = [
    pytest.mark.integrations,
    pytest.mark.enable_socket,
    pytest.mark.filterwarnings("default"),
]
KINDS = ("novarag_confidence", "novarag_decision", "novarag_evidence")


def verdict(confidence=0.9, passages=4):
    """What is said of an answer; None is one that could not be read."""
    read = confidence is not None
    judged = [("highly relevant", "irrelevant")[i % 2] if read else None for i in range(passages)]
    return {
        "confidence": confidence,
        "stated": confidence,
        "interval": [0.1, 0.95] if read else None,
        "evidence": "consistent" if read else None,
        "decision": "answer" if read else "abstain",
        "reason": "<script>alert(1)</script> {0} %s",
        "flaw": None if read else "no confidence found",
        "passages": [{"judgment": word, "id": str(i)} for i, word in enumerate(judged)],
    }


def batches(log):
    """Count the batches that a log has whole."""
    lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
    return sum("sent" in json.loads(line) for line in lines if line)


def kill_after(count, file, to, server):
    """Send in a process of its own, and kill it once so many batches are written down."""
    log = file.with_name(f"{file.name}.sent")
    words = [
        sys.executable,
        "-m",
        "novarag",
        "run",
        "send",
        str(file),
        "--sink",
        to,
        "--server",
        server,
    ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until = time.monotonic() + 1200
    try:
        while batches(log) < count:
            assert process.poll() is None, process.stdout.read().decode()
            assert time.monotonic() < until
            time.sleep(0.005)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    return batches(log)


def test_phoenix_gets_each_once_through_kills(tmp_path):
    url, places = sinks.phoenix(), sinks.ids(150, seed=2)
    sinks.phoenix_spans(url, places, [4] * len(places))
    told = [verdict(None if i % 10 == 0 else i / 150) for i in range(len(places))]
    file = sinks.write_answers(tmp_path / "answers.jsonl", told, places)
    wanted = sum(2 if one["confidence"] is None else 3 + 4 for one in told)
    seen = [kill_after(count, file, "phoenix", url) for count in (1, 2, 4)]
    assert seen[0] < seen[1] < seen[2] < -(-wanted // 200)
    log = tmp_path / "answers.jsonl.sent"
    whole = log.read_bytes()
    log.write_bytes(whole[: whole.rstrip(b"\n").rindex(b"\n") + 40])  # a kill that cut the line
    done = send_answers(file, "phoenix", server=url)
    assert (done.sent + done.before, done.refused, done.unread) == (wanted, (), 15)
    assert 0 < done.before < wanted
    for _ in range(2):
        found = sinks.phoenix_annotations(url, places)
        documents = sinks.phoenix_documents(url)
        assert Counter(one["name"] for one in found) == dict(
            zip(KINDS, (150, 150, 135), strict=True)
        )
        assert [len(documents[p.retriever]) for p in places] == [
            0 if one["confidence"] is None else 4 for one in told
        ]
        scores = {o["span_id"]: o["result"] for o in found if o["name"] == KINDS[0]}
        for place, one in zip(places, told, strict=True):
            assert scores[place.span]["score"] == one["confidence"]
            assert scores[place.span]["explanation"].startswith(one["reason"])
            label = None if one["confidence"] is not None else "unread: no confidence found"
            assert scores[place.span]["label"] == label
        assert send_answers(file, "phoenix", server=url).sent == 0
        assert send_answers(file, "phoenix", server=url, again=True).sent == wanted


def test_phoenix_says_which_spans_it_does_not_have(tmp_path):
    url, places = sinks.phoenix(), sinks.ids(20, seed=3)
    sinks.phoenix_spans(url, [*places[:7], *places[8:]], [4, 4, 2, *[4] * 16])
    file = sinks.write_answers(tmp_path / "answers.jsonl", [verdict()] * 20, places)
    done = send_answers(file, "phoenix", server=url)
    lost = Counter((one.name, one.span) for one in done.refused)
    wanted = {(kind, places[7].span): 1 for kind in KINDS}
    wanted |= {("novarag_passage", places[7].retriever): 4}
    wanted |= {("novarag_passage", places[2].retriever): 2}  # its third and fourth are not there
    assert lost == wanted
    assert done.sent == 20 * 7 - 9
    assert len(sinks.phoenix_annotations(url, [*places[:7], *places[8:]])) == 19 * 3


def test_mlflow_gets_each_once_through_kills_and_changes(tmp_path):
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    places = sinks.mlflow_traces(uri, 24)
    told = [verdict(None if i % 10 == 0 else i / 24) for i in range(24)]
    file = sinks.write_answers(tmp_path / "answers.jsonl", told, places)
    wanted = 3 * 2 + 21 * 3
    assert kill_after(2, file, "mlflow", uri) < -(-wanted // 20)
    done = send_answers(file, "mlflow", server=uri)
    assert (done.sent + done.before, done.refused) == (wanted, ())
    held(uri, places, told)
    (tmp_path / "answers.jsonl.sent").unlink()  # lost, so ids alone keep them apart
    assert send_answers(file, "mlflow", server=uri).sent == wanted
    held(uri, places, told)
    changed = [verdict(0.0), *told[1:9], verdict(None), *told[10:]]
    sinks.write_answers(file, changed, places)
    done = send_answers(file, "mlflow", server=uri)
    assert done.before == wanted - 2 - 3
    held(uri, places, changed, more=1)  # the evidence of what can no longer be read stays


def held(uri, places, told, more=0):
    """Hold the feedback of a store against what was said."""
    found = sinks.mlflow_feedback(uri, places)
    count = sum(2 if one["confidence"] is None else 3 for one in told)
    assert sum(map(len, found.values())) == count + more
    for place, one in zip(places, told, strict=True):
        [stated] = [a for a in found[place.trace] if a.name == KINDS[0]]
        assert stated.feedback.value == one["confidence"]
        error = stated.feedback.error
        assert (error and error.error_code) == (None if one["flaw"] is None else "UNREAD_REPLY")
        assert stated.span_id == place.span


def test_langfuse_is_asked_as_its_own_client_asks(tmp_path, monkeypatch):
    from langfuse.api import CreateScoreRequest, ScoreDataType
    from langfuse.api.client import LangfuseAPI

    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-12345678")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-0123456789abcdef")
    places = sinks.ids(1)
    file = sinks.write_answers(tmp_path / "answers.jsonl", [verdict(0.5)], places)
    kept, answer = sinks.langfuse_models()
    with sinks.stand_in(answer) as heard:
        send_answers(file, "langfuse", server=heard.url)
        read = next(one for one in kept.values() if one.name == KINDS[0])
        client = LangfuseAPI(
            base_url=heard.url, username="pk-lf-12345678", password="sk-lf-0123456789abcdef"
        )
        client.scores.create(request=[read])
    (path, ours, sent), (other, theirs, written) = heard.requests
    assert path == other == "/api/public/scores"
    assert ours["Authorization"] == theirs["Authorization"]
    mine = {k: v for k, v in sent[0].items() if k != "timestamp"}
    assert mine == {k: v for k, v in written[0].items() if k in mine}
    assert read.data_type is ScoreDataType.NUMERIC
    assert isinstance(read, CreateScoreRequest)
