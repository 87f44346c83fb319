"""A comparison as JUnit XML, which every CI shows: one test case for each budget and relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.report.comparison import allowed, budget_name, changed, verdict_word, worse_by
from novarag.report.junit import JUnitCase, write_junit
from novarag.stats.budgets import BudgetStanding
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.report.comparison import Comparison

SUITE = "novarag compare"


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
    return write_junit(SUITE, [
        JUnitCase(
            name=name, classname=kind, failed=str(held) if held in fails else None,
            skipped=held not in fails and held is not BudgetStanding.KEPT,
            message=plain_text(f"{says}: {figures}", longest=500),
        )
        for kind, name, held, says, figures in cases
    ])  # fmt: skip
