"""A server of files on the loopback, which does to each path what a test told it to.

A header `X-Wait` is how long the body is held back, in seconds.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Served:
    """Answers by path: bytes, or a list of (status, headers, body), the last again and again."""

    url: str
    answers: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    headers: list = field(default_factory=list)


@contextmanager
def file_server(answers):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            served.asked.append(self.path)
            served.headers.append(dict(self.headers))
            answer = served.answers.get(self.path, [(404, {}, b"")])
            if isinstance(answer, bytes):
                answer = [(200, {}, answer)]
            status, headers, body = answer.pop(0) if len(answer) > 1 else answer[0]
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                if value is not None:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.flush()
            time.sleep(float(headers.get("X-Wait", 0)))
            with suppress(ConnectionError):  # who asked may have left
                self.wfile.write(body)
            self.close_connection = True

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Served(f"http://127.0.0.1:{server.server_address[1]}", dict(answers))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
