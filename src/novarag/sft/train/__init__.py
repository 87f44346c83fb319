"""Training: TRL and PEFT on an export, from the last sealed checkpoint after a kill."""

from __future__ import annotations

from novarag.sft.train.progress import Progress
from novarag.sft.train.settings import Settings, labelled
from novarag.sft.train.training import Job, is_lead, prepare, train

__all__ = ["Job", "Progress", "Settings", "is_lead", "labelled", "prepare", "train"]
