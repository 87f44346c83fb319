"""Runs: tables of trials that can be killed at any instant and resumed anywhere.

These names are all that is meant for use from outside; each is loaded when it is first used, so
that naming a run takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.runs.driver import Driver, drive, settle, tune_gc
    from novarag.runs.finished import add_up, table_name
    from novarag.runs.group_table import read_groups, write_groups
    from novarag.runs.manifest import (
        DamagedManifest,
        Manifest,
        Settings,
        frame_secret,
        note_holds,
        read_manifest,
        requests_hold,
        write_manifest,
    )
    from novarag.runs.planning import plan
    from novarag.runs.progress import Progress, ProgressBoard
    from novarag.runs.reader import Run, is_finished, open_run, unfinished
    from novarag.runs.rewriting import rewrite_trials
    from novarag.runs.shard import Job, ShardResult, run_shard
    from novarag.runs.store import Memory, Store, everywhere, open_store
    from novarag.runs.summary import Summary, some_trials, summarize, trial_tables

_MODULES = {
    "driver": ("Driver", "drive", "tune_gc", "settle"),
    "finished": ("add_up", "table_name"),
    "group_table": ("read_groups", "write_groups"),
    "manifest": (
        "DamagedManifest",
        "Manifest",
        "Settings",
        "frame_secret",
        "note_holds",
        "read_manifest",
        "requests_hold",
        "write_manifest",
    ),
    "planning": ("plan",),
    "progress": ("Progress", "ProgressBoard"),
    "reader": ("Run", "is_finished", "open_run", "unfinished"),
    "rewriting": ("rewrite_trials",),
    "shard": ("Job", "ShardResult", "run_shard"),
    "store": ("Memory", "Store", "everywhere", "open_store"),
    "summary": ("Summary", "some_trials", "summarize", "trial_tables"),
}
_HOMES = {name: f"novarag.runs.{home}" for home, names in _MODULES.items() for name in names}

__all__ = [
    "DamagedManifest",
    "Driver",
    "Job",
    "Manifest",
    "Memory",
    "Progress",
    "ProgressBoard",
    "Run",
    "Settings",
    "ShardResult",
    "Store",
    "Summary",
    "add_up",
    "drive",
    "everywhere",
    "frame_secret",
    "is_finished",
    "note_holds",
    "open_run",
    "open_store",
    "plan",
    "read_groups",
    "read_manifest",
    "requests_hold",
    "rewrite_trials",
    "run_shard",
    "settle",
    "some_trials",
    "summarize",
    "table_name",
    "trial_tables",
    "tune_gc",
    "unfinished",
    "write_groups",
    "write_manifest",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'novarag.runs' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
