"""Who may read the files of a run, and that a finished one can be read where nothing is writable."""

import asyncio
import errno
import json
import os
import stat
from pathlib import Path

import pytest

from novarag import Access, ScriptedLLM, UsageError, ask, open_run
from novarag.examples import EXAMPLE_GROUP
from novarag.runs import ProgressBoard, drive, everywhere, open_store, settle
from tests.support.journal_damage import Model, job_in

LLM = ScriptedLLM({"Brent Rock": "Answer: 1871\nConfidence: 60%"})


def modes(folder):
    """Return the modes of folders and of files."""
    found = [folder, *folder.rglob("*")]
    return tuple(
        {stat.S_IMODE(p.stat().st_mode) for p in found if p.is_dir() is wanted}
        for wanted in (True, False)
    )


@pytest.fixture(params=[0o000, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_run_is_for_its_owner_whatever_the_umask(tmp_path):
    ask([EXAMPLE_GROUP], "vanilla", LLM, out=tmp_path / "deep" / "run")
    assert modes(tmp_path / "deep" / "run") == ({0o700}, {0o600})


@pytest.mark.usefixtures("umask")
def test_a_group_may_read_all_of_a_run_if_told(tmp_path):
    shared = Access(group_readable=True)
    ask([EXAMPLE_GROUP], "vanilla", LLM, out=tmp_path / "run", access=shared)
    assert modes(tmp_path / "run") == ({0o750}, {0o640})


def test_a_run_stays_as_open_as_it_was(tmp_path):
    job = job_in(str(tmp_path / "run"))
    asyncio.run(settle(job))
    assert modes(tmp_path / "run") == ({0o700}, {0o600})
    job.store.open_to_group()
    assert modes(tmp_path / "run") == ({0o750}, {0o640})
    again = job_in(str(tmp_path / "run"))
    asyncio.run(drive(again, Model, board=ProgressBoard(), stop=asyncio.Event()))
    everywhere(again.store).write("elsewhere/x", b"")
    assert modes(tmp_path / "run") == ({0o750}, {0o640})


def test_what_another_process_is_handed_knows_who_may_read(tmp_path):
    store = open_store(tmp_path / "run")
    store.open_to_group()
    everywhere(store).write("a/b", b"")
    assert modes(tmp_path / "run") == ({0o750}, {0o640})


def test_a_folder_that_hands_down_its_group_goes_on_doing_so(tmp_path):
    tmp_path.chmod(0o2755)
    open_store(tmp_path / "run").write("a/b", b"")
    (folders, files) = modes(tmp_path / "run")
    assert ({mode & 0o777 for mode in folders}, files) == ({0o700}, {0o600})
    assert folders == {0o2700}


def test_a_folder_that_was_there_keeps_its_own_mode(tmp_path):
    (tmp_path / "run").mkdir(mode=0o755)
    (tmp_path / "run").chmod(0o755)
    ask([EXAMPLE_GROUP], "vanilla", LLM, out=tmp_path / "run")
    assert modes(tmp_path / "run") == ({0o755, 0o700}, {0o600})


def test_an_object_store_has_permissions_of_its_own(tmp_path):
    with pytest.raises(UsageError, match="`group_readable` is for folders"):
        ask(
            [EXAMPLE_GROUP], "vanilla", LLM, out=f"file://{tmp_path}/run",
            access=Access(group_readable=True),
        )  # fmt: skip
    assert len(ask([EXAMPLE_GROUP], "vanilla", LLM, access=Access(group_readable=True))) == 1


def refuse(*_, **__):
    raise OSError(errno.EROFS, "Read-only file system")


@pytest.fixture
def read_only(monkeypatch):
    """Make every disk read-only, from when it is called."""

    def begin():
        real = os.open

        def opened(path, flags, *rest, **more):
            return (
                refuse() if flags & (os.O_RDWR | os.O_CREAT) else real(path, flags, *rest, **more)
            )

        monkeypatch.setattr(os, "open", opened)
        for name in ("unlink", "mkdir", "chmod", "replace"):
            monkeypatch.setattr(Path, name, refuse)
        monkeypatch.setattr("novarag.runs.folder.whole_file", refuse)

    return begin


@pytest.mark.parametrize("as_file", [True, False])
def test_a_finished_run_on_a_read_only_disk_is_resumed(tmp_path, read_only, monkeypatch, as_file):
    file = tmp_path / "groups.jsonl"
    row = {"id": "q", "question": "Brent Rock?", "answers": ["1871"], "passages": ["Lit in 1871."]}
    file.write_text(json.dumps(row) + "\n")
    groups = file if as_file else [EXAMPLE_GROUP]
    ask(groups, "vanilla", LLM, out=tmp_path / "run")
    read_only()
    monkeypatch.setattr("platform.python_version", lambda: "4.0")  # nor by another version
    again = ask(groups, "vanilla", LLM, out=tmp_path / "run")
    assert [trial.response.confidence for trial in again] == [0.6]
    run = open_run(tmp_path / "run")
    assert run.is_finished
    assert len(run) == 1
