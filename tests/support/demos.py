"""The demo as a user starts it: a process of its own, in an empty folder."""

import re
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.processes import heeding_interrupts

PATIENCE = 180.0  # seconds until the page is there, on a machine that does much else


@dataclass
class RunningDemo:
    """A demo that serves: its process, its address, and how long it took to get there."""

    process: subprocess.Popen
    address: str
    seconds: float

    @property
    def port(self):
        return int(self.address.rstrip("/").rpartition(":")[2])


@contextmanager
def demo_running(folder, *words):
    """Start the demo, wait for the address that it says, and end it."""
    began = time.monotonic()
    command = heeding_interrupts("-m", "novarag", "demo", *words)
    said = folder / "said"
    folder = folder / "empty"
    folder.mkdir()
    with said.open("w") as out, subprocess.Popen(command, cwd=folder, stdout=out, stderr=out) as process:  # fmt: skip
        try:
            yield RunningDemo(process, _address(process, said, began), time.monotonic() - began)
        finally:
            process.kill()
    assert list(folder.iterdir()) == [], "the demo leaves nothing behind"


def _address(process, said, began):
    while time.monotonic() < began + PATIENCE:
        found = re.search(r"open (http://\S+/) in a browser", said.read_text("utf-8"))
        if found:
            return found[1]
        assert process.poll() is None, said.read_text("utf-8")
        time.sleep(0.05)
    raise TimeoutError(said.read_text("utf-8"))
