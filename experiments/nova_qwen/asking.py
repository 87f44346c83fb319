"""Asks one chunk of groups, and lays its replies out as the table that goes into `results/`."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import polars as pl

from experiments.nova_qwen.store import COLUMNS
from novarag.calls import Sampling
from novarag.flows.ask import ask
from novarag.runner.access import Access
from novarag.strategies import find_strategy
from novarag.uncertainty.token_likelihood import token_signal

if TYPE_CHECKING:
    from pathlib import Path

    from experiments.nova_qwen.serving import Server
    from experiments.nova_qwen.store import Asking, Store
    from novarag.records import PassageGroup
    from novarag.runs import Run

TIMEOUT = 20_000.0  # seconds of a request: at the lowest priority on a busy machine, long
SIGNAL = "likelihood"


def sampling_of(asking: Asking) -> Sampling:
    """Say how a stage samples: greedily once, or several times at the temperature of the paper."""
    return Sampling(
        n=asking.samples,
        temperature=0.0 if asking.samples == 1 else 1.0,
        max_tokens=asking.longest,
        logprobs=True,
    )


def ask_chunk(
    asking: Asking,
    number: int,
    groups: list[PassageGroup],
    *,
    build: Path,
    store: Store,
    model,
    **more,
) -> dict[str, object]:
    """Ask the groups of a chunk and write their table; return what it took.

    The run stays in `build` until the table is written, so that a kill in the middle of a chunk
    repays nothing on the same machine. `more` says where: the machine's name, the weights.
    """
    place = build / "runs" / asking.name / f"{number:03}"
    server: Server | None = more.pop("server", None)
    began, before = time.monotonic(), server.seconds() if server else 0
    run = ask(
        groups, find_strategy(asking.strategy), model, out=place, sampling=sampling_of(asking),
        structured=False,
        access=Access(concurrency=asking.at_once, timeout=TIMEOUT, retry_failed=True),
    )  # fmt: skip
    table = kept(run)
    if run.dead or set(table["group"]) != {g.id for g in groups}:
        raise RuntimeError(f"{asking.name} {number}: {run.dead} requests failed; run it again")
    store.write(asking, number, table)
    cost = run.cost
    row = {
        "stage": asking.name, "chunk": number, "groups": len(groups), "replies": table.height,
        "prompt_tokens": cost.prompt_tokens, "completion_tokens": cost.completion_tokens,
        "wall_s": round(time.monotonic() - began, 1),
        "cpu_s": (server.seconds() if server else 0) - before,
    }  # fmt: skip
    store.log(**row, **more)
    shutil.rmtree(place)
    return row


def kept(run: Run) -> pl.DataFrame:
    """Take from the trials of a run what is kept, and what its tokens say of each answer."""
    said = {(trial.group.id, trial.sample): token_signal(SIGNAL, trial) for trial in run}
    table = run.trials_table(list(COLUMNS))
    found = [said.get(key) for key in table.select("group", "sample").iter_rows()]
    return table.with_columns(pl.Series(SIGNAL, found, dtype=pl.Float64))
