"""One home for each thing: these fail when a second place begins to do it.

Where a second place is right after all, it is named below with its reason.
"""

import ast
from pathlib import Path

import pytest

import novarag

SOURCE = Path(novarag.__file__).parent

SEEDING = "seeding.py"
DIGESTS = {
    "report/templating.py": "what a browser checks style and script by",
    "flows/harvest.py": "whether two lines are the same",
    "gateway/observe/status_page.py": "what a browser checks style by",
    "gateway/audit/rows.py": "what is kept of a text that is not kept",
    "gateway/http/keys.py": "what a client's key is known by",
}
"""Digests in bytes that nothing is drawn by."""
GENERATORS = {"web/sending.py": "waiting is to differ from process to process"}

ATOMIC = "atomic.py"
DRAFTS = {"flows/filter_runs.py": "into a folder that is put in place whole"}
ASIDE = {"gateway/audit/spool.py": "a damaged file gets a name that says so"}


def _calls(source: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _files() -> dict[str, str]:
    files = {str(p.relative_to(SOURCE)): p.read_text("utf-8") for p in SOURCE.rglob("*.py")}
    assert len(files) > 200
    return files


def seeds(file: str, source: str) -> list[str]:
    """Say which lines make a number or a generator of a digest, or seed one with what they made."""
    found = []
    for call in _calls(source):
        name = _name(call)
        made = {
            "from_bytes": file != "gateway/audit/rows.py",  # a digest that PostgreSQL holds
            "digest": not call.args and file not in DIGESTS,
            "int": any("hexdigest" in ast.dump(a) for a in call.args),
            "Random": file not in GENERATORS,
            "crc32": not file.startswith(
                ("runs/", "checksums.py", "gateway/audit/spool.py")
            ),  # they vouch for what is stored
            "default_rng": not all(isinstance(a, ast.Name | ast.Attribute) for a in call.args),
            "RandomState": True,
            "SeedSequence": True,
        }
        if made.get(name):
            found.append(f"{file}:{call.lineno} {name}")
    return found


def test_one_place_derives_seeds():
    found = {file: seeds(file, text) for file, text in _files().items() if file != SEEDING}
    assert not [line for lines in found.values() for line in lines]


@pytest.mark.parametrize(
    "second",
    [
        "random.Random(int.from_bytes(blake2b(name.encode()).digest()))",
        "int(sha256(name.encode()).hexdigest()[:8], 16)",
        "sorted(names, key=lambda n: md5(n).digest())",
        "np.random.default_rng([seed, place])",
        "np.random.default_rng(hash(name))",
    ],
)
def test_a_second_place_that_derives_seeds_is_found(second):
    assert seeds("metrics/new.py", second)


def renames(file: str, source: str) -> list[str]:
    """Say which lines put a file in place by its name, or write one that a kill may cut."""
    found = []
    for call in _calls(source):
        name, method = _name(call), isinstance(call.func, ast.Attribute)
        of_os = method and ast.unparse(call.func.value) in {"os", "shutil"}
        made = {
            "replace": method and (of_os or (len(call.args) == 1 and not call.keywords)),
            "rename": method
            and file not in ASIDE
            and not any(isinstance(a, ast.Dict) for a in call.args),  # of columns
            "renames": of_os,
            "move": of_os,
            "write_text": file not in DRAFTS,
            "write_bytes": file not in DRAFTS,
            "fsync": file != "runs/folder.py",  # of a log, which only grows
            "mkstemp": True,
            "NamedTemporaryFile": True,
        }
        if made.get(name):
            found.append(f"{file}:{call.lineno} {name}")
    return found


def test_one_place_renames_temporary_files():
    found = {file: renames(file, text) for file, text in _files().items() if file != ATOMIC}
    assert not [line for lines in found.values() for line in lines]


@pytest.mark.parametrize(
    "second",
    [
        "draft.replace(path)",
        "draft.rename(path)",
        "os.replace(draft, path)",
        "shutil.move(draft, path)",
        "path.write_text(page, encoding='utf-8')",
        "(folder / name).write_bytes(content)",
    ],
)
def test_a_second_place_that_renames_is_found(second):
    assert renames("report/new.py", second)
    assert not renames("report/new.py", "text.replace('a', 'b'); replace(record, name=1)")
