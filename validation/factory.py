"""Does an export train in LLaMA-Factory, with no file of it changed?

    python -m validation.factory FOLDER --factory VENV [--questions 48] [--tokenizer MODEL]

Makes an export by our own verbs from simulated replies, trains a tiny random llama on it with the
`llamafactory-cli` of VENV, merges, and looks at what came out. VENV is an environment of its own:
LLaMA-Factory wants older packages than we do (docs/exporting.md says how one is made).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.support.machine import described

TEMPLATE = (
    "{% if messages[0]['role'] != 'system' %}<|start|>system\nYou answer briefly.<|end|>\n{% endif %}"
    "{% for m in messages %}<|start|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
VERBS = (
    "group pool.jsonl --one-each --no-audit --out groups.jsonl",
    "ask groups.jsonl --strategy nova --model simulated:tuned --samples 16 --out run",
    "filter run --out filtered",
    "export filtered --tokenizer {tiny} --base {tiny} --out sft",
)
PACKAGES = ("llamafactory", "torch", "transformers", "peft", "trl", "accelerate", "datasets")
OURS = ("torch", "transformers", "peft")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--factory", type=Path, required=True, help="its environment")
    parser.add_argument("--questions", type=int, default=48)
    parser.add_argument("--tokenizer", help="a chat model's; default: one trained here")
    args = parser.parse_args()
    os.environ["TQDM_DISABLE"] = "1"
    folder = args.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(described())
    factory = args.factory.absolute() / "bin"
    print("its environment:", versions(factory / "python", PACKAGES))
    print("ours:", versions(Path(sys.executable), OURS))
    make_pool(folder, args.questions)
    make_tiny(folder / "tiny", folder / "pool.jsonl", args.tokenizer)
    for line in VERBS:
        novarag(line.format(tiny=folder / "tiny"), folder)
    sft = folder / "sft"
    before = hashes(sft)
    lengths = json.loads((sft / "card.json").read_bytes())["lengths"]
    rows = [json.loads(line) for line in (sft / "train.jsonl").read_bytes().splitlines()]
    print(f"export: {len(rows)} examples, {lengths['least']} to {lengths['most']} tokens")

    log = run_factory(factory, "train train.yaml use_cpu=true", sft / "llama-factory")
    check_log(log, rows, folder / "tiny")
    run_factory(factory, "export merge.yaml", sft / "llama-factory")
    check_weights(folder / "tiny", sft / "llama-factory")
    after = hashes(sft)
    check("every exported file is as it was", {n: after.get(n) for n in before} == before)
    check_shapes(factory / "python", folder / "tiny")


def versions(python: Path, packages: tuple[str, ...]) -> str:
    """Ask an environment what it holds."""
    code = "import sys, importlib.metadata as m; print(*(f'{p} {m.version(p)}' for p in sys.argv[1:]), sep=', ')"
    asked = subprocess.run(
        [python, "-c", code, *packages], capture_output=True, text=True, check=True
    )
    return asked.stdout.strip()


def novarag(line: str, folder: Path) -> None:
    """Run one of our verbs, and end with its words if it fails."""
    print(f"$ novarag {line}".replace(str(folder) + "/", ""))
    done = subprocess.run(
        [sys.executable, "-m", "novarag", *line.split()],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def make_pool(folder: Path, questions: int) -> None:
    novarag("example pool.jsonl", folder)
    pool = folder / "pool.jsonl"
    pool.write_bytes(b"".join(pool.read_bytes().splitlines(keepends=True)[:questions]))


def make_tiny(place: Path, pool: Path, tokenizer: str | None) -> None:
    """Save a random llama of two layers, with a tokenizer and a chat template."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    words = AutoTokenizer.from_pretrained(tokenizer) if tokenizer else train_tokenizer(pool)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=4096,
        bos_token_id=words.bos_token_id, eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )  # fmt: skip
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(place)
    words.save_pretrained(place)


def train_tokenizer(pool: Path) -> object:
    """Train byte pairs on the pool and our prompt; it knows every text, for it knows all bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    from novarag.strategies import NOVA

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    special = ["<|pad|>", "<|start|>", "<|end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=1024, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    bare.train_from_iterator([*pool.read_text("utf-8").splitlines(), NOVA.template.text], trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare, pad_token="<|pad|>", bos_token="<|start|>", eos_token="<|end|>"
    )
    made.chat_template = TEMPLATE
    return made


def run_factory(factory: Path, line: str, folder: Path) -> str:
    """Run LLaMA-Factory from the exported folder and return what it says."""
    env = {"OMP_NUM_THREADS": "1", **os.environ, "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
    began = time.monotonic()
    done = subprocess.run(
        [factory / "llamafactory-cli", *line.split()],
        cwd=folder, env=env, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stdout[-6000:])
    print(f"$ llamafactory-cli {line}: exit 0 after {time.monotonic() - began:.0f} s")
    return done.stdout


def check(said: str, true: bool) -> None:
    """Print what was found, and end where it is not so."""
    print(f"  {'yes' if true else 'NO'}: {said}")
    if not true:
        sys.exit(1)


def check_log(log: str, rows: list[dict[str, object]], tiny: Path) -> None:
    """Compare what it trained on with what was exported, token by token for the row it shows."""
    from transformers import AutoTokenizer

    lines = log.splitlines()
    counted = next(int(x.rpartition("=")[2]) for x in lines if "Num examples =" in x)
    check(f"it trains on {counted} examples, as many as exported", counted == len(rows))
    tokens, labels = (
        json.loads(lines[lines.index(f"{n}:") + 1]) for n in ("input_ids", "label_ids")
    )
    words = AutoTokenizer.from_pretrained(tiny)
    asked, said = rows[0]["prompt"], rows[0]["completion"]
    text = words.apply_chat_template(asked + said, tokenize=False)
    begun = words.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    whole = words(text, add_special_tokens=False)["input_ids"]
    prompt = len(words(begun, add_special_tokens=False)["input_ids"])
    check(f"its first example is the chat template's, all {len(whole)} tokens", tokens == whole)
    masked = [-100] * prompt + whole[prompt:]
    check(
        f"the loss is on the completion alone: {prompt} tokens masked, {len(whole) - prompt} not",
        labels == masked,
    )
    loss = next(x.split("=")[1].strip() for x in lines if "train_loss" in x and "=" in x)
    print(f"  mean loss {loss}")


def check_weights(tiny: Path, folder: Path) -> None:
    """Look at the adapter, at the merged model beside base and adapter, and let it speak."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    adapter = load_file(folder / "adapter" / "adapter_model.safetensors")
    moved = {n: w for n, w in adapter.items() if "lora_B" in n}
    live = sum(bool(w.abs().max() > 0) for w in moved.values())
    check(
        f"{live} of {len(moved)} B matrices of the adapter have moved from zero",
        live == len(moved) == 14,
    )
    settings = json.loads((folder / "adapter" / "adapter_config.json").read_bytes())
    scale = settings["lora_alpha"] / settings["r"]
    base = AutoModelForCausalLM.from_pretrained(tiny).state_dict()
    model = AutoModelForCausalLM.from_pretrained(folder / "merged")
    merged = model.state_dict()
    worst = changed = 0.0
    for name, b in moved.items():
        a = adapter[name.replace("lora_B", "lora_A")]
        plain = name.removeprefix("base_model.model.").replace("lora_B.", "")
        wanted = base[plain].float() + scale * b.float() @ a.float()
        ulp = 2.0 ** torch.floor(torch.log2(wanted.abs().clamp_min(1e-30))) * 2**-7
        worst = max(worst, ((merged[plain].float() - wanted).abs() / ulp).max().item())
        changed += (merged[plain] != base[plain]).any().item()
    check(
        f"{changed:g} of {len(moved)} merged matrices differ from the base's", changed == len(moved)
    )
    check(f"merged is base + adapter, to {worst:.2f} of the last bit of bfloat16", worst <= 1.01)
    words = AutoTokenizer.from_pretrained(folder / "merged")
    begun = words.apply_chat_template(
        [{"role": "user", "content": "When did it open?"}],
        add_generation_prompt=True, return_tensors="pt", return_dict=True,
    )  # fmt: skip
    given = begun["input_ids"].shape[1]
    made = model.generate(**begun, max_new_tokens=8, min_new_tokens=8, do_sample=False)
    check("the merged model loads with our transformers and writes", made.shape[1] == given + 8)


def check_shapes(python: Path, tiny: Path) -> None:
    """Have its own code say what it makes of the chat templates of the paper's models."""
    said = subprocess.run(
        [python, Path(__file__).with_name("factory_templates.py"), tiny],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    print("chat templates of the paper's models, in short:")
    print(*(f"  {line}" for line in said.stdout.splitlines() if not line.startswith("[")), sep="\n")


def hashes(folder: Path) -> dict[str, str]:
    """Hash every file in a folder."""
    return {
        str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest()
        for f in sorted(folder.rglob("*")) if f.is_file()
    }  # fmt: skip


if __name__ == "__main__":
    main()
