"""Write the tables of the gauntlet again, with the tools that are here; keep the others.

`GAUNTLET=build/gauntlet/bin/python make gauntlet` runs it in an environment that has pandas, polars,
pyarrow, openpyxl, xlsxwriter, langfuse, deepeval, ragas and inspect-ai; R, LibreOffice and promptfoo
are looked for on the path (`PROMPTFOO` names its program).
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import os
import platform
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from validation.gauntlet.base import PLACE, Entry, answers, truth
from validation.gauntlet.frames import openpyxl_tables, pandas_tables, polars_tables
from validation.gauntlet.texts import hand_tables, module_tables, office_tables, r_tables
from validation.gauntlet.tools import export_tables, hand_exports, log_tables

if TYPE_CHECKING:
    from collections.abc import Callable

MANIFEST = PLACE / "manifest.json"


def entries() -> list[Entry]:
    makers = (
        module_tables, polars_tables, pandas_tables, openpyxl_tables, office_tables, r_tables, log_tables,
        export_tables, hand_tables, hand_exports,
    )  # fmt: skip
    return [entry for maker in makers for entry in maker()]


def truths() -> dict[str, list[list[Any]]]:
    plain = answers()
    return {
        "plain": truth(plain),
        "holes": truth(answers(holes=True)),
        "first 18": truth(plain[:18]),
        "scored": [[c, g] for c, g in truth(answers(holes=True)) if c is not None or g is not None],
        "tenths": [[round(10 * (r.confidence or 0)) / 10, r.correct] for r in plain],
        "without 1": truth([r for r in plain if r.confidence != 1]),
        "without words": [
            [None if r.confidence in {0.8, 0.9} else r.confidence, r.correct] for r in plain
        ],
    }


def _said(*words: str) -> str:
    found = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    lines = (found.stdout + found.stderr).strip().splitlines()
    numbers = [m[0] for line in lines if (m := re.search(r"\d+\.\d+(\.\d+)*", line))]
    return numbers[0] if numbers else "unknown"


def _module(name: str) -> Callable[[], str]:
    from importlib.metadata import version

    def found() -> str:
        importlib.import_module(name)
        return version(name.replace("_", "-"))

    return found


VERSIONS: dict[str, Callable[[], str]] = {
    "python csv": lambda: f"{platform.python_version()}, csv {csv.__version__}" if hasattr(csv, "__version__") else platform.python_version(),
    "python logging": platform.python_version,
    "by hand": lambda: "",
    "R": lambda: _said("Rscript", "--version"),
    "LibreOffice": lambda: _said("soffice", "--version"),
    "promptfoo": lambda: _said(os.environ.get("PROMPTFOO", "promptfoo"), "--version"),
    **{name: _module(name) for name in ("polars", "pandas", "openpyxl", "langfuse", "deepeval", "ragas", "inspect_ai")},
}  # fmt: skip


def known() -> dict[str, dict[str, Any]]:
    if not MANIFEST.is_file():
        return {}
    return {one["file"]: one for one in json.loads(MANIFEST.read_text("utf-8"))["tables"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only tables whose names hold one of these")
    wanted = parser.parse_args().names
    PLACE.mkdir(parents=True, exist_ok=True)
    before, tables, versions = known(), [], dict[str, str]()
    for entry in entries():
        path = (PLACE / entry.file).absolute()
        row: dict[str, Any] | None = before.get(entry.file)
        if not wanted or any(name in entry.file for name in wanted):
            try:
                if entry.tool not in versions:
                    versions[entry.tool] = VERSIONS[entry.tool]()
                entry.make(path)
                row = {"version": versions[entry.tool]}
            except Exception as error:  # noqa: BLE001 - whatever a tool lacks, what it wrote is kept
                print(
                    f"kept {entry.file}: {type(error).__name__}: {str(error)[:200]}",
                    file=sys.stderr,
                )
        if row is not None and path.is_file():
            tables.append({
                "file": entry.file, "tool": entry.tool, "version": row["version"], "command": entry.command,
                "first": list(entry.first), "second": list(entry.second), "truth": entry.truth,
                "by_hand": entry.by_hand,
            })  # fmt: skip
    text = json.dumps({"truths": truths(), "tables": tables}, ensure_ascii=False, indent=1)
    text = re.sub(
        r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + re.sub(r"\s*\n\s*", " ", m[1]) + "]", text
    )
    MANIFEST.write_text(text + "\n", "utf-8")
    by_hand = sum(one["by_hand"] for one in tables)
    print(f"{len(tables) - by_hand} tables by tools, {by_hand} by hand")


if __name__ == "__main__":
    main()
