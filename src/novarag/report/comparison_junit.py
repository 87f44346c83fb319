"""A comparison as JUnit XML, which every CI shows: one test case for each budget and relation."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from novarag.report.comparison import allowed, budget_name, changed, told, worse_by
from novarag.stats.budgets import Held
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.report.comparison import Comparison

SUITE = "novarag compare"


def comparison_junit(found: Comparison) -> bytes:
    """Write a comparison as JUnit: what is broken fails, what cannot be told is skipped.

    With `strict` what cannot be told fails, too. Names are made printable, as XML wants them.
    """
    fails = {Held.BROKEN, Held.CANNOT_TELL} if found.strict else {Held.BROKEN}
    cases = [
        (
            "budget", budget_name(one), one.held, told(one),
            one.why or f"worse by {worse_by(one)}, allowed are {allowed(one)}",
        )
        for one in found.budgets
    ]  # fmt: skip
    cases += [("relation", r.name, r.held, r.title, changed(r)) for r in found.relations]
    untold = [held for _, _, held, _, _ in cases if held not in fails and held is not Held.KEPT]
    counts = {
        "tests": str(len(cases)), "failures": str(sum(case[2] in fails for case in cases)),
        "errors": "0", "skipped": str(len(untold)),
    }  # fmt: skip
    root = Element("testsuites", {"name": SUITE, **counts})
    suite = SubElement(root, "testsuite", {"name": SUITE, **counts})
    for kind, name, held, says, figures in cases:
        case = SubElement(suite, "testcase", name=plain_text(name), classname=kind)
        said = plain_text(f"{says}: {figures}", longest=500)
        if held in fails:
            SubElement(case, "failure", message=said, type=str(held))
        elif held is Held.CANNOT_TELL:
            SubElement(case, "skipped", message=said)
    indent(root)
    body: str = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'.encode()
