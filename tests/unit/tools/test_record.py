"""Records of long proofs: what was run, on which code, and whether that code is still the same."""

import json
import re
import subprocess
from collections import Counter

import pytest

from tools import record, records

TABLE = """
[[proof]]
name = "held"
what = "five is printed"
takes = "a minute"
run = ["echo five", "make -s here"]
vouches = ["src/one.py", "src/room"]

[[proof]]
name = "elsewhere"
what = "nothing"
takes = "hours"
run = ["false"]
vouches = ["src/one.py"]
needs = ["path:nowhere", "module:json"]
"""


PAGE = """
| claim | measured | how | date | record |
|---|---|---|---|---|
| Five is said | 5 | `make prove NAME=held` | 2026-01-01 | no record |
| Nothing is | 0 | `make prove NAME=elsewhere` | 2026-01-01 | no record |
| Tests say so | 1 | `pytest` | 2026-01-01 | test |
"""


def git(folder, *words):
    command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path):
    """A repository with a table of two proofs."""
    root = tmp_path / "tree"
    files = {
        "tools/long_proofs.toml": TABLE,
        "Makefile": "here:\n\t@pwd\n",
        "src/one.py": "one = 1\n",
        "src/room/two.py": "two = 2\n",
        "docs/evidence.md": PAGE,
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


def own(root, *lines, vouches="src/one.py"):
    """Declare one more proof, quote it on the page, and run it."""
    (root / "docs/evidence.md").write_text(
        PAGE + "| Own | 1 | `make prove NAME=own` | 2026-01-01 | no record |\n"
    )
    row = {
        "name": "own",
        "what": "it holds",
        "takes": "a minute",
        "run": lines,
        "vouches": [vouches],
    }
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in row.items())
    (root / "tools/long_proofs.toml").write_text(f"{TABLE}\n[[proof]]\n{text}")
    return record.main(["own"], root)


def today(root, capsys, name="held"):
    """What the table says of one proof, and the exit code."""
    code = records.main([], root)
    said = capsys.readouterr().out
    return next(line for line in said.splitlines() if line.startswith(f"| {name} ")), code


def brought_up_to_date(root):
    """Write the page, with the dates of the records in its rows."""
    page = root / "docs/evidence.md"
    page.write_text(page.read_text().replace("2026-01-01", recorded(root)["date"][:10]))
    records.main(["--write"], root)
    return page.read_text()


def test_a_record_names_commit_machine_figures_and_code(tree, monkeypatch):
    monkeypatch.setenv("MAKELEVEL", "1")  # as under `make prove`
    assert record.main(["held"], tree) == 0
    found = recorded(tree)
    head = record.git(tree, "rev-parse", "HEAD")
    assert found["commit"] == head
    assert found["clean"] is True
    lines = [(line["command"], line["exit_code"], line["printed"]) for line in found["lines"]]
    assert lines == [("echo five", 0, ["five"]), ("make -s here", 0, ["."])]
    assert "Python" in found["machine"]
    assert found["vouches"] == {
        path: record.git(tree, "rev-parse", f"HEAD:{path}") for path in ("src/one.py", "src/room")
    }
    assert found["changed_meanwhile"] == []


def test_a_record_is_current_until_its_code_changes(tree, capsys):
    record.main(["held"], tree)
    brought_up_to_date(tree)
    (tree / "src/room/two.pyc").write_text("compiled")
    line, code = today(tree, capsys)
    assert "| held | current |  |" in line
    assert code == 0
    (tree / "src/room/two.py").write_text("two = 3\n")
    line, code = today(tree, capsys)
    assert "| older than its code | src/room |" in line
    assert code == 1  # the page does not say so
    assert "`held.json`, older than its code |" in brought_up_to_date(tree)
    assert today(tree, capsys)[1] == 0
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
    own(tree, "true", vouches="src/room")
    record.main(["held"], tree)
    brought_up_to_date(tree)
    assert records.main([], tree) == 0
    git(tree, "mv", "src/room", "src/hall")
    capsys.readouterr()
    assert records.main([], tree) == 1
    said = capsys.readouterr().out
    assert "own vouches for what is gone: src/room." in said
    assert "held vouches for what is gone: src/room." in said  # by the table, never recorded
    with pytest.raises(SystemExit, match="not there: src/room"):
        record.main(["held"], tree)


def test_a_failed_proof_is_recorded_as_failed(tree, capsys):
    assert own(tree, "echo lost; (exit 3)", "echo still") == 1
    lost, still = recorded(tree, "own")["lines"]
    assert (lost["printed"], lost["exit_code"]) == (["lost"], 3)
    assert (still["printed"], still["exit_code"]) == (["still"], 0)
    assert "| FAILED (1 of 2 lines) | current |" in today(tree, capsys, "own")[0]
    record.main(["held"], tree)
    assert "| `own.json`, a line failed |" in brought_up_to_date(tree)


def test_code_that_changes_while_it_is_proven_leaves_a_doubt(tree, capsys):
    own(tree, "echo more = 1 >> src/one.py")
    assert recorded(tree, "own")["changed_meanwhile"] == ["src/one.py"]
    assert "in doubt" in today(tree, capsys, "own")[0]


def test_a_page_that_names_a_missing_record_is_an_error(tree, capsys):
    record.main(["held"], tree)
    page = brought_up_to_date(tree)
    assert "| `pytest` |" in page
    assert page.endswith("| test |\n")
    assert today(tree, capsys)[1] == 0
    (tree / "validation/records/held.json").unlink()
    assert records.main([], tree) == 1
    assert "says '`held.json` |'; it is 'no record |'" in capsys.readouterr().out


def test_figures_of_another_day_than_the_record_are_an_error(tree, capsys):
    record.main(["held"], tree)
    records.main(["--write"], tree)
    capsys.readouterr()
    assert records.main([], tree) == 1
    assert "a row on held is of 2026-01-01, its record of" in capsys.readouterr().out


def test_proofs_that_no_page_quotes_and_too_many_are_errors(tree, capsys, monkeypatch):
    page = tree / "docs/evidence.md"
    page.write_text(PAGE.replace("`make prove NAME=held`", "by eye"))
    assert records.main([], tree) == 1
    assert "held is quoted by no page" in capsys.readouterr().out
    monkeypatch.setattr(records, "AT_MOST", 1)
    assert records.main([], tree) == 1
    assert "2 proofs, at most 1" in capsys.readouterr().out


def test_all_leaves_out_what_has_not_what_it_needs(tree, capsys):
    assert record.main(["--all"], tree) == 0
    assert "left out: elsewhere (needs path:nowhere)" in capsys.readouterr().out
    assert "| elsewhere | never |" in today(tree, capsys, "elsewhere")[0]


def test_without_a_name_the_proofs_are_listed_and_none_is_run(tree, capsys):
    assert record.main([], tree) == 0
    assert capsys.readouterr().out.splitlines() == [
        "held: five is printed (a minute)",
        "elsewhere: nothing (hours; needs path:nowhere, module:json) (not here: path:nowhere)",
    ]
    assert not (tree / record.RECORDS).exists()


def test_what_nobody_declared_is_refused(tree):
    with pytest.raises(SystemExit, match="has no nobody; it has held, elsewhere"):
        record.main(["nobody"], tree)


def test_only_the_last_lines_are_kept(tree):
    own(tree, "seq 0 199")
    (line,) = recorded(tree, "own")["lines"]
    assert line["printed"] == [str(n) for n in range(200 - record.KEPT, 200)]


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


def test_the_declared_proofs_have_code_and_scripts_that_are_there(root):
    proofs = record.declared(root)
    assert len(proofs) >= 20
    for proof in proofs.values():
        assert all((root / path).exists() for path in proof.vouches), proof.name
        kinds = {need.partition(":")[0] for need in proof.needs}
        assert kinds <= {"root", "data", "module", "program", "path", "variable", "server"}
    lines = "\n".join(
        [(root / "Makefile").read_text(), *(line for p in proofs.values() for line in p.run)]
    )
    named = re.findall(r"python -m ((?:validation|benchmarks|experiments|tools)[\w.]*)", lines)
    assert len(named) >= 40
    places = [root / name.replace(".", "/") for name in named]
    gone = [
        p for p in places if not (p.with_suffix(".py").exists() or (p / "__main__.py").exists())
    ]
    assert gone == []


def test_every_target_that_is_named_somewhere_is_there(root):
    """A page, a message or CI that says `make X` or `make prove NAME=X` can be followed."""
    makefile = (root / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):.*## ", makefile, re.MULTILINE))
    assert len(targets) <= 60
    named = Counter()
    pages = [
        *root.glob("*.md"),
        *root.glob("docs/**/*.md"),
        root / ".ci/run",
        *root.glob("src/**/*.py"),
    ]
    for page in pages:
        text = page.read_text("utf-8")
        for words in re.findall(r"(?:`|^|\$ time |&& )make ([a-z][^`\n]*)", text, re.MULTILINE):
            first, *_ = words.split()
            named[first] += 1
            assert first in targets, f"{page}: make {words}"
            if first == "prove" and (names := re.search(r'NAME="?([a-z0-9 -]+)', words)):
                wanted = names[1].split() if '"' in words else names[1].split()[:1]
                assert set(wanted) <= {*record.declared(root), "all"}, f"{page}: make {words}"
    assert named["prove"] > 20
