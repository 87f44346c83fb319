"""Cut groups into shards of whole questions, reading the input twice and keeping little of it."""

from __future__ import annotations

import os
from array import array
from dataclasses import replace
from time import sleep
from typing import TYPE_CHECKING

import numpy as np

from novarag.checksums import digest
from novarag.errors import DataError, StorageError, UsageError
from novarag.runs import crash_points
from novarag.runs.finished import run_in_marker
from novarag.runs.group_table import write_groups
from novarag.runs.manifest import NAME as MANIFEST
from novarag.runs.manifest import (
    DamagedManifest,
    Manifest,
    Part,
    Settings,
    differences,
    groups_content,
    groups_name,
    read_manifest,
    write_manifest,
)
from novarag.runs.past import run_in_journal
from novarag.seeding import stable_hash
from novarag.strategies.follow_up import proposed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from novarag.records import PassageGroup
    from novarag.runs.store import Store


_LOCK = "leases/manifest.lock"
_PATIENCE = 5.0  # seconds in which somebody who begins the same run has written its manifest


def _quiet(_: str) -> None:
    pass


def plan(
    store: Store,
    source: Callable[[], Iterable[PassageGroup]],
    settings: Settings,
    *,
    name: str = "",
    source_hash: str = "",
    on_event: Callable[[str], None] = _quiet,
) -> Manifest:
    """Begin a run, or find that it was begun with the same settings and groups.

    `source` is called twice and must give the same groups in the same order. `source_hash` spares
    reading them all when a run goes on. `on_event` hears of damaged files that are written anew.
    """
    try:
        old = read_manifest(store)
    except DamagedManifest:
        old = None
        on_event(f"{MANIFEST} is damaged; it is written anew from these settings")
    if old is not None:
        _same(old, settings, name, source_hash, store.place)
        torn = _torn(store, old)
        for file in torn:
            on_event(f"{file} is damaged; it is written anew from {name or 'its source'}")
        if source_hash and not torn:
            return old
    layout = _Layout(source, settings.shard_size, name)
    parts = tuple(_write(store, shard, rows) for shard, rows in layout.shards())
    crash_points.reached("plan written")
    manifest = Manifest(
        settings=settings,
        source=name,
        source_hash=source_hash,
        repeated=layout.repeated,
        parts=parts,
    )
    if old is None:
        return _begin(store, manifest)
    return _go_on(store, old, manifest)


def _go_on(store: Store, old: Manifest, manifest: Manifest) -> Manifest:
    """Keep the run that was begun, which must be of the same settings on the same groups."""
    if old.fingerprint != manifest.fingerprint:
        raise StorageError.saying("{} holds another run; give another `out`", store.place)
    manifest = replace(manifest, nonce=old.nonce, holds=old.holds)
    if old != manifest:  # one that is there has the counts too
        write_manifest(store, manifest)
    return manifest


def _begin(store: Store, manifest: Manifest) -> Manifest:
    """Write the manifest of a run; who began the same one a moment before us is joined."""
    waited = 0.0
    while store.lock(_LOCK) is False:
        if waited >= _PATIENCE:
            raise StorageError(f"{store.place} is being begun by another process; wait for it")
        sleep(0.05)
        waited += 0.05
    try:
        theirs = _whole_manifest(store)
        if theirs is not None:
            return _go_on(store, theirs, manifest)
        left = _run_left(store, len(manifest.parts), manifest.fingerprint)
        nonce = os.urandom(8).hex() if left is None else left.partition("-")[2]
        write_manifest(store, replace(manifest, nonce=nonce))
        theirs = _whole_manifest(store)  # where there are no locks, the last to write is right
        return replace(manifest, nonce=nonce) if theirs is None else theirs
    finally:
        store.unlock(_LOCK)


def _whole_manifest(store: Store) -> Manifest | None:
    try:
        return read_manifest(store)
    except DamagedManifest:
        return None


def _run_left(store: Store, shards: int, fingerprint: str) -> str | None:
    """Find which run the files of a folder that lost its manifest are of; None if there are none.

    A journal has a heartbeat or a marker beside it, so a new folder is not searched.
    """
    if not store.names("leases") and not store.names("shards"):
        return None
    found: dict[str, str] = {}  # by run, a file of it
    for shard in range(shards):
        for look in (run_in_marker, run_in_journal):
            run, name = look(store, shard)
            if run is not None and run.partition("-")[0] == fingerprint:
                found.setdefault(run, name)
    if len(found) > 1:
        raise StorageError(
            f"{store.place} has lost its {MANIFEST}, and {' and '.join(found.values())} are of"
            f" different runs; put {MANIFEST} back from a copy, or take away what is another's"
        )
    return next(iter(found), None)


def _same(old: Manifest, settings: Settings, name: str, source_hash: str, place: str) -> None:
    found = differences(old.settings, settings)
    if old.source_hash != source_hash:
        found.append(f"the groups were {old.source}, now {name} has other content")
    if found:
        raise UsageError(
            f"{place} was begun otherwise: {'; '.join(found)}. Begin another folder, or give the"
            " same settings to go on."
        )


def _torn(store: Store, manifest: Manifest) -> list[str]:
    """List the files of groups that are not what the manifest says."""
    shards = range(len(manifest.parts))
    return [groups_name(s) for s in shards if groups_content(store, manifest, s) is None]


def _write(store: Store, shard: int, rows: list[tuple[str, PassageGroup]]) -> Part:
    questions = {group.question.id for _, group in rows}
    content = write_groups(rows)
    if store.read(groups_name(shard)) != content:
        store.write(groups_name(shard), content)
    return Part(questions=len(questions), groups=len(rows), sha256=digest(content))


class _Layout:
    """Where each row of the input goes; eight bytes a row are remembered, no texts."""

    def __init__(self, source: Callable[[], Iterable[PassageGroup]], size: int, name: str) -> None:
        self.source = source
        questions, names, contents, texts = (array("Q") for _ in range(4))
        for group in source():
            content = _digest(group)
            questions.append(stable_hash(group.question.id))
            names.append(stable_hash(group.id) if group.id is not None else content)
            contents.append(content)
            asked, _ = proposed(group.question.text)  # one question, whatever is proposed to it
            texts.append(stable_hash(asked, *group.question.answers))
        if not len(questions):
            raise DataError("there are no groups.", hint="give a file with rows.", source=name)
        self.kept = _one_meaning(names, contents, "group", name)
        _one_meaning(questions, texts, "id", name)
        self.repeated = int((~self.kept).sum())
        self.shard_of = _ranks(np.frombuffer(questions, dtype=np.uint64)) // size

    def shards(self) -> Iterator[tuple[int, list[tuple[str, PassageGroup]]]]:
        """Yield each shard once it is complete, in order of completion by number."""
        awaited = np.bincount(self.shard_of, minlength=int(self.shard_of.max()) + 1)
        open_rows: dict[int, list[tuple[str, PassageGroup]]] = {}
        ready: dict[int, list[tuple[str, PassageGroup]]] = {}
        following = 0
        for row, group in enumerate(self.source()):
            shard = int(self.shard_of[row])
            rows = open_rows.setdefault(shard, [])
            if self.kept[row]:
                rows.append((group.id or f"{_digest(group):016x}", group))
            awaited[shard] -= 1
            if not awaited[shard]:
                ready[shard] = _together(open_rows.pop(shard))
            while following in ready:
                yield following, ready.pop(following)
                following += 1


def _together(rows: list[tuple[str, PassageGroup]]) -> list[tuple[str, PassageGroup]]:
    """Put the groups of a question side by side, in the order in which questions came."""
    rank: dict[str, int] = {}
    for _, group in rows:
        rank.setdefault(group.question.id, len(rank))
    return sorted(rows, key=lambda row: rank[row[1].question.id])


def _one_meaning(names: array[int], contents: array[int], column: str, source: str) -> np.ndarray:
    """Tell which rows bring a new name; raise where a name is given to other content."""
    new, first = _firsts(np.frombuffer(names, dtype=np.uint64))
    content_of = np.frombuffer(contents, dtype=np.uint64)
    clash = np.flatnonzero(content_of != content_of[first])
    if len(clash):
        before = int(first[clash[0]]) + 1
        raise DataError(
            f"row {before} gives the same name to something else.",
            hint="give each question and each group a name of its own.",
            source=source,
            row=int(clash[0]) + 1,
            column=column,
        )
    return new


def _firsts(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tell which entries come for the first time, and where each came first."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    where = first[inverse]
    return where == np.arange(len(values)), where


def _ranks(values: np.ndarray) -> np.ndarray:
    """Number values by first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse]


def _digest(group: PassageGroup) -> int:
    question = group.question
    parts = [question.id, question.text, question.form, *question.answers]
    for passage in group.passages:
        parts += ["\x1e", passage.text, passage.kind or "", passage.claim or ""]
    return stable_hash(*parts)
