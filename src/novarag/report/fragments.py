"""Results as a notebook shows them: the verdict of their page, and a small table.

A fragment has no script, no request and no style sheet: it stands in a page of somebody else, so
that colours are inherited and every rule is written beside its element.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from novarag.calibration.gate import STATED
from novarag.errors import NovaragError
from novarag.formatting import NOTHING, format_count, points, short_percent, span, whole_percent
from novarag.report.advice import advice_lines
from novarag.report.calibration import (
    SHOWN_CONFIDENCES,
    calibration_notes,
    calibration_verdict,
    state_title,
)
from novarag.report.comparison import paired_line, verdict_line
from novarag.report.gate import gate_notes
from novarag.report.probe import ACTS, probe_verdict
from novarag.report.sentences import headline
from novarag.report.shown_tables import (
    ShownCell,
    ShownTable,
    tabulate_comparison,
    tabulate_measurement,
)
from novarag.report.templating import open_template
from novarag.report.verdict import judge
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Template

    from novarag.calibration.calibration import CalibratedConfidence, Calibration
    from novarag.calibration.gate import Gate, RiskCoverage
    from novarag.metrics import Measurement, Panel
    from novarag.probes import ProbeCard, RelationFinding
    from novarag.report.comparison import Comparison
    from novarag.runs import Run
    from novarag.scoring.answer import Answer

MOST_ROWS = 25
"""Rows of a table that a fragment shows: all answers, and as many groups as a page judges."""

_ACT_WORDS = {"no": "✕ do not act", "yes": "✓ usable as it is", "wait": "? undecided"}
_SIGNS = {"answer": "yes", "abstain": "no", "clarify": "wait", None: "wait"}


class Fragment(NamedTuple):
    """What a fragment says: a kind of result, its verdict, more sentences, and a table.

    `act` is the verdict's sign, as on a page: "yes", "no" or "wait".
    """

    kind: str
    act: str
    line: str
    because: str = ""
    notes: Sequence[str] = ()
    table: ShownTable = ShownTable((), ())
    foot: str = ""


def render_fragment(fragment: Fragment) -> str:
    """Write a fragment as HTML; every text of it is foreign, and is escaped."""
    rows, more = fragment.table.rows, len(fragment.table.rows) - MOST_ROWS
    left = f"… and {more:,} more rows. " if more > 0 else ""
    return _template().render(
        f=fragment, header=fragment.table.header, rows=rows[:MOST_ROWS], foot=left + fragment.foot
    )


@cache
def _template() -> Template:
    return open_template("fragment.html.j2", escape=True)  # compiled once: a notebook has many


def show_measurement(measurement: Measurement) -> str:
    """Show the verdict, what to do, and the headline figures of all answers and of each group."""
    first = headline(measurement)
    alone = len(measurement.groups) <= 1
    decisions = measurement.decisions.get(measurement.overall.name)
    table = tabulate_measurement(measurement)
    if not alone:
        verdicts = [NOTHING, *(_verdict_words(measurement, p) for p in measurement.groups)]
        rows = zip(table.rows, verdicts, strict=True)
        table = ShownTable(
            (*table.header, "verdict"), tuple((*row, ShownCell(words)) for row, words in rows)
        )
    by = f" by {', '.join(measurement.by)}" if measurement.by else ""
    return render_fragment(
        Fragment(
            kind=f"Measurement{by}", act=first.act, line=first.line, because=first.because,
            notes=(*measurement.notes, *(advice_lines(decisions) if alone and decisions else ())),
            table=table,
            foot=f"Intervals: 95 %, {measurement.replicates:,} bootstrap replicates by question.",
        )
    )  # fmt: skip


def _verdict_words(measurement: Measurement, panel: Panel) -> str:
    return _ACT_WORDS[judge(panel, measurement.decisions.get(panel.name)).act]


def show_calibration(calibration: Calibration) -> str:
    """Show whether to use a calibration, and what it makes of stated confidences."""
    states = list(calibration.seen)
    rows = tuple(
        (
            ShownCell(whole_percent(stated)),
            *(_calibrated(calibration.one(stated, state or None)) for state in states),
        )
        for stated in SHOWN_CONFIDENCES
    )
    table = ShownTable(("stated", *map(state_title, states)), rows)
    if calibration.fitted is None:
        line = "Nothing is known of how well it does: it does not say what it was fitted on."
        return render_fragment(Fragment("Calibration", "wait", line, table=table))
    verdict = calibration_verdict(calibration.fitted)
    return render_fragment(
        Fragment(
            kind="Calibration", act=verdict.act, line=verdict.line, table=table,
            notes=calibration_notes(calibration),
            foot="Probabilities of being right, with 90 % intervals.",
        )
    )  # fmt: skip


def _calibrated(made: CalibratedConfidence) -> ShownCell:
    outside = ", outside what was graded" if made.note else ""
    return ShownCell(
        whole_percent(made.probability), span(made.low, made.high, whole_percent) + outside
    )


def show_gate(gate: Gate) -> str:
    """Show what a gate promises, and what one would keep at other risks."""
    promised, *notes = gate_notes(gate)
    score = "stated" if gate.score == STATED else "calibrated"
    return render_fragment(
        Fragment(
            kind=f"Gate on {score} confidences", act="wait" if gate.threshold is None else "yes",
            line=promised, notes=notes,
            table=ShownTable(("risk", "answer from", "keeps"), tuple(map(_kept, gate.kept))),
            foot="Each risk would be a promise if it had been asked for alone, before this look.",
        )
    )  # fmt: skip


def _kept(kept: RiskCoverage) -> tuple[ShownCell, ...]:
    least = "not attainable" if kept.threshold is None else short_percent(kept.threshold)
    only = f"{kept.state} only" if kept.state else ""
    return (
        ShownCell(short_percent(kept.risk)),
        ShownCell(least, only),
        ShownCell(short_percent(kept.share)),
    )


def show_answer(answer: Answer) -> str:
    """Show an answer, how far to trust it, the evidence, and whether to give it."""
    said = "The reply could not be read" if answer.answer is None else answer.answer
    sources = [passage.source or "" for passage in answer.trial.group.passages]
    judged = tuple(
        (ShownCell(str(place)), ShownCell(source), ShownCell(str(judgment)))
        for place, (source, judgment) in enumerate(
            zip(sources, answer.judgments or (), strict=False), 1
        )
    )
    evidence = () if answer.evidence is None else (f"evidence {answer.evidence}",)
    return render_fragment(
        Fragment(
            kind=f"Answer to: {answer.question}", act=_SIGNS[answer.decision], line=said,
            because=f"{answer.decision or 'no decision'}: {answer.reason}",
            notes=(*answer.confidence_lines(), *evidence, *answer.notes[:3]),
            table=ShownTable(("passage", "source", "judged"), judged),
        )
    )  # fmt: skip


def show_run(run: Run) -> str:
    """Show who was asked what, and how far the run is; a damaged one is shown, too."""
    settings, manifest = run.settings, run.manifest
    kind = f"Run {run.place}"
    asked = (
        f"{settings.model}, {settings.strategy}: {manifest.groups:,} groups of"
        f" {manifest.questions:,} questions in {len(manifest.parts):,} shards."
    )
    try:
        counts, missing = run.counts, run.missing
    except (NovaragError, OSError) as error:
        return render_fragment(Fragment(kind, "no", f"Not readable: {error}", asked))
    line = f"{missing:,} shards are missing." if missing else "Finished: nothing is left to ask."
    names = {"trials": "trials", "unread": "unread", "right": "right", "dead": "given up"}
    cells = tuple(ShownCell(format_count(int(counts.get(name, 0)))) for name in names)
    table = ShownTable(tuple(names.values()), (cells,))
    return render_fragment(Fragment(kind, "wait" if missing else "yes", line, asked, table=table))


def show_comparison(found: Comparison) -> str:
    """Show whether budgets are kept, and each of them."""
    act = "no" if found.broken else "wait" if found.undecided else "yes"
    return render_fragment(
        Fragment(
            kind="Comparison", act=act, line=verdict_line(found), notes=found.notes,
            table=tabulate_comparison(found), foot=" ".join(paired_line(found)),
        )
    )  # fmt: skip


def show_probe(card: ProbeCard, system: str, profile: str, dead: Mapping[str, int]) -> str:
    """Show what a probe proved, and each relation with its verdict."""
    verdict = probe_verdict(card)
    asked = (
        f"{card.questions:,} questions, {card.replies:,} replies, {card.unread:,} unread,"
        f" {sum(dead.values()):,} calls failed."
    )
    header = ("relation", "verdict", "score, points", "questions")
    return render_fragment(
        Fragment(
            kind=f"Probe of {plain_text(system)}, {profile}", act=verdict.act, line=verdict.line,
            because=verdict.because, table=ShownTable(header, tuple(map(_found, card.findings))),
            foot=asked,
        )
    )  # fmt: skip


def _found(finding: RelationFinding) -> tuple[ShownCell, ...]:
    sign = {"no": "✕", "yes": "✓", "wait": "?"}[ACTS[finding.verdict]]
    more = f"ask about {finding.more:,} more" if finding.more else ""
    score = finding.score
    return (
        ShownCell(finding.relation.title),
        ShownCell(f"{sign} {finding.verdict}", more),
        ShownCell(points(score.value), span(score.low, score.high, points)),
        ShownCell(format_count(finding.questions)),
    )
