"""Reports: one measurement as JSON, Markdown and a self-contained page."""

from __future__ import annotations

from novarag.report.page import Heading, to_html, to_json, to_markdown, write_report
from novarag.report.sentences import answer_first, rivals, summary

__all__ = [
    "Heading",
    "answer_first",
    "rivals",
    "summary",
    "to_html",
    "to_json",
    "to_markdown",
    "write_report",
]
