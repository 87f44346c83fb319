"""JUnit XML, which every CI shows: a suite of cases, each of which passes, fails or is skipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitCase:
    """One test case: `failed` is the kind of its failure, `skipped` that it cannot be told.

    `message` says why, and `text` more of a failure.
    """

    name: str
    classname: str
    failed: str | None = None
    skipped: bool = False
    message: str = ""
    text: str | None = None


def write_junit(
    suite: str, cases: Sequence[JUnitCase], facts: Mapping[str, str] | None = None
) -> bytes:
    """Write a suite with its facts; texts are made printable, as XML wants them."""
    counts = {
        "tests": str(len(cases)), "failures": str(sum(c.failed is not None for c in cases)),
        "errors": "0", "skipped": str(sum(c.skipped for c in cases)),
    }  # fmt: skip
    root = Element("testsuites", {"name": suite, **counts})
    whole = SubElement(root, "testsuite", {"name": suite, **counts})
    if facts:
        properties = SubElement(whole, "properties")
        for name, value in facts.items():
            SubElement(properties, "property", name=name, value=plain_text(value))
    for case in cases:
        _add(whole, case)
    indent(root)
    body: str = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'.encode()


def _add(suite: Element, case: JUnitCase) -> None:
    element = SubElement(suite, "testcase", name=plain_text(case.name), classname=case.classname)
    if case.failed is not None:
        failure = SubElement(element, "failure", message=case.message, type=case.failed)
        failure.text = case.text
    elif case.skipped:
        SubElement(element, "skipped", message=case.message)
