"""The proofs of `make prove NAME=gateway-failures` in a short form: a gateway's process and real sockets."""

import subprocess
import sys

import pytest

from tests.support.postgres import program
from validation.gateway.sizes import PROOFS

LEFT = {
    "hung",
    "overload",
    "documented",
}  # times of a loaded machine; schemathesis has its own stage


@pytest.mark.skipif(program("initdb") is None, reason="PostgreSQL is not installed")
@pytest.mark.parametrize("name", sorted(PROOFS.keys() - LEFT))
def test_a_gateway_fails_honestly(name):
    command = [sys.executable, "-m", "validation.gateway", name, "--size", "short"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
