"""Applications as respondents: what is sent, what is read, what is turned away."""

import asyncio
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from novarag.calls import CallError, Outcome, Sampling
from novarag.errors import ServiceError, UsageError
from novarag.examples import EXAMPLE_GROUP
from novarag.llm.application import LARGEST_REPLY, Application, AppLLM, FunctionApp, canonical
from novarag.records import Flaw, Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES
from novarag.web.sending import Patience
from tests.support.waiting import PATIENCE

ASKING = Application(STRATEGIES["vanilla"])
PROMPT = ASKING.render(EXAMPLE_GROUP).text
GOOD = {"answer": "1871", "confidence": 0.4}


def read(said):
    text = said if isinstance(said, str) else json.dumps(said)
    return ASKING.read(text, group=EXAMPLE_GROUP)


# — what is sent and read —


def test_the_request_is_question_and_passages():
    sent = json.loads(PROMPT)
    assert sent == {
        "question": EXAMPLE_GROUP.question.text,
        "passages": [passage.text for passage in EXAMPLE_GROUP.passages],
    }


def test_half_a_character_can_be_sent():
    group = PassageGroup(
        question=Question(id="q", text="\ud83d?"), passages=(Passage(text="\udc00 é"),)
    )
    assert json.loads(ASKING.render(group).text.encode()) == {
        "question": "??", "passages": ["? é"],
    }  # fmt: skip


def test_fields_are_read_as_they_are():
    found = read(GOOD)
    assert (found.answer, found.confidence, found.flaw) == ("1871", 0.4, None)


def test_a_reply_is_read_by_the_strategy():
    found = read({"reply": "Answer: 1871\nConfidence: 40%"})
    assert (found.answer, found.confidence, found.flaw) == ("1871", 0.4, None)
    assert read({"reply": "dunno"}).flaw is Flaw.NO_CONFIDENCE


def test_fields_come_before_a_reply():
    both = {**GOOD, "reply": "Answer: 1884\nConfidence: 99%"}
    assert read(both).answer == "1871"


@pytest.mark.parametrize(
    ("said", "flaw"),
    [
        ({"answer": "x", "confidence": 85}, Flaw.OUT_OF_BOUNDS),
        ({"answer": "x", "confidence": -0.1}, Flaw.OUT_OF_BOUNDS),
        ('{"answer": "x", "confidence": NaN}', Flaw.OUT_OF_BOUNDS),
        ('{"answer": "x", "confidence": 1e999}', Flaw.OUT_OF_BOUNDS),
        ({"answer": "x", "confidence": 10**400}, Flaw.OUT_OF_BOUNDS),
        ({"answer": "x", "confidence": "0.4"}, Flaw.WORDS),
        ({"answer": "x", "confidence": True}, Flaw.WORDS),
        ({"answer": "x", "confidence": [0.4]}, Flaw.WORDS),
        ({"answer": "x", "confidence": None}, Flaw.NO_CONFIDENCE),
        ({"answer": "x"}, Flaw.NO_CONFIDENCE),
        ({"answer": " ", "confidence": 0.4}, Flaw.NO_ANSWER),
        ({"answer": 1871, "confidence": 0.4}, Flaw.NO_ANSWER),
        ({"answer": None, "confidence": 0.4, "reply": "Answer: 1\nConfidence: 5%"}, Flaw.NO_ANSWER),
        ({"reply": 7}, Flaw.NO_ANSWER),
        ([], Flaw.NO_ANSWER),
        ("not json", Flaw.NO_ANSWER),
        ("[" * 5000, Flaw.NO_ANSWER),
    ],
)
def test_what_is_not_of_the_kind_is_unread_with_its_reason(said, flaw):
    found = read(said)
    assert (found.flaw, found.response) == (flaw, None)


def test_only_what_is_wanted_is_kept():
    kept = canonical({**GOOD, "sources": ["x" * 1000], "trace": {"a": 1}})
    assert json.loads(kept) == GOOD
    assert json.loads(canonical({"answer": "x", "confidence": {"deep": [1]}})) == {
        "answer": "x", "confidence": {"kind": "dict"},
    }  # fmt: skip
    assert canonical({"confidence": 0.4}) is canonical([1]) is canonical(None) is None


# — an application over HTTP —


@contextmanager
def serving(respond):
    """Serve what `respond(body, headers)` returns: status, headers, bytes."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, json.loads(body), dict(self.headers)))
            status, more, content = respond(len(seen), self.headers)
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self):
            self.send_error(405)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/ask", seen
    finally:
        server.shutdown()
        server.server_close()


QUICK = Patience(timeout=60, attempts=3, backoff=0.01)


def ask(url, *, patience=QUICK, key_env=None, **more):
    async def once():
        async with AppLLM(url, key_env=key_env, patience=patience) as llm:
            await llm.check()
            return await llm.complete(PROMPT, **more)

    return asyncio.run(once())


def says(content, status=200, **headers):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda *_: (status, headers, body)


@pytest.mark.enable_socket
def test_the_prompt_is_posted_as_it_is_under_its_key():
    with serving(says({**GOOD, "sources": [1, 2]})) as (url, seen):
        reply = ask(url, key="abc")
    assert json.loads(reply.completions[0].text) == GOOD
    ((path, body, headers),) = seen
    assert (path, body, headers["Idempotency-Key"]) == ("/ask", json.loads(PROMPT), "abc")
    assert headers["Content-Type"] == "application/json"
    assert "Authorization" not in headers


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"<html>oops</html>", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[1]", "a list"),
        (b'"Answer: 1871"', "a str"),
        (b"{}", "wanted a JSON object"),
        (b'{"reply": 3}', "wanted a JSON object"),
        (b'{"answer": "x", "more": [' + b"{}," * 20_000 + b"{}]}", "more values"),
        (b'{"answer": "' + b"x" * LARGEST_REPLY + b'"}', "longer than"),
    ],
)
def test_a_reply_of_another_kind_is_malformed_and_not_asked_again(content, detail):
    with serving(says(content)) as (url, seen), pytest.raises(CallError, match=detail) as caught:
        ask(url)
    assert caught.value.outcome is Outcome.MALFORMED
    assert len(seen) == 1


@pytest.mark.enable_socket
def test_what_may_have_been_acted_on_is_not_sent_again():
    with serving(says({}, status=500)) as (url, seen), pytest.raises(CallError) as caught:
        ask(url)
    assert (caught.value.outcome, len(seen)) == (Outcome.SERVER_ERROR, 1)

    release = threading.Event()

    def slow(*_):
        release.wait(PATIENCE)
        return says(GOOD)()

    with serving(slow) as (url, seen):
        with pytest.raises(CallError) as caught:
            ask(url, patience=Patience(timeout=3, attempts=3))
        release.set()
    assert (caught.value.outcome, len(seen)) == (Outcome.TIMED_OUT, 1)


@pytest.mark.enable_socket
def test_what_was_turned_away_is_sent_again():
    def busy_at_first(number, _):
        return says({}, status=429)() if number == 1 else says(GOOD)()

    with serving(busy_at_first) as (url, seen):
        reply = ask(url)
    assert json.loads(reply.completions[0].text) == GOOD
    assert len(seen) == 2


@pytest.mark.enable_socket
def test_nobody_there_is_said_at_once():
    with pytest.raises(CallError, match="cannot connect") as caught:
        ask("http://127.0.0.1:9/ask")
    assert caught.value.outcome is Outcome.UNREACHABLE


@pytest.mark.enable_socket
def test_a_redirect_is_not_followed_with_our_key():
    away = says({}, status=307, Location="http://evil.example/")
    with serving(away) as (url, seen), pytest.raises(CallError) as caught:
        ask(url)
    assert (caught.value.outcome, len(seen)) == (Outcome.REDIRECTED, 1)


@pytest.mark.enable_socket
def test_a_key_goes_out_only_where_it_is_named_and_is_taken_out_of_what_comes_back(monkeypatch):
    key = "sk-app-1234567890abcdefXYZ"
    monkeypatch.setenv("APP_KEY", key)
    monkeypatch.setenv("NOVARAG_API_KEY", "sk-other-99999999999")
    leak = {"answer": f"the key is {key}", "confidence": 0.4}
    with serving(says(leak)) as (url, seen):
        reply = ask(url, key_env="APP_KEY")
        bare = ask(url)
    assert seen[0][2]["Authorization"] == f"Bearer {key}"
    assert "Authorization" not in seen[1][2]
    assert key not in reply.completions[0].text
    assert reply.remarks
    assert key in bare.completions[0].text  # nothing was sent, so nothing of ours can come back


def test_addresses_that_are_none():
    for url in ("ftp://x", "http://user:pass@host/ask", "ask", "http://h/?key=1"):
        with pytest.raises(UsageError):
            AppLLM(url)


# — a function —


def call(function, n=1):
    reply = asyncio.run(FunctionApp(function).complete(PROMPT, Sampling(n=n), key="k"))
    return [json.loads(c.text) for c in reply.completions]


class Said:
    answer, confidence = "1871", 0.4


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (GOOD, GOOD),
        (("1871", 0.4), GOOD),
        (Said(), GOOD),
        ("Answer: 1871", {"reply": "Answer: 1871"}),
        ({"reply": "x", "more": 1}, {"reply": "x"}),
    ],
)
def test_what_a_function_may_return(said, kept):
    assert call(lambda _q, _p: said) == [kept]


def test_a_function_sees_the_question_and_its_passages():
    seen = []
    call(lambda question, passages: seen.append((question, passages)) or GOOD, n=2)
    assert seen == [(EXAMPLE_GROUP.question.text, [p.text for p in EXAMPLE_GROUP.passages])] * 2


def test_a_function_may_be_awaited():
    async def later(question, passages):
        await asyncio.sleep(0)
        return GOOD

    assert call(later) == [GOOD]
    assert FunctionApp(later).model.endswith("later")


def raising(question, passages):
    raise KeyError("x")


def stopping(question, passages):
    raise StopIteration


async def failing(question, passages):
    raise ValueError("no")


@pytest.mark.parametrize("function", [raising, stopping, failing, lambda _q, _p: 7])
def test_what_a_function_does_wrong_is_said(function):
    with pytest.raises(ServiceError, match="`app`") as caught:
        call(function)
    assert not caught.value.retryable


def test_a_function_is_known_by_its_model():
    def function(question, passages):
        return GOOD

    function.model = "bot-v2"
    assert FunctionApp(function).model == "bot-v2"
