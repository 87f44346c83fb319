"""The requests of a shard: which group, which samples, under which key."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from novarag.rows import truth_of
from novarag.runs.manifest import requests_hold
from novarag.strategies.frames import FramedStrategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.calls import Sampling
    from novarag.ports import Asking
    from novarag.records import PassageGroup
    from novarag.rows import GroupTruth
    from novarag.runs.manifest import Settings


@dataclass(frozen=True, slots=True)
class Request:
    """Some samples of one group, asked for in one go, with what is known of the group."""

    key: str
    group: PassageGroup
    first: int
    prompt: str
    prompt_hash: str
    sampling: Sampling
    place: int
    truth: GroupTruth


def requests_of(
    groups: Sequence[PassageGroup], strategy: Asking, settings: Settings
) -> list[Request]:
    """List the requests that ask every group for all its samples."""
    hold = requests_hold(settings)
    starts = range(0, settings.samples, hold)
    waves = [(first, _sampling(settings, first, hold)) for first in starts]
    headers = [_header(settings, first, sampling) for first, sampling in waves]
    found: list[Request] = []
    for group in groups:
        prompt = strategy.render(group)
        prompt_hash = prompt.hash
        form = _form(strategy, settings, group)
        truth = truth_of(group)
        for (first, sampling), about in zip(waves, headers, strict=True):
            key = sha256(about + prompt_hash.encode()).hexdigest()[:32]
            place = len(found)
            held = sampling if form is None else replace(sampling, regex=form)
            asked = key, group, first, prompt.text, prompt_hash, held
            found.append(Request(*asked, place, truth))
    return found


def _form(strategy: Asking, settings: Settings, group: PassageGroup) -> str | None:
    """Return the form of a reply where the labels of this group have a frame of their own."""
    form = settings.sampling.regex
    if form is None or not isinstance(strategy, FramedStrategy):
        return None
    return strategy.hold(form, group)


def _sampling(settings: Settings, first: int, hold: int) -> Sampling:
    """Return the sampling of the request that begins with sample `first`.

    Requests for one group differ in their seed, or a server would give the same samples again.
    """
    seed = settings.sampling.seed
    return replace(
        settings.sampling,
        n=min(hold, settings.samples - first),
        seed=None if seed is None else seed + first,
    )


def _header(settings: Settings, first: int, sampling: Sampling) -> bytes:
    about = [settings.model, settings.revision, settings.template_hash, first, asdict(sampling)]
    about += ["structured"] if settings.structured else []
    return orjson.dumps(about, option=orjson.OPT_SORT_KEYS) + b"\n"
