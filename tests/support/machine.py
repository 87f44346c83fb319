"""What every recorded figure says first: the day and the machine; and where the data is."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def described(*more: str) -> str:
    """Say the day and the machine in one line."""
    parts = [
        f"{datetime.now(UTC):%Y-%m-%d}", platform.machine(), f"{os.cpu_count()} shared cores",
        f"Python {platform.python_version()}", *more,
    ]  # fmt: skip
    return ", ".join(parts)


def shared_data() -> Path:
    """Return the folder of the benchmark data."""
    return Path(os.environ.get("NOVARAG_DATA", "../shared/data"))
