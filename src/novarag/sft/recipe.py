"""How the paper trained: by its text, by the files released since, and by assumption elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.sft.train.settings import SAID, TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class RecipeConstant:
    """One setting of a trainer, and who states it: the paper, the released files, or we."""

    name: str
    value: float | str | bool
    said: str


_USUAL = TrainingSettings()  # what `novarag train fit` does: stated once
_ROUNDS = _USUAL.accumulation(1)
METHOD = (
    RecipeConstant("stage", "sft", "paper: supervised fine-tuning"),
    RecipeConstant("finetuning_type", "lora", "paper: LoRA"),
    RecipeConstant("lora_rank", _USUAL.rank, SAID["rank"]),
    RecipeConstant("lora_alpha", _USUAL.alpha or 0, SAID["alpha"]),
    RecipeConstant("lora_dropout", _USUAL.dropout, SAID["dropout"]),
    RecipeConstant("lora_target", "all", SAID["targets"]),
)
TRAINING = (
    RecipeConstant("learning_rate", _USUAL.learning_rate, SAID["learning_rate"]),
    RecipeConstant("num_train_epochs", _USUAL.epochs, SAID["epochs"]),
    RecipeConstant("lr_scheduler_type", _USUAL.schedule, SAID["schedule"]),
    RecipeConstant("warmup_ratio", _USUAL.warmup, SAID["warmup"]),
    RecipeConstant(
        "per_device_train_batch_size",
        _USUAL.at_once,
        f"released; {_USUAL.at_once} x {_ROUNDS} on one device is a batch of {_USUAL.batch}",
    ),
    RecipeConstant(
        "gradient_accumulation_steps",
        _ROUNDS,
        "released: 8 on four devices; with n devices, 32 / n",
    ),
    RecipeConstant("bf16", True, "released; set to false where the device cannot"),
    RecipeConstant("seed", _USUAL.seed, SAID["seed"]),
)
TRAINED = (
    RecipeConstant("output_dir", "adapter", ""),
    RecipeConstant("save_strategy", "epoch", "the last one counts, or choose by a dev split"),
    RecipeConstant("logging_steps", 10, ""),
    RecipeConstant("report_to", "none", ""),
)
MERGED = (
    RecipeConstant("export_dir", "merged", ""),
    RecipeConstant("export_size", 5, "assumed: gigabytes a file"),
    RecipeConstant("export_device", "cpu", "assumed"),
    RecipeConstant("export_legacy_format", False, ""),
)
_UNSET = (
    "# template: unset, so the chat template of the tokenizer is taken. One that drops reasoning,",
    "# as that of DeepSeek-R1, cannot be taken so: write template: deepseekr1",
)
PAPER_LENGTH = _USUAL.max_length
PLACEHOLDER = "path/to/model"


def train_yaml(*, dataset: str, dev: str | None, base: str | None, longest: int) -> str:
    """Write the settings of a training by LLaMA-Factory, each with where it is from."""
    said = "paper: 2048" if longest == PAPER_LENGTH else "set by --max-length"
    data = [
        RecipeConstant("dataset_dir", ".", "this folder, with dataset_info.json"),
        RecipeConstant("dataset", dataset, "or the same samples in the other shape"),
        RecipeConstant("cutoff_len", longest, f"{said}; what is longer would be cut"),
    ]
    watched = [
        RecipeConstant("eval_dataset", dev or "", "released: a tenth; here of whole questions"),
        RecipeConstant("eval_strategy", "epoch", "assumed"),
    ]
    return "\n".join([
        "# Train with LLaMA-Factory, from this folder: llamafactory-cli train train.yaml",
        "# Without a GPU, add use_cpu=true to that line. No file here needs a change for it.",
        "# Each constant is marked: paper (the paper states it), released (the authors' files do)",
        "# or assumed (neither does).",
        *_model(base),
        *_section("method", [RecipeConstant("do_train", True, ""), *METHOD]),
        *_section("dataset", data + watched if dev else data),
        *_section("training", TRAINING),
        *_section("output", TRAINED),
        "",
    ])  # fmt: skip


def merge_yaml(*, base: str | None) -> str:
    """Write the settings that merge the trained adapter into its model."""
    adapter = [
        RecipeConstant("adapter_name_or_path", "adapter", "the output of train.yaml"),
        RecipeConstant("finetuning_type", "lora", ""),
    ]
    return "\n".join([
        "# Merge the adapter into its model, after training: llamafactory-cli export merge.yaml",
        *_model(base),
        *_section("adapter", adapter),
        *_section("output", MERGED),
        "",
    ])  # fmt: skip


def _model(base: str | None) -> list[str]:
    hint = "" if base else "put the model here that gave these replies"
    chosen = [
        RecipeConstant("model_name_or_path", base or PLACEHOLDER, hint),
        RecipeConstant("trust_remote_code", False, ""),
    ]
    return [*_section("model", chosen), *_UNSET]


def _section(title: str, constants: Iterable[RecipeConstant]) -> list[str]:
    return ["", f"### {title}", *map(_line, constants)]


def _line(constant: RecipeConstant) -> str:
    """Write one setting; JSON is YAML too, and quotes whatever a path may hold."""
    value, said = constant.value, f"  # {constant.said}" if constant.said else ""
    small = isinstance(value, float) and 0 < value < 0.001
    shown = f"{value:.1e}" if small else json.dumps(value)  # YAML takes 5e-05 for a text
    return f"{constant.name}: {shown}{said}"
