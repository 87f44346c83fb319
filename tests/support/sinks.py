"""Answers that name their traces, and servers they are sent to: a stand-in, and the real ones."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_server
from types import SimpleNamespace

PROJECT = "novarag"


@dataclass
class Posted:
    """What a stand-in heard: path, headers and content of each request."""

    url: str = ""
    requests: list = field(default_factory=list)

    def contents(self):
        return [content for _, _, content in self.requests]


@contextmanager
def stand_in(answer):
    """Serve on the loopback; `answer(path, content)` says status and what is sent back."""
    heard = Posted()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            heard.requests.append((self.path, dict(self.headers), content))
            status, said = answer(self.path, content)
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    heard.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ids(count, seed=0):
    """Make places of answers: a trace, the span that answered and the one that retrieved."""
    return [
        SimpleNamespace(
            trace=f"{seed:08x}{i + 1:024x}",
            span=f"a{seed:07x}{i + 1:08x}",
            retriever=f"b{seed:07x}{i + 1:08x}",
        )
        for i in range(count)
    ]


def write_answers(path, verdicts, places):
    """Write what an application logs: the object of each answer, and where it came from."""
    rows = [
        {
            "trace_id": place.trace,
            "span_id": place.span,
            "retriever_span_id": place.retriever,
            "novarag": {"id": f"answer-{number}", **told},
        }
        for number, (told, place) in enumerate(zip(verdicts, places, strict=True))
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


@cache
def phoenix():
    """Start Phoenix on SQLite, once, until these tests end; return its address."""
    with create_server(("127.0.0.1", 0)) as one, create_server(("127.0.0.1", 0)) as other:
        port, grpc = one.getsockname()[1], other.getsockname()[1]
    folder = tempfile.TemporaryDirectory(prefix="phoenix-")
    settings = {
        "PHOENIX_WORKING_DIR": folder.name,
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        "PHOENIX_DISABLE_AGENT_ASSISTANT": "true",
    }
    log = (Path(folder.name) / "server.log").open("wb")
    server = subprocess.Popen(
        [sys.executable, "-m", "phoenix.server.main", "serve"],
        env={**os.environ, **settings},
        stdout=log,
        stderr=log,
    )

    def end():
        server.terminate()
        server.wait(30)
        log.close()
        folder.cleanup()

    atexit.register(end)
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + 1200
    while True:
        assert server.poll() is None, Path(log.name).read_text("utf-8")[-3000:]
        assert time.monotonic() < until, "Phoenix does not come up"
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5):
                return url
        except OSError:
            time.sleep(1)


def phoenix_spans(url, places, documents):
    """Put traces into Phoenix: a span that retrieved as many documents, and one that answered."""
    from phoenix.client import Client

    client, spans = Client(base_url=url), []
    for place, count in zip(places, documents, strict=True):
        common = {
            "start_time": "2026-01-01T00:00:00+00:00",
            "end_time": "2026-01-01T00:00:01+00:00",
            "status_code": "OK",
        }
        found = {f"retrieval.documents.{i}.document.content": "a text" for i in range(count)}
        for name, kind, span, attributes in (
            ("answer", "LLM", place.span, {}),
            ("retrieve", "RETRIEVER", place.retriever, found),
        ):
            context = {"trace_id": place.trace, "span_id": span}
            spans.append({
                **common, "name": name, "context": context, "span_kind": kind,
                "attributes": {"openinference.span.kind": kind, **attributes},
            })  # fmt: skip
    client.spans.log_spans(project_identifier=PROJECT, spans=spans)
    until = time.monotonic() + 1200  # it takes spans from a queue
    wanted = {place.span for place in places} | {place.retriever for place in places}
    while wanted - set(phoenix_documents(url)):
        assert time.monotonic() < until, "Phoenix does not show the spans"
        time.sleep(1)


def phoenix_annotations(url, places):
    """Read annotations of spans back with Phoenix's own client."""
    from phoenix.client import Client

    client, found = Client(base_url=url), []
    spans = [place.span for place in places]
    for begin in range(0, len(spans), 50):
        found += client.spans.get_span_annotations(
            span_ids=spans[begin : begin + 50], project_identifier=PROJECT
        )
    return found


def phoenix_documents(url):
    """Read annotations of documents back, by span, as Phoenix's pages do."""
    asked = (
        "query ($after: String) { projects { edges { node { name spans(first: 1000, after: $after)"
        " { pageInfo { hasNextPage endCursor } edges { node { spanId documentEvaluations"
        " { name label score documentPosition } } } } } } } }"
    )
    found, after = {}, None
    while True:
        body = json.dumps({"query": asked, "variables": {"after": after}}).encode()
        request = urllib.request.Request(
            f"{url}/graphql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as reply:
            projects = json.load(reply)["data"]["projects"]["edges"]
        spans = [p["node"]["spans"] for p in projects if p["node"]["name"] == PROJECT]
        for one in spans:
            found |= {e["node"]["spanId"]: e["node"]["documentEvaluations"] for e in one["edges"]}
        if not spans or not spans[0]["pageInfo"]["hasNextPage"]:
            return found
        after = spans[0]["pageInfo"]["endCursor"]


def mlflow_traces(uri, count):
    """Put traces into a store of MLflow; return their places."""
    import mlflow

    mlflow.set_tracking_uri(uri)
    places = []
    for _ in range(count):
        with mlflow.start_span(name="answer") as span:
            span.set_inputs({"question": "When?"})
        places.append(SimpleNamespace(trace=span.trace_id, span=span.span_id, retriever=None))
    return places


def mlflow_feedback(uri, places):
    """Read the feedback on traces back."""
    import mlflow

    mlflow.set_tracking_uri(uri)
    return {
        place.trace: mlflow.MlflowClient().get_trace(place.trace, display=False).info.assessments
        for place in places
    }


def langfuse_models():
    """Answer as Langfuse does, after its own client's models have read every score."""
    from langfuse.api import CreateScoreRequest
    from langfuse.api.core.pydantic_utilities import parse_obj_as

    kept = {}

    def answer(path, content):
        if path != "/api/public/scores" or not isinstance(content, list):
            return 404, {"message": "no such route"}
        for one in content:
            read = parse_obj_as(CreateScoreRequest, one)
            unknown = (
                set(one) - {"traceId", "observationId", "dataType"} - set(type(read).model_fields)
            )
            assert not unknown, unknown
            assert isinstance(read.value, str) == (read.data_type == "CATEGORICAL")
            kept[read.id, read.timestamp] = read
        return 202, {"message": "Accepted"}

    return kept, answer
