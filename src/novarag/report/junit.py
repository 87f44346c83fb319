"""JUnit XML, which every CI shows: suites of cases, made of a comparison or of a probe's card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from novarag.formatting import points
from novarag.probes import RelationVerdict
from novarag.report.comparison import allowed, budget_name, changed, verdict_word, worse_by
from novarag.report.probe import why_not_asked, why_open
from novarag.stats.budgets import BudgetStanding
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.probes import ProbeCard, RelationFinding
    from novarag.report.comparison import Comparison
    from novarag.report.probe import ProbeHeading


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


def comparison_junit(found: Comparison) -> bytes:
    """Write a comparison as JUnit: what is broken fails, what cannot be told is skipped.

    With `strict` what cannot be told fails, too. Names are made printable, as XML wants them.
    """
    fails = (
        {BudgetStanding.BROKEN, BudgetStanding.CANNOT_TELL}
        if found.strict
        else {BudgetStanding.BROKEN}
    )
    cases = [
        (
            "budget", budget_name(one), one.held, verdict_word(one),
            one.why or f"worse by {worse_by(one)}, allowed are {allowed(one)}",
        )
        for one in found.budgets
    ]  # fmt: skip
    cases += [("relation", r.name, r.held, r.title, changed(r)) for r in found.relations]
    return write_junit("novarag compare", [
        JUnitCase(
            name=name, classname=kind, failed=str(held) if held in fails else None,
            skipped=held not in fails and held is not BudgetStanding.KEPT,
            message=plain_text(f"{says}: {figures}", longest=500),
        )
        for kind, name, held, says, figures in cases
    ])  # fmt: skip


def junit_xml(heading: ProbeHeading, card: ProbeCard) -> bytes:
    """Write a card as JUnit: broken relations fail, what cannot be told is skipped, with why."""
    facts = {"system": heading.system, "profile": heading.profile, "seed": str(heading.seed),
             "questions": str(card.questions), "date": heading.made}  # fmt: skip
    cases = [_case(found) for found in card.findings]
    cases += [
        JUnitCase(
            name=name, classname="probe", skipped=True,
            message=f"not asked: {why_not_asked(name, heading.unmade)}",
        )
        for name in card.not_asked
    ]  # fmt: skip
    return write_junit("novarag probe", cases, facts)


def _case(found: RelationFinding) -> JUnitCase:
    relation, score = found.relation, found.score
    ends = f"{points(score.low)} to {points(score.high)}"
    figure = f"{points(score.value)} points ({ends}), {found.questions:,} questions"
    if found.verdict is RelationVerdict.BREAKS:
        return JUnitCase(
            name=relation.name, classname="probe", failed="breaks",
            message=f"{relation.title}: {figure}", text=f"{relation.says}. {relation.reason}",
        )  # fmt: skip
    return JUnitCase(
        name=relation.name, classname="probe", skipped=found.verdict is not RelationVerdict.HOLDS,
        message=f"{found.verdict}: {figure}{why_open(found)}",
    )  # fmt: skip
