"""Shared fixtures. No test reaches a network; tests on shared data say so and never skip in CI."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from novarag.web.form_support import forget_holdings

with suppress(ImportError):  # it keeps the sockets of its import, which tests may not have later
    import uvloop  # noqa: F401

collect_ignore = ["support", "real/clients"]  # what tests are made with holds no tests

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.setdefault("NOVARAG_DATA", str(ROOT.parent / "shared" / "data")))

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def _nothing_is_known_of_servers():
    """Forget what earlier tests found of servers: ports are given again, to others."""
    forget_holdings()


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def data():
    if DATA.name == "none":
        pytest.skip("NOVARAG_DATA=none: the benchmark data is not on this machine")
    if not DATA.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"the benchmark data is not at {DATA}; in CI it must be")
        pytest.skip("set NOVARAG_DATA to the folder of the benchmark data")
    return DATA
