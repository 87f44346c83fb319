"""`novarag gateway propose`: a calibration or a gate from the feedback in a gateway's audit."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import print_notes, screen
from novarag.cli.exit_codes import ExitCode
from novarag.cli.next_step import print_next_step
from novarag.cli.options import ConfidenceLevel
from novarag.cli.shares import parse_share
from novarag.errors import UsageError

if TYPE_CHECKING:
    from typing import Any


def propose(
    settings: Annotated[
        Path, typer.Argument(help="Settings file of the gateway, whose audit has the feedback.")
    ],
    served: Annotated[str, typer.Option(help="Name by which that file serves the model.")],
    risk: Annotated[
        float | None,
        typer.Option(
            parser=parse_share,
            metavar="<share>",
            help="Propose a gate, not a calibration: the most of the answers given that may be"
            " wrong, 10% or 0.1.",
        ),
    ] = None,
    confidence_level: ConfidenceLevel = "90%",  # type: ignore[assignment]
    by_state: Annotated[
        bool,
        typer.Option(
            "--by-state", help="With --risk: also try answers beside consistent evidence alone."
        ),
    ] = False,
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="With --risk: set the gate on the confidences of this calibration, which must not"
            " have seen these questions; default: the one in force."
        ),
    ] = None,
    split: Annotated[
        Path | None,
        typer.Option(
            help="With --risk: fit a calibration on half of the questions, write it to this file,"
            " and set the gate on the other half."
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="The first day (UTC), such as 2026-01-31.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="The last day (UTC), which counts whole; default: now.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File of the proposal (.json); default: beside what is in force."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Also write a page (.html) that shows what it does.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and draws.")] = 0,
) -> None:
    """Propose a calibration, or with --risk a gate, from the feedback in a gateway's audit.

    Nothing goes live: `novarag gateway adopt` puts the proposal in force.
    """
    more = {
        "served": served,
        "since": since,
        "until": until,
        "out": out,
        "page": page,
        "seed": seed,
    }
    if risk is None:
        if by_state or calibration or split:
            raise UsageError.saying(
                "`by_state`, `calibration` and `split` are of a gate: give its `risk`"
            )
        _propose_calibration(settings, more)
    else:
        gated = {"by_state": by_state, "calibration": calibration, "split": split}
        _propose_gate(
            settings, {**more, **gated, "risk": risk, "confidence_level": confidence_level}
        )


def _propose_calibration(settings: Path, more: dict[str, Any]) -> None:
    """Propose a calibration, and say what it gains over the one in force."""
    from novarag.gateway.admin.propose import propose_calibration
    from novarag.report.calibration import calibration_notes

    with screen() as on_event:
        made = propose_calibration(settings, **more, on_event=on_event)
    gain = () if made.gain is None else (made.gain.sentence(),)
    print_notes([*calibration_notes(made.calibration), *gain, *made.notes])
    if more["out"] is None:
        print_next_step(
            f"novarag gateway adopt {quote(str(settings))} --served {quote(more['served'])}",
            "puts it in force",
        )


def _propose_gate(settings: Path, more: dict[str, Any]) -> None:
    """Propose a gate; end with a code of its own where no threshold could be certified."""
    from novarag.gateway.admin.propose import CHOSEN, propose_gate
    from novarag.report.gate import gate_notes

    with screen() as on_event:
        made = propose_gate(settings, **more, on_event=on_event)
    print_notes([*gate_notes(made), CHOSEN])
    if made.threshold is None:
        raise typer.Exit(ExitCode.INCOMPLETE)
