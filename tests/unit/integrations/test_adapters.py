"""The table of adapters, and what keeps each of them thin."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from novarag import UsageError
from novarag.integrations.table import ADAPTERS
from tests.support import adapted

ROOT = Path(__file__).parents[3]
OTHERS = {"__init__", "core", "table", "marking", "inspect", "langchain"}
OTHERS |= {"annotations", "send_answers", "sent_log"}
"""What is no adapter of the table: the parts they share, and the two that are older and do more."""


def text_of(name):
    return (adapted.FOLDER / f"{ADAPTERS[name].module.rpartition('.')[2]}.py").read_text("utf-8")


def test_every_file_has_a_row():
    files = {path.stem for path in adapted.FOLDER.glob("*.py")} - OTHERS
    assert files == {row.module.rpartition(".")[2] for row in ADAPTERS.values()}


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_is_short_and_imports_no_other(name):
    assert adapted.broken_rules(text_of(name)) == []


def test_the_rules_see_what_breaks_them():
    long = "from novarag.integrations.core import score\n" + "x = 1\n" * 60
    assert adapted.broken_rules(long) == ["more than 60 lines"]
    both = "from novarag.integrations import ragas\nfrom novarag.integrations.core import score\n"
    assert adapted.broken_rules(both) == ["imports novarag.integrations.ragas"]
    assert adapted.broken_rules("import math\n") == ["does not score by novarag.integrations.core"]


def test_every_extra_is_in_the_package_and_admits_what_was_tested():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    pins = "".join(path.read_text() for path in (ROOT / "tests" / "real").glob("integrations*.txt"))
    for row in ADAPTERS.values():
        if row.extra or row.sends:
            assert f"{row.package}=={row.versions}\n" in pins
        if row.extra:
            assert any(re.match(rf"{row.package}\b", need) for need in extras[row.extra]), row
            least = next(n for n in extras[row.extra] if n.startswith(row.package))
            low, high = re.fullmatch(r".*>=([\d.]+),<([\d.]+)", least).groups()
            assert numbers(low) <= numbers(row.versions) < numbers(high)


def numbers(version):
    return [int(part) for part in version.split(".")]


def test_make_drives_every_adapter():
    told = re.findall(r'NOVARAG_INTEGRATIONS="(.*?)"', (ROOT / "Makefile").read_text())
    assert sorted(" ".join(told).split()) == sorted(ADAPTERS)


@pytest.mark.parametrize("name", [name for name, row in ADAPTERS.items() if row.extra])
def test_without_its_tool_an_adapter_says_what_to_install(name, monkeypatch):
    row = ADAPTERS[name]
    top = next(iter(row.surface)).partition(":")[0].partition(".")[0]
    monkeypatch.setitem(__import__("sys").modules, top, None)
    monkeypatch.delitem(__import__("sys").modules, row.module, raising=False)
    with pytest.raises(UsageError, match=re.escape(f"pip install '.[{row.extra}]'")):
        import_module(row.module)


PAGE = ROOT / "docs" / "integrations.md"


def test_the_recipe_makes_an_adapter(tmp_path, monkeypatch):
    """One file and one row, as the page says; the file keeps the rules and gives the numbers."""
    recipe = PAGE.read_text("utf-8").partition("\n## Add an adapter\n")[2]
    file, row = re.findall(r"^```python\n(.*?)^```$", recipe, re.MULTILINE | re.DOTALL)
    assert adapted.broken_rules(file) == []
    made = {}
    exec(compile(row, str(PAGE), "exec"), made)
    assert made["ROW"].name not in ADAPTERS
    (tmp_path / "rowcheck.py").write_text(file)
    monkeypatch.syspath_prepend(tmp_path)
    settings, cases = adapted.settings(tmp_path), adapted.cases(50)
    check = import_module(made["ROW"].module.rpartition(".")[2]).make_check(**settings)
    for case, told in zip(cases, adapted.expected(cases, settings), strict=True):
        out = check(case._asdict())
        assert (out["value"], out["passed"]) == (told["confidence"], told["decision"] == "answer")


def test_the_page_has_every_adapter_with_its_version():
    text = PAGE.read_text("utf-8")
    for row in ADAPTERS.values():
        [line] = re.findall(rf"^\| {row.name} \|.*$", text, re.MULTILINE)
        assert f"| {row.versions} |" in line
        installs = (
            (f"`npm install {row.package}`", "nothing")
            if row.extra is None
            else (f"`.[{row.extra}]`",)
        )
        assert any(f"| {one} |" in line for one in installs)
        assert f"\n## {row.name}\n" in text
