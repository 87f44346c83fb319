"""One part of a training: a hundred rows from the adapter in `results/`, looked at on the way.

    python -m experiments.nova_qwen.training ROWS LOOKED BASE BEFORE AFTER --rate RATE

The driver starts it as a process of its own, so that a kill costs a part at most. ROWS is a folder
with train.jsonl, LOOKED a file of dev groups, BEFORE the packed adapter to go on from (it need not
exist), AFTER a folder for that of every look. It prints its looks as a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from experiments.nova_qwen import adapters
from experiments.nova_qwen.looks import Look
from experiments.nova_qwen.plan import LOOK_EVERY
from experiments.nova_qwen.serving import step_back
from novarag.datasets import load_groups
from novarag.records import Completion
from novarag.rows import tabulate
from novarag.sft.train.settings import TrainingSettings
from novarag.strategies import find_strategy
from novarag.trials import make_trial

RANK, UPPER, BATCH = 4, 14, 10
"""A rank of 4 instead of the paper's 16, on the upper half of the layers: it fits in 2.3 MB."""
ALPHA = 2 * RANK
PACKED = 5  # rows of a step in one sequence
AT_ONCE, LONGEST_LOOK = 8, 60  # prompts of a look beside each other, tokens of a reply to one


def settings(rate: float, upper: int = UPPER) -> TrainingSettings:
    """The settings of a part: each row once, the rate that its place in the training gives it."""
    return TrainingSettings(
        learning_rate=rate, epochs=1.0, rank=RANK, alpha=ALPHA, upper_layers=upper, batch=BATCH,
        at_once=PACKED, schedule="constant_with_warmup", warmup=0.2, gradient_checkpointing=False,
        save_every=10_000,
    )  # fmt: skip


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("rows", "looked", "base", "before", "after"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--learnt", type=int, default=0, help="rows of the parts before")
    parser.add_argument("--strategy", required=True)
    parser.add_argument("--upper", type=int, default=UPPER, help="layers that are adapted")
    given = parser.parse_args()
    step_back()
    print(json.dumps(part(given)))


def part(given: Any) -> dict:
    """Train on the rows and write the adapter; return the looks and the loss."""
    from transformers import PrinterCallback

    from experiments.nova_qwen.packing import set_packed_loss
    from novarag.sft.train import engine
    from novarag.sft.train.training import prepare

    place = Path(mkdtemp(prefix="part-", dir=given.rows.parent))
    job = prepare(given.rows, str(given.base), place / "out", settings(given.rate, given.upper))
    trainer = engine.make_trainer(job)
    trainer.remove_callback(PrinterCallback)
    set_packed_loss(trainer)
    if given.before.exists():
        _load(trainer.model, given.before)
    looked = list(load_groups(given.looked))
    watch = _watch(trainer, looked, given)
    if not given.learnt:
        watch.look(0)
    trainer.add_callback(watch)
    trainer.train()
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    tokens = int(trainer.state.num_input_tokens_seen or 0) or sum(
        len(row["input_ids"]) for row in trainer.train_dataset
    )
    shutil.rmtree(place)
    return {"looks": watch.looks, "losses": losses, "tokens": tokens}


def _weights(model: Any) -> dict:
    from peft import get_peft_model_state_dict

    return {n: w.detach().float().numpy() for n, w in get_peft_model_state_dict(model).items()}


def _load(model: Any, path: Path) -> None:
    """Put a packed adapter into the model; every matrix of it, and no other."""
    import torch
    from peft import get_peft_model_state_dict, set_peft_model_state_dict

    weights, _ = adapters.read(path)
    if weights.keys() != get_peft_model_state_dict(model).keys():
        raise ValueError(f"{path.name} is an adapter of other layers")
    set_peft_model_state_dict(model, {n: torch.from_numpy(w) for n, w in weights.items()})


def _watch(trainer: Any, groups: list, given: Any) -> Any:
    """Make what looks at dev groups while the trainer works, which needs transformers."""
    from transformers import TrainerCallback

    from experiments.nova_qwen.packing import write_replies

    strategy = find_strategy(given.strategy)

    class Watch(TrainerCallback):
        """Looks every so many rows, and keeps the adapter of each look beside the last one."""

        def __init__(self) -> None:
            self.looks: list[Look] = []

        def on_step_end(self, args: Any, state: Any, control: Any, **_: object) -> None:
            rows = min(state.global_step * BATCH, len(trainer.train_dataset))
            if rows % LOOK_EVERY == 0 or state.global_step == state.max_steps:
                learnt = given.learnt + rows
                self.look(learnt)
                place = given.after / f"{learnt}.npz"
                adapters.write(place, _weights(trainer.model), {"learnt": learnt})

        def look(self, rows: int) -> None:
            replies = write_replies(
                trainer.model, trainer.processing_class, [strategy.render(g).text for g in groups],
                longest=LONGEST_LOOK, at_once=AT_ONCE,
            )  # fmt: skip
            self.looks.append(judge(rows, groups, replies, strategy))
            print(self.looks[-1], flush=True)

    return Watch()


def judge(rows: int, groups: list, replies: list[str], strategy: Any) -> Look:
    """Read and grade what was written, as a run does."""
    table = tabulate(
        make_trial(g, strategy, 0, Completion(model="look", text=r))
        for g, r in zip(groups, replies, strict=True)
    )
    right, judged = table["correct"].sum(), table["group_right"].sum()
    read, count = table["flaw"].is_null().sum(), len(groups)
    return Look(rows, right / count, read / count, judged / count)


if __name__ == "__main__":
    main()
