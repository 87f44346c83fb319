"""Settings and figures that ship with the package.

One folder holds files of one schema: `build` pipelines, `experiment` real retrieval on the user's
data, `table` the paper's tables and figures, `gateway` the settings of a server; no name stands in
two of them. `paper.json` holds the
figures that the paper prints.
"""

from __future__ import annotations

from novarag.presets.paper import paper_figures, paper_tables

__all__ = ["paper_figures", "paper_tables"]
