"""Kill trainings, run the same command again, and compare the adapters bit for bit.

    python -m validation.train_crashes [--random 10] [--writes 5] [--seed 0] [--loss text]

A tiny llama is trained undisturbed once. Then trainings are killed with SIGKILL, each at a random
step or while a checkpoint is written (some of its files are there, its seal is not), and started
again with the same command until they are finished. All tensors of the adapter must be the same
bits. Each training is a process of its own, forked from one that has only imported the packages,
which saves a dozen seconds each; nothing in the product knows that it is watched.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.machine import described

if TYPE_CHECKING:
    from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the cores are shared, and the model is tiny
ROWS, STEPS, SAVED_EVERY = 24, 12, 2
COMMAND = [
    "novarag", "train", "fit", "rows", "--base", "tiny", "--learning-rate", "0.01", "--epochs", "2",
    "--batch", "4", "--save-every", str(SAVED_EVERY), "--out",
]  # fmt: skip
LONGEST = 300.0


def in_child(work: Callable[[], object], log: Path) -> int:
    """Do something in a process of its own; return its number."""
    child = os.fork()
    if child:
        return child
    try:
        written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(written, 1)
        os.dup2(written, 2)
        work()
    except SystemExit as error:
        os._exit(int(error.code or 0))
    except BaseException:  # noqa: BLE001 - the child's last word
        traceback.print_exc()
        os._exit(70)
    os._exit(0)


def start(out: str) -> int:
    """Start the training, or start it again."""

    def work() -> None:
        sys.argv = [*COMMAND, out]
        import_module("novarag.cli").main()

    return in_child(work, Path(f"{out}.log"))


def finish(child: int, log: Path) -> None:
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code == 0, f"ended with {code}:\n{log.read_text(encoding='utf-8')}"


def kill_when(child: int, ready: Callable[[], bool], nap: float) -> bool:
    """Kill the process when it is time; say whether it was still alive."""
    end = time.monotonic() + LONGEST
    while not ready():
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        assert time.monotonic() < end, "nothing happened for too long"
        time.sleep(0.001)
    time.sleep(nap)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def steps_told(log: Path) -> int:
    found = re.findall(
        r"^step (\d+) of", log.read_text(encoding="utf-8") if log.exists() else "", re.MULTILINE
    )
    return max(map(int, found), default=0)


def half_written(checkpoint: Path) -> bool:
    """Say whether a checkpoint has a file and no seal."""
    try:
        names = {path.name for path in checkpoint.iterdir()}
    except OSError:
        return False
    return bool(names) and "sealed.json" not in names


def tensors(out: str) -> dict[str, tuple[str, bytes]]:
    from safetensors.torch import load_file

    found = load_file(f"{out}/adapter/adapter_model.safetensors")
    return {name: (str(t.dtype), t.numpy().tobytes()) for name, t in found.items()}


def at_a_step(out: str, chance: random.Random) -> str | None:
    """Kill after a random step has been told, somewhere in the next; say when."""
    log, step = Path(f"{out}.log"), chance.randint(0, STEPS - 1)
    began = time.monotonic()
    if not kill_when(start(out), lambda: steps_told(log) >= step, nap=chance.uniform(0, 0.3)):
        return None
    return f"killed after step {steps_told(log):>2}, {time.monotonic() - began:.0f} s in"


def at_a_write(out: str, chance: random.Random) -> str | None:
    """Kill while a checkpoint is being written; say which."""
    step = SAVED_EVERY * chance.randint(1, STEPS // SAVED_EVERY)
    checkpoint = Path(out, "checkpoints", f"checkpoint-{step}")
    nap = chance.uniform(0, 0.02)
    if not kill_when(start(out), lambda: half_written(checkpoint), nap=nap):
        return None
    if not half_written(checkpoint):  # the seal was quicker
        return None
    files = sorted(path.name for path in checkpoint.iterdir())
    return f"killed in checkpoint {step:>2}, with {len(files)} files and no seal"


def disturbed(
    name: str, how: Callable[[str, random.Random], str | None], chance: random.Random
) -> tuple[str, str]:
    """Train with one kill; one that came too late does not count."""
    for attempt in range(20):
        out = f"{name}-{attempt}"
        said = how(out, chance)
        if said is not None:
            log = Path(f"{out}.log")
            log.write_text("", encoding="utf-8")
            finish(start(out), log)
            resumed = re.findall(r"going on after step (\d+)", log.read_text(encoding="utf-8"))
            cleared = re.findall(
                r"found: (checkpoint-\d+) was not whole", log.read_text(encoding="utf-8")
            )
            more = f", cleared {cleared[0]}" if cleared else ""
            return out, f"{said}; resumed after step {resumed[0] if resumed else 0}{more}"
    raise AssertionError("no kill came in time")


def prepare() -> None:
    from tests.support.tiny_model import make_model, write_rows

    make_model(Path("tiny"), digits="--loss" in COMMAND)
    write_rows(Path("rows/train.jsonl"), rows=ROWS)


def prove(args: argparse.Namespace) -> None:
    log = Path("prepare.log")
    finish(in_child(prepare, log), log)
    finish(start("calm"), Path("calm.log"))
    assert steps_told(Path("calm.log")) == STEPS
    calm = tensors("calm")
    print(f"undisturbed: {STEPS} steps, {len(calm)} tensors", flush=True)
    chance = random.Random(args.seed)
    kills = [("step", at_a_step)] * args.random + [("write", at_a_write)] * args.writes
    for number, (name, how) in enumerate(kills):
        out, said = disturbed(f"{name}{number}", how, chance)
        found = tensors(out)
        assert found.keys() == calm.keys()
        same = sum(found[key] == calm[key] for key in calm)
        print(f"{said}: {same}/{len(calm)} tensors the same bits", flush=True)
        assert same == len(calm)
        assert not Path(out, "checkpoints").exists()
    print(f"holds: {args.random} kills at a step, {args.writes} while a checkpoint was written")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=10)
    parser.add_argument("--writes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loss", default="text")
    args = parser.parse_args()
    if args.loss != "text":
        COMMAND[2:2] = ["--loss", args.loss]
    packages = [f"{name} {version(name)}" for name in ("torch", "trl", "peft")]
    print(described(*packages), flush=True)
    import_module("novarag.cli")
    import_module("novarag.sft.train.engine")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prove(args)
        os.chdir("/")


if __name__ == "__main__":
    main()
