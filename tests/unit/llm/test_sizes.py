"""How large a reply may be: what follows from the request, and what is refused unbuilt."""

import json

import pytest

from novarag import CallError, Outcome, Sampling
from novarag.llm.wire import check_values, read_reply, reply_limit, sample_limit


def body(count, text="x", **choice):
    return json.dumps({"choices": [{"message": {"content": text}, **choice}] * count}).encode()


def test_the_limit_follows_from_tokens_and_samples():
    limits = [reply_limit(Sampling(n=n, max_tokens=t)) for n, t in ((1, 16), (1, 2048), (16, 2048))]
    assert limits == sorted(limits)
    assert limits[2] - 65_536 == 16 * (limits[1] - 65_536)
    assert reply_limit(Sampling()) == 65_536 + 1_048_576
    with_logprobs = Sampling(max_tokens=100, logprobs=True, alternatives=3)
    assert reply_limit(with_logprobs) == 65_536 + sample_limit(with_logprobs) + 100 * 256 * 4


def test_a_reply_as_servers_send_it_is_far_below():
    text = 'Ünïcode 文字 \N{FIRE} {} [], \\ " ' * 300  # about 3,000 tokens, escaped by json.dumps
    tokens = [
        {"token": " tok", "logprob": -0.123456789, "bytes": [32, 116, 111, 107],
         "top_logprobs": [{"token": " tok", "logprob": -0.123456789, "bytes": [32, 116]}] * 5}
    ] * 3000  # fmt: skip
    sampling = Sampling(n=4, max_tokens=3000, logprobs=True, alternatives=5)
    raw = body(4, text, logprobs={"content": tokens}, finish_reason="stop")
    assert len(raw) < reply_limit(sampling) / 2
    completions, _ = read_reply(raw, sampling, "m")
    assert completions[3].text == text


@pytest.mark.parametrize(
    "raw",
    [
        b'{"choices": [' + b",".join([b"{}"] * 9000) + b"]}",
        b'{"choices": [' + b",".join([b'{"a":1}'] * 5000) + b"]}",
        b'{"choices": [' + b",".join([b"[]"] * 9000) + b"]}",
        b'{"choices": [' + b",".join([b'"\\\\"'] * 30_000) + b"]}",
        b"[" + b",".join([b"1.5"] * 9000) + b"]",
        b'","""' * 10_000,
    ],
    ids=["objects", "fields", "lists", "strings", "numbers", "quotes"],
)
def test_what_no_reply_holds_is_refused_before_it_is_built(raw):
    with pytest.raises(CallError, match="more values than a reply has") as caught:
        read_reply(raw, Sampling(), "m")
    assert caught.value.outcome is Outcome.MALFORMED


def test_no_request_allows_values_without_end():
    sampling = Sampling(n=16, logprobs=True, alternatives=20)
    check_values(b"[" + b"{}," * 300_000, sampling)
    with pytest.raises(CallError, match="more values"):
        check_values(b"[" + b"{}," * 400_000, sampling)


def test_more_choices_than_were_asked_for_are_not_built():
    with pytest.raises(CallError, match="asked for 2 samples in one request, got 3"):
        read_reply(b'{"choices": [{}, {}, {}]}', Sampling(n=2), "m")


def test_signs_in_a_text_are_no_values():
    for text in (
        "{" * 9000,
        '{"a": [' * 2000,
        "\\" * 9001 + '",{' * 3000,
        "a, b, " * 4000,
        "{" * 200_001,
    ):
        check_values(body(1, text), Sampling())
        assert read_reply(body(1, text), Sampling(), "m")[0][0].text == text


@pytest.mark.parametrize("field", ["content", "reasoning"])
def test_one_sample_may_not_take_the_room_of_all(field):
    message = {"content": "x"} | {field: "x" * 30_000}
    raw = json.dumps({"choices": [{"message": message}, {"message": {"content": "y"}}]}).encode()
    sampling = Sampling(n=2, max_tokens=100)
    assert len(raw) < reply_limit(sampling)
    with pytest.raises(CallError, match="longer than 22,784 characters"):
        read_reply(raw, sampling, "m")


@pytest.mark.parametrize(
    "opening", [b"[" * 3000, b'{"choices":' * 3000, b'["\\ud83d",' + b"[" * 3000]
)
def test_what_is_nested_too_deeply_is_malformed(opening):
    with pytest.raises(CallError) as caught:
        read_reply(opening, Sampling(), "m")
    assert caught.value.outcome is Outcome.MALFORMED
