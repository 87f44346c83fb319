"""The trainer itself: TRL's SFTTrainer with PEFT's LoRA. All of torch is behind this door.

It comes with the extra `novarag[train]`. Weights are read and written as safetensors alone, and no
code that comes with a model is run.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset, disable_progress_bars
from peft import LoraConfig, PeftModel
from transformers import AutoModelForCausalLM, PrinterCallback, TrainerCallback, logging
from trl import SFTConfig, SFTTrainer

from novarag.errors import UsageError
from novarag.sft.formats import canonical_row
from novarag.sft.train.checkpoints import keep_last, seal, step_of
from novarag.sft.train.progress import Progress
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from novarag.sft.examples import Example
    from novarag.sft.train.training import Job

PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate")


def precision() -> str:
    """Name the arithmetic of this machine: bfloat16 where it has it."""
    if torch.cuda.is_available():
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    known = torch.cpu.get_capabilities()
    return "bfloat16" if known.get("avx512_bf16") or known.get("amx_bf16") else "float32"


def fit(job: Job, resume: Path | None, tell: Callable[[Progress], None]) -> list[dict[str, Any]]:
    """Train the adapter and write it; return the log of the training, a row for each step."""
    disable_progress_bars()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    trainer = _trainer(job)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(_Watch(trainer, job.settings.max_length, tell, resume))
    trainer.train(resume_from_checkpoint=str(resume) if resume else None)
    if trainer.is_world_process_zero():
        _write_adapter(trainer, job.out / "adapter")
    trainer.accelerator.wait_for_everyone()
    return list(trainer.state.log_history)


def _trainer(job: Job) -> SFTTrainer:
    settings = job.settings
    exact = precision() == "float32"
    devices = max(1, int(SFTConfig(output_dir=str(job.out), **_place()).world_size))
    rounds = settings.accumulation(devices)
    steps = -(-len(job.splits["train"]) // settings.batch) * settings.epochs
    config = SFTConfig(
        output_dir=str(job.out / "checkpoints"),
        learning_rate=settings.learning_rate,
        num_train_epochs=settings.epochs,
        lr_scheduler_type=settings.schedule,
        warmup_steps=settings.warmup_steps,
        per_device_train_batch_size=settings.at_once,
        per_device_eval_batch_size=settings.at_once,
        gradient_accumulation_steps=rounds,
        gradient_checkpointing=settings.gradient_checkpointing,
        bf16=not exact,
        seed=settings.seed,
        data_seed=settings.seed,
        max_length=None,  # nothing is ever cut: what is too long was left out
        completion_only_loss=True,
        packing=False,
        save_strategy="steps",
        save_steps=settings.save_every or max(1, round(steps / 10)),
        eval_strategy="epoch" if "dev" in job.splits else "no",
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        **_place(),
    )
    return SFTTrainer(
        model=load_model(job.base.place, "float32" if exact else "bfloat16"),
        args=config,
        train_dataset=_rows(job.splits["train"]),
        eval_dataset=_rows(job.splits["dev"]) if "dev" in job.splits else None,
        processing_class=job.ruler.tokenizer,
        peft_config=LoraConfig(
            r=settings.rank,
            lora_alpha=int(settings.alpha or 0),
            lora_dropout=settings.dropout,
            target_modules=list(settings.targets),
            task_type="CAUSAL_LM",
        ),
    )


def _place() -> dict[str, bool]:
    return {"use_cpu": not torch.cuda.is_available()}


def _rows(examples: Sequence[Example]) -> Dataset:
    """Hand over the texts alone; template and loss on the completion are the trainer's part."""
    rows = (canonical_row(example) for example in examples)
    return Dataset.from_list([{"prompt": r["prompt"], "completion": r["completion"]} for r in rows])


def load_model(place: str, dtype: str) -> Any:  # noqa: ANN401 - a class of a library without types
    """Load a causal language model from safetensors."""
    try:
        return AutoModelForCausalLM.from_pretrained(
            place, dtype=getattr(torch, dtype), use_safetensors=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        said = plain_text(" ".join(str(error).split()), longest=300)
        raise UsageError(f"the model {place!r} cannot be loaded: {said}") from error


class _Watch(TrainerCallback):  # type: ignore[misc]  # a library without types
    """Seals checkpoints, and tells how far the training is."""

    def __init__(
        self, trainer: SFTTrainer, longest: int, tell: Callable[[Progress], None],
        resume: Path | None,
    ) -> None:  # fmt: skip
        _no_longer_than(longest, trainer)
        self._tell, self._began = tell, monotonic()
        self._first = step_of(resume) if resume else 0

    def on_save(self, args: Any, state: Any, control: Any, **_: object) -> None:  # noqa: ANN401, ARG002
        if state.is_world_process_zero:
            folder = Path(args.output_dir)
            seal(folder / f"checkpoint-{state.global_step}")
            keep_last(folder)

    def on_log(self, args: Any, state: Any, control: Any, **_: object) -> None:  # noqa: ANN401, ARG002
        row = state.log_history[-1]
        if state.is_world_process_zero and "loss" in row:
            done = state.global_step - self._first
            self._tell(
                Progress(
                    step=state.global_step,
                    steps=state.max_steps,
                    fresh=done,
                    loss=float(row["loss"]),
                    tokens=int(row.get("num_tokens", 0)),
                    seconds=monotonic() - self._began,
                )
            )


def _no_longer_than(longest: int, trainer: SFTTrainer) -> None:
    """Check that the trainer's tokens are no more than were counted before."""
    found = max(len(row["input_ids"]) for row in trainer.train_dataset)
    if found > longest:
        raise UsageError(
            f"the trainer makes {found:,} tokens of a sample, more than --max-length {longest:,}"
        )


def _write_adapter(trainer: SFTTrainer, place: Path) -> None:
    draft = place.with_name(".adapter.part")
    shutil.rmtree(draft, ignore_errors=True)
    trainer.save_model(str(draft))
    trainer.processing_class.save_pretrained(str(draft))
    for name in ("training_args.bin", "README.md"):  # a pickle, and a card that says nothing
        (draft / name).unlink(missing_ok=True)
    shutil.rmtree(place, ignore_errors=True)
    draft.rename(place)


def merge(base: str, adapter: Path, place: Path, dtype: str) -> None:
    """Write the model with its adapter worked in: added in float32, saved as the base is."""
    from transformers import AutoTokenizer

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    draft = place.with_name(f".{place.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    model = PeftModel.from_pretrained(load_model(base, "float32"), str(adapter)).merge_and_unload()
    model.to(getattr(torch, dtype)).save_pretrained(str(draft))
    AutoTokenizer.from_pretrained(str(adapter)).save_pretrained(str(draft))
    shutil.rmtree(place, ignore_errors=True)
    draft.rename(place)
