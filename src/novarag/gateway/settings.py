"""The settings file of a gateway: who is asked, how answers are decided on, what is allowed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from novarag.errors import DataError, UsageError
from novarag.gateway.audit.settings import AuditSettings  # noqa: TC001 - pydantic reads it
from novarag.scoring.policy import Action, DecisionMode, Policy
from novarag.scoring.second_asking import PolicySettings
from novarag.texts import parse_toml, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$"
Name = Annotated[str, Field(pattern=NAME)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
PositiveCount = Annotated[int, Field(ge=1, le=1_000_000)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Share = Annotated[float, Field(ge=0, le=1)]


def _add_zone(time: datetime) -> datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


Time = Annotated[datetime, AfterValidator(_add_zone)]
"""A day or a time, in UTC where it names no zone."""


class _SettingsPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ListenSettings(_SettingsPart):
    """Where the gateway listens."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080


class UpstreamSettings(_SettingsPart):
    """A server of models. Its key comes from the variable `key_env`."""

    url: str
    key_env: str | None = None
    timeout: Seconds = 60
    in_flight: PositiveCount = 512
    failures: PositiveCount = 5
    cooldown: Seconds = 10


class KeyScope(StrEnum):
    """What a key may be used for; `metrics` covers the status page too."""

    CHAT = "chat"
    SCORE = "score"
    FEEDBACK = "feedback"
    METRICS = "metrics"


SCOPES = (KeyScope.CHAT, KeyScope.SCORE, KeyScope.FEEDBACK)
"""What a key may be used for where nothing is said."""


class TenantKeys(_SettingsPart):
    """Keys of one tenant, as SHA-256; without `tenant` the entry's own name is the tenant's."""

    sha256: Annotated[tuple[Digest, ...], Field(min_length=1)]
    tenant: Name | None = None
    scopes: Annotated[tuple[KeyScope, ...], Field(min_length=1)] = SCOPES
    expires: Time | None = None
    note: str = ""


class AccessSettings(_SettingsPart):
    """Who may ask: `required` says that a key is needed, wherever the gateway listens.

    `reread` is how often the keys of the audit's database are read, in seconds.
    """

    required: bool | None = None
    reread: Seconds = 30


class SearchSettings(_SettingsPart):
    """Where passages come from: a search server at `url`, or an `index` in Milvus, by its words."""

    url: str | None = None
    index: str | None = None
    key_env: str | None = None
    k: Annotated[int, Field(ge=1, le=50)] = 5
    timeout: Seconds = 10

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.url is None) == (self.index is None):
            raise ValueError("give either `url` or `index`")
        return self


class ModelSettings(_SettingsPart):
    """A model as clients name it, and how its answers are decided on.

    `calibration` and `gate` are files that `novarag calibrate` and `novarag gate` wrote.
    `structured` has the server hold replies to their form where it can, `frame` gives every request
    labels that no passage can know. `sources` ranks sources for prefer-source; `escalate_to` names
    another model of this file.
    """

    upstream: Name
    name: str
    strategy: str = "nova"
    mode: DecisionMode = DecisionMode.ENFORCE
    calibration: Path | None = None
    gate: Path | None = None
    other_source: bool = False
    structured: bool = True
    frame: bool = True
    search: Name | None = None
    max_tokens: PositiveCount = 1024
    policy: Policy = Policy()
    sources: tuple[str, ...] = ()
    escalate_to: Name | None = None


class ReplyTexts(_SettingsPart):
    """What the user reads where there is no answer."""

    abstain: str = "I cannot answer this reliably from the documents I have."
    clarify: str = "The documents disagree about this. Which place, time or thing do you mean?"
    unread: str = "I could not produce a reliable answer. Please try again."


class RateLimit(_SettingsPart):
    """How much a tenant may take in a minute, in one process; what is not set has no limit."""

    requests: PositiveCount | None = None
    tokens: Annotated[int, Field(ge=1, le=10**12)] | None = None


class RateLimits(RateLimit):
    """The rate of every tenant, and of those that have another."""

    tenants: dict[Name, RateLimit] = {}

    def of(self, tenant: str) -> RateLimit:
        """Return the rate of a tenant."""
        return self.tenants.get(tenant, self)


class LimitSettings(_SettingsPart):
    """How large and how long a request may be, and how many there may be at once.

    `connections` may be open, asking or not, and the `headers` of a request may take so many
    seconds from its first byte; both hold before a key is looked at.
    """

    body: PositiveCount = 1_000_000
    passages: Annotated[int, Field(ge=1, le=200)] = 50
    question: PositiveCount = 20_000
    passage: PositiveCount = 50_000
    reply: Annotated[int, Field(ge=1_000, le=32_000_000)] = 2_000_000
    deadline: Seconds = 120
    in_flight: PositiveCount = 2_000
    connections: PositiveCount = 5_000
    headers: Seconds = 10
    drain: Seconds = 25
    rate: RateLimits = RateLimits()


class TelemetrySettings(_SettingsPart):
    """Where traces go: the address of an OTLP receiver over HTTP, without its `/v1/traces`.

    `sample` is the share of requests that get spans, where the client's own trace says nothing.
    """

    otlp: Annotated[str, Field(pattern=r"^https?://[^\s?#]+$")]
    service: Name = "novarag-gateway"
    sample: Share = 1.0


class LogSettings(_SettingsPart):
    """What is logged beside failures: a line for each request where `requests` is true."""

    requests: bool = False


class GatewaySettings(_SettingsPart):
    """A whole settings file."""

    listen: ListenSettings = ListenSettings()
    upstreams: Annotated[dict[Name, UpstreamSettings], Field(min_length=1)]
    models: Annotated[dict[Name, ModelSettings], Field(min_length=1)]
    searches: dict[Name, SearchSettings] = {}
    texts: ReplyTexts = ReplyTexts()
    limits: LimitSettings = LimitSettings()
    access: AccessSettings = AccessSettings()
    keys: dict[Name, TenantKeys] = {}
    telemetry: TelemetrySettings | None = None
    logs: LogSettings = LogSettings()
    audit: AuditSettings | None = None

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        for name, model in self.models.items():
            _check_name(f"models.{name}.upstream", model.upstream, self.upstreams)
            if model.search is not None:
                _check_name(f"models.{name}.search", model.search, self.searches)
            if model.escalate_to is not None:
                _check_name(f"models.{name}.escalate_to", model.escalate_to, self.models)
            _check_policy(name, model)
        return self


def _check_name(where: str, name: str, among: Iterable[str]) -> None:
    if name not in among:
        raise ValueError(f"{where} is {name!r}, which this file does not define")


def policy_settings(name: str, model: ModelSettings) -> PolicySettings:
    """Return what policies are told about a model."""
    return PolicySettings(model=name, sources=model.sources, escalate_to=model.escalate_to)


def _check_policy(name: str, model: ModelSettings) -> None:
    actions, told = set(asdict(model.policy).values()), policy_settings(name, model)
    for policy in (action.second_asking for action in Action if action in actions):
        if policy is not None and (fault := policy.find_fault(told)):
            raise ValueError(f"models.{name} {fault}")
    if model.mode is DecisionMode.ANNOTATE and actions - {Action.ANSWER, Action.ABSTAIN}:
        raise ValueError(
            f"models.{name} streams its answers (mode = 'annotate'), so nothing can be done about"
            " them afterwards; take mode = 'enforce', or the policies answer and abstain"
        )


def read_settings(path: str | Path) -> GatewaySettings:
    """Read a settings file; what is wrong in it is said all at once, by key."""
    try:
        raw = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    try:
        content = parse_toml(raw)
    except ValueError as error:
        raise DataError(
            f"this is no TOML: {error}.", source=str(path), hint="mend the line that it names."
        ) from None
    try:
        return GatewaySettings.model_validate(content)
    except ValidationError as error:
        raise DataError(
            _describe_errors(error),
            source=str(path),
            hint="docs/reference/gateway-settings.md has every key.",
        ) from None


def _describe_errors(error: ValidationError) -> str:
    lines = []
    for one in error.errors(include_url=False, include_input=False):
        place = ".".join(plain_text(str(part), longest=60) for part in one["loc"])
        said = plain_text(one["msg"].removeprefix("Value error, "), longest=200)
        lines.append(f"{place}: {said}" if place else said)
    return "; ".join(lines) + "."
