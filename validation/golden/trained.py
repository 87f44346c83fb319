"""Writes a tiny base model and two folders as `novarag train` leaves them: `python trained.py FOLDER`.

Nothing of ours is imported: fingerprints are computed here as they were when the first models were
trained, and folders from then must be served for ever. Places are relative, so that they hold
wherever the folder is copied to.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

TEMPLATE = (
    "{% for m in messages %}<|turn|> {{ m['role'] }} {{ m['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|turn|> assistant{% endif %}"
)
WORDS = ("<unk>", "<|turn|>", "<|end|>", "user", "assistant", "who", "lit", "the", "lamp")
PROMPT = "who lit the lamp"


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


def fingerprint(base: Path) -> str:
    hashed = sha256((base / "config.json").read_bytes())
    weights = base / "model.safetensors"
    hashed.update(f"\x1f{weights.name}\x1f{sha256(weights.read_bytes()).hexdigest()}".encode())
    return hashed.hexdigest()


def make_trained(folder: Path, base: Path, *, rank: int) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    adapter = folder / "adapter"
    save_tokenizer(adapter)
    (adapter / "adapter_model.safetensors").write_bytes(b"adapter")
    (adapter / "adapter_config.json").write_text(json.dumps({"r": rank}), "utf-8")
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": PROMPT}], tokenize=False, add_generation_prompt=True
    )
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    words = tokenizer.backend_tokenizer.to_str()
    facts = {
        "made_by": "novarag train",
        "base": {"name": base.name, "place": base.name, "fingerprint": fingerprint(base)},
        "tokenizer_sha256": sha256(f"{words}\x1f{tokenizer.chat_template}".encode()).hexdigest(),
        "sample": {"prompt": PROMPT, "text": text, "tokens": list(tokens)},
    }
    (folder / "training.json").write_text(json.dumps(facts), "utf-8")
    make_base(folder / "merged")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    make_base(place / "tiny")
    make_trained(place / "one", place / "tiny", rank=16)
    make_trained(place / "two", place / "tiny", rank=20)
