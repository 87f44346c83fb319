"""What goes over the wire, and what may come back: a museum of replies that servers really send."""

import json

import pytest

from novarag import CallError, Outcome, Sampling, UsageError
from novarag.llm.wire import model_names, parse_schema, read_reply, request_body
from novarag.web.endpoint import parse_endpoint
from novarag.web.failures import error_message


def body(**sampling):
    return json.loads(request_body("m", "hello", Sampling(**sampling)))


def reply(*choices, **rest):
    return json.dumps({"choices": choices, **rest}).encode()


def choice(text, **rest):
    return {"message": {"content": text}, "finish_reason": "stop", **rest}


def test_what_is_left_open_is_left_out():
    assert body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "n": 1,
        "temperature": 0.0,
    }


def test_every_setting_has_its_field():
    full = body(
        n=16, temperature=1.0, top_p=0.9, max_tokens=7, seed=3, stop=("###",), logprobs=True,
        schema='{"type": "object"}',
    )  # fmt: skip
    assert {k: full[k] for k in ("n", "top_p", "max_tokens", "seed", "stop")} == {
        "n": 16, "top_p": 0.9, "max_tokens": 7, "seed": 3, "stop": ["###"],
    }  # fmt: skip
    assert full["logprobs"] is True
    assert full["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert body(regex="[0-9]+")["structured_outputs"] == {"regex": "[0-9]+"}


def test_half_an_emoji_does_not_stop_a_request():
    sent = json.loads(request_body("m", "half \ud83d emoji", Sampling()))
    assert sent["messages"][0]["content"] == "half ? emoji"


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"temperature": -1}, {"schema": "{}", "regex": "x"}], ids=str
)
def test_impossible_sampling_is_refused(wrong):
    with pytest.raises(UsageError):
        Sampling(**wrong)


@pytest.mark.parametrize("text", ["[1]", "not json"])
def test_a_schema_is_an_object(text):
    with pytest.raises(UsageError):
        parse_schema(text)


def one(raw, **sampling):
    completions, usage = read_reply(raw, Sampling(**sampling), "m")
    return completions, usage


def test_samples_come_in_the_order_of_their_index():
    (a, b), usage = one(
        reply(
            choice("second", index=1),
            choice("first", index=0),
            usage={"prompt_tokens": 5, "completion_tokens": 7},
        ),
        n=2,
    )
    assert (a.text, b.text, usage.prompt, usage.completion) == ("first", "second", 5, 7)


def test_reasoning_is_kept_apart_under_either_name():
    for name in ("reasoning", "reasoning_content"):
        message = {"content": "Answer: x", name: "hmm"}
        (got,), _ = one(reply({"message": message, "finish_reason": "length"}))
        assert (got.text, got.reasoning, got.truncated) == ("Answer: x", "hmm", True)


def test_content_may_be_missing_or_in_parts():
    (got,), usage = one(reply(choice(None)))
    assert (got.text, usage) == ("", None)
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    (got,), _ = one(reply(choice(parts)))
    assert got.text == "ab"


def test_half_an_emoji_in_a_reply_is_replaced():
    (got,), _ = one(b'{"choices": [{"message": {"content": "x \\ud83d"}}]}')
    assert got.text == "x ?"


def test_log_probabilities_stand_beside_their_tokens():
    content = [{"token": "A", "logprob": -0.5}, {"token": "B", "logprob": -1}]
    (got,), _ = one(reply(choice("AB", logprobs={"content": content})), logprobs=True)
    assert (got.tokens, got.logprobs) == (("A", "B"), (-0.5, -1.0))


def test_log_probabilities_that_were_asked_for_must_come():
    with pytest.raises(CallError) as caught:
        one(reply(choice("AB")), logprobs=True)
    assert caught.value.outcome is Outcome.INCOMPLETE


def test_a_server_that_ignores_n_is_caught():
    with pytest.raises(CallError, match="`per_request=1`") as caught:
        one(reply(choice("x")), n=16)
    assert (caught.value.outcome, caught.value.retryable) == (Outcome.INCOMPLETE, False)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"oops", b"null", b"[]", b'"x"', b"{}", b'{"choices": null}', b'{"choices": [1]}',
        b'{"choices": [{}]}', b'{"choices": [{"message": null}]}', b"\xff\xfe", b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{}]}}]}',
        b'{"choices": [{"index": "x", "message": {"content": "x"}}]}', b"[" * 5000,
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "many"}}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1e300}}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 9223372036854775808}}',
        b'{"choices": [{"message": {"content": "\\ud83d"}}], "usage": {"prompt_tokens": Infinity}}',
        b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": -1}}',
        b'["\\ud83d"' + b"[" * 5000,
        b'{"choices": [{"message": {"content": NaN}}]}', b"<html>502</html>", b'{"error": {"message": "x"}}',
    ],
)  # fmt: skip
def test_what_is_no_chat_completion_is_malformed(raw):
    with pytest.raises(CallError) as caught:
        one(raw)
    assert (caught.value.outcome, caught.value.retryable) == (Outcome.MALFORMED, True)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"error": {"message": "too\\nlong"}}', "too long"),
        (b'{"error": "no"}', "no"),
        (b'{"detail": "Not Found"}', "{'detail': 'Not Found'}"),
        (b"\x1b[31mred\x07", "[31mred"),
        (b"[]", "[]"),
        (b"x" * 5000, "x" * 300),
    ],
)
def test_what_a_server_says_of_its_refusal_is_one_safe_line(raw, said):
    assert error_message(raw) == said


def test_names_of_models_are_read_where_there_are_some():
    assert model_names(b'{"data": [{"id": "a"}]}') == ["a"]
    assert model_names(b"<html>") == model_names(b"{}") == model_names(b'{"data": [1]}') == []


@pytest.mark.parametrize(
    ("text", "url", "model"),
    [
        ("http://localhost:8000/v1=llama", "http://localhost:8000/v1", "llama"),
        ("https://api.example.com=org/m=x", "https://api.example.com/v1", "org/m=x"),
        ("http://[::1]:8000/v1/=m", "http://[::1]:8000/v1", "m"),
    ],
)
def test_addresses(text, url, model):
    found = parse_endpoint(text)
    assert (found.url, found.model) == (url, model)


@pytest.mark.parametrize(
    "text",
    [
        "llama", "http://x", "http://x=", "ftp://x/v1=m", "x/v1=m", "http:///v1=m", "file:///etc=m",
        "http://user:secret@x/v1=m", "http://secret@x/v1=m", "http://x/v1?key#a=m", "http://x:port/v1=m",
        "http://x /v1=m", "http://x/v1#frag=m", "http://x\n/v1=m", "http://[::1/v1=m", "http://a..b/v1=m",
        f"http://{'a' * 64}/v1=m", f"http://x.{'é' * 60}.org/v1=m", f"http://user:secret@{'a' * 64}/v1=m", "http://secret@x/v1=m\ud83d", "http://x/v1=\udcff",
    ],
)  # fmt: skip
def test_addresses_that_are_refused(text):
    with pytest.raises(UsageError) as caught:
        parse_endpoint(text)
    assert "secret" not in str(caught.value)


def test_the_openai_key_goes_to_openai_alone(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai")
    monkeypatch.delenv("NOVARAG_API_KEY", raising=False)
    assert parse_endpoint("https://api.openai.com/v1=m").key() == "for-openai"
    assert parse_endpoint("https://api.openai.com.evil.com/v1=m").key() is None
    assert parse_endpoint("http://x/v1=m", key_env="OPENAI_API_KEY").key() == "for-openai"


def test_a_key_with_a_line_break_is_refused_without_being_shown(monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", "abc\ndef")
    with pytest.raises(UsageError) as caught:
        parse_endpoint("http://x/v1=m").key()
    assert "abc" not in str(caught.value)


def test_half_an_emoji_in_a_token_or_a_part_is_replaced():
    raw = b'{"choices": [{"message": {"content": [{"type": "text", "text": "\\ud83d"}]}, "logprobs": {"content": [{"token": "\\ud83d", "logprob": -1}]}}]}'
    (got,), _ = one(raw, logprobs=True)
    assert (got.text, got.tokens) == ("?", ("?",))


def test_alternatives_to_the_first_token_are_kept_and_missed():
    others = [{"token": "True", "logprob": -0.1}, {"token": "False", "logprob": -2.5}]
    content = [{"token": "True", "logprob": -0.1, "top_logprobs": others}]
    told = {"logprobs": True, "alternatives": 2}
    assert json.loads(request_body("m", "?", Sampling(**told)))["top_logprobs"] == 2
    (got,), _ = one(reply(choice("True", logprobs={"content": content})), **told)
    assert got.alternatives == (("True", -0.1), ("False", -2.5))
    bare = [{"token": "True", "logprob": -0.1}]
    with pytest.raises(CallError, match="no alternatives"):
        one(reply(choice("True", logprobs={"content": bare})), **told)
    with pytest.raises(UsageError, match="come with log-probabilities"):
        Sampling(alternatives=2)
    with pytest.raises(UsageError, match="0 to 20"):
        Sampling(alternatives=21, logprobs=True)
