"""The whole chain on the made-up log: asked, measured, calibrated, gated; then each question."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from novarag.demo.made_up_log import SOURCE, answer_groups, log_table, made_up_groups, open_boaster
from novarag.flows.answerer import Answerer
from novarag.flows.calibrate import calibrate
from novarag.flows.events import StepBegun, silent
from novarag.flows.gate import gate
from novarag.flows.measure import measure
from novarag.flows.sync import run_sync

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.demo.questions import DemoQuestion
    from novarag.flows.events import EventListener
    from novarag.metrics import Measurement
    from novarag.scoring import Answer

RISK = 0.1
"""The share of the answers given that may be wrong, by the demo's gate."""

_REPLICATES = 400  # behind each interval: enough to show, and a second shorter than the usual
_NOTE = "Made up: a simulated model answered invented questions. It says nothing of a real model."


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoChain:
    """What was made of the log: the measurement, the calibration, the gate, and their pages."""

    measurement: Measurement
    calibration: Calibration
    gate: Gate
    pages: Mapping[str, str]

    async def answer(self, asked: DemoQuestion) -> Answer:
        """Put a question to the simulated model, and decide by the calibration and the gate.

        Args:
            asked: The question with its right answer and its passages.
        """
        group = asked.group()
        answerer = Answerer(
            open_boaster([group]), calibration=self.calibration, gate=self.gate, structured=False
        )
        return await answerer.answer_group_async(group)


def make_chain(on_event: EventListener = silent) -> DemoChain:
    """Ask, measure, calibrate on one half of the log, and set a gate on the other.

    Args:
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    groups = made_up_groups()
    on_event(StepBegun(f"asking a simulated model {len(groups)} made-up questions", 1, 3))
    table = log_table(run_sync(answer_groups(groups)))
    half = table.height // 2
    with TemporaryDirectory(prefix="novarag-demo-") as name:
        folder = Path(name)
        on_event(StepBegun("measuring how honest its confidence is", 2, 3))
        found = measure(
            table, by="evidence", out=folder, title="A made-up log", notes=[_NOTE],
            replicates=_REPLICATES,
        )  # fmt: skip
        on_event(StepBegun("fitting a calibration and a gate", 3, 3))
        fitted = calibrate(table[:half], source=SOURCE, page=folder / "calibration.html")
        made = gate(
            table[half:], risk=RISK, calibration=fitted, source=SOURCE,
            page=folder / "gate.html",
        )  # fmt: skip
        pages = {path.name: path.read_text("utf-8") for path in folder.glob("*.html")}
    return DemoChain(measurement=found, calibration=fitted, gate=made, pages=pages)
