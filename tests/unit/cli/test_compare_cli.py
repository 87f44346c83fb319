"""`novarag compare` at the command line."""

import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.errors import UnknownNameError, UsageError
from tests.support.changes import answers, commit, repository, write_table


def call(*words):
    return CliRunner().invoke(app, ["compare", *map(str, words), "--replicates", "100"])


@pytest.fixture
def desk(tmp_path, monkeypatch):
    for name, boast in (("old", 0.0), ("same", 0.01), ("worse", 0.8)):
        write_table(tmp_path / f"{name}.csv", answers(boast=boast))
    write_table(tmp_path / "few.csv", answers(60, boast=0.2))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_code_says_whether_a_budget_is_broken(desk):
    kept = call("same.csv", "--with", "old.csv")
    assert kept.exit_code == 0, kept.output
    assert kept.stdout.startswith("- Kept: 2 budgets, and nothing is broken.")
    broken = call("worse.csv", "--with", "old.csv", "--out", "out")
    assert broken.exit_code == 3
    assert broken.stdout.startswith("- Broken, 1 of 2 budgets: Brier is worse by +0.")
    assert (desk / "out" / "junit.xml").is_file()
    assert call("worse.csv", "--with", "old.csv", "--budget", "brier=90%").exit_code == 0


def test_what_cannot_be_told_fails_where_one_is_strict(desk):
    write_table(desk / "before.csv", answers(60))
    open_ = call("few.csv", "--with", "before.csv")
    assert open_.exit_code == 0
    assert open_.stdout.startswith("- Not enough questions to tell for 1 of 2 budgets.")
    assert call("few.csv", "--with", "before.csv", "--strict").exit_code == 3


def test_budgets_groups_and_columns(desk):
    words = ["worse.csv", "--with", "old.csv", "--by", "state", "--question", "question"]
    done = call(
        *words, "--budget", "auroc=0.03", "--budget", "accuracy = 2 %", "--budget", "unread=.01"
    )
    assert done.exit_code == 0, done.output
    assert "kept: AUROC of conflicting" in done.stdout
    assert "allowed are 1 points" in done.stdout


@pytest.mark.parametrize(
    "text", ["brier", "brier=", "brier=x", "auroc=-0.02", "=1", "brier=1e-3", ""]
)
def test_what_is_no_budget_is_refused(desk, text):
    done = call("worse.csv", "--with", "old.csv", "--budget", text)
    assert done.exit_code == 2
    assert "is no budget" in done.output


def test_unknown_figures_and_too_much_are_refused(desk):
    assert isinstance(
        call("worse.csv", "--with", "old.csv", "--budget", "bier=1%").exception, UnknownNameError
    )
    assert isinstance(
        call("worse.csv", "--with", "old.csv", "--budget", "brier=2").exception, UsageError
    )


def test_a_commit_in_place_of_files(desk):
    repository(desk)
    commit(desk)
    write_table(desk / "old.csv", answers(boast=0.8))
    assert call("old.csv", "--commit", "main").exit_code == 3
    lost = call("old.csv")
    assert "as --with, or the commit that has them as --commit" in str(lost.exception)
