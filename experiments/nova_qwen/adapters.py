"""Adapters in a small file: each matrix in int8, with a scale for every component of its rank.

A part of a training begins from what this file holds, not from what was in memory, so going on from
`results/` on another machine is the same as going on here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SCALE = "@scale"


def packed(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Round matrices to int8 along the rank: rows of the matrices A, columns of the matrices B."""
    made: dict[str, np.ndarray] = {}
    for name, weight in weights.items():
        axis = 1 if ".lora_A." in name else 0
        scale = np.abs(weight).max(axis=axis, keepdims=True).astype(np.float32) / 127
        safe = np.where(scale > 0, scale, 1.0)
        made[name] = np.rint(weight / safe).astype(np.int8)
        made[name + _SCALE] = scale
    return made


def unpacked(made: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the matrices that a packed adapter stands for."""
    return {
        name: values.astype(np.float32) * made[name + _SCALE]
        for name, values in made.items()
        if not name.endswith(_SCALE)
    }


def write(path: Path, weights: Mapping[str, np.ndarray], about: Mapping[str, object]) -> None:
    """Write a packed adapter with what is to be known of it."""
    with path.open("wb") as file:
        np.savez_compressed(file, about=np.array(json.dumps(about)), **packed(weights))


def read(path: Path) -> tuple[dict[str, np.ndarray], dict]:
    """Read a packed adapter: its matrices, and what is known of it."""
    with np.load(path, allow_pickle=False) as file:
        made = {name: file[name] for name in file.files if name != "about"}
        return unpacked(made), json.loads(str(file["about"]))


def write_peft(path: Path, folder: Path, *, base: str, settings: Mapping[str, object]) -> None:
    """Lay a packed adapter out as PEFT does, for whoever merges it."""
    from safetensors.numpy import save_file

    weights, _ = read(path)
    folder.mkdir(parents=True, exist_ok=True)
    told = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base,
            "bias": "none", "lora_dropout": 0.0, "inference_mode": True, **settings}  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    save_file(weights, folder / "adapter_model.safetensors", metadata={"format": "pt"})
