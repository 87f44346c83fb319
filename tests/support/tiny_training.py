"""A training without torch, for tests: a base of three files, rows, and a stand-in for the engine.

The stand-in keeps the contract of `novarag.sft.train.engine`: it seals checkpoints as it goes,
goes on from the one it is handed, and its adapter depends on every step taken.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from novarag.sft.train.checkpoints import keep_last, seal, step_of
from novarag.sft.train.progress import TrainingSnapshot

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATE = (
    "{% for m in messages %}<|turn|> {{ m['role'] }} {{ m['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|turn|> assistant {% endif %}"
)


def write_base(folder: Path, *, template: str = TEMPLATE, dtype: str = "bfloat16") -> Path:
    """Write a model whose weights nobody loads, with a tokenizer that counts words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = {"<unk>": 0, "<|turn|>": 1, "<|end|>": 2}
    bare = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    bare.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare, unk_token="<unk>", eos_token="<|end|>",
        extra_special_tokens=["<|turn|>"],
    )  # fmt: skip
    made.chat_template = template
    made.save_pretrained(folder)
    config = {"model_type": "llama", "dtype": dtype}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"weights" * 400_000)
    return folder


def row(number: int = 0, **changed: object) -> dict[str, object]:
    """Make a row of a canonical export."""
    return {
        "prompt": [{"role": "user", "content": f"What is number {number} ?"}],
        "completion": [{"role": "assistant", "content": f"Answer: {number} Confidence: 70%"}],
        "question": f"q{number}",
        "group": f"g{number}",
        "kind": "consistent",
        "confidence": 0.7,
        "correct": True,
    } | changed


def write_rows(folder: Path, rows: list[dict[str, object]], *, split: str = "train") -> Path:
    """Write rows as one split of an export."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(r) + "\n" for r in rows)
    (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")
    return folder


class Killed(BaseException):
    """What a kill is in one process: nothing catches it."""


class StandIn:
    """An engine that takes six steps, two a checkpoint, and may be killed on the way."""

    PACKAGES = ("numpy",)

    def __init__(self, *, steps: int = 6, arithmetic: str = "float32") -> None:
        self.steps, self.arithmetic = steps, arithmetic
        self.kill_after: int | None = None
        self.kill_before_adapter = False
        self.resumed: list[int] = []
        self.merged: list[Path] = []

    def precision(self) -> str:
        return self.arithmetic

    def fit(self, job, resume, tell):
        first = step_of(resume) if resume else 0
        self.resumed.append(first)
        state = (resume / "state").read_text(encoding="utf-8") if resume else ""
        log = json.loads((resume / "log").read_text(encoding="utf-8")) if resume else []
        for step in range(first + 1, self.steps + 1):
            state = sha256(f"{state}{step}".encode()).hexdigest()
            log.append(
                {"step": step, "epoch": step / 3, "loss": 2.0 / step, "learning_rate": 1e-4}
                | {"tokens": 10 * step, "seconds": 0.5 * step}
            )
            fresh = step - first
            tell(
                TrainingSnapshot(
                    step=step, steps=self.steps, fresh=fresh, loss=2.0 / step,
                    tokens=10 * fresh, seconds=0.5 * fresh,
                )
            )  # fmt: skip
            if step % 2 == 0:
                self._save(job.out / "checkpoints", step, state, log)
            if step == self.kill_after:
                raise Killed
        if "dev" in job.splits:
            log.append({"step": self.steps, "eval_loss": 0.5})
        if self.kill_before_adapter:
            raise Killed
        (job.out / "adapter").mkdir(exist_ok=True)
        (job.out / "adapter" / "adapter_model.safetensors").write_text(state, encoding="utf-8")
        return log

    def _save(self, folder: Path, step: int, state: str, log: list) -> None:
        place = folder / f"checkpoint-{step}"
        place.mkdir(parents=True)
        (place / "state").write_text(state, encoding="utf-8")
        (place / "log").write_text(json.dumps(log), encoding="utf-8")
        seal(place)
        keep_last(folder)

    def merge(self, base: str, adapter: Path, place: Path, dtype: str) -> None:
        self.merged.append(place)
        place.mkdir()
        (place / "model.safetensors").write_text(f"{base} {dtype}", encoding="utf-8")
