"""What the library says of parameters, said in flags."""

from time import process_time

import pytest
from typer.testing import CliRunner

import novarag.cli
from novarag.calls import read_detail
from novarag.cli.translate import said
from novarag.errors import UsageError
from novarag.prose import say

FLAGS = frozenset({"--out", "--percent", "--unread", "--right", "--search", "--key-env"})


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (say("give another `out`"), "give another --out"),
        (say("pass `percent=True`"), "pass --percent"),
        (say("pass `unread=-1`"), "pass --unread -1"),
        (say("pass `unread=(-1,)`"), "pass --unread -1"),
        (say("pass `right=('4', '5')`"), "pass --right 4,5"),
        (say("pass `out='a b'`"), "pass --out 'a b'"),
        (say("pass `{}=NAME`", "out"), "pass --out NAME"),
        (say("give `search` or `{}`", "key_env"), "give --search or --key-env"),
        (say("a column `strange` and `Out`"), "a column `strange` and `Out`"),
        (say("`recover({})` mends it", "runs/a"), "`novarag run recover runs/a` mends it"),
        (say("`recover({})`", "a (b), c"), "`novarag run recover 'a (b), c'`"),
        (say("`recover({})`", "it's"), "`novarag run recover 'it'\"'\"'s'`"),
        (say("`recover({})`", "a; rm b"), "`novarag run recover 'a; rm b'`"),
        (say("run the same `ask(...)` again"), "run the same `novarag ask` again"),
        (say("`train_model(..., merge=True)`"), "`novarag train fit --merge`"),
        (say("`iter_trial_tables({})`", "runs/a"), "`novarag run show --jsonl runs/a`"),
        (
            say("`filter_trials('run', out='kept')` first"),
            "`novarag train filter run --out kept` first",
        ),
        (say("`ask(..., retry_failed=True)`"), "`novarag ask --retry-failed`"),
        (say("`nobody(1)` stays"), "`nobody(1)` stays"),
        ("a plain `out` stays", "a plain `out` stays"),
    ],
)
def test_messages_are_said_in_flags(message, shown):
    assert said(message, FLAGS) == shown


@pytest.mark.parametrize("hostile", ["`a(", "`recover('", "`out=", "`recover(''", "{}", "`out`"])
def test_hostile_text_takes_no_time_and_stays(hostile):
    text, before = hostile * 50_000, process_time()
    assert said(say("{}", text), FLAGS) == said(text, FLAGS) == text
    assert process_time() - before < 2


@pytest.mark.parametrize("code", ["out out", "a.b", "1", "f(g(1))", "f(*a)", "a, b", "out=[x]", ""])
def test_what_names_nothing_does_not_stand_in_backticks(code):
    with pytest.raises((ValueError, SyntaxError)):
        say(f"give `{code}`")


def test_kept_details_end_with_advice_that_is_said_in_flags():
    detail = "got 1; this server may want `per_request=1`"
    asked = frozenset({"--per-request"})
    assert said(read_detail(detail), asked) == "got 1; this server may want --per-request 1"
    assert said(read_detail(f"{detail}, said a server"), asked) == f"{detail}, said a server"


def called(monkeypatch, flow, words, message):
    def fail(*_, **__):
        raise UsageError(message)

    monkeypatch.setattr(flow, fail)
    return str(CliRunner().invoke(novarag.cli.app, words).exception)


def test_a_verb_says_its_own_flags_and_no_others(monkeypatch):
    message = say("`replies` or `margin`")
    found = called(monkeypatch, "novarag.flows.runs.summarise", ["run", "show", "x"], message)
    assert found == "--replies or `margin`"


def test_a_group_of_verbs_says_the_flags_of_its_verbs(monkeypatch, tmp_path):
    words = ["paper", "study", "sheet", "a", "b", "--out", str(tmp_path / "x")]
    found = called(
        monkeypatch, "novarag.flows.study.make_rating_sheet", words, say("give `criteria`")
    )
    assert found == "give --criteria"


def test_what_is_no_error_is_said_in_the_flags_of_the_verb_that_was_called(monkeypatch):
    called(monkeypatch, "novarag.flows.runs.recover", ["run", "recover", "x"], "")
    assert said(say("add `strategy={}`, or `workers`", "a:B")) == "add --strategy a:B, or `workers`"
