"""Hand-made folders as `novarag train fit` writes them, with a tokenizer of a few words; for tests."""

import json

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from novarag.sft.lengths import load_ruler
from novarag.sft.train.base import find_base

TEMPLATE = (
    "{% for m in messages %}<|turn|> {{ m['role'] }} {{ m['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|turn|> assistant{% endif %}"
)
DATED = "{{ date_string if date_string is defined else strftime_now('%Y') }} " + TEMPLATE
WORDS = ("<unk>", "<|turn|>", "<|end|>", "user", "assistant", "who", "lit", "the", "lamp", "26")
PROMPT = "who lit the lamp"


def save_tokenizer(folder, template=TEMPLATE, words=WORDS):
    bare = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    bare.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare,
        unk_token="<unk>",
        eos_token="<|end|>",
        extra_special_tokens=["<|turn|>"],
    )
    made.chat_template = template
    made.save_pretrained(folder)
    return folder


def make_base(folder, *, template=TEMPLATE, weights=b"weights", positions=8192):
    save_tokenizer(folder, template)
    config = {} if positions is None else {"max_position_embeddings": positions}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def make_model(folder, base, *, rank=16, merged=False, prompt=PROMPT, **config):
    """Write a trained model by the contract, as if it were trained on that base."""
    ruler, found = load_ruler(str(base)), find_base(str(base))
    adapter = folder / "adapter"
    save_tokenizer(adapter, ruler.tokenizer.chat_template)
    (adapter / "adapter_model.safetensors").write_bytes(b"adapter")
    (adapter / "adapter_config.json").write_text(json.dumps({"r": rank} | config), "utf-8")
    text, tokens = ruler.render(prompt)
    told = {
        "made_by": "novarag train",
        "base": {"name": found.name, "place": found.place, "fingerprint": found.fingerprint},
        "tokenizer_sha256": ruler.fingerprint,
        "sample": {"prompt": prompt, "text": text, "tokens": tokens},
    }
    (folder / "training.json").write_text(json.dumps(told), "utf-8")
    if merged:
        make_base(folder / "merged", template=ruler.tokenizer.chat_template)
    return folder
