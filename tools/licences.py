"""Check the licences of what is installed against docs/licences.md, or write that page.

Usage: python -m tools.licences [--write REPORT…]

A report is what `pip install --dry-run --report` writes; `make licences-docs` makes them. The check
fails on a package that the page lacks, on a licence that nobody has put into a kind below or that is
another one than on the page, and on one that a user's install may not have.
"""

import re
import sys
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path

from tools import dependencies
from tools.dependencies import Package, plain

PAGE = dependencies.ROOT / "docs" / "licences.md"
OURS = {"novarag", "pip"}
"""Not looked at: the package itself, and what installs it."""


class Kind(IntEnum):
    """What a licence asks for, from least to most."""

    PERMISSIVE = 0
    WEAK = 1
    STRONG = 2
    OWN = 3


WORDS = {
    Kind.PERMISSIVE: "permissive",
    Kind.WEAK: "weak copyleft",
    Kind.STRONG: "strong copyleft",
    Kind.OWN: "terms of its own",
}

KINDS = {
    **dict.fromkeys(
        (
            *("0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause"),
            *("BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-0"),
            *("MIT-CMU", "PSF-2.0", "Unlicense", "Zlib", "LicenseRef-Public-Domain"),
        ),
        Kind.PERMISSIVE,
    ),
    **dict.fromkeys(
        (
            *("MPL-2.0", "LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0-only"),
            *("LGPL-3.0-or-later", "GPL-3.0-or-later WITH GCC-exception-3.1"),
        ),
        Kind.WEAK,
    ),
    **dict.fromkeys(
        (
            *("GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later"),
            *("AGPL-3.0-only", "AGPL-3.0-or-later", "SSPL-1.0"),
        ),
        Kind.STRONG,
    ),
    "LicenseRef-Apple-Sample-Code": Kind.OWN,
}
"""Every licence that was looked at. Others are unknown until somebody puts them here."""

SPELLINGS = {
    "apache": "Apache-2.0", "apache 2": "Apache-2.0", "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0", "apache software license": "Apache-2.0",
    "2-clause bsd": "BSD-2-Clause", "bsd 2-clause license": "BSD-2-Clause",
    "3-clause bsd license": "BSD-3-Clause", "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "BSD", "isc license": "ISC", "isc license (iscl)": "ISC", "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}  # fmt: skip
"""How metadata say it where they have no expression."""

BY_EYE = {
    "agent-client-protocol": "Apache-2.0",
    "docutils": "LicenseRef-Public-Domain AND BSD-2-Clause AND 0BSD",
    "huey": "MIT",
    "milvus-lite": "Apache-2.0",
    "ppi-python": "MIT",
    "ragas": "Apache-2.0",
    "skops": "MIT",
    "relplot": "LicenseRef-Apple-Sample-Code",
}
"""Read in the README of milvus-lite and in the licence files of the others: no metadata name one.

Those of docutils name the GPL, too, for a file of Emacs that its wheel does not hold.
"""


class UnknownLicenceError(ValueError):
    """A licence that nobody has looked at."""


def kind_of(expression: str) -> Kind:
    """Say what an SPDX expression asks for: the most of what is joined by AND, the least of OR.

    >>> kind_of("MPL-2.0 AND (Apache-2.0 OR GPL-3.0-only)").name
    'WEAK'
    """
    tokens = re.findall(r"[()]|[^\s()]+", expression)[::-1]
    kind = _either(tokens)
    if tokens:
        raise UnknownLicenceError(expression)
    return kind


def _either(tokens: list[str]) -> Kind:
    kind = _both(tokens)
    while tokens[-1:] == ["OR"]:
        tokens.pop()
        kind = min(kind, _both(tokens))
    return kind


def _both(tokens: list[str]) -> Kind:
    kind = _one(tokens)
    while tokens[-1:] == ["AND"]:
        tokens.pop()
        kind = max(kind, _one(tokens))
    return kind


def _one(tokens: list[str]) -> Kind:
    name = tokens.pop() if tokens else ""
    if name == "(":
        kind = _either(tokens)
        if tokens[-1:] != [")"]:
            raise UnknownLicenceError("a bracket stays open")
        tokens.pop()
        return kind
    if tokens[-1:] == ["WITH"] and len(tokens) > 1:
        name = f"{name} {tokens.pop()} {tokens.pop()}"
    if name not in KINDS:
        raise UnknownLicenceError(name or "none is named")
    return KINDS[name]


def licence_of(package: Package) -> str:
    """Name a package's licence: its expression, else its first line of text, else its classifiers."""
    said = BY_EYE.get(plain(package.name)) or package.expression
    if said:
        return said
    text = package.text.strip().partition("\n")[0]
    short = SPELLINGS.get(text.lower(), text)
    try:
        kind_of(short)
    except UnknownLicenceError:
        named = [one.split(" :: ")[-1] for one in package.classifiers if "License ::" in one]
        return " AND ".join(SPELLINGS.get(one.lower(), one) for one in named)
    return short


def table(packages: Mapping[str, Package], pinned: Mapping[str, str]) -> list[list[str]]:
    """Make the rows of the page: package, version, licence, kind, and what asks for it."""
    users = {
        part: dependencies.reached(needs, packages) for part, needs in dependencies.parts().items()
    }
    rows = []
    for name, package in sorted(packages.items()):
        used = [part for part, reached in users.items() if name in reached]
        used = ["core"] if "core" in used else used
        if name in OURS or not (used or name in pinned):
            continue
        licence = licence_of(package)
        rows.append(
            [
                package.name,
                pinned.get(name, "not pinned"),
                licence,
                WORDS[kind_of(licence)],
                ", ".join(used) or "named in .ci/run",
            ]
        )
    return rows


def page(rows: list[list[str]]) -> str:
    """Write the page."""
    core = sum(row[4] == "core" for row in rows)
    return "\n".join(
        [
            "# Licences of dependencies\n",
            f"What {len(rows)} packages say of themselves in their metadata; {core} of them come with the"
            " core, the others with an extra, written `[name]`, or with a group that only developers"
            " install. `make licences-docs` writes this page, and `make licences`, which CI runs, fails on"
            " a package that is not on it, on a licence that nobody has looked at, and on strong copyleft"
            " or terms of its own in the core or an extra.\n",
            "Versions are those of `constraints.txt`. `BSD` stands where the metadata do not say how many"
            " clauses. Wheels carry other people's libraries, too, whose licences are inside them. torch"
            " is the build for CPUs; the one for GPUs brings NVIDIA's libraries, under NVIDIA's terms.\n",
            "| package | version | licence | kind | asked for by |\n|---|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in rows),
            "",
        ]
    )


def read_page(text: str) -> dict[str, list[str]]:
    """Read the rows of the page, by name."""
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {plain(row[0]): row for row in cells[1:]}


def wrong_rows(rows: Mapping[str, list[str]]) -> list[str]:
    """Say which rows a user's install may not have."""
    return [
        f"{row[0]} is {row[2]} ({row[3]}), and {row[4]} asks for it"
        for row in rows.values()
        if (row[4] == "core" or "[" in row[4])
        and row[3] not in {WORDS[Kind.PERMISSIVE], WORDS[Kind.WEAK]}
    ]


def unknown(packages: Mapping[str, Package]) -> list[str]:
    """Say which licences nobody has looked at."""
    wrong = []
    for name in sorted(packages.keys() - OURS):
        try:
            kind_of(licence_of(packages[name]))
        except UnknownLicenceError as error:
            wrong.append(f"{name} {packages[name].version} has an unknown licence: {error}")
    return wrong


def wrong_packages(packages: Mapping[str, Package], rows: Mapping[str, list[str]]) -> list[str]:
    """Say what the page lacks or has otherwise."""
    wrong = []
    for name in sorted(packages.keys() - OURS):
        package = packages[name]
        licence = licence_of(package)
        if name not in rows:
            wrong.append(f"{package.name} {package.version} ({licence}) is not on the page")
        elif rows[name][2] != licence:
            wrong.append(
                f"{package.name} {package.version} is {licence}, the page says {rows[name][2]}"
            )
    return wrong


def main() -> None:
    pinned = dependencies.pins(dependencies.CONSTRAINTS)
    if sys.argv[1:2] == ["--write"]:
        found: dict[str, Package] = {}
        for report in sys.argv[2:]:
            found = dependencies.reported(Path(report)) | found
        if wrong := unknown(found):
            sys.exit("\n".join(wrong))
        PAGE.write_text(page(table(found, pinned)), "utf-8")
    rows = read_page(PAGE.read_text("utf-8"))
    here = dependencies.installed()
    if wrong := wrong_rows(rows) + unknown(here) + wrong_packages(here, rows):
        sys.exit(
            "\n".join([*wrong, f"Fix: look at each; then `make licences-docs` writes {PAGE.name}"])
        )
    print(f"{len(rows)} packages on the page, {len(here.keys() - OURS)} installed here: all known")


if __name__ == "__main__":
    main()
