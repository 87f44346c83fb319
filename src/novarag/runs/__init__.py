"""Runs: tables of trials that can be killed at any instant and resumed anywhere."""

from __future__ import annotations

from novarag.runs.drive import Driver, drive, ease_collector, is_finished, settle, unfinished
from novarag.runs.manifest import Manifest, Settings
from novarag.runs.plan import plan
from novarag.runs.progress import Board
from novarag.runs.shard import Job, Outlook, run_shard
from novarag.runs.store import Store, open_store

__all__ = [
    "Board",
    "Driver",
    "Job",
    "Manifest",
    "Outlook",
    "Settings",
    "Store",
    "drive",
    "ease_collector",
    "is_finished",
    "open_store",
    "plan",
    "run_shard",
    "settle",
    "unfinished",
]
