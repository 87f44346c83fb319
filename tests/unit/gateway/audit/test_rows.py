"""Rows of the audit: what they hold of a request, and what they never hold."""

import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.calls import Usage
from novarag.gateway.audit.payloads import (
    DECISION_COLUMNS,
    DecisionRecord,
    FeedbackRecord,
    IdMaps,
    from_payload,
    to_payload,
)
from novarag.gateway.audit.rows import (
    CODES,
    FeedbackRow,
    RequestContext,
    TextPolicy,
    TextRecord,
    read_id_time,
)
from novarag.gateway.decisions import PolicyDecision
from novarag.gateway.http.replies import draw_id
from novarag.gateway.http.requests import parse_question
from novarag.gateway.snapshot import Snapshot
from novarag.records import Completion, Flaw
from novarag.scoring import Action, Exchange
from novarag.scoring.policy import settle
from novarag.strategies import STRATEGIES
from tests.support.audited import row
from tests.support.gateways import PASSAGES, QUESTION, REPLY
from tests.support.gateways import settings as file_of

TEXT = st.text(alphabet='a\u00e9\n\r\t"\\\0 \u2028\U0001f600', max_size=9)
TEXTS = (QUESTION, *PASSAGES, "1871")


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "gateway.toml"
    path.write_text(file_of("http://127.0.0.1:9/v1", model="frame = false"))
    return Snapshot(path)


def made_of(snapshot, reply=REPLY, action=Action.ANSWER, *, keep=False):
    respondent = snapshot.find_respondent("support")
    asked = parse_question(QUESTION, list(PASSAGES), snapshot.settings.limits)
    said = Completion(text=reply, model="llama")
    answer = respondent.scorer.score(Exchange(group=asked.group, completion=said))
    usage = Usage(prompt=11, completion=7)
    made = PolicyDecision.by(respondent, settle(answer, action, "so"), usage)
    context = RequestContext(
        id=draw_id(), respondent=respondent, tenant="acme", route="chat",
        settings=snapshot.version, began=time.perf_counter(), text_policy=TextPolicy(keep=keep),
    )  # fmt: skip
    return context, asked, made


def test_a_decision_is_kept_in_numbers_without_texts(snapshot):
    context, asked, made = made_of(snapshot)
    kept = context.make_decision_row(asked, made, shown=True)
    assert (kept.id, kept.tenant, kept.model, kept.answered) == (
        context.id,
        "acme",
        "support",
        "support",
    )
    assert (kept.served, kept.upstream, kept.settings) == ("llama", "main", snapshot.version)
    assert kept.prompt == STRATEGIES["nova"].template.hash
    assert (kept.route, kept.mode, kept.status) == ("chat", "enforce", 200)
    assert (kept.decision, kept.action, kept.evidence, kept.flaw) == (
        "answer",
        "answer",
        "consistent",
        None,
    )
    assert (kept.stated, kept.confidence, kept.low, kept.calibrated) == (0.9, 0.9, None, False)
    assert kept.judgments == (1, 3)
    assert (kept.prompt_tokens, kept.reply_tokens) == (11, 7)
    assert kept.latency_ms >= 0
    words = kept.texts
    assert (words.question_length, words.answer_length) == (len(QUESTION), 4)
    assert words.passages_length == sum(map(len, PASSAGES))
    assert (words.question, words.passages, words.answer) == (None, None, None)
    payload = to_payload(kept)
    assert not any(text.encode() in payload for text in TEXTS)


def test_texts_are_kept_where_the_operator_says_so(snapshot):
    context, asked, made = made_of(snapshot, keep=True)
    kept = context.make_decision_row(asked, made, shown=True)
    assert kept.texts.question == QUESTION
    assert kept.texts.passages == tuple(PASSAGES)
    assert kept.texts.answer == "1871"


def test_an_unread_reply_a_failure_and_a_passed_request_have_rows(snapshot):
    context, asked, made = made_of(snapshot, reply="no form at all", action=Action.ABSTAIN)
    unread = context.make_decision_row(asked, made, shown=False)
    assert (unread.decision, unread.stated, unread.judgments) == ("abstain", None, None)
    assert unread.flaw in set(Flaw)
    assert unread.texts.answer_digest is None
    failed = context.make_failure_row(502, asked)
    assert (failed.decision, failed.status, failed.shown, failed.action) == (
        "failed",
        502,
        False,
        None,
    )
    assert failed.texts.question_length == len(QUESTION)
    assert context.make_failure_row(504).texts == TextRecord()
    passed = context.make_passed_row(200, Usage(prompt=3, completion=4))
    assert (passed.decision, passed.shown, passed.reply_tokens) == ("none", True, 4)
    for one in (unread, failed, passed):
        assert from_payload(to_payload(one)).id == one.id


def test_digests_are_keyed_and_fit_a_bigint():
    plain, keyed = TextPolicy(), TextPolicy(key=b"k")
    assert plain.digest("a") == TextPolicy(keep=True).digest("a") != plain.digest("b")
    assert plain.digest("a") != keyed.digest("a") == TextPolicy(key=b"k").digest("a")
    assert (
        plain.record("q", ["ab", "c"], None).passages_digest
        != plain.record("q", ["a", "bc"], None).passages_digest
    )
    digests = [plain.digest(str(i)) for i in range(50)]
    assert all(-(2**63) <= one < 2**63 for one in digests)
    assert min(digests) < 0 < max(digests)
    assert TextPolicy(key=b"k" * 200).digest("a")
    assert plain.digest("\ud800")


def test_kept_texts_hold_nothing_that_postgresql_refuses():
    words = TextPolicy(keep=True).record("a\0b", ["\ud800"], "c\0")
    assert (words.question, words.passages, words.answer) == ("a\ufffdb", ("?",), "c\ufffd")


def test_an_id_holds_its_time():
    now = datetime(2026, 11, 17, 3, 4, 5, 678_000, tzinfo=UTC)
    assert read_id_time(draw_id(now.timestamp())) == now


def test_numbers_of_words_never_move():
    """They stand in databases and in spools; new words go to the end."""
    assert CODES["route"] == {"chat": 1, "stream": 2, "score": 3}
    assert CODES["mode"] == {"enforce": 1, "annotate": 2}
    assert CODES["decision"] == {"answer": 1, "abstain": 2, "clarify": 3, "none": 4, "failed": 5}
    assert CODES["action"] == {
        "answer": 1, "abstain": 2, "clarify": 3, "escalate": 4, "prefer-recent": 5,
        "prefer-source": 6, "closed-book": 7,
    }  # fmt: skip
    assert CODES["evidence"] == {"conflicting": 1, "consistent": 2, "insufficient": 3}
    assert CODES["judgment"] == {"highly relevant": 1, "relevant": 2, "irrelevant": 3}
    assert CODES["verdict"] == {"right": 1, "wrong": 2}
    assert list(CODES["flaw"])[:3] == [
        "the reply is empty",
        "no passage found",
        "the reasoning never ended",
    ]
    assert len(CODES["flaw"]) == 19


@settings(max_examples=60)
@given(
    st.builds(
        TextRecord, question=st.none() | TEXT, passages=st.none() | st.tuples(TEXT, TEXT),
        question_digest=st.none() | st.integers(-(2**63), 2**63 - 1),
    ),
    st.none() | st.floats(0, 1), TEXT, st.none() | st.tuples(st.integers(1, 3)),
)  # fmt: skip
def test_a_row_comes_out_of_its_payload_as_it_went_in(words, stated, tenant, judgments):
    one = row(texts=words, stated=stated, tenant=tenant, judgments=judgments)
    payload = to_payload(one)
    assert b"\n" not in payload
    found = from_payload(payload)
    assert isinstance(found, DecisionRecord)
    record = found.record(IdMaps({tenant: 7}, {found.source: 8}))
    got = dict(zip(DECISION_COLUMNS, record, strict=True))
    assert (got["id"], got["tenant"], got["source"], got["stated"]) == (one.id, 7, 8, stated)
    assert (got["question_digest"], got["question"]) == (words.question_digest, words.question)
    assert got["passages"] == (None if words.passages is None else list(words.passages))
    assert got["judgments"] == (None if judgments is None else list(judgments))
    assert found.source == ("support", "support", "llama", "main", "0123456789abcdef", "v1")
    assert got["day"] == got["time"].date()


def test_feedback_comes_out_of_its_payload():
    said = FeedbackRow(id=draw_id(), tenant="a", verdict="wrong", time_ms=1_700_000_000_123)
    found = from_payload(to_payload(said))
    assert isinstance(found, FeedbackRecord)
    assert (found.id, found.tenant, found.verdict) == (said.id, "a", 2)
    assert found.time.timestamp() == 1_700_000_000.123
    assert found.day == read_id_time(said.id).date()


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"7", b'["d", 2, 1]', b'["x", 1, 1]', b'["f", 1]', b'["d", 1, "short"]',
     b'["d", 1, 5, "a", [], 1]', b'["f", 1, "ffffffff-ffff-7fff-bfff-ffffffffffff", 1, "a", 1]'],
)  # fmt: skip
def test_what_this_code_does_not_know_is_refused(payload):
    with pytest.raises(ValueError, match=r"record|decision|unpack|year|invalid"):
        from_payload(payload)


def test_a_later_form_is_set_aside_even_if_it_looks_like_ours():
    later = to_payload(row()).replace(b'["d",1,', b'["d",2,')
    with pytest.raises(ValueError, match="a record of form 'd' 2"):
        from_payload(later)


def test_the_audit_of_a_process_imports_no_tables_and_no_statistics():
    code = (
        "import sys, novarag.gateway.audit.recorder, novarag.gateway.http.feedback;"
        "bad = {'polars', 'scipy.stats', 'pyarrow', 'pandas'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
