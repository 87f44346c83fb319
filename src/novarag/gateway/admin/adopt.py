"""A proposal goes live: it takes the place of the file in force, which is kept beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.atomic import write_whole
from novarag.errors import UsageError
from novarag.flows.calibrate import load_calibration
from novarag.flows.gate import as_gate, load_gate
from novarag.gateway.admin.propose import find_model
from novarag.scoring import Scorer
from novarag.strategies import find_strategy

if TYPE_CHECKING:
    from pathlib import Path

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.gateway.admin.propose import ModelFiles

PARTS = ("calibration", "gate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What was put in force: the files, what they replaced, and what is left for the operator.

    `kept` are the files of before. `missing` are lines that the settings file needs, where it did
    not name a file yet.
    """

    model: str
    files: tuple[Path, ...]
    kept: tuple[Path, ...]
    missing: tuple[str, ...]

    def lines(self) -> list[str]:
        """Say what was done, and what is to be done."""
        return [
            *(f"{self.model}: {path} is the proposal now" for path in self.files),
            *(f"kept: {path}" for path in self.kept),
            *(f"add to [models.{self.model}]: {line}" for line in self.missing),
            "send SIGHUP to the gateway: it then reads the settings again",
        ]


def adopt_proposal(settings: str | Path, *, served: str) -> Adoption:
    """Put the proposed calibration, the proposed gate or both in the place of those in force.

    Each file is replaced whole, and what was in force is kept beside it. Proposals of another model
    or prompt are refused, and so is a pair that would not fit: a gate is set on the scores of one
    calibration. The gateway goes on as it was until SIGHUP.

    Args:
        settings: The settings file of the gateway (TOML).
        served: The name by which that file serves the model whose proposals go live.
    """
    _, files = find_model(settings, served)
    parts = [part for part in PARTS if files.proposed(part).exists()]
    if not parts:
        raise UsageError.saying(
            "nothing is proposed for {!r}: there is no {}. Make one with `propose_calibration({},"
            " served={})`",
            served,
            files.proposed("calibration"),
            str(settings),
            served,
        )
    _check_proposal(files, parts)
    kept = []
    for part in parts:
        place, proposed = files.place(part), files.proposed(part)
        if place.exists():
            kept.append(_keep_replaced(place))
        write_whole(place, proposed.read_bytes())
    for part in parts:
        files.proposed(part).unlink()
    return Adoption(
        model=served,
        files=tuple(files.place(part) for part in parts),
        kept=tuple(kept),
        missing=tuple(
            f'{part} = "{files.place(part).name}"'
            for part in parts
            if getattr(files.settings, part) is None
        ),
    )


def _check_proposal(files: ModelFiles, parts: list[str]) -> None:
    """Refuse what the gateway would refuse, before anything is replaced."""
    made: Calibration | None = files.in_force()
    if "calibration" in parts:
        made = load_calibration(files.proposed("calibration"))
        _check_source(files, made)
    gate = files.settings.gate and as_gate(files.folder / files.settings.gate)
    if "gate" in parts:
        gate = load_gate(files.proposed("gate"))
        _check_source(files, gate)
        if gate.threshold is None:
            raise UsageError(
                f"the proposed gate {files.proposed('gate')} has no threshold, so every answer"
                " would be held back; delete it"
            )
    try:
        Scorer(
            find_strategy(files.settings.strategy), made, gate or None,
            source=files.settings.name, other_source=files.settings.other_source,
        )  # fmt: skip
    except UsageError as error:
        raise UsageError.saying(
            "the proposal does not fit what stays in force: {}. A new calibration needs a gate of"
            " its own: propose both with `propose_gate(...)` and its `split`",
            error.prose,
        ) from error


def _check_source(files: ModelFiles, made: Calibration | Gate) -> None:
    ours, theirs = files.source, made.source
    if theirs != ours:
        what = "model" if theirs.model != ours.model else "prompt"
        raise UsageError(
            f"the proposal is of the {what} {getattr(theirs, what)!r}, and {files.name!r} is"
            f" {getattr(ours, what)!r} now; it is not adopted"
        )


def _keep_replaced(place: Path) -> Path:
    """Copy a file to the first name beside it that is free."""
    content, number = place.read_bytes(), 1
    while (kept := place.with_suffix(f".before-{number}.json")).exists():
        if kept.read_bytes() == content:
            return kept
        number += 1
    write_whole(kept, content)
    return kept
