"""Which attacks are put to which groups, where, and how many calls that takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.attacks import (
    Attack,
    AttackPlace,
    ScreenAction,
    find_defence,
    parse_suite,
    planted_answer,
    screen_group,
    screen_text,
)
from novarag.attacks.poisoning import put_in, written
from novarag.attacks.suite import checked, shipped_suite
from novarag.errors import DataError, UnknownNameError, UsageError
from novarag.seeding import rng_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from novarag.attacks import Defence
    from novarag.records import Passage, PassageGroup

    Suite = str | Path | Iterable[Attack] | None

DEFAULTS = ("plain", "framed", "screen")
"""The defences that any server can have; `structured` needs one that can hold replies to a form."""

REPEATS = 2
"""How often each group is asked without an attack: once, and once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackedGroup:
    """One group with one attack in it, as it is asked under one defence.

    `shown` are the texts of the attack, which plant the answer `planted`; `blocked` says that the
    defence has taken all of them out again.
    """

    base: str
    attack: Attack
    place: AttackPlace
    group: PassageGroup
    planted: str
    shown: tuple[str, ...]
    blocked: bool


@dataclass(frozen=True, kw_only=True)
class AttackPlan:
    """Groups, and for each the attacks and places that it is asked with."""

    groups: dict[str, PassageGroup]
    cells: dict[str, tuple[tuple[Attack, AttackPlace], ...]]
    attacks: tuple[Attack, ...]
    places: tuple[AttackPlace, ...]
    defences: tuple[Defence, ...]
    action: ScreenAction
    seed: int = 0

    def unattacked(self, defence: Defence) -> Iterator[PassageGroup]:
        """Yield the groups as a defence asks them without an attack."""
        for name, group in self.groups.items():
            yield self._screened(replace(group, id=name), defence)

    def attacked(self, defence: Defence) -> Iterator[AttackedGroup]:
        """Yield the groups with each of their attacks as a defence asks them."""
        for name, group in self.groups.items():
            named = replace(group, id=name)
            planted = planted_answer(group.question, self.seed)
            added = self._written(name, planted)
            for attack, place in self.cells[name]:
                passages = added[attack.name]
                yield AttackedGroup(
                    base=name, attack=attack, place=place, planted=planted,
                    group=self._screened(put_in(named, attack, place, passages), defence),
                    shown=tuple(p.text for p in passages),
                    blocked=self._takes_out(passages, defence),
                )  # fmt: skip

    def counted(self, defence: Defence) -> tuple[int, int]:
        """Count the calls of a defence, and the attacked groups that it takes out instead.

        No attack is put in to count it: whether it is taken out does not depend on its place.
        """
        cells = sum(map(len, self.cells.values()))
        blocked = 0
        if self._removes(defence):
            for name, group in self.groups.items():
                added = self._written(name, planted_answer(group.question, self.seed))
                out = {attack: self._takes_out(some, defence) for attack, some in added.items()}
                blocked += sum(out[attack.name] for attack, _ in self.cells[name])
        return REPEATS * len(self.groups) + cells - blocked, blocked

    def _written(self, name: str, planted: str) -> dict[str, tuple[Passage, ...]]:
        """Write the passages of each attack on a group once, by the attack's name."""
        attacks = {attack.name: attack for attack, _ in self.cells[name]}
        group = self.groups[name]
        return {called: written(attack, group, planted) for called, attack in attacks.items()}

    def _removes(self, defence: Defence) -> bool:
        return defence.screened and self.action is ScreenAction.REMOVE

    def _takes_out(self, passages: tuple[Passage, ...], defence: Defence) -> bool:
        """Say whether a defence takes out every passage of an attack."""
        return self._removes(defence) and all(screen_text(p.text) for p in passages)

    def _screened(self, group: PassageGroup, defence: Defence) -> PassageGroup:
        return screen_group(group, self.action).group if defence.screened else group

    def flagged(self) -> tuple[int, int]:
        """Count the passages that the screen flags with no attack among them, and all of them."""
        found = [screen_group(group).flagged for group in self.groups.values()]
        return sum(map(len, found)), sum(len(group.passages) for group in self.groups.values())


def plan_attacks(
    groups: Iterable[PassageGroup],
    *,
    suite: Suite = None,
    classes: Sequence[str] | None = None,
    places: Sequence[str] | None = None,
    defences: Sequence[str] | None = None,
    action: str = ScreenAction.REMOVE,
    max_calls: int | None = None,
    seed: int = 0,
) -> AttackPlan:
    """Plan what is asked; with `max_calls` attacks are spread evenly over the groups."""
    attacks = _chosen(open_suite(suite), classes)
    where = _places(places)
    chosen_defences = tuple(find_defence(name) for name in _listed(defences, "defences", *DEFAULTS))
    if action not in set(ScreenAction):
        raise UnknownNameError(action, ScreenAction)
    held = _named(groups)
    cells = [(attack, place) for attack in attacks for place in where]
    kept, each = _within(max_calls, len(held), len(cells), len(chosen_defences))
    rng = rng_for(seed, "attack", "cells")
    rng.shuffle(cells)
    names = list(held)
    if kept < len(names):
        names = rng_for(seed, "attack", "groups").sample(names, kept)
    spread = {
        name: tuple(cells[(row * each + i) % len(cells)] for i in range(each))
        for row, name in enumerate(names)
    }
    return AttackPlan(
        groups={name: held[name] for name in names}, cells=spread, attacks=attacks, places=where,
        defences=chosen_defences, action=ScreenAction(action), seed=seed,
    )  # fmt: skip


def open_suite(suite: Suite) -> tuple[Attack, ...]:
    """Take the shipped suite, a file of one's own, or attacks as they are."""
    from pathlib import Path

    from novarag.answers.opening.files import existing

    if suite is None:
        return shipped_suite()
    if isinstance(suite, (str, Path)):
        raw = existing(Path(suite)).read_bytes()
        try:
            return parse_suite(raw.decode(), str(suite))
        except UnicodeDecodeError:
            raise DataError("it is not UTF-8.", hint="save it so.", source=str(suite)) from None
    found = tuple(suite)
    if not found or not all(isinstance(attack, Attack) for attack in found):
        raise TypeError("suite must be the path of a file, or Attack objects")
    return checked(found)


def _chosen(attacks: tuple[Attack, ...], classes: Sequence[str] | None) -> tuple[Attack, ...]:
    if classes is None:
        return attacks
    known = dict.fromkeys(attack.kind for attack in attacks)
    for name in (wanted := _listed(classes, "classes")):
        if name not in known:
            raise UnknownNameError(name, known)
    return tuple(attack for attack in attacks if attack.kind in wanted or attack.is_control)


def _places(places: Sequence[str] | None) -> tuple[AttackPlace, ...]:
    wanted = _listed(places, "places", *AttackPlace)
    for name in wanted:
        if name not in set(AttackPlace):
            raise UnknownNameError(name, AttackPlace)
    return tuple(AttackPlace(name) for name in wanted)


def _listed(names: Sequence[str] | None, parameter: str, *default: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"{parameter} must be a list of names, not one text")
    found = tuple(dict.fromkeys(names)) if names is not None else default
    if not found:
        raise UsageError.saying("name one of `{}` at least", parameter)
    return found


def _named(groups: Iterable[PassageGroup]) -> dict[str, PassageGroup]:
    """Name groups, each by its own name or by its question and number."""
    held: dict[str, PassageGroup] = {}
    for row, group in enumerate(groups):
        name = group.id or f"{group.question.id}#{row}"
        if held.setdefault(name, group).passages != group.passages:
            raise DataError(
                f"two groups are called {name!r}.", hint="give each a name of its own.", row=row + 1
            )
    if not held:
        raise DataError("there are no groups.", hint="give a file with rows.")
    return held


def _within(max_calls: int | None, groups: int, cells: int, defences: int) -> tuple[int, int]:
    """Say how many groups are asked, and with how many attacks and places each."""
    if max_calls is None:
        return groups, cells
    least = (REPEATS + 1) * defences
    if max_calls < least:
        raise UsageError.saying(
            "`max_calls` is {}; one group with one attack takes {} calls ({} without it, for each"
            " of {} defences)",
            max_calls,
            least,
            REPEATS,
            defences,
        )
    kept = min(groups, max_calls // least)
    return kept, min(cells, max_calls // (kept * defences) - REPEATS)
