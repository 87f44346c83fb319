"""The labels of the paper's tables and figures: in its source, and on our page of them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reproducing.md"
LABEL = r"(?:tab|table|fig):[\w.-]+"
_DECLARED = re.compile(rf"\\label\{{({LABEL})\}}")
_ROW = re.compile(rf"^\| `({LABEL})` \|[^|]*\| (.+) \|$", re.MULTILINE)


def labels_of(source: str) -> list[str]:
    """Return the labels that LaTeX declares, each once."""
    return list(dict.fromkeys(_DECLARED.findall(source)))


def listed(page: str) -> dict[str, str]:
    """Return what our page says of each label."""
    rows = page.partition("## Every table and figure of the paper")[2].partition("\n## ")[0]
    return dict(_ROW.findall(rows))


def check(source: str) -> None:
    """Stop where the page lacks a label of the paper, or has one that the paper lacks."""
    declared, said = set(labels_of(source)), set(listed(PAGE.read_text("utf-8")))
    for label in sorted(declared ^ said):
        where = "the paper" if label in said else "docs/reproducing.md"
        raise SystemExit(f"{label} is not in {where}")
    print(f"{len(declared)} labels of tables and figures, each on docs/reproducing.md")
