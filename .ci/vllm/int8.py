"""int8.py MODEL OUT [ADAPTER]: writes MODEL in int8, with a LoRA adapter worked in if one is named.

Weights of linear layers are rounded to 8 bits by output channel, activations while they are
computed, by token (W8A8, the layout `compressed-tensors` that vLLM reads). On a processor with int8
products and without bfloat16 this is faster than float32 and takes a quarter of the memory.
It is a model of its own: whoever compares two, compares them both in int8.
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
BITS = {"num_bits": 8, "type": "int", "symmetric": True}
QUANTIZED = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "quantization_status": "compressed",
    "ignore": ["lm_head"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": BITS | {"strategy": "channel", "dynamic": False},
            "input_activations": BITS | {"strategy": "token", "dynamic": True},
        }
    },
}


def is_linear(name: str) -> bool:
    """Say whether a weight is that of a linear layer inside a block."""
    return ".layers." in name and name.endswith(tuple(f".{part}.weight" for part in LINEAR))


def rounded(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Round a matrix to whole numbers from -127 to 127, with one scale for each output."""
    scale = weight.float().abs().amax(dim=1, keepdim=True).clamp_min(1e-8) / 127
    return torch.round(weight.float() / scale).to(torch.int8), scale


def deltas(adapter: Path) -> dict[str, torch.Tensor]:
    """Return what a LoRA adapter adds to each weight."""
    told = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    factor = told["lora_alpha"] / told["r"]
    found = {}
    with safe_open(adapter / "adapter_model.safetensors", "pt") as file:
        for name in file.keys():  # noqa: SIM118 - it is no dict
            if name.endswith(".lora_A.weight"):
                other = name.replace(".lora_A.", ".lora_B.")
                place = name.removeprefix("base_model.model.").replace(".lora_A.", ".")
                down, up = file.get_tensor(name).float(), file.get_tensor(other).float()
                found[place] = factor * up @ down
    return found


def write(model: Path, out: Path, adapter: Path | None = None) -> None:
    """Write the model in int8; the folder appears when it is whole.

    Raises:
        ValueError: The adapter has a weight that the model lacks.
    """
    added = deltas(adapter) if adapter else {}
    made: dict[str, torch.Tensor] = {}
    for path in sorted(model.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118 - it is no dict
                weight = file.get_tensor(name)
                if name in added:
                    weight = weight.float() + added.pop(name)
                if is_linear(name):
                    made[name], made[f"{name}_scale"] = rounded(weight)
                else:
                    made[name] = weight.contiguous()
    if added:
        raise ValueError(f"the model has no {min(added)}")
    draft = out.with_name(f"{out.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for path in model.iterdir():
        if path.is_file() and ".safetensors" not in path.name:
            shutil.copy(path, draft)
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = QUANTIZED
    (draft / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save_file(made, draft / "model.safetensors", metadata={"format": "pt"})
    draft.rename(out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("adapter", type=Path, nargs="?")
    given = parser.parse_args()
    write(given.model, given.out, given.adapter)
