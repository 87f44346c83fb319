"""Records of long proofs: what was run, on which code, and whether that code is still the same."""

import json
import re
import subprocess
import sys

import pytest

from tools import record, records

TABLE = """
[[proof]]
name = "held"
vouches = ["src/one.py", "src/room"]

[[proof]]
name = "elsewhere"
vouches = ["src/one.py"]
needs = ["path:nowhere", "module:json"]
"""
PRINTS = [sys.executable, "-c", "print('seven of seven')"]


def git(folder, *words):
    command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path):
    """A repository with a table of two proofs."""
    root = tmp_path / "tree"
    files = {
        "tools/long_proofs.toml": TABLE,
        "Makefile": "held:\n\t@echo five; pwd\n",
        "src/one.py": "one = 1\n",
        "src/room/two.py": "two = 2\n",
        ".gitignore": "*.pyc\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(tmp_path, "init", "-q", str(root))
    git(root, "add", ".")
    git(root, "commit", "-qm", "all")
    return root


def recorded(root, name="held"):
    return json.loads((root / "validation/records" / f"{name}.json").read_bytes())


def today(root, capsys, name="held"):
    """What the table says of one proof, and the exit code."""
    code = records.main(root)
    said = capsys.readouterr().out
    return next(line for line in said.splitlines() if line.startswith(f"| {name} ")), code


def test_a_record_names_commit_machine_figures_and_code(tree, monkeypatch):
    monkeypatch.setenv("MAKELEVEL", "1")  # as under `make long`
    assert record.main(["held"], tree) == 0
    found = recorded(tree)
    head = record.git(tree, "rev-parse", "HEAD")
    assert found["commit"] == head
    assert found["clean"] is True
    assert found["command"] == "make held"
    assert found["exit_code"] == 0
    assert found["printed"] == ["five", "."]
    assert "Python" in found["machine"]
    assert found["vouches"] == {
        path: record.git(tree, "rev-parse", f"HEAD:{path}") for path in ("src/one.py", "src/room")
    }
    assert found["changed_meanwhile"] == []


def test_a_record_is_current_until_its_code_changes(tree, capsys):
    record.main(["held"], tree)
    (tree / "src/room/two.pyc").write_text("compiled")
    line, code = today(tree, capsys)
    assert "| held | current |  |" in line
    assert code == 0
    (tree / "src/room/two.py").write_text("two = 3\n")
    line, code = today(tree, capsys)
    assert "| older than its code | src/room |" in line
    assert code == 0
    (tree / "src/room/two.py").write_text("two = 2\n")
    assert "| current |" in today(tree, capsys)[0]


def test_new_files_count_and_the_index_stays_as_it_is(tree, capsys):
    record.main(["held"], tree)
    (tree / "src/room/three.py").write_text("three = 3\n")
    assert "older than its code" in today(tree, capsys)[0]
    staged = record.git(tree, "diff", "--cached", "--name-only")
    assert not staged


def test_an_edited_tree_is_said_to_be_one(tree, capsys):
    (tree / "src/one.py").write_text("one = 4\n")
    record.main(["held"], tree)
    assert recorded(tree)["clean"] is False
    line, _ = today(tree, capsys)
    assert ", edited |" in line
    assert "| current |" in line


def test_earlier_records_do_not_make_a_tree_unclean(tree):
    record.main(["held"], tree)
    record.main(["held"], tree)
    assert recorded(tree)["clean"] is True


def test_a_path_that_is_gone_is_an_error(tree, capsys):
    record.main(["other", "--vouches", "src/room", "--", *PRINTS], tree)
    assert records.main(tree) == 0
    git(tree, "mv", "src/room", "src/hall")
    capsys.readouterr()
    assert records.main(tree) == 1
    said = capsys.readouterr().out
    assert "other vouches for what is gone: src/room." in said
    assert "held vouches for what is gone: src/room." in said  # by the table, never recorded
    with pytest.raises(SystemExit, match="not there: src/room"):
        record.main(["held"], tree)


def test_a_command_of_your_own_is_recorded(tree):
    assert record.main(["own", "--vouches", "src/one.py", "--", *PRINTS], tree) == 0
    assert recorded(tree, "own")["printed"] == ["seven of seven"]


def test_a_failed_proof_is_recorded_as_failed(tree, capsys):
    fails = [sys.executable, "-c", "import sys; print('lost'); sys.exit(3)"]
    assert record.main(["own", "--vouches", "src/one.py", "--", *fails], tree) == 1
    assert recorded(tree, "own")["exit_code"] == 3
    assert "| FAILED (3) | current |" in today(tree, capsys, "own")[0]


def test_code_that_changes_while_it_is_proven_leaves_a_doubt(tree, capsys):
    edits = [sys.executable, "-c", "open('src/one.py', 'a').write('more = 1\\n')"]
    record.main(["own", "--vouches", "src/one.py", "--", *edits], tree)
    assert recorded(tree, "own")["changed_meanwhile"] == ["src/one.py"]
    assert "in doubt" in today(tree, capsys, "own")[0]


def test_all_leaves_out_what_has_not_what_it_needs(tree, capsys):
    assert record.main(["--all"], tree) == 0
    assert "left out: elsewhere (needs path:nowhere)" in capsys.readouterr().out
    assert "| elsewhere | never |" in today(tree, capsys, "elsewhere")[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody"], "has no nobody; it has held, elsewhere"),
        (["one", "two", "--vouches", "src", "--", "true"], "needs one NAME and --vouches"),
        (["one", "--", "true"], "needs one NAME and --vouches"),
    ],
)
def test_what_cannot_be_meant_is_refused(tree, words, said):
    with pytest.raises(SystemExit, match=said):
        record.main(words, tree)


def test_only_the_last_lines_are_kept(tree):
    many = [sys.executable, "-c", "print(*range(200), sep='\\n')"]
    record.main(["own", "--vouches", "src/one.py", "--", *many], tree)
    assert recorded(tree, "own")["printed"] == [str(n) for n in range(200 - record.KEPT, 200)]


def test_needs_are_looked_for(tree, monkeypatch):
    monkeypatch.setenv("SOME_VARIABLE", "1")
    met = ["variable:SOME_VARIABLE", "program:git", "module:json", "path:src"]
    missing = ["variable:NO_SUCH", "program:no-such-program", "module:no_such_module", "path:no"]
    assert record.unmet([*met, *missing], tree) == missing
    monkeypatch.setattr(record.os, "geteuid", lambda: 1)
    assert record.unmet(["root"], tree) == ["root"]
    with pytest.raises(SystemExit, match="the need 'luck'"):
        record.unmet(["luck"], tree)


def test_a_server_that_does_not_answer_is_a_need_not_met(tree, monkeypatch):
    def refuse(*_, **__):
        raise ConnectionRefusedError

    monkeypatch.setattr(record.socket, "create_connection", refuse)
    assert record.unmet(["server:127.0.0.1:9"], tree) == ["server:127.0.0.1:9"]


def test_the_declared_proofs_are_targets_whose_code_is_there(root):
    proofs = record.declared(root)
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (root / "Makefile").read_text(), re.MULTILINE))
    assert len(proofs) >= 20
    assert proofs.keys() <= targets
    for proof in proofs.values():
        assert all((root / path).exists() for path in proof.vouches), proof.name
        kinds = {need.partition(":")[0] for need in proof.needs}
        assert kinds <= {"root", "data", "module", "program", "path", "variable", "server"}


def test_every_script_that_the_makefile_runs_is_there(root):
    named = re.findall(
        r"python -m ((?:validation|benchmarks|experiments|tools)[\w.]*)",
        (root / "Makefile").read_text(),
    )
    assert len(named) >= 40
    places = {name: root / name.replace(".", "/") for name in named}
    assert [
        name
        for name, place in places.items()
        if not (place.with_suffix(".py").exists() or (place / "__main__.py").exists())
    ] == []
