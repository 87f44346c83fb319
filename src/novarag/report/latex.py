r"""Tables as LaTeX, in the style of booktabs; a text of somebody else never leaves its cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from novarag.report.shown_tables import ShownCell, ShownTable

# Besides the characters that LaTeX reserves: brackets and stars, which a row that ends before them
# would take for its own; and quotes and bars, which packages such as babel make active.
_ESCAPES = str.maketrans(
    {c: f"\\{c}" for c in "{}$&#_%"}
    | {c: f"{{{c}}}" for c in "[]*"}
    | {
        "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
        '"': r"\char34{}", "\u2013": r"\textendash{}", "\u2026": r"\ldots{}",
    }
)  # fmt: skip


def escape_latex(text: str, *, longest: int = 200) -> str:
    r"""Make a foreign text mean nothing to LaTeX but itself.

    >>> print(escape_latex("50 % of R&D, \\input{x}"))
    50 \% of R\&D, \textbackslash{}input\{x\}
    """
    return plain_text(text, longest=longest).translate(_ESCAPES)


def write_tabular(table: ShownTable) -> str:
    r"""Write a table as a `tabular`, which needs `\usepackage{booktabs}` and nothing else."""
    columns = "l" + "r" * (len(table.header) - 1)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            _row(map(escape_latex, table.header)),
            r"\midrule",
            *(_row(map(_cell, row)) for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: ShownCell) -> str:
    small = f" ({escape_latex(cell.small)})" if cell.small else ""
    return escape_latex(cell.text) + small
