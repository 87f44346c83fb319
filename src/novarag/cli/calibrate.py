"""`novarag calibrate`: from stated confidence to a probability, fitted or applied."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from novarag.cli.console import screen
from novarag.cli.from_audit import (
    FromAudit,
    Since,
    Until,
    audited_model,
    needed,
    print_lines,
)
from novarag.cli.next_step import ASKED, say_next
from novarag.cli.options import (
    ModelName,
    OtherSource,
    PromptName,
    ReaderName,
)
from novarag.cli.tables import TABLES, given_tables, reads_tables

if TYPE_CHECKING:
    from novarag.answers.opening.columns import Columns


@reads_tables()
def calibrate(
    columns: Columns,
    answers: Annotated[
        list[str] | None, typer.Argument(help=f"Graded answers: {TABLES}", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File of the calibration (.json); with --apply the table to write. With"
            " --from-audit by default beside the file in force."
        ),
    ] = None,
    from_audit: FromAudit = None,
    since: Since = None,
    until: Until = None,
    apply: Annotated[
        Path | None,
        typer.Option(help="Apply this calibration to the answers, which need not be graded."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Also write a page (.html) that shows what it does.")
    ] = None,
    model: ModelName = None,
    prompt: PromptName = None,
    strategy: ReaderName = "nova",
    other_source: OtherSource = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
) -> None:
    """Fit a calibration on graded answers, or apply one: a probability with an interval."""
    from novarag.calibration.graded import Source
    from novarag.flows.calibrate import apply_calibration
    from novarag.flows.calibrate import calibrate as flow
    from novarag.report.calibration import calibration_notes

    if from_audit is not None:
        _from_audit(
            from_audit, model=audited_model(model, answers), since=since, until=until, out=out,
            page=page, seed=seed,
        )  # fmt: skip
        return
    needed(answers, out)
    tables = given_tables(answers or [])
    source = Source.named(model, prompt)
    with screen() as on_event:
        if apply is not None:
            apply_calibration(
                tables, apply, columns=columns, reader=strategy, source=source,
                other_source=other_source, out=out, on_event=on_event,
            )  # fmt: skip
            return
        made = flow(
            tables, columns=columns, reader=strategy, source=source, out=out, page=page,
            seed=seed, on_event=on_event,
        )  # fmt: skip
    print_lines(calibration_notes(made))
    say_next(
        f"novarag answer {ASKED} --calibration {quote(str(out))}", "answers with a probability"
    )


def _from_audit(settings: Path, *, model: str, **more: Any) -> None:  # noqa: ANN401
    """Propose a calibration, and say what it gains over the one in force."""
    from novarag.gateway.admin.propose import propose_calibration
    from novarag.report.calibration import calibration_notes

    with screen() as on_event:
        made = propose_calibration(settings, model=model, on_event=on_event, **more)
    gain = () if made.gain is None else (made.gain.sentence(),)
    print_lines([*calibration_notes(made.calibration), *gain, *made.notes])
    if more["out"] is None:
        say_next(
            f"novarag gateway-adopt {quote(str(settings))} --model {quote(model)}",
            "puts it in force",
        )
