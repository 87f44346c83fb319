"""The paper's experiments as data: its printed figures, to stand beside ours."""

from __future__ import annotations

from novarag.experiments.paper import paper_figures, paper_tables

__all__ = ["paper_figures", "paper_tables"]
