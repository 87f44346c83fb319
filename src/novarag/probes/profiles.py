"""How many replies of which variants a probe asks for, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

OWN = ("original", "repeat")
"""The variants that show the passages as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeProfile:
    """Replies to ask for: the number for each variant. `repeat` are more of the original's."""

    name: str
    samples: Mapping[str, int]

    @property
    def calls(self) -> int:
        """Replies for each question, where all variants can be made."""
        return sum(self.samples.values())


_QUICK = {"original": 1, "irrelevant": 1, "lost-support": 1}
_STANDARD = {
    "original": 1,
    "repeat": 1,
    "shuffle": 1,
    "irrelevant": 1,
    "duplicate": 1,
    "lost-support": 1,
    "contradiction": 1,
    "injected-confidence": 1,
}
_FULL = {
    "original": 1,
    "repeat": 4,
    "shuffle": 1,
    "irrelevant": 3,
    "duplicate": 1,
    "lost-support": 2,
    "contradiction": 3,
    "injected-confidence": 3,
    "injected-answer": 1,
    "top-last": 1,
}

PROFILES: dict[str, ProbeProfile] = {
    name: ProbeProfile(name=name, samples=samples)
    for name, samples in (("quick", _QUICK), ("standard", _STANDARD), ("full", _FULL))
}
"""Every profile by name: 3, 8 and 20 calls a question."""


def find_profile(name: str) -> ProbeProfile:
    """Find a profile by name."""
    if name not in PROFILES:
        raise UnknownNameError(name, PROFILES)
    return PROFILES[name]


def calls_a_question(profile: str) -> int:
    """Return how many replies a profile asks for about each question.

    >>> [calls_a_question(name) for name in PROFILES]
    [3, 8, 20]
    """
    return find_profile(profile).calls
