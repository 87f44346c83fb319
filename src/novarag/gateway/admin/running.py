"""The gateway from Python: check a settings file, or serve it."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import asdict, dataclass
from pathlib import Path

from novarag.errors import UsageError
from novarag.imports import with_extra

_YOUNG = 10_000  # objects more than there were, before a collection looks for cycles among them


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayModel:
    """A model of a settings file, in words."""

    name: str
    asks: str
    strategy: str
    mode: str
    calibration: str | None
    gate: str | None
    policy: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayCheck:
    """A settings file that was found sound: its version, its address and its models."""

    version: str
    address: str
    models: tuple[GatewayModel, ...]

    def lines(self) -> list[str]:
        """Say what is in force, a line for each model."""
        return [
            f"settings {self.version}",
            *(line for m in self.models for line in _describe_model(m)),
        ]


def _describe_model(model: GatewayModel) -> list[str]:
    worth = "calibrated" if model.calibration else "confidence as stated, without a calibration"
    decides = "no gate: policies alone decide" if model.gate is None else f"gate: {model.gate}"
    does = ", ".join(f"{state} -> {action}" for state, action in model.policy.items())
    return [
        f"{model.name}: {model.asks}, strategy {model.strategy}, {model.mode}; {worth}; {decides}",
        f"{model.name}: {does}",
    ]


def check_gateway(settings: str | Path) -> GatewayCheck:
    """Read a settings file and all that it names, without starting anything.

    Args:
        settings: The settings file of the gateway (TOML).
    """
    require_extra()
    from novarag.flows.gate import as_gate
    from novarag.formatting import short_percent
    from novarag.gateway.http.access import needs_keys
    from novarag.gateway.snapshot import Snapshot

    found = Snapshot(settings)
    needs_keys(found.settings)
    if found.settings.audit is not None:
        found.settings.audit.dsn()
        found.settings.audit.digest_key()
    listen = found.settings.listen
    models = []
    for name, model in found.settings.models.items():
        gate = None if model.gate is None else as_gate(model.gate)
        promise = (
            None if gate is None
            else "no threshold could be certified" if gate.threshold is None
            else f"at most {short_percent(gate.risk)} of answers wrong"
        )  # fmt: skip
        models.append(
            GatewayModel(
                name=name,
                asks=f"{model.name} at {found.settings.upstreams[model.upstream].url}",
                strategy=model.strategy,
                mode=model.mode,
                calibration=None if model.calibration is None else str(model.calibration),
                gate=promise,
                policy={state: str(action) for state, action in asdict(model.policy).items()},
            )
        )
    address = f"http://{listen.host}:{listen.port}/v1"
    return GatewayCheck(version=found.version, address=address, models=tuple(models))


def serve_gateway(settings: str | Path, *, fd: int | None = None, rolling: bool = False) -> None:
    """Serve until SIGTERM or Ctrl-C.

    Args:
        settings: The settings file of the gateway (TOML).
        fd: The number of an open socket to listen at, which a parent process keeps; None opens one
            at the address that the settings name.
        rolling: Keep the socket in this process and serve in another, which SIGUSR2 replaces by a
            new one without a request lost; `fd` plays no part then.
    """
    require_extra()
    if rolling:
        _supervise(Path(settings))
        return
    import uvloop

    from novarag.gateway.http.server import run_server

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run_server(settings, fd=fd, started=collect_rarely))


def collect_rarely() -> None:
    """Keep what lives as long as this process out of garbage collections, and make them rare.

    A request leaves no cycle behind, so there is next to nothing to find. By Python's own settings
    looking took a seventh of the processor's time, and stopped all requests for up to 0.1 s.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 10, 10)


def _supervise(settings: Path) -> None:
    from novarag.gateway.admin.rolling import GatewaySupervisor, open_socket
    from novarag.gateway.settings import read_settings

    listen = read_settings(settings).listen
    with open_socket(listen.host, listen.port) as shared:
        GatewaySupervisor(settings, shared).run()


def require_extra() -> None:
    """Refuse to go on where the packages of a gateway are missing."""
    try:
        import prometheus_client  # noqa: F401
        import pydantic  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
        import uvloop  # noqa: F401
    except ImportError:
        raise UsageError(f"a gateway needs its extra: {with_extra('gateway')}") from None
