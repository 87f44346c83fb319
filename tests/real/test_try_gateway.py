"""`make gateway`: all of it on one machine, from a question to its row in the database."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.postgres import program

ROOT = Path(__file__).parents[2]


@pytest.mark.enable_socket
@pytest.mark.skipif(program("initdb") is None, reason="PostgreSQL is not installed")
def test_a_question_leaves_a_row_and_so_does_its_feedback():
    command = [sys.executable, "-m", "tools.try_gateway", "--port", "0", "--once"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"curl http://127\.0\.0\.1:\d+/v1/chat/completions .*consistent\.json", done.stdout
    )
    assert "decision answer, confidence 0.95" in done.stdout
    assert "in the database: 1 decisions, 1 feedback" in done.stdout
