"""Fail unless every line and branch of the core was run. Usage: python -m tools.core_coverage

Reads the data that `pytest --cov` left. The core is named by modules, not by files, so it may be
measured in a clone or where it is installed; a name that nothing measured answers to is an error,
so that what moves cannot slip off the list.
"""

import sys
from pathlib import Path

from coverage import Coverage

CORE = (
    "novarag.annotation",
    "novarag.answers.cells",
    "novarag.atomic",
    "novarag.attacks",
    "novarag.calibration",
    "novarag.calls",
    "novarag.defaults",
    "novarag.errors",
    "novarag.filters",
    "novarag.formatting",
    "novarag.grading",
    "novarag.grouping",
    "novarag.imports",
    "novarag.metrics",
    "novarag.noise",
    "novarag.probes",
    "novarag.records",
    "novarag.rows",
    "novarag.scoring",
    "novarag.seeding",
    "novarag.sft",
    "novarag.stats",
    "novarag.strategies",
    "novarag.study",
    "novarag.taxonomy",
    "novarag.trials",
    "novarag.uncertainty",
)
"""Modules, and packages with all that is in them."""


def module_of(file: str) -> str:
    """Name the module of a measured file.

    >>> module_of("/venv/site-packages/novarag/strategies/__init__.py")
    'novarag.strategies'
    """
    parts = Path(file).with_suffix("").parts
    start = len(parts) - 1 - parts[::-1].index("novarag")
    return ".".join(parts[start:]).removesuffix(".__init__")


def files_of(name: str, measured: dict[str, str]) -> list[str]:
    """List the files of a module or package; `measured` says the module of each file."""
    return [
        file
        for file, module in sorted(measured.items())
        if module == name or module.startswith(f"{name}.")
    ]


def main() -> None:
    coverage = Coverage()
    coverage.load()
    measured = {file: module_of(file) for file in coverage.get_data().measured_files()}
    found = {name: files_of(name, measured) for name in CORE}
    gone = [name for name, files in found.items() if not files]
    if gone:
        sys.exit(f"the core's list names what was not measured: {', '.join(gone)}")
    include = sorted({file for files in found.values() for file in files})
    share = coverage.report(include=include, show_missing=True, skip_covered=True)
    if share < 100:
        sys.exit("every line and branch of the core must be run")


if __name__ == "__main__":
    main()
