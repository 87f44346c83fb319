"""Turns a GGUF file into a model folder that vLLM and transformers read.

Usage: ``convert.py WEIGHTS.gguf FOLDER``. A model loaded from GGUF refuses to be saved, so its
weights go, each of them accounted for, into a fresh model of the same configuration.
"""

import sys
from pathlib import Path

import torch
from gguf import GGUFReader
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GgufConfig


def convert(gguf: Path, folder: Path) -> None:
    """Writes the weights of ``gguf`` in bfloat16, with tokenizer and chat template, to ``folder``.

    Raises:
        RuntimeError: A weight is missing, left over or of the wrong shape.
        ValueError: The file has no chat template, or what it says of its output matrix is not so.
    """
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    if not tokenizer.chat_template:
        raise ValueError(f"{gguf.name} has no chat template")
    packed = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    ).to(torch.bfloat16)  # at once, or both models together would take half as much memory again
    # Read anew: the loaded model's own configuration says that its weights are quantized.
    config = AutoConfig.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # An output matrix of its own would be lost if it were tied to the embeddings.
    own = any(tensor.name == "output.weight" for tensor in GGUFReader(gguf).tensors)
    if own == bool(config.tie_word_embeddings):
        said = f"tie_word_embeddings={config.tie_word_embeddings}"
        raise ValueError(f"{gguf.name} has {'an' if own else 'no'} output matrix, yet {said}")
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    weights = packed.state_dict()
    model.load_state_dict(weights, strict=True)
    del packed, weights
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
