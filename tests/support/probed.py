"""Questions to probe, an application over HTTP that answers by a rule, and its bill."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[[str, list[str]], Any]


def rows(count: int = 60) -> list[dict[str, Any]]:
    """Questions whose first passage supports the answer, as lines of a file."""
    return [
        {
            "id": f"q{i}", "question": f"Who built bridge {i}?", "answers": [f"Ada{i}"],
            "passages": [
                {"text": f"Bridge {i} was built by Ada{i}.", "kind": "gold"},
                {"text": f"The market of town {i} is on Tuesdays.", "kind": "irrelevant"},
            ],
        }
        for i in range(count)
    ]  # fmt: skip


def against(count: int = 60) -> list[dict[str, Any]]:
    """A passage for each question that supports another answer."""
    return [
        {
            "id": f"q{i}", "question": f"Who built bridge {i}?",
            "passages": [
                {"text": f"Bridge {i} was built by Other{i}.", "kind": "counterfactual",
                 "claim": f"Other{i}"},
            ],
        }
        for i in range(count)
    ]  # fmt: skip


def write_lines(path, lines):
    """Write rows as JSONL, and return the place."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def boaster(question: str, passages: list[str]) -> dict[str, Any]:
    """Answer from the first passage that names a builder, always 95 % sure."""
    for text in passages:
        if "built by" in text:
            return {"answer": text.split("built by ")[1].split(".")[0], "confidence": 0.95}
    return {"answer": f"somebody{len(question)}", "confidence": 0.95}


def modest(question: str, passages: list[str]) -> dict[str, Any]:
    """Answer as the boaster does, sure only where exactly one passage fits the question."""
    bridge = question.removeprefix("Who built ").removesuffix("?")
    said = {t.split("built by ")[1].split(".")[0] for t in passages
            if t.lower().startswith(f"{bridge} was built by")}  # fmt: skip
    if len(said) == 1:
        return {"answer": said.pop(), "confidence": 0.9}
    if said:
        return {"answer": min(said), "confidence": 0.4}
    return {"answer": "I do not know", "confidence": 0.05}


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve an application until the block ends; yields its address and what it was asked.

    What `answer` returns is sent as JSON; bytes are sent as they are.
    """
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append({**body, "key": self.headers["Idempotency-Key"]})
            said = answer(body["question"], body["passages"])
            content = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self):
            self.send_error(405)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/ask", asked
    finally:
        server.shutdown()
        server.server_close()
