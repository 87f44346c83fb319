"""The server of a stage, started by `.ci/vllm/serve` at the lowest priority, and what it takes."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.nova.running import seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SERVE = ROOT / ".ci" / "vllm" / "serve"
OPTIONS = (
    "--max-num-batched-tokens 2048 --max-model-len 2048 --block-size 32"
    " --distributed-executor-backend uni"
)
WAIT = 5400  # seconds until it is up: at the lowest priority on a busy machine, long
PATIENT = {
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "36000",
    "VLLM_ENGINE_READY_TIMEOUT_S": "5400",
    "VLLM_CHAT_TEMPLATE_RENDER_TIMEOUT": "3600",
    "OMP_WAIT_POLICY": "PASSIVE",
    "KMP_BLOCKTIME": "0",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": f"0-{(os.cpu_count() or 1) - 1}",
}
"""At the lowest priority one step may wait for minutes, which vLLM takes for a death after five; and
a thread whose neighbour waits for a core is not to spin meanwhile. Left alone, vLLM keeps one core
for its web server, which is half of two, and its engine in a process of its own, which asks for work
in a busy loop."""


def step_back(pid: int = 0) -> None:
    """Give a process the lowest priority there is, so that whoever else works here goes first.

    Where the kernel schedules by session, a priority counts among the processes of one session
    alone. So a process that leads a session of its own puts that back, too; ours is left as it is,
    for it may be a person's shell.
    """
    with suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)
    with suppress(OSError):
        if os.getsid(pid) == (pid or os.getpid()):
            Path(f"/proc/{pid or 'self'}/autogroup").write_text("19", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Server:
    """Where vLLM lies (the folder of `.ci/vllm/prepare`), and the port it is to listen on."""

    folder: Path
    port: int = 8431

    @property
    def url(self) -> str:
        """Name the model that is up as `--model` takes it; whoever it is, it is called `base`."""
        return f"http://127.0.0.1:{self.port}/v1=base"

    @property
    def pid(self) -> int:
        """Return the number of the server's process group."""
        return int((self.folder / "pid").read_text(encoding="utf-8"))

    @contextmanager
    def up(self, model: Path, *, compiled: bool) -> Iterator[None]:
        """Serve a folder of weights, and end the server whatever happens."""
        env = (
            os.environ
            | PATIENT
            | {"MODEL": str(model), "KV": "1", "WAIT": f"{WAIT}", "OPTIONS": OPTIONS}
        )
        if compiled:
            env["EAGER"] = ""
        self.stop()
        with subprocess.Popen(
            ["bash", str(SERVE), str(self.folder), str(self.port)], env=env
        ) as starting:
            while starting.poll() is None:
                with suppress(OSError, ValueError):
                    step_back(self.pid)  # it leads a session of its own
                with suppress(subprocess.TimeoutExpired):
                    starting.wait(2)
        if starting.returncode:
            raise subprocess.CalledProcessError(starting.returncode, "serve")
        try:
            yield
        finally:
            self.stop()

    def stop(self) -> None:
        """End the server, if one is up."""
        subprocess.run(["bash", str(SERVE), str(self.folder), "stop"], check=True)

    def seconds(self) -> int:
        """Return the processor seconds that the server has taken with all it started."""
        with suppress(OSError, ValueError):
            return seconds_of(self.pid, whole=True)
        return 0
