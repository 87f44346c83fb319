"""The card of a probe as JUnit XML, which every CI shows: one test case for each relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.formatting import points
from novarag.probes import RelationVerdict
from novarag.report.junit import JUnitCase, write_junit
from novarag.report.probe import why_not_asked, why_open

if TYPE_CHECKING:
    from novarag.probes import ProbeCard, RelationFinding
    from novarag.report.probe import ProbeHeading

SUITE = "novarag probe"


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
    return write_junit(SUITE, cases, facts)


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
