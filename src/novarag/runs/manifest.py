"""What a run is: its settings, its inputs, its shards, sealed."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import orjson

from novarag.calls import Sampling
from novarag.checksums import digest
from novarag.defaults import ASK
from novarag.errors import StorageError, UsageError
from novarag.noise import NoisePlan
from novarag.runs import crash_points
from novarag.sealed_json import seal, unseal

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.runs.store import Store

NAME = "manifest.json"
_LATER = ("noise", "frame", "structured")  # settings that runs without them do not name


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that decides what is asked; to change one of these is to begin another run.

    With `structured` replies are held to the strategy's form, where the server can.
    """

    strategy: str
    template_hash: str
    model: str
    revision: str | None = None
    samples: int = 1
    per_request: int | None = None
    sampling: Sampling = field(default_factory=Sampling)
    shard_size: int = ASK.shard_size
    noise: NoisePlan | None = None
    frame: str | None = field(default=None, repr=False)  # the secret that frames are made from
    structured: bool = False

    def __post_init__(self) -> None:
        if self.samples < 1 or self.shard_size < 1:
            raise UsageError("samples and shard size begin at 1")
        if self.per_request is not None and self.per_request < 1:
            raise UsageError("a request asks for at least one sample")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The questions of one shard."""

    questions: int
    groups: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A run's settings, inputs and shards.

    `nonce` is drawn when the run begins, so that files of two equal runs are told apart; a run of
    before there were nonces has none.
    `holds` says whether the server can hold replies to a form, once that was found. It is no part
    of what is asked: requests have the same keys whatever it is.
    """

    settings: Settings
    source: str
    source_hash: str
    repeated: int
    parts: tuple[Part, ...]
    nonce: str = ""
    holds: bool | None = None

    @property
    def run(self) -> str:
        """Return the name of this run and no other, which its journals and markers carry."""
        return f"{self.fingerprint}-{self.nonce}" if self.nonce else self.fingerprint

    @property
    def fingerprint(self) -> str:
        """Return what all runs of the same settings on the same groups share."""
        hashes = [part.sha256 for part in self.parts]
        settings = {k: v for k, v in asdict(self.settings).items() if k not in _LATER or v}
        cells = orjson.dumps([settings, hashes], option=orjson.OPT_SORT_KEYS)
        return digest(cells)[:32]

    @property
    def groups(self) -> int:
        """Return how many groups are asked."""
        return sum(part.groups for part in self.parts)

    @property
    def questions(self) -> int:
        """Return how many questions they are about."""
        return sum(part.questions for part in self.parts)

    @property
    def trials(self) -> int:
        """Return how many trials a finished run holds."""
        return self.groups * self.settings.samples

    @property
    def requests(self) -> int:
        """Return how many requests that takes."""
        return self.groups * -(-self.settings.samples // requests_hold(self.settings))


def requests_hold(settings: Settings) -> int:
    """Return how many samples one request asks for."""
    return min(settings.per_request or settings.samples, settings.samples)


def groups_name(shard: int) -> str:
    """Name the file with the groups of a shard."""
    return f"groups/{shard:05}.parquet"


def groups_content(store: Store, manifest: Manifest, shard: int) -> bytes | None:
    """Return the content of the file with a shard's groups; None when it is not what it was."""
    content = store.read(groups_name(shard))
    whole = content is not None and digest(content) == manifest.parts[shard].sha256
    return content if whole else None


def write_manifest(store: Store, manifest: Manifest, counts: dict[str, Any] | None = None) -> None:
    """Put the manifest in place; `counts` is told once the run is finished.

    One that says the same stays, with the versions that made it.
    """
    content = asdict(manifest) | {"run": manifest.run, "counts": counts}
    for name in ("frame", "structured"):
        if not content["settings"][name]:
            content["settings"].pop(name)
    raw = store.read(NAME)
    found = None if raw is None else unseal(raw)
    if manifest.holds is None and found is not None and found.get("run") == manifest.run:
        content["holds"] = found.get("holds")  # found since, by a request
    if content["holds"] is None:
        content.pop("holds")
    content = orjson.loads(orjson.dumps(content))
    made = {"novarag": version("novarag"), "python": platform.python_version()}
    if found is None or {**found, "versions": None} != {**content, "versions": None}:
        store.write(NAME, seal(content | {"versions": made}))
    crash_points.reached("manifest written")


def read_manifest(store: Store) -> Manifest | None:
    """Read the manifest; None when there is none, `DamagedManifest` when it is damaged."""
    raw = store.read(NAME)
    if raw is None:
        return None
    content = unseal(raw)
    manifest = _parse(content, f"{store.place}/{NAME}")
    if manifest is None:
        raise DamagedManifest.saying(
            "{}/{} is damaged; run the same `ask(...)` again: it writes it anew from your"
            " settings, and keeps every reply",
            store.place,
            NAME,
        )
    return manifest


def _parse(content: dict[str, Any] | None, source: str) -> Manifest | None:
    """Turn what was sealed into a manifest; None where it is something else."""
    if content is None:
        return None
    try:
        settings = dict(content["settings"])
        _check_known(content, source)
        sampling = settings.pop("sampling")
        stop, noise = tuple(sampling["stop"]), settings.pop("noise", None)
        manifest = Manifest(
            settings=Settings(
                **settings, sampling=Sampling(**sampling | {"stop": stop}), noise=_noise(noise)
            ),
            source=content["source"],
            source_hash=content["source_hash"],
            repeated=content["repeated"],
            parts=tuple(Part(**part) for part in content["parts"]),
            nonce=content.get("nonce", ""),
            holds=content.get("holds"),
        )
        return manifest if manifest.run == content["run"] and _is_typed(manifest) else None
    except (KeyError, TypeError, ValueError, AttributeError, UsageError):
        return None


def _is_typed(manifest: Manifest) -> bool:
    """Say whether what the fingerprint does not cover is of the right kind."""
    texts = [manifest.source, manifest.source_hash, manifest.nonce]
    counts = [n for part in manifest.parts for n in (part.questions, part.groups)]
    known = manifest.holds is None or type(manifest.holds) is bool
    return (
        known
        and all(type(text) is str for text in texts)
        and all(type(n) is int and n >= 0 for n in [manifest.repeated, *counts])
    )


def _check_known(content: dict[str, Any], source: str) -> None:
    """Raise `StorageError` at a setting of another version: without it a run cannot be judged."""
    settings = content["settings"]
    tables: list[tuple[type, dict[str, Any]]] = [
        (Settings, settings),
        (Sampling, settings["sampling"]),
        (NoisePlan, settings.get("noise") or {}),
        *((Part, part) for part in content["parts"]),
    ]
    for kind, cells in tables:
        unknown = sorted(cells.keys() - {known.name for known in fields(kind)})
        if unknown:
            maker = (content.get("versions") or {}).get("novarag")
            raise StorageError(
                f"{source} was made by a newer novarag, {maker}: unknown setting {unknown[0]!r}."
                f" This is {version('novarag')}; read and continue the run with that one."
            )


def _noise(cells: dict[str, Any] | None) -> NoisePlan | None:
    return None if cells is None else NoisePlan(**{**cells, "noises": tuple(cells["noises"])})


def note_holds(store: Store, can: bool) -> None:
    """Keep in the manifest whether the server can hold replies to a form."""
    raw = store.read(NAME)
    content = None if raw is None else unseal(raw)
    if content is not None and content.get("holds") is not can:
        store.write(NAME, seal(content | {"holds": can}))


FRAME = "frame.json"


def frame_secret(store: Store, drawn: Callable[[], str]) -> str:
    """Return the secret of a framed run, which is drawn once and outlives a damaged manifest.

    What a whole manifest says is so, whatever stands in the file beside it.
    """
    kept = _kept_secret(store)
    try:
        begun = read_manifest(store)
    except DamagedManifest:
        if kept is not None:
            return kept
        raise DamagedManifest(
            f"{store.place}/{NAME} and {FRAME} are damaged, and with them the frames of its"
            " prompts: put one of them back from a copy"
        ) from None
    if begun is not None and begun.settings.frame is None:
        return kept or drawn()  # begun without frames, which planning refuses
    secret = (begun.settings.frame if begun else kept) or drawn()
    if secret != kept:
        store.write(FRAME, seal({"secret": secret}))
    return secret


def _kept_secret(store: Store) -> str | None:
    found = unseal(store.read(FRAME) or b"")
    secret = None if found is None else found.get("secret")
    return secret if isinstance(secret, str) else None


class DamagedManifest(StorageError):  # noqa: N818 - a state, not an accident
    """The manifest does not match its seal."""


def differences(old: Settings, new: Settings) -> list[str]:
    """Say in what two settings differ."""
    a, b = (_flat(asdict(s)) for s in (old, new))
    names = [name for name in a if a[name] != b.get(name)]
    a["frame"], b["frame"] = ("on" if s.frame else "off" for s in (old, new))
    if "frame" in names and a["frame"] == b["frame"]:
        return ["another process began it just now: run the same again"]
    said = {name: f"{name} was {a[name]!r}, is {b.get(name)!r}" for name in names}
    if said.pop("template_hash", None) and not said:
        said["strategy"] = f"the prompt of {new.strategy!r} has changed"
    return list(said.values())


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    noise = settings.get("noise") or {}
    cells = {f"noise {name}": value for name, value in noise.items()}
    return {**settings, "sampling": None, "noise": None, **settings["sampling"], **cells}
