"""Whatever the call, no traceback and an exit code of the table.

NOVARAG_ODD_CALLS=6300 makes so many calls: half are keys of TOML files with
odd values, the rest goes over all verbs in turn.
"""

import os
import random
import sys
from itertools import chain, islice

import pytest

from novarag.cli.exit_codes import ExitCode
from novarag.cli.verbs import VERBS
from tests.support.odd.calls import GOOD, Maker
from tests.support.odd.files import make_files
from tests.support.odd.running import call, look_up

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    before, path, environment = os.getcwd(), list(sys.path), dict(os.environ)  # noqa: PTH109
    folder = tmp_path_factory.mktemp("odd")
    os.chdir(folder)
    os.environ |= {"HF_HUB_OFFLINE": "1", "NOVARAG_DATA": "nowhere"}
    make_files(folder)
    yield folder
    os.chdir(before)
    sys.path[:] = path
    os.environ.clear()
    os.environ |= environment


def test_every_verb_has_a_good_call_to_be_spoilt():
    assert set(GOOD) == set(VERBS)


def test_odd_calls_end_in_a_line_and_a_known_code(home, monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", look_up)
    maker = Maker(home, seed=18)
    many = int(os.environ.get("NOVARAG_ODD_CALLS", "0"))
    every = list(maker.settings_calls())
    settings = random.Random(18).sample(every, min(len(every), many // 2 or 100))
    seen = set()
    for one in chain(settings, islice(maker.random_calls(), many // 2 or 2 * len(GOOD))):
        done = call(one.words, stdin=one.stdin, limit=one.interrupt or (5 if many else 1.5))
        assert not done.fault, (one.words, done.fault)
        assert done.code in set(ExitCode), (one.words, done.code)
        seen.add(done.code)
    assert {ExitCode.DONE, ExitCode.REFUSED} <= seen


def test_a_fault_would_be_seen(home, monkeypatch):
    def fail(*_, **__):
        raise KeyError("ours")

    monkeypatch.setattr("novarag.flows.measure.measure", fail)
    done = call(["measure", str(home / "answers.csv")])
    assert "KeyError: 'ours'" in done.fault


def test_an_interrupt_ends_a_call_with_its_code(home, monkeypatch):
    def wait(*_, **__):
        while True:
            pass

    monkeypatch.setattr("novarag.flows.measure.measure", wait)
    done = call(["measure", str(home / "answers.csv")], limit=0.3)
    assert (done.code, done.fault, done.interrupted) == (ExitCode.STOPPED, "", True)
