"""Pins, hashes, licences and the bill of materials say the same, and their checks can fail."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from novarag.integrations.table import ADAPTERS
from tools import bill_of_materials, dependencies, licences
from tools.dependencies import Package
from tools.licences import Kind, UnknownLicenceError

ROOT = Path(__file__).parents[3]
PINNED = dependencies.pins(dependencies.CONSTRAINTS)
HASHED = dependencies.pins(dependencies.HASHED)
ROWS = licences.read_page(licences.PAGE.read_text("utf-8"))
NEW = Package("new", "1.0", expression="MIT", text="", classifiers=(), needs=())


def test_the_hashed_file_has_the_versions_of_the_constraints():
    assert HASHED.items() <= PINNED.items()


def test_the_hashed_file_has_the_whole_core_and_nothing_else():
    reached = dependencies.reached(dependencies.parts()["core"], dependencies.installed())
    assert HASHED.keys() == reached
    assert {name for name, row in ROWS.items() if row[4] == "core"} == reached


def test_the_image_has_core_and_gateway_as_pinned_and_nothing_else():
    pins = dependencies.pins(dependencies.IMAGE)
    wanted = dependencies.parts()
    reached = dependencies.reached(
        [*wanted["core"], *wanted["[gateway]"]], dependencies.installed()
    )
    assert pins.keys() == reached
    assert pins.items() <= PINNED.items()
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    assert set(asked) <= dependencies.pins(dependencies.BUILD).keys()


def test_the_image_installs_nothing_without_its_hash():
    recipe = (ROOT / "deploy/gateway/Dockerfile").read_text("utf-8").replace("\\\n", " ")
    calls = re.findall(r"bin/pip (?:install|wheel|download)[^&\n]*", recipe)
    fetched = [call for call in calls if "--no-index" not in call]
    files = [call.split(" -r ")[1].strip() for call in fetched]
    assert files == ["deploy/gateway/build-requirements.txt", "deploy/gateway/requirements.txt"]
    assert all("--require-hashes" in call for call in fetched)
    made_here = [call for call in calls if "--no-index" in call]
    assert all("--no-deps" in call for call in made_here)
    assert "--no-build-isolation" in made_here[0]


@pytest.mark.parametrize("part", ["core", "[gateway]"])
def test_what_is_deployed_stops_before_the_next_major_version(part):
    for asked in map(Requirement, dependencies.parts()[part]):
        pinned = Version(PINNED[dependencies.plain(asked.name)])
        assert asked.specifier.contains(pinned), asked
        assert not asked.specifier.contains(Version(f"{pinned.major + 1}.0")), asked


@pytest.mark.parametrize("file", [dependencies.HASHED, dependencies.IMAGE, dependencies.BUILD])
def test_every_line_of_a_hashed_file_has_hashes_and_none_an_address(file):
    text = file.read_text("utf-8")
    assert "//" not in text
    assert "--only-binary :all:" in text
    entries = text.replace("\\\n", "").splitlines()
    entries = [line for line in entries if line and line[0] != "#" and line[:2] != "--"]
    entry = re.compile(r"[a-z0-9-]+==\S+ (; [^-]+)?(\s*--hash=sha256:[0-9a-f]{64})+")
    assert len(entries) == len(dependencies.pins(file))
    assert [line for line in entries if not entry.fullmatch(line)] == []


def test_the_page_has_every_pin_with_its_version():
    on_page = {name: row[1] for name, row in ROWS.items() if row[1] != "not pinned"}
    assert on_page == PINNED
    tools = {"[inspect]", *(f"[{row.extra}]" for row in ADAPTERS.values() if row.extra)}
    loose = {part for row in ROWS.values() if row[1] == "not pinned" for part in row[4].split(", ")}
    assert loose == tools


def test_the_page_has_every_direct_dependency():
    asked = [one for needs in dependencies.parts().values() for one in needs]
    assert dependencies.reached(asked, {}) <= ROWS.keys()


def test_licences_of_the_page_may_stand_there():
    assert licences.wrong_rows(ROWS) == []
    said = {name: licences.WORDS[licences.kind_of(row[2])] for name, row in ROWS.items()}
    assert said == {name: row[3] for name, row in ROWS.items()}


@pytest.mark.parametrize("part", ["core", "[train]", "lint, [ray]"])
@pytest.mark.parametrize("licence", ["GPL-3.0-or-later", "LicenseRef-Apple-Sample-Code"])
def test_strong_copyleft_is_refused_where_users_install(part, licence):
    kind = licences.WORDS[licences.kind_of(licence)]
    assert licences.wrong_rows({"x": ["x", "1", licence, kind, part]})
    assert not licences.wrong_rows({"x": ["x", "1", licence, kind, "oracle"]})
    assert not licences.wrong_rows({"x": ["x", "1", "MPL-2.0", "weak copyleft", part]})


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("MIT", Kind.PERMISSIVE),
        ("MIT OR GPL-3.0-only", Kind.PERMISSIVE),
        ("MIT AND GPL-3.0-only", Kind.STRONG),
        ("MIT AND MPL-2.0 OR GPL-3.0-only", Kind.WEAK),
        ("GPL-3.0-only OR (MIT AND AGPL-3.0-only)", Kind.STRONG),
        ("GPL-3.0-or-later WITH GCC-exception-3.1", Kind.WEAK),
        ("Apache-2.0 WITH LLVM-exception AND BSD-3-Clause", Kind.PERMISSIVE),
    ],
)
def test_an_expression_asks_for_what_its_parts_ask_for(expression, kind):
    assert licences.kind_of(expression) is kind


@pytest.mark.parametrize(
    "expression",
    ["", "UNKNOWN", "MIT OR", "MIT Zlib", "(MIT", "MIT)", "MIT WITH luck", "MIT WITH", "AND MIT"],
)
def test_what_nobody_has_looked_at_is_unknown(expression):
    with pytest.raises(UnknownLicenceError):
        licences.kind_of(expression)


@pytest.mark.parametrize(
    ("said", "licence"),
    [
        ({"expression": "MIT", "text": "Apache 2.0"}, "MIT"),
        ({"text": "Apache 2.0"}, "Apache-2.0"),
        ({"text": "MIT License\n\nCopyright (c) somebody"}, "MIT"),
        (
            {
                "text": "Copyright (c) somebody",
                "classifiers": ("License :: OSI Approved :: BSD License", "Typing :: Typed"),
            },
            "BSD",
        ),
        ({"classifiers": ("License :: OSI Approved :: Odd License",)}, "Odd License"),
        ({}, ""),
        ({"name": "Milvus_Lite"}, "Apache-2.0"),
    ],
)
def test_a_licence_is_read_from_what_there_is(said, licence):
    assert licences.licence_of(replace(NEW, **{"expression": "", **said})) == licence


def test_a_package_that_is_new_or_has_changed_is_named():
    rows = {"new": ["new", "1.0", "MIT", "permissive", "core"]}
    assert licences.wrong_packages({"new": NEW, "pip": NEW}, rows) == []
    assert "not on the page" in licences.wrong_packages({"new": NEW}, {})[0]
    changed = replace(NEW, expression="ISC")
    assert "is ISC, the page says MIT" in licences.wrong_packages({"new": changed}, rows)[0]
    assert licences.unknown({"new": NEW}) == []
    odd = replace(NEW, expression="Odd-1.0")
    assert licences.unknown({"new": odd}) == ["new 1.0 has an unknown licence: Odd-1.0"]


def test_the_check_fails_on_what_is_installed_and_not_on_the_page(monkeypatch):
    monkeypatch.setattr("sys.argv", ["licences"])
    monkeypatch.setattr(dependencies, "installed", lambda: {"new": NEW})
    with pytest.raises(SystemExit, match=r"new 1\.0"):
        licences.main()


def test_requirements_are_followed_through_extras_and_on_every_platform():
    known = {
        "a": replace(NEW, name="a", needs=("b[fast]", "w; sys_platform == 'win32'", "old; python_version < '3.9'")),
        "b": replace(NEW, name="b", needs=("c; extra == 'fast'", "d; extra == 'slow'")),
        "c": replace(NEW, name="c", needs=("a",)),
    }  # fmt: skip
    assert dependencies.reached(["A"], known) == {"a", "b", "c", "w"}


def test_the_report_of_pip_is_read_like_what_is_installed(tmp_path):
    meta = {"name": "New", "version": "1.0", "license_expression": "MIT", "requires_dist": ["b"]}
    (tmp_path / "report.json").write_text(json.dumps({"install": [{"metadata": meta}]}), "utf-8")
    found = dependencies.reported(tmp_path / "report.json")
    assert found == {"new": replace(NEW, name="New", needs=("b",))}


def bill():
    needed = bill_of_materials.needed_here()
    parts = [
        {"name": name, "version": version, "licenses": [{}]} for name, version in needed.items()
    ]
    return {
        "components": [*parts, {"name": "pip", "version": "1", "licenses": [{}]}],
        "metadata": {"component": {"bom-ref": "root", "version": "0.1.0"}},
        "dependencies": [{"ref": "root", "dependsOn": ["numpy"]}],
    }


def test_a_bill_of_the_core_is_right():
    needed = bill_of_materials.needed_here()
    assert needed.items() <= HASHED.items()
    assert bill_of_materials.problems(bill(), needed) == []


def spoil(bill, how):
    match how:
        case "lacks":
            del bill["components"][0]
        case "does not need":
            bill["components"].append({"name": "extra", "version": "1", "licenses": [{}]})
        case "pinned is":
            bill["components"][0]["version"] = "0"
        case "no licence":
            bill["components"][0]["licenses"] = []
        case "which version":
            del bill["metadata"]["component"]["version"]
        case "asks for":
            bill["dependencies"] = []
    return bill


@pytest.mark.parametrize(
    "how", ["lacks", "does not need", "pinned is", "no licence", "which version", "asks for"]
)
def test_a_bill_that_is_wrong_is_refused(how):
    [problem] = bill_of_materials.problems(spoil(bill(), how), bill_of_materials.needed_here())
    assert how in problem


def test_the_security_page_points_at_what_there_is():
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        heads = re.findall(r"^#+ (.+)$", (ROOT / file).read_text("utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads}
        assert not anchor or anchor in slugs, target
