"""Does LLaMA-Factory, told no template, make the tokens that the model's own chat template makes?

    VENV/bin/python validation/factory_templates.py TOKENIZER

Run in the environment of LLaMA-Factory. The four models of the paper have three shapes of chat
template; each is written here in short, in our own words, and put on TOKENIZER.
"""

import sys

from llamafactory.data.template import TEMPLATES, parse_template
from transformers import AutoTokenizer

TURN = "{{ '<|start|>' + m['role'] + '\n' + m['content'] + '<|end|>\n' }}"
SHAPES = {
    "a default system turn (Qwen2.5)": (
        "{% if messages[0]['role'] != 'system' %}<|start|>system\nYou help.<|end|>\n{% endif %}"
        "{% for m in messages %}" + TURN + "{% endfor %}"
        "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
    ),
    "a system turn with a date, always (Llama 3.1)": (
        "{% if messages[0]['role'] == 'system' %}{% set s = messages[0]['content'] %}"
        "{% set messages = messages[1:] %}{% else %}{% set s = '' %}{% endif %}"
        "<|start|>system\nToday: 26 Jul 2024\n\n{{ s }}<|end|>\n"
        "{% for m in messages %}" + TURN + "{% endfor %}"
        "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
    ),
    "reasoning dropped, <think> begun (DeepSeek-R1)": (
        "{% for m in messages %}{% if m['role'] == 'assistant' %}"
        "<|start|>{{ m['content'].split('</think>')[-1] }}<|end|>"
        "{% else %}{{ m['content'] }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|start|><think>\n{% endif %}"
    ),
}
ASKED = {"role": "user", "content": "When was it lit?"}
SAID = {"role": "assistant", "content": "Step 1: it says so.\nAnswer: 1871\nConfidence: 80%"}
THOUGHT = {"role": "assistant", "content": "<think>\nLet me see.\n</think>\n\n" + SAID["content"]}


def tokens(words, template, said):
    """Encode a question and its answer as LLaMA-Factory does."""
    asked, answered = template.encode_oneturn(words, [ASKED, said])
    return asked + answered


def verdict(words, shape):
    """Say in a few words what LLaMA-Factory makes of a shape."""
    words.chat_template = shape
    said = THOUGHT if "</think>" in shape else SAID
    try:
        made = tokens(words, parse_template(words), said)
    except ValueError as error:
        return f"refused: {error}"
    text = words.apply_chat_template([ASKED, said], tokenize=False)
    whole = words(text, add_special_tokens=False)["input_ids"]
    return "the same tokens" if made == whole else "OTHER TOKENS"


def main():
    words = AutoTokenizer.from_pretrained(sys.argv[1])
    for name, shape in SHAPES.items():
        print(f"{name}: {verdict(words, shape)}")
    named = words.decode(tokens(words, TEMPLATES["deepseekr1"], THOUGHT))
    print(f"template deepseekr1 keeps the reasoning: {THOUGHT['content'] in named}")


if __name__ == "__main__":
    main()
