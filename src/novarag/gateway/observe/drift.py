"""Drift of every model that has a calibration: one watch each, kept through reloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.calibration.drift import DriftState, DriftWatch

if TYPE_CHECKING:
    from novarag.gateway.decisions import ModelRespondent, PolicyDecision
    from novarag.gateway.snapshot import Snapshot

NO_CALIBRATION = "there is no calibration, so there is nothing to drift from"
NO_REFERENCE = (
    "the calibration carries no counts of the answers it was fitted on, so drift cannot be told;"
    " one that is fitted again does"
)


class DriftMonitor:
    """The watches of a gateway's models.

    A watch goes on over a reload as long as the model keeps its calibration, and starts anew with
    another. What is watched is what the calibration is applied to: the first answer of the model
    that was asked, whatever a policy made of it.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._watches: dict[str, tuple[str, DriftWatch]] = {}
        self._silent: dict[str, str] = {}
        self.follow(snapshot)

    def follow(self, snapshot: Snapshot) -> None:
        """Watch the models of another snapshot from now on."""
        before, self._watches, self._silent = self._watches, {}, {}
        for name, respondent in snapshot.respondents.items():
            made = respondent.calibration
            if made is None or made.reference is None:
                self._silent[name] = NO_CALIBRATION if made is None else NO_REFERENCE
                continue
            known = before.get(name)
            if (
                known is not None
                and known[0] == respondent.calibration_name
                and (known[1].test.reference == made.reference)
            ):
                self._watches[name] = known
            else:
                fresh = DriftWatch.of(made.reference)
                self._watches[name] = (respondent.calibration_name, fresh)

    def see(self, respondent: ModelRespondent, made: PolicyDecision) -> None:
        """Take note of the first answer behind a decision.

        Answers that somebody else asked for, or that another prompt got, are left out, and so are
        those by a calibration that is no longer in force.
        """
        known, answer = self._watches.get(respondent.name), made.first or made.answer
        own = made.first is not None or made.prompt == respondent.strategy.template.hash
        if answer.stated is None or known is None or not own:
            return
        if known[0] != respondent.calibration_name:
            return
        known[1].see(answer.stated, answer.evidence or "", hash(answer.question))

    def drift_states(self) -> dict[str, DriftState]:
        """Return how each watch stands, by model; models that are not watched are left out."""
        return {name: watch.state() for name, (_, watch) in self._watches.items()}

    def why_silent(self) -> dict[str, str]:
        """Return why models are not watched."""
        return dict(self._silent)
