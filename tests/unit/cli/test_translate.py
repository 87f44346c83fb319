"""What the library says of parameters, said in flags."""

import pytest
from typer.testing import CliRunner

import novarag.cli
from novarag.cli.translate import for_the_shell
from novarag.errors import UsageError

FLAGS = frozenset({"--out", "--percent", "--unread", "--with", "--key-env"})


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("give another `out`", "give another --out"),
        ("pass `percent=True`", "pass --percent"),
        ("pass `unread=-1`", "pass --unread -1"),
        ("give `search` or `key_env`", "give --with or --key-env"),
        ("a column `strange` and `Out`", "a column `strange` and `Out`"),
        ("`recover('a b')` mends it", "`novarag recover a b` mends it"),
        (
            "`filter_trials('run', out='kept')` first",
            "`novarag filter run --out kept` first",
        ),
        ("`ask(..., retry_failed=True)`", "`novarag ask ... --retry-failed`"),
        ("`nobody(1)` stays", "`nobody(1)` stays"),
        ("`" * 50, "`" * 50),
    ],
)
def test_messages_are_said_in_flags(said, shown):
    assert for_the_shell(said, FLAGS) == shown


def test_the_group_translates_what_a_verb_raises(monkeypatch):
    def fail(*_):
        raise UsageError("give another `file`; `out` is no flag of this verb")

    monkeypatch.setattr("novarag.datasets.iter_groups", fail)
    found = CliRunner().invoke(novarag.cli.app, ["render", "x.jsonl"])
    assert str(found.exception) == "give another `file`; `out` is no flag of this verb"
    found = CliRunner().invoke(novarag.cli.app, ["audit", "x.jsonl"])
    assert "--margin" not in str(found.exception)
