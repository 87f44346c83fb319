"""The proof on a model that reads, in stages that any machine can take up: `make proof MODEL=qwen`.

    python -m experiments.nova_qwen.proof BUILD --vllm FOLDER [--minutes 90] [--only STAGE]

Stages run in their order, for as many minutes as are given; what has its file in `results/` is not
done again, so the same line goes on where a kill, or another machine, left off. BUILD holds what
can be made anew: groups, weights, the run of an unfinished chunk. FOLDER is that of
`.ci/vllm/prepare FOLDER qwen`.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from experiments.nova_qwen import choices, questions, report, speeds
from experiments.nova_qwen.arms import ARMS
from experiments.nova_qwen.asking import ask_chunk
from experiments.nova_qwen.hours import plan_of
from experiments.nova_qwen.plan import AS_FLOAT, BASE, FLOAT, ROWS, SAMPLE, dev, graded, look, test
from experiments.nova_qwen.serving import ROOT, Server, step_back
from experiments.nova_qwen.store import Asking, Store
from experiments.nova_qwen.teaching import has_rows_for_all, train_arm, weights_of

MINUTES = 90
CHUNKS_BETWEEN = 5
"""Chunks of sampling between two counts of the rows that they give."""


class TimeIsUp(Exception):  # noqa: N818 - no error
    """The minutes are used; the same line goes on."""


@dataclass
class Bench:
    """Where the proof is built, with what, and until when."""

    build: Path
    server: Server
    store: Store
    deadline: float
    eager: bool = False
    _up: ExitStack = field(default_factory=ExitStack)
    _who: str | None = None

    def check(self) -> None:
        """Raise if no further unit is to begin."""
        if time.monotonic() >= self.deadline:
            raise TimeIsUp

    def serve(self, who: str) -> None:
        """Have a model up; it stays for whoever asks the same one next."""
        if who != self._who:
            self.end()
            folder = weights_of(who, self.build, self.server.folder, self.store)
            known = self.store.read_json(speeds.FILE) or {}
            compiled = not self.eager and speeds.is_worth_compiling(known)
            self._up.enter_context(self.server.up(folder, compiled=compiled))
            self._who = who

    def end(self) -> None:
        """End the server that is up."""
        self._up.close()
        self._who = None

    def ask(self, stages: list[Asking], at_most: int | None = None) -> int:
        """Ask every chunk that has no table yet, or so many of each stage; return how many."""
        asked = 0
        for asking in stages:
            left = self.store.left(asking, questions.groups_of(self.build, asking.split))
            for number, groups in left[:at_most]:
                self.check()
                self.serve(asking.who)
                row = ask_chunk(
                    asking, number, groups, build=self.build, store=self.store,
                    model=self.server.url, server=self.server, machine=machine(),
                )  # fmt: skip
                print(row, flush=True)
                asked += 1
        return asked


def machine() -> str:
    """Say what the figures were measured on."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return f"{os.cpu_count()} x {line.partition(':')[2].strip()}"
    return f"{os.cpu_count()} x {platform.machine()}"


def prepare(bench: Bench) -> None:
    """Make the questions, and hold them against those of the results."""
    if not (bench.build / "groups" / "dev-rest.jsonl").exists():
        questions.prepare(bench.build, bench.store)


def measure(bench: Bench) -> None:
    """Measure how fast the server reads and writes, in int8 compiled and not, and in float32."""
    known = bench.store.read_json(speeds.FILE) or {}
    groups = questions.groups_of(bench.build, "look")
    from novarag.strategies import VANILLA

    prompts = [VANILLA.render(g).text for g in groups]
    bench.end()
    for name, who, compiled in (
        (speeds.EAGER, BASE, False), (speeds.COMPILED, BASE, True), ("float32, eager", FLOAT, False),
    ):  # fmt: skip
        if name not in known:
            bench.check()
            at_once = speeds.AT_ONCE if who == BASE else (8,)
            folder = weights_of(who, bench.build, bench.server.folder, bench.store)
            try:
                with bench.server.up(folder, compiled=compiled):
                    known[name] = speeds.measure(bench.server, prompts, at_once)
            except (subprocess.CalledProcessError, OSError) as error:
                if not compiled:
                    raise  # only compiling needs what a machine may lack
                known[name] = {"failed": f"{type(error).__name__}: {error}"}
                print(f"{name}: {error}", flush=True)
            known["machine"] = machine()
            bench.store.write_json(speeds.FILE, known)


def before(bench: Bench) -> None:
    """All prompts on 100 dev questions, and the prompt that trained models are held against."""
    bench.ask([*look(), AS_FLOAT])
    choices.choose_prompt(bench.store)


def sample(bench: Bench) -> None:
    """Eight replies of the untrained model to each training group, until every arm has its rows.

    What was sampled decides alone, so a machine that goes on stops at the same group.
    """
    while not has_rows_for_all(bench.store, rows=ROWS):
        if not bench.ask([SAMPLE], at_most=CHUNKS_BETWEEN):
            return


def train(bench: Bench) -> None:
    """Train the arms, a part at a time."""
    for arm in ARMS:
        train_arm(bench, arm)


def chosen_on_dev(bench: Bench) -> None:
    """Every arm on the dev questions, and the arm that is judged."""
    bench.ask(dev())
    choices.choose_arm(bench.store)


def other_road(bench: Bench) -> None:
    """Graded training questions for calibrations."""
    bench.ask(graded())


def tested(bench: Bench) -> None:
    """Everybody on the test questions, once, now that all is chosen."""
    if None in (choices.chosen(bench.store, what) for what in (choices.PROMPT, choices.ARM)):
        raise SystemExit("nothing is chosen yet, so no test question is asked")
    bench.ask(test())


def tables(bench: Bench) -> None:
    """Write the tables, from the replies alone."""
    bench.end()
    report.write(bench.store, bench.build)


STAGES = {
    "prepare": prepare, "speeds": measure, "look": before, "sample": sample, "train": train,
    "dev": chosen_on_dev, "graded": other_road, "test": tested, "tables": tables,
}  # fmt: skip


def main() -> None:
    """Run the stages in order, or those named, for the minutes given; print the plan of hours."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--vllm", type=Path, required=True, help="folder of .ci/vllm/prepare")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="no unit begins after these")
    parser.add_argument("--only", choices=list(STAGES), action="append", help="some stages")
    parser.add_argument("--port", type=int, default=Server.__dataclass_fields__["port"].default)
    parser.add_argument("--eager", action="store_true", help="a server that starts sooner")
    given = parser.parse_args()
    step_back()
    given.build.mkdir(parents=True, exist_ok=True)
    bench = Bench(
        given.build.resolve(), Server(given.vllm.resolve(), given.port), Store(),
        time.monotonic() + 60 * given.minutes, eager=given.eager,
    )  # fmt: skip
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        for name, stage in STAGES.items():
            if name in (given.only or STAGES):
                print(f"\n== {name} {time.strftime('%H:%M:%S')}", flush=True)
                prepare(bench)
                stage(bench)
    except TimeIsUp:
        print("\nthe minutes are used; the same line goes on", flush=True)
    finally:
        bench.end()
    print(f"\n{plan_of(bench.store)}", flush=True)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
