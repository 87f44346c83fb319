"""Every public name stands on a page of the API, and on one only."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import novarag

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference" / "api"
SHOWN = [
    name
    for page in sorted(FOLDER.glob("*.md"))
    for name in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
]


def twin_of(name):
    """The sync form under which an async function is documented."""
    sync = name.removesuffix("_async")
    return sync if sync != name and sync in novarag.__all__ else None


def test_every_public_name_stands_on_one_page():
    wanted = {f"novarag.{twin_of(name) or name}" for name in novarag.__all__}
    assert wanted - set(SHOWN) == set()
    assert [name for name, n in Counter(SHOWN).items() if n > 1] == []
    short = {name for name in SHOWN if name.count(".") == 1}
    assert short == wanted


def test_the_first_page_names_all_of_them():
    named = re.findall(r"`(\w+)`", (FOLDER / "index.md").read_text("utf-8"))
    assert sorted(set(novarag.__all__) - set(named)) == []


def test_what_other_pages_import_stands_on_a_page():
    """Docs use no name that is documented nowhere; plug-ins cannot be loaded without their tools."""
    pages = [p for p in (ROOT / "docs").rglob("*.md") if "decisions" not in p.parts]
    used = {
        f"{module}.{name.strip()}"
        for page in [*pages, ROOT / "README.md"]
        for module, names in re.findall(
            r"from (novarag\.[a-z_.]+) import (\w[\w, ]*)", page.read_text("utf-8")
        )
        for name in names.split(",")
    }
    plugins = {name for name in used if name.startswith("novarag.integrations.")}
    assert used - plugins - set(SHOWN) == set()


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in FOLDER.glob("*.md")]
    assert [page for page in pages if page not in menu] == []


def test_what_is_shown_can_be_found_without_torch_or_inspect():
    code = (
        "import sys\n"
        "from importlib import import_module\n"
        f"for name in {SHOWN!r}:\n"
        "    module, _, attribute = name.rpartition('.')\n"
        "    getattr(import_module(module), attribute)\n"
        "assert not {'torch', 'inspect_ai'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
