"""adapters.py BASE OUT: writes OUT/one and OUT/two, two small adapters of BASE with random weights.

They teach nothing: they bend the base enough for its replies to differ, so that a server can be
shown to apply the right one. Each folder holds what `novarag serve-model` reads.
"""

import argparse
import json
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from novarag.sft.lengths import load_ruler
from novarag.sft.train.base import find_base

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
RANKS = {"one": 8, "two": 12}
SIZE = 0.02  # the spread of the weights; a tenth of it changes few replies, twice it ruins them
PROMPT = "In which year was the lamp of the old lighthouse first lit?"


def bend(model: torch.nn.Module, seed: int) -> None:
    """Give the second halves of an adapter, which begin as zeros, random weights."""
    generator = torch.Generator().manual_seed(seed)
    for name, weights in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=SIZE, generator=generator)


def write(base: str, folder: Path, *, rank: int, seed: int) -> None:
    """Write one adapter with the tokenizer of its base, and what serving wants to know."""
    torch.manual_seed(seed)
    plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, use_safetensors=True)
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=TARGETS, task_type="CAUSAL_LM")
    model = get_peft_model(plain, config)
    bend(model, seed)
    model.save_pretrained(str(folder / "adapter"))
    (folder / "adapter" / "README.md").unlink(missing_ok=True)
    ruler, found = load_ruler(base), find_base(base)
    ruler.tokenizer.save_pretrained(str(folder / "adapter"))
    text, tokens = ruler.render(PROMPT)
    told = {
        "made_by": "novarag train",
        "base": {"name": found.name, "place": found.place, "fingerprint": found.fingerprint},
        "tokenizer_sha256": ruler.fingerprint,
        "sample": {"prompt": PROMPT, "text": text, "tokens": tokens},
    }
    (folder / "training.json").write_text(json.dumps(told, indent=2) + "\n", "utf-8")


def main() -> None:
    """Write both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base")
    parser.add_argument("out", type=Path)
    told = parser.parse_args()
    for seed, (name, rank) in enumerate(RANKS.items()):
        write(told.base, told.out / name, rank=rank, seed=seed)


if __name__ == "__main__":
    main()
