"""Other people's packages, against which `tests/oracles` holds our arithmetic."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from types import ModuleType


def need(name: str) -> ModuleType:
    """Import a package's module, or skip and name it.

    CI installs every package of the group `oracle`, and asks for all by NOVARAG_ORACLES=all: one
    that is no longer found would otherwise leave its tests out, and nobody would see it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not name.startswith(str(error.name)):
            raise  # it is there, and lacks something
        missing(name.partition(".")[0])


def missing(package: str) -> NoReturn:
    """Skip for want of a package; fail where all must be there."""
    if os.environ.get("NOVARAG_ORACLES") == "all":
        raise ModuleNotFoundError(
            f"{package} is not installed, and NOVARAG_ORACLES=all asks for it"
        )
    reason = f"{package} is not installed: --group oracle has it"
    pytest.skip(reason, allow_module_level=True)
