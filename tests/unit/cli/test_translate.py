"""What the library says of parameters, said in flags."""

from time import process_time

import pytest
from typer.testing import CliRunner

import novarag.cli
from novarag.cli.translate import for_the_shell, said
from novarag.errors import UsageError

FLAGS = frozenset({"--out", "--percent", "--unread", "--search", "--key-env"})


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("give another `out`", "give another --out"),
        ("pass `percent=True`", "pass --percent"),
        ("pass `unread=-1`", "pass --unread -1"),
        ("pass `unread=(-1,)`", "pass --unread -1"),
        ("pass `out='a b'`", "pass --out 'a b'"),
        ("pass `out=NAME`", "pass --out NAME"),
        ("give `search` or `key_env`", "give --search or --key-env"),
        ("a column `strange` and `Out`", "a column `strange` and `Out`"),
        ("`recover('runs/a')` mends it", "`novarag run recover runs/a` mends it"),
        ("`recover('a (b), c')`", "`novarag run recover 'a (b), c'`"),
        ('`recover("it\'s")`', "`novarag run recover 'it'\"'\"'s'`"),
        ("`recover('a; rm b')`", "`novarag run recover 'a; rm b'`"),
        ("run the same `ask(...)` again", "run the same `novarag ask` again"),
        ("`train_model(…, merge=True)`", "`novarag train fit --merge`"),
        ("`iter_trial_tables('runs/a')`", "`novarag run show --jsonl runs/a`"),
        (
            "`filter_trials('run', out='kept')` first",
            "`novarag train filter run --out kept` first",
        ),
        ("`ask(..., retry_failed=True)`", "`novarag ask --retry-failed`"),
        ("`nobody(1)` stays", "`nobody(1)` stays"),
        ("`recover('a" + "b" * 600 + "')`", "`recover('a" + "b" * 600 + "')`"),
        ("`recover('open)`", "`recover('open)`"),
        ("`recover(__import__('os'))`", "`recover(__import__('os'))`"),
        ("`" * 50, "`" * 50),
    ],
)
def test_messages_are_said_in_flags(said, shown):
    assert for_the_shell(said, FLAGS) == shown


@pytest.mark.parametrize(
    "hostile",
    ["`a(" * 20_000, "`recover('" * 20_000, "`out=" * 20_000, "`recover(" + "''" * 50_000 + ")`"],
)
def test_hostile_text_takes_no_time_and_stays(hostile):
    before = process_time()
    assert for_the_shell(hostile, FLAGS) == hostile
    assert process_time() - before < 2


def called(monkeypatch, flow, words, message):
    def fail(*_, **__):
        raise UsageError(message)

    monkeypatch.setattr(flow, fail)
    return str(CliRunner().invoke(novarag.cli.app, words).exception)


def test_a_verb_says_its_own_flags_and_no_others(monkeypatch):
    message = "`replies` or `margin`"
    found = called(monkeypatch, "novarag.flows.runs.summarise", ["run", "show", "x"], message)
    assert found == "--replies or `margin`"


def test_a_group_of_verbs_says_the_flags_of_its_verbs(monkeypatch, tmp_path):
    words = ["paper", "study", "sheet", "a", "b", "--out", str(tmp_path / "x")]
    found = called(monkeypatch, "novarag.flows.study.make_rating_sheet", words, "give `criteria`")
    assert found == "give --criteria"


def test_what_is_no_error_is_said_in_the_flags_of_the_verb_that_was_called(monkeypatch):
    called(monkeypatch, "novarag.flows.runs.recover", ["run", "recover", "x"], "")
    assert said("add `strategy=a:B`, or `workers`") == "add --strategy a:B, or `workers`"
