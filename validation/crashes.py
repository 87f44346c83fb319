"""Kill runs at random and at every named instant, and count what was lost, doubled or repaid.

Each kill is a SIGKILL: of the command with the local driver, of a Ray worker, or of the command
that drives Ray. A run is resumed until it is finished, then compared with the server's own bill and
with an undisturbed run. Exits with 1 when anything is lost, doubled, unaccounted for, when more was
paid again than was in flight, or when a resumed run takes what a kill leaves for damage.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import polars as pl

from novarag.runs.crash_points import POINTS
from novarag.sealed_json import unseal
from tests.support.chaos.serving import bill, chaos

ROOT = Path(__file__).parents[1]
EVERY_POINT = (*POINTS, "record half written")
CONCURRENCY = 16
QUESTIONS, SHARD, SAMPLES = 600, 100, 2


@dataclass
class Tally:
    runs: int = 0
    kills: Counter = field(default_factory=Counter)
    lost: int = 0
    doubled: int = 0
    unaccounted: int = 0
    repaid: int = 0
    unknown: int = 0
    most_at_once: int = 0
    different: int = 0
    calls: int = 0
    alarms: int = 0  # lines that call a file damaged, which no kill may bring about


class Kills:
    """Which kills are still to be done."""

    def __init__(self, random: int, rounds: int, rng: Random) -> None:
        self.left = ["random"] * random + [p for p in EVERY_POINT for _ in range(rounds)]
        self.rng = rng
        rng.shuffle(self.left)


def write_groups(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for i in range(count):
            passages = [f"Lighthouse {i} was lit in 1871.", "It shone in 1884.", "Bread rises."]
            row = {
                "id": f"q{i}",
                "question": f"When was lighthouse {i} lit?",
                "answers": ["1871"],
                "passages": passages,
            }
            file.write(json.dumps(row) + "\n")


def command(groups: Path, url: str, out: Path, driver: str, address: str | None) -> list[str]:
    words = [
        sys.executable,
        "-m",
        "novarag",
        "ask",
        str(groups),
        "--model",
        f"{url}=chaos",
        "--out",
        str(out),
    ]
    words += [
        "--samples",
        str(SAMPLES),
        "--shard-size",
        str(SHARD),
        "--concurrency",
        str(CONCURRENCY),
    ]
    if driver != "local":
        words += ["--driver", "ray"]
        words += ["--ray-address", address] if address else []
    return words


def environment(plug: Path) -> dict[str, str]:
    """The environment of everything that is killed; a token that lies about must not lock us out."""
    paths = [str(ROOT / "tests/support/chaos/plug"), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "NOVARAG_PLUG": str(plug),
        "PYTHONPATH": os.pathsep.join(p for p in paths if p),
        "RAY_AUTH_MODE": "disabled",
    }


class Arena:
    """One driver, one server, one reference table, many runs."""

    def __init__(self, driver: str, folder: Path, url: str, kills: Kills, tally: Tally) -> None:
        self.driver, self.folder, self.url, self.kills, self.tally = (
            driver,
            folder,
            url,
            kills,
            tally,
        )
        self.groups, self.plug = folder / "groups.jsonl", folder / "plug"
        write_groups(self.groups, QUESTIONS)
        self.environment = environment(self.plug)
        self.address: str | None = None
        self.number = 0

    def start(self, out: Path) -> subprocess.Popen:
        words = command(self.groups, self.url, out, self.driver, self.address)
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                words, env=self.environment, stdout=log, stderr=log, cwd=self.folder
            )

    def run_undisturbed(self) -> pl.DataFrame:
        out = self.folder / "reference"
        self.plug.unlink(missing_ok=True)
        if self.start(out).wait(timeout=300):
            raise SystemExit((self.folder / "log").read_text())
        return trials(out)

    def disturb(self) -> Path:
        """Run and kill until the run is finished."""
        self.number += 1
        out = self.folder / f"run{self.number}"
        while True:
            process = self.start(out)
            if self.kills.left:
                self.strike(process, out)
            while self.driver == "ray-worker" and self.kills.left and process.poll() is None:
                self.strike(process, out)
            try:
                code = process.wait(timeout=300)
            except subprocess.TimeoutExpired:
                process.kill()
                raise SystemExit("hung: " + (self.folder / "log").read_text()[-3000:]) from None
            if code == 0:
                self.plug.unlink(missing_ok=True)
                return out
            if code != -signal.SIGKILL:
                raise SystemExit(f"exit {code}: " + (self.folder / "log").read_text()[-3000:])

    def strike(self, process: subprocess.Popen, out: Path) -> None:
        kind = self.kills.left.pop()
        if kind != "random":
            self.plug.write_text(kind)
            while process.poll() is None and self.plug.exists():
                time.sleep(0.005)
            if self.plug.exists():
                self.kills.left.insert(0, kind)  # the run ended before it got there
                self.plug.unlink(missing_ok=True)
            else:
                self.tally.kills[kind] += 1
            return
        tries, hit = 0, False
        seen = bill(self.url, "count")["total"]
        target = seen + self.kills.rng.randint(0, QUESTIONS)
        while process.poll() is None and bill(self.url, "count")["total"] < target:
            time.sleep(0.002)
        time.sleep(self.kills.rng.uniform(0, 0.03))
        while process.poll() is None and not (hit := self.shoot(process, out)) and tries < 100:
            tries += 1
            time.sleep(0.02)
        if process.poll() not in {None, -signal.SIGKILL} or not hit:
            self.kills.left.insert(0, kind)
        else:
            self.tally.kills[f"{kind}, {self.driver}"] += 1

    def shoot(self, process: subprocess.Popen, out: Path) -> bool:
        if self.driver != "ray-worker":
            process.kill()
            return True
        owners = [worker_pid(path) for path in sorted((out / "leases").glob("*.json"))]
        for pid in (p for p in owners if p is not None and p != process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            return True
        return False

    def count_alarms(self) -> None:
        """Count the lines of the log that name a file of the run; nobody touched any."""
        log = self.folder / "log"
        named = re.compile(r"\b(?:journal|leases|shards|trials)/\d{5}")
        for line in log.read_text().splitlines():
            if named.search(line):
                self.tally.alarms += 1
                print(f"     false alarm: {line}")
        log.unlink()

    def check(self, out: Path, reference: pl.DataFrame, before: dict) -> None:
        """Compare a finished run with the server's bill and the undisturbed run."""
        tally = self.tally
        tally.runs += 1
        table = trials(out)
        keys = table.select("group", "sample")
        tally.lost += QUESTIONS * SAMPLES - len(keys.unique())
        tally.doubled += len(keys) - len(keys.unique())
        tally.different += not table.equals(reference)
        ledger = pl.read_parquet(f"{out}/attempts/*.parquet")
        served = bill(self.url)
        known = set(ledger["attempt"])
        fresh = {a: how for a, how in served["attempts"].items() if a not in before["attempts"]}
        tally.unaccounted += len(fresh.keys() - known)
        unknown = ledger.filter(outcome="unknown, cut off by a kill")
        tally.unaccounted += len(known - fresh.keys() - set(unknown["attempt"]))
        tally.calls += len(fresh)
        tally.unknown += len(unknown)
        sessions = Counter(name.partition("-")[0] for name in unknown["attempt"])
        tally.most_at_once = max([tally.most_at_once, *sessions.values()])
        paid = sum(served["keys"].values()) - sum(before["keys"].values())
        tally.repaid += paid - QUESTIONS


def worker_pid(path: Path) -> int | None:
    try:
        beat = unseal(path.read_bytes())
    except FileNotFoundError:
        return None
    return int(beat["owner"].split(":")[1]) if beat and not beat["released"] else None


def trials(out: Path) -> pl.DataFrame:
    return pl.read_parquet(f"{out}/trials/*.parquet")


def run(driver: str, kills: Kills, *, idempotent: bool, tally: Tally) -> None:
    options = {"latency": 0.01, "idempotent": idempotent}
    with tempfile.TemporaryDirectory() as name, chaos(**options) as url:
        arena = Arena(driver, Path(name), url, kills, tally)
        try:
            if driver != "local":
                start_ray(arena)
            reference = arena.run_undisturbed()
        except BaseException:
            stop_ray(driver)
            raise
        try:
            while kills.left:
                with chaos(**options) as arena.url:
                    before = {"attempts": {}, "keys": {}}
                    out = arena.disturb()
                    arena.check(out, reference, before)
                    arena.count_alarms()
        finally:
            stop_ray(driver)


def start_ray(arena: Arena) -> None:
    words = [
        "ray", "start", "--head", "--port", "6399", "--num-cpus", "2", "--include-dashboard",
        "false", "--disable-usage-stats",
    ]  # fmt: skip
    subprocess.run(words, env=arena.environment, check=True, capture_output=True)
    arena.address = "127.0.0.1:6399"


def stop_ray(driver: str) -> None:
    if driver != "local":
        subprocess.run(["ray", "stop", "--force"], capture_output=True, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", choices=["local", "ray-worker", "ray-driver"], default="local")
    parser.add_argument("--random", type=int, default=20, help="kills at random instants")
    parser.add_argument("--rounds", type=int, default=1, help="kills at each named instant")
    parser.add_argument("--idempotent", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kills, tally = Kills(options.random, options.rounds, Random(options.seed)), Tally()
    began = time.monotonic()
    run(options.driver, kills, idempotent=options.idempotent, tally=tally)
    print(
        f"driver {options.driver}, server {'idempotent' if options.idempotent else 'plain'}: {tally.kills.total()} kills in {tally.runs} runs, {time.monotonic() - began:.0f} s"
    )
    for kind, count in sorted(tally.kills.items()):
        print(f"  {count:4} {kind}")
    print(
        f"calls {tally.calls:,}; lost {tally.lost}, doubled {tally.doubled}, unaccounted {tally.unaccounted}, tables that differ {tally.different}, false alarms {tally.alarms}"
    )
    print(
        f"paid again {tally.repaid}, in flight at the kills {tally.unknown}, at most {tally.most_at_once} at once"
    )
    workers = 2 if options.driver.startswith("ray") else 1
    bad = tally.lost or tally.doubled or tally.unaccounted or tally.different or tally.alarms
    bad = bad or tally.repaid > (0 if options.idempotent else tally.unknown)
    sys.exit(1 if bad or tally.most_at_once > CONCURRENCY * workers else 0)


if __name__ == "__main__":
    main()
