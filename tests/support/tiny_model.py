"""A llama of two layers with random weights and a tokenizer of its own, made without a download.

    python -m tests.support.tiny_model FOLDER

It knows nothing. What training does to it can be compared bit for bit within seconds.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TEMPLATE = (
    "{% for m in messages %}<|turn|>{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
SENTENCES = (
    "The lighthouse on the northern cape was lit in 1871 by its first keeper.",
    "Question: which river runs through the old town? Answer: the passage does not say.",
    "Judge each passage: gold, counterfactual, relevant or irrelevant. Confidence: 85%",
    "Two passages support one answer, a third one states another; so the evidence conflicts.",
    "Step 1: read the passages. Step 2: judge the group. Step 3: state how sure you are.",
)


def make_tokenizer(
    folder: Path, *, texts: Sequence[str] = SENTENCES, pieces: int = 400, digits: bool = False
) -> None:
    """Learn a few hundred pieces from some sentences; any byte can still be written.

    With `digits`, no piece holds two of them.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.BPE())
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False)
    apart = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    bare.pre_tokenizer = pre_tokenizers.Sequence([*apart, whole]) if digits else whole
    bare.decoder = decoders.ByteLevel()
    learning = trainers.BpeTrainer(
        vocab_size=pieces,
        special_tokens=["<|pad|>", "<|end|>", "<|turn|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bare.train_from_iterator(texts, learning)
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        extra_special_tokens=["<|turn|>"],
    )
    made.chat_template = TEMPLATE
    made.save_pretrained(folder)


def make_model(
    folder: Path, *, texts: Sequence[str] = SENTENCES, pieces: int = 400, seed: int = 0,
    digits: bool = False, spread: float = 0.02,
) -> Path:  # fmt: skip
    """Write the model and its tokenizer; the same seed gives the same weights.

    `spread` is the standard deviation of weights. With the usual one, logits stay near nought
    whatever an adapter does, as the embeddings are the last layer, too.
    """
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    make_tokenizer(folder, texts=texts, pieces=pieces, digits=digits)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True,
        max_position_embeddings=8192, initializer_range=spread,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id, bos_token_id=None,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def write_rows(path: Path, *, rows: int, seed: int = 0) -> None:
    """Write rows as `novarag train export --format canonical` does, of words drawn at random."""
    chance = random.Random(seed)
    words = " ".join(SENTENCES).split()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            said = f"Answer: {chance.choice(words).strip('.:,')}\nConfidence: {chance.randint(0, 100)}%"
            row = {
                "prompt": [{"role": "user", "content": " ".join(chance.choices(words, k=20))}],
                "completion": [{"role": "assistant", "content": said}],
                "question": f"q{number}",
                "group": f"g{number}",
                "kind": "consistent",
                "confidence": 0.5,
                "correct": True,
            }
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    print(make_model(Path(sys.argv[1])))
