"""Writes a tiny base model and two folders as `novarag train` leaves them; run by the base install.

    python trained.py FOLDER

The places in them are relative, so that they hold wherever the folder is copied to.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from novarag.sft.lengths import load_ruler
from novarag.sft.train.base import find_base

TEMPLATE = (
    "{% for m in messages %}<|turn|> {{ m['role'] }} {{ m['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|turn|> assistant{% endif %}"
)
WORDS = ("<unk>", "<|turn|>", "<|end|>", "user", "assistant", "who", "lit", "the", "lamp")


def save_tokenizer(folder: Path) -> None:
    bare = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    bare.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare, unk_token="<unk>", eos_token="<|end|>",
        extra_special_tokens=["<|turn|>"],
    )  # fmt: skip
    made.chat_template = TEMPLATE
    made.save_pretrained(folder)


def make_base(folder: Path) -> None:
    save_tokenizer(folder)
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 8192}), "utf-8")
    (folder / "model.safetensors").write_bytes(b"weights")


def make_trained(folder: Path, base: Path, *, rank: int) -> None:
    ruler, found = load_ruler(str(base)), find_base(str(base))
    adapter = folder / "adapter"
    save_tokenizer(adapter)
    (adapter / "adapter_model.safetensors").write_bytes(b"adapter")
    (adapter / "adapter_config.json").write_text(json.dumps({"r": rank}), "utf-8")
    text, tokens = ruler.render("who lit the lamp")
    told = {
        "made_by": "novarag train",
        "base": {"name": found.name, "place": base.name, "fingerprint": found.fingerprint},
        "tokenizer_sha256": ruler.fingerprint,
        "sample": {"prompt": "who lit the lamp", "text": text, "tokens": tokens},
    }
    (folder / "training.json").write_text(json.dumps(told), "utf-8")
    make_base(folder / "merged")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    make_base(place / "tiny")
    make_trained(place / "one", place / "tiny", rank=16)
    make_trained(place / "two", place / "tiny", rank=20)
