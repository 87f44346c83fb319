"""The card of a probe as JUnit XML, which every CI shows: one test case for each relation."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from novarag.probes import Verdict
from novarag.report.probe import why_not_asked
from novarag.report.words import points
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.probes import Card, Finding
    from novarag.report.probe import ProbeHeading

SUITE = "novarag probe"


def junit_xml(heading: ProbeHeading, card: Card) -> bytes:
    """Write a card as JUnit: broken relations fail, what cannot be told is skipped, with why."""
    skipped = [f for f in card.findings if f.verdict not in {Verdict.BREAKS, Verdict.HOLDS}]
    counts = {
        "tests": str(len(card.findings) + len(card.not_asked)), "failures": str(len(card.broken)),
        "errors": "0", "skipped": str(len(skipped) + len(card.not_asked)),
    }  # fmt: skip
    root = Element("testsuites", {"name": SUITE, **counts})
    suite = SubElement(root, "testsuite", {"name": SUITE, **counts})
    told = SubElement(suite, "properties")
    facts = {"system": heading.system, "profile": heading.profile, "seed": str(heading.seed),
             "questions": str(card.questions), "date": heading.made}  # fmt: skip
    for name, value in facts.items():
        SubElement(told, "property", name=name, value=plain_text(value))
    for found in card.findings:
        _case(suite, found)
    for name in card.not_asked:
        case = SubElement(suite, "testcase", name=name, classname="probe")
        SubElement(case, "skipped", message=f"not asked: {why_not_asked(name, heading.unmade)}")
    indent(root)
    body: str = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'.encode()


def _case(suite: Element, found: Finding) -> None:
    relation, score = found.relation, found.score
    case = SubElement(suite, "testcase", name=relation.name, classname="probe")
    ends = f"{points(score.low)} to {points(score.high)}"
    figure = f"{points(score.value)} points ({ends}), {found.questions:,} questions"
    if found.verdict is Verdict.BREAKS:
        failure = SubElement(case, "failure", message=f"{relation.title}: {figure}", type="breaks")
        failure.text = f"{relation.says}. {relation.reason}"
    elif found.verdict is not Verdict.HOLDS:
        more = f"; ask about {found.more:,} more" if found.more else ""
        SubElement(case, "skipped", message=f"{found.verdict}: {figure}{more}")
