"""What the package depends on: pins, parts of pyproject.toml, and who asks for whom."""

import importlib.metadata
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageMetadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
HASHED = ROOT / "deploy" / "requirements.txt"
IMAGE = ROOT / "deploy" / "gateway" / "requirements.txt"
BUILD = ROOT / "deploy" / "gateway" / "build-requirements.txt"

PLATFORMS = [
    {"sys_platform": system, "platform_system": name, "os_name": os, "python_version": python}
    for system, name, os in (
        ("linux", "Linux", "posix"),
        ("darwin", "Darwin", "posix"),
        ("win32", "Windows", "nt"),
    )
    for python in ("3.11", "3.14")
]
"""Where a requirement may hold; one that holds anywhere counts."""


@dataclass(frozen=True)
class Package:
    """The metadata of one package, as its authors wrote them."""

    name: str
    version: str
    expression: str
    text: str
    classifiers: tuple[str, ...]
    needs: tuple[str, ...]


def plain(name: str) -> str:
    """Spell a package's name as indexes do.

    >>> plain("Ruamel.yaml_clib")
    'ruamel-yaml-clib'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: Path) -> dict[str, str]:
    """Read the versions of a file of `name==version` lines; hashes and markers are left out."""
    lines = (line for line in file.read_text("utf-8").splitlines() if re.match(r"\w", line))
    split = (line.split("==", 1) for line in lines)
    return {plain(name): version.split()[0] for name, version in split}


def parts() -> dict[str, list[str]]:
    """List what pyproject.toml asks for: `core`, extras as `[name]`, groups by their names."""
    read = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = read["project"]["optional-dependencies"]
    return {
        "core": read["project"]["dependencies"],
        **{f"[{name}]": needs for name, needs in extras.items()},
        **read["dependency-groups"],
    }


def _first(meta: PackageMetadata, field: str) -> str:
    return next(iter(meta.get_all(field) or ()), "")


def installed() -> dict[str, Package]:
    """Read the metadata of what is installed here."""
    found = {}
    for one in importlib.metadata.distributions():
        meta = one.metadata
        found[plain(meta["Name"])] = Package(
            name=meta["Name"],
            version=one.version,
            expression=_first(meta, "License-Expression"),
            text=_first(meta, "License"),
            classifiers=tuple(meta.get_all("Classifier") or ()),
            needs=tuple(one.requires or ()),
        )
    return found


def reported(file: Path) -> dict[str, Package]:
    """Read the metadata of what `pip install --report` would install."""
    found = {}
    for one in json.loads(file.read_text("utf-8"))["install"]:
        meta = one["metadata"]
        found[plain(meta["name"])] = Package(
            name=meta["name"],
            version=meta["version"],
            expression=meta.get("license_expression", ""),
            text=meta.get("license", ""),
            classifiers=tuple(meta.get("classifier", ())),
            needs=tuple(meta.get("requires_dist", ())),
        )
    return found


def reached(asked: Iterable[str], packages: Mapping[str, Package]) -> set[str]:
    """Name all that these requirements bring on some platform, known to `packages` or not."""
    todo, done = [Requirement(one) for one in asked], set()
    while todo:
        here = todo.pop()
        extras = frozenset(here.extras) or frozenset({""})
        if (plain(here.name), extras) in done:
            continue
        done.add((plain(here.name), extras))
        if found := packages.get(plain(here.name)):
            todo += [need for need in map(Requirement, found.needs) if holds(need, extras)]
    return {name for name, _ in done}


def holds(need: Requirement, extras: Iterable[str]) -> bool:
    """Say whether a requirement holds on some platform, with one of these extras."""
    return need.marker is None or any(
        need.marker.evaluate({**where, "extra": extra}) for where in PLATFORMS for extra in extras
    )
