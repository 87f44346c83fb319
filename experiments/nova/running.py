"""How the proof runs a verb, serves a model and asks it: logged, resumable, one server at a time."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.nova.choosing import COMMANDS, TEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from experiments.nova.plan import Plan

RESULTS = Path(__file__).with_name("results")
LONGEST = {"nova": 300, "cot": 160, "noise-aware": 200, "vanilla": 60, "label-only": 60}
SERVED = ["--max-num-seqs", "64", "--block-size", "32"]
"""Blocks of 32 tokens: what prompts share is computed once, and the default of 128 shares little."""
# Held to a pattern with bounded repeats, the default backend decodes several times slower.
CPU = ["--host", "127.0.0.1", "--max-model-len", "4096", *SERVED,
       "--max-num-batched-tokens", "16384",
       "--structured-outputs-config.backend", "guidance"]  # fmt: skip
CORES = os.cpu_count() or 1
CPU_ENV = {"VLLM_CPU_KVCACHE_SPACE": "4", "OMP_NUM_THREADS": f"{CORES}", "VLLM_NO_USAGE_STATS": "1",
           "VLLM_CPU_OMP_THREADS_BIND": f"0-{CORES - 1}"}  # fmt: skip
"""vLLM takes all cores: left alone it keeps one for its web server, which is half of two."""
RUNNING = "running.json"
SERVER = "server.pid"
_STARTED: dict[int, subprocess.Popen[bytes]] = {}  # by this process, by their numbers
NOTED = 60  # seconds between two notes of what a command has taken
STARTS = 2400  # seconds that a server may take to come up


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the proof is built, and with what: every stage takes it."""

    build: Path
    base: Path
    vllm: Path
    plan: Plan
    port: int

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return f"http://127.0.0.1:{self.port}/v1"

    def address(self, who: str) -> str:
        """Name a model as `--model` takes it."""
        return f"{self.url}={who}"

    def has(self, place: str) -> bool:
        """Say whether something was made."""
        return (self.build / place).exists()

    def model(self, who: str) -> Path:
        """Return the folder of a trained model; `stock` is the one that was downloaded."""
        if who == "stock":
            return self.base
        if who == "warm":
            return self.build / (self.build / "warm.txt").read_text().strip()
        return self.build / who if who.startswith("warm-") else self.build / "models" / who

    def verb(self, *words: object) -> None:
        """Run a verb of the package in the build folder."""
        self.run(sys.executable, "-m", "novarag", *words)

    def run(self, *command: object, cwd: Path | None = None) -> None:
        """Run a command, and write down when it began and what it took.

        What it has taken is noted every minute, so that a kill does not make it cheaper.
        """
        words = [str(part) for part in command]
        shown = self._shown(" ".join(words))
        print(f"$ {shown}", flush=True)
        self._log_killed()
        self._log({"command": shown, "began": now()})
        began, before, served = time.monotonic(), _children_seconds(), self._server_seconds()

        def taken(cpu: float) -> dict[str, object]:
            wall, server = time.monotonic() - began, max(self._server_seconds() - served, 0)
            return {"command": shown, "wall_s": round(wall), "cpu_s": round(cpu),
                    "server_cpu_s": server}  # fmt: skip

        with subprocess.Popen(words, cwd=cwd or self.build) as child:
            while child.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(NOTED)
                note = json.dumps(taken(seconds_of(child.pid)))
                (self.build / RUNNING).write_text(note)
        (self.build / RUNNING).unlink(missing_ok=True)
        code = child.returncode
        self._log(taken(_children_seconds() - before) | {"ended": now(), "code": code})
        if code:
            raise subprocess.CalledProcessError(code, words)

    def _log_killed(self) -> None:
        """Write down what a command took that was killed with the proof."""
        noted = self.build / RUNNING
        if noted.exists():
            self._log(json.loads(noted.read_text()) | {"killed": now()})
            noted.unlink()

    def _server_seconds(self) -> int:
        """Return the processor seconds of the server that is up, if one is."""
        noted = self.build / SERVER
        return seconds_of(int(noted.read_text().split()[0]), whole=True) if noted.exists() else 0

    def _shown(self, line: str) -> str:
        for place, name in (
            (f"{sys.executable} -m ", ""), (self.base, "BASE"), (self.build, "BUILD"),
            (RESULTS, "experiments/nova/results"), (sys.executable, "python"),
        ):  # fmt: skip
            line = line.replace(str(place), name)
        return line

    def _log(self, row: dict[str, object]) -> None:
        with (self.build / COMMANDS).open("a") as log:
            log.write(json.dumps(row) + "\n")

    def train(self, rows: str, model: Path | str, out: str, *more: object) -> None:
        """Train on some rows and merge, if that is not done."""
        if not self.has(f"{out}/merged"):
            self.end_server()  # a training wants all cores
            start = Path(model)
            start = start / "merged" if (start / "merged").exists() else start
            self.verb("train", "fit", rows, "--base", start, "--out", out, "--merge",
                      "--no-gradient-checkpointing", "--at-once", "1", *more)  # fmt: skip

    def is_asked(self, place: str) -> bool:
        """Say whether a run has nothing left to ask."""
        from novarag.runs import is_finished, open_store

        path = self.build / place
        return path.exists() and is_finished(open_store(str(path)))

    def ask(self, who: str, wanted: list[tuple[str, str, str]], *more: object) -> None:
        """Ask a model some sets by some strategies, as (groups, strategy, run), if not done."""
        left = [row for row in wanted if not self.is_asked(row[2])]
        if not left:
            return
        with self.served(who):
            for groups, strategy, place in left:
                self.verb("ask", f"groups/{groups}.jsonl", "--model", self.address(who),
                          "--out", place, "--strategy", strategy, "--max-tokens",
                          LONGEST[strategy], "--logprobs", "--retry-failed", "--no-structured",
                          *(more or ("--concurrency", "64")))  # fmt: skip

    def ask_all(self, who: str, split: str, sets: list[str], strategies: list[str]) -> None:
        """Ask a model every set by every strategy, greedily."""
        self.ask(who, [(g, s, run_of(split, who, s, g)) for s in strategies for g in sets])

    @contextmanager
    def served(self, who: str) -> Iterator[None]:
        """Serve a model; the server stays up for whoever asks the same model next.

        `end_server` ends it, as does the next model, also where a killed proof left it over.
        """
        if who in self._names() and self._is_ours():
            yield
            return
        self.end_server()
        model = self.model(who)
        command: list[object] = (
            [sys.executable, "-m", "novarag", "train", "serve", f"{who}={model}", "--merged", "--run",
             "--cpu", *(["--compile"] if self.plan.compiled else []), "--port", self.port, "--vllm", self.vllm, "--",
             *SERVED]
            if (model / "training.json").exists()
            else [self.vllm, "serve", model, "--served-model-name", who, "--dtype", _dtype(),
                  "--port", self.port, *CPU, "--enforce-eager"]
        )  # fmt: skip
        with (self.build / f"server-{who}.log").open("w") as log:
            server = subprocess.Popen(
                [str(part) for part in command], cwd=self.build, stdout=log, stderr=log,
                start_new_session=True, env=os.environ | CPU_ENV,
            )  # fmt: skip
        _STARTED[server.pid] = server
        (self.build / SERVER).write_text(f"{server.pid} {self.port}\n")
        try:
            self._wait(server, who)
            yield
        except BaseException:
            self.end_server()
            raise

    def _wait(self, server: subprocess.Popen[bytes], who: str) -> None:
        for _ in range(STARTS):
            if who in self._names():
                return
            if server.poll() is not None:
                raise ServerDied(f"the server of {who} died; see server-{who}.log")
            time.sleep(1)
        raise ServerDied(f"the server of {who} is not up after {STARTS} seconds")

    def _names(self) -> list[str]:
        """List the models that a server on our port has; nothing if there is no server."""
        try:
            with urllib.request.urlopen(f"{self.url}/models", timeout=5) as reply:
                return [row["id"] for row in json.load(reply)["data"]]
        except OSError:
            return []

    def end_server(self) -> None:
        """End the server that is up, if there is one of ours."""
        if self._is_ours():
            pid = int((self.build / SERVER).read_text().split()[0])
            _end(pid)
            if pid in _STARTED:
                with suppress(subprocess.TimeoutExpired):
                    _STARTED.pop(pid).wait(30)
        (self.build / SERVER).unlink(missing_ok=True)

    def _is_ours(self) -> bool:
        """Say whether the server that was noted is still that process."""
        if not self.has(SERVER):
            return False
        pid, port = (self.build / SERVER).read_text().split()
        with suppress(OSError):
            said = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            return port in said and "--port" in said
        return False


def _children_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def seconds_of(pid: int, *, whole: bool = False) -> int:
    """Return the processor seconds that a process has taken, or with all that it started."""
    spent: dict[int, int] = {}
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat") if whole else [Path(f"/proc/{pid}/stat")]:
        with suppress(OSError):
            cells = path.read_text(encoding="utf-8").rpartition(") ")[2].split()
            number = int(path.parent.name)
            parents[number], spent[number] = int(cells[1]), int(cells[11]) + int(cells[12])
    family = {pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return round(sum(spent.get(one, 0) for one in family) / os.sysconf("SC_CLK_TCK"))


class ServerDied(Exception):  # noqa: N818 - a state of the server
    """A server did not come up."""


def run_of(split: str, who: str, strategy: str, groups: str) -> str:
    """Name the run of a model on a set; those of test questions are known by their name."""
    part = groups.removeprefix("test-")
    return f"{TEST if split == 'test' else f'runs/{split}-'}{who}-{strategy}-{part}"


def now() -> str:
    """Say the time, to the microsecond."""
    return datetime.now(UTC).isoformat()


def _end(pid: int) -> None:
    """End a process group of ours: first politely, then for sure."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(pid, signum)
            for _ in range(20):
                os.killpg(pid, 0)
                time.sleep(1)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            continue
        return


def _dtype() -> str:
    """Name the arithmetic that `train serve --cpu` takes, for a model that was not trained."""
    from novarag.serving.preparing import cpu_dtype

    return cpu_dtype(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
