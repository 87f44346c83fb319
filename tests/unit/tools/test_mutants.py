"""Mutants name files, words and tests that there are."""

import subprocess
import sys

import pytest

from validation import mutants


def test_every_mutant_fits_the_code():
    assert [problem for mutant in mutants.MUTANTS if (problem := mutants.outdated(*mutant))] == []
    assert len({name for name, *_ in mutants.MUTANTS}) == len(mutants.MUTANTS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({1: "src/novarag/gone.py"}, "there is no src/novarag/gone.py"),
        ({2: "words that were never there"}, "has 'words that were never there' 0 times"),
        ({2: "return"}, "has 'return' "),
        ({4: "tests/gone.py"}, "there is no tests/gone.py"),
        ({4: "tests/laws/test_core_laws.py::test_gone"}, "has no test_gone"),
    ],
)
def test_what_is_gone_is_named(change, said):
    mutant = [change.get(i, part) for i, part in enumerate(mutants.MUTANTS[0])]
    assert said in mutants.outdated(*mutant)


def test_the_check_runs_no_mutant():
    words = [sys.executable, mutants.__file__, "--check"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"all {len(mutants.MUTANTS)} mutants fit\n")
