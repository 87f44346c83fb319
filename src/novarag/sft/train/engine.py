"""The trainer itself: TRL's SFTTrainer with PEFT's LoRA. All of torch is behind this door.

It comes with the extra `novarag[train]`. Weights are read and written as safetensors alone, and no
code that comes with a model is run.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset, disable_progress_bars
from peft import LoraConfig, PeftModel
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    PrinterCallback,
    TrainerCallback,
    TrainerState,
    logging,
)
from transformers.pytorch_utils import Conv1D
from trl import SFTConfig, SFTTrainer

from novarag.atomic import whole_folder
from novarag.errors import StorageError, UsageError
from novarag.sft.formats import canonical_row
from novarag.sft.lengths import DATE
from novarag.sft.train.checkpoints import keep_last, seal
from novarag.sft.train.losses import LevelTrainer, mask_numbers, set_level_loss
from novarag.sft.train.progress import TrainingSnapshot
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from novarag.sft.examples import TrainingExample
    from novarag.sft.train.training import TrainingJob

_WIDTH = 64  # tokens; a CPU prepares its arithmetic anew for every shape, so there are few
PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate")


def precision() -> str:
    """Name the arithmetic of this machine: bfloat16 where it has it."""
    if torch.cuda.is_available():
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    known = torch.cpu.get_capabilities()
    return "bfloat16" if known.get("avx512_bf16") or known.get("amx_bf16") else "float32"


def fit(
    job: TrainingJob, resume: Path | None, on_event: Callable[[TrainingSnapshot], None]
) -> list[dict[str, Any]]:
    """Train the adapter and write it; return the log of the training, a row for each step."""
    disable_progress_bars()
    _quiet()
    trainer = make_trainer(job)
    _check_lengths(trainer, job.settings.max_length)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(_CheckpointWatch(trainer, on_event))
    _run(trainer, resume)
    _watch_the_end(trainer)
    if trainer.is_world_process_zero():
        _write_adapter(trainer, job.out / "adapter")
    trainer.accelerator.wait_for_everyone()
    return list(trainer.state.log_history)


def _run(trainer: SFTTrainer, resume: Path | None) -> None:
    """Train to the last step; what stands at it already is loaded and left as it is.

    The trainer itself would take one step more where the last is in the middle of an epoch.
    """
    if resume is not None:
        state = TrainerState.load_from_json(str(resume / "trainer_state.json"))
        if state.global_step >= state.max_steps:
            trainer._load_from_checkpoint(str(resume))
            trainer.state = state
            return
    trainer.train(resume_from_checkpoint=str(resume) if resume else None)


def _watch_the_end(trainer: SFTTrainer) -> None:
    """Take the last loss on the dev split, if a kill came between the last step and that."""
    step, log = trainer.state.global_step, trainer.state.log_history
    if trainer.eval_dataset and not any("eval_loss" in r and r["step"] == step for r in log):
        trainer.evaluate()


def make_trainer(job: TrainingJob) -> SFTTrainer:
    """Load the model and set the trainer up: completions alone are learnt, and nothing is cut."""
    settings = job.settings
    exact = precision() == "float32"
    devices = max(1, int(SFTConfig(output_dir=str(job.out), **_place()).world_size))
    rounds = settings.accumulation(devices)
    samples = len(job.splits["train"])
    config = SFTConfig(
        output_dir=str(job.out / "checkpoints"),
        learning_rate=settings.learning_rate,
        num_train_epochs=settings.epochs,
        lr_scheduler_type=settings.schedule,
        warmup_steps=settings.warmup_steps(samples),
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
        pad_to_multiple_of=_WIDTH,
        save_strategy="steps",
        save_steps=settings.save_every or max(1, round(settings.steps(samples) / 10)),
        eval_strategy="epoch" if "dev" in job.splits else "no",
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        **_place(),
    )
    model = load_model(job.base.place, "float32" if exact else "bfloat16")
    _check_targets(model, settings.targets)
    trainer = _Trainer(
        model=model,
        args=config,
        train_dataset=_rows(job.splits["train"]),
        eval_dataset=_rows(job.splits["dev"]) if "dev" in job.splits else None,
        processing_class=job.ruler.tokenizer,
        peft_config=LoraConfig(
            r=settings.rank,
            lora_alpha=int(settings.alpha or 0),
            lora_dropout=settings.dropout,
            target_modules=list(settings.targets),
            layers_to_transform=_upper(model, settings.upper_layers),
            task_type="CAUSAL_LM",
        ),
    )
    if settings.mask_confidence:
        mask_numbers(trainer, job)
    if settings.is_scored:
        set_level_loss(trainer, job)
    return trainer


def _place() -> dict[str, bool]:
    return {"use_cpu": not torch.cuda.is_available()}


def _quiet() -> None:
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _rows(examples: Sequence[TrainingExample]) -> Dataset:
    """Hand over the texts alone; template and loss on the completion are the trainer's part."""
    rows = (canonical_row(example) for example in examples)
    fixed = {"date_string": DATE}  # as the ruler has it, or a training would change overnight
    return Dataset.from_list([
        {"prompt": r["prompt"], "completion": r["completion"], "chat_template_kwargs": fixed}
        for r in rows
    ])  # fmt: skip


def load_model(place: str, dtype: str) -> Any:  # noqa: ANN401 - a class of a library without types
    """Load a causal language model from safetensors."""
    try:
        return AutoModelForCausalLM.from_pretrained(
            place, dtype=getattr(torch, dtype), use_safetensors=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        said = plain_text(" ".join(str(error).split()), longest=300)
        raise UsageError(f"the model {place!r} cannot be loaded: {said}") from error


def _check_targets(model: torch.nn.Module, targets: Sequence[str]) -> None:
    """Refuse names that the model lacks; PEFT would pass over some of them in silence."""
    found: dict[str, None] = {}
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear | Conv1D) and not name.endswith("lm_head"):
            found[name.rpartition(".")[2]] = None
    missing = [name for name in targets if name not in found]
    if missing:
        raise UsageError.saying(
            "the model has no linear layers named {}; give `targets` that it has: {}",
            plain_text(", ".join(missing)),
            plain_text(", ".join(found)),
        )


def _upper(model: Any, count: int) -> list[int] | None:  # noqa: ANN401
    """List the last `count` layers of a model; None for all of them."""
    whole = int(model.config.get_text_config().num_hidden_layers)
    if count > whole:
        raise UsageError.saying("`upper_layers` is {}, and the model has {} layers", count, whole)
    return list(range(whole - count, whole)) if count else None


def _check_lengths(trainer: SFTTrainer, longest: int) -> None:
    """Check that the trainer's tokens are no more than were counted before."""
    found = max(len(row["input_ids"]) for row in trainer.train_dataset)
    if found > longest:
        raise UsageError.saying(
            "the trainer makes {:,} tokens of a sample, more than `max_length={}`", found, longest
        )


@contextmanager
def _written(place: Path) -> Iterator[None]:
    """Turn what libraries raise on a full disk into one line; nothing that counts is lost."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        why = getattr(error, "strerror", None) or plain_text(str(error).partition("\n")[0])
        raise StorageError(
            f"cannot write {place}: {why}. Make room and run the same command to go on"
        ) from error


class _Trainer(LevelTrainer):
    """Says in one line why a checkpoint could not be written."""

    def _save_checkpoint(self, *args: Any, **named: Any) -> None:  # noqa: ANN401
        with _written(Path(self.args.output_dir)):
            super()._save_checkpoint(*args, **named)


class _CheckpointWatch(TrainerCallback):  # type: ignore[misc]  # a library without types
    """Seals checkpoints, and tells how far the training is.

    The trainer counts tokens from nought in each process, so what the log of a resumed training
    says of tokens and seconds goes on from its last row.
    """

    def __init__(self, trainer: SFTTrainer, on_event: Callable[[TrainingSnapshot], None]) -> None:
        self._trainer, self._on_event = trainer, on_event
        self._began, self._first, self._tokens, self._seconds = monotonic(), 0, 0, 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: object) -> None:  # noqa: ANN401, ARG002
        before = [row for row in state.log_history if "loss" in row]
        self._began, self._first = monotonic(), state.global_step
        self._tokens = int(before[-1].get("tokens", 0)) if before else 0
        self._seconds = float(before[-1].get("seconds", 0)) if before else 0.0

    def on_save(self, args: Any, state: Any, control: Any, **_: object) -> None:  # noqa: ANN401, ARG002
        self._trainer.accelerator.wait_for_everyone()  # each process writes its own random state
        if state.is_world_process_zero:
            folder = Path(args.output_dir)
            with _written(folder):
                seal(folder / f"checkpoint-{state.global_step}")
                keep_last(folder)

    def on_log(self, args: Any, state: Any, control: Any, **_: object) -> None:  # noqa: ANN401, ARG002
        row = state.log_history[-1]
        if "loss" not in row:
            return
        if not isfinite(row["loss"]):
            raise UsageError.saying(
                "the loss after step {:,} is {}: the training has come apart; begin again with a"
                " lower `learning_rate` and another `out`",
                state.global_step,
                row["loss"],
            )
        tokens, seconds = int(row.get("num_tokens", 0)), monotonic() - self._began
        row["tokens"], row["seconds"] = self._tokens + tokens, self._seconds + seconds
        if state.is_world_process_zero:
            self._on_event(
                TrainingSnapshot(
                    step=state.global_step,
                    steps=state.max_steps,
                    fresh=state.global_step - self._first,
                    loss=float(row["loss"]),
                    tokens=tokens,
                    seconds=seconds,
                )
            )


def _write_adapter(trainer: SFTTrainer, place: Path) -> None:
    with whole_folder(place, lambda _: None) as draft, _written(place):
        trainer.save_model(str(draft))
        trainer.processing_class.save_pretrained(str(draft))
        for name in ("training_args.bin", "README.md"):  # a pickle, and a card that says nothing
            (draft / name).unlink(missing_ok=True)


def merge(base: str, adapter: Path, place: Path, dtype: str) -> None:
    """Write the model with its adapter worked in: added in float32, saved as the base is."""
    from transformers import AutoTokenizer

    _quiet()
    model = PeftModel.from_pretrained(load_model(base, "float32"), str(adapter)).merge_and_unload()
    with whole_folder(place, lambda _: None) as draft, _written(place):
        model.to(getattr(torch, dtype)).save_pretrained(str(draft))
        AutoTokenizer.from_pretrained(str(adapter)).save_pretrained(str(draft))
