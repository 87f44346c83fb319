"""Training with torch, TRL and PEFT on a tiny random llama: export, train, merge, load, generate."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.errors import StorageError, UsageError
from novarag.sft.train.settings import TrainingSettings
from novarag.sft.train.training import prepare, train
from tests.support.tiny_model import make_model

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).parents[2]
HOW = {"learning_rate": 0.02, "epochs": 0.5, "batch": 8, "at_once": 4, "save_every": 2}
OPTIONS = [
    part for name, value in HOW.items() for part in (f"--{name.replace('_', '-')}", str(value))
]


def novarag(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of all that follows: a tiny model, and two exports made with our own verbs."""
    folder = tmp_path_factory.mktemp("train")
    shipped = files("novarag").joinpath("strategies", "prompts")
    prompts = [file.read_text("utf-8") for file in shipped.iterdir()]
    make_model(folder / "tiny", texts=prompts, pieces=1000)
    novarag("example", folder / "pool.jsonl")
    novarag(
        "train",
        "group",
        folder / "pool.jsonl",
        "--one-each",
        "--no-audit",
        "--out",
        folder / "groups.jsonl",
    )
    asked = ("--model", "simulated:tuned", "--strategy", "nova", "--samples", 8)
    novarag("ask", folder / "groups.jsonl", *asked, "--temperature", 1, "--out", folder / "run")
    novarag("train", "filter", folder / "run", "--out", folder / "kept")
    told = ("--tokenizer", folder / "tiny", "--dev", 0.1)
    novarag("train", "export", folder / "kept", *told, "--out", folder / "sft")
    novarag("train", "export", folder / "kept", *told, "--label-only", "--out", folder / "short")
    return folder


def line(place, export, out, *more):
    return (
        "train",
        "fit",
        place / export,
        "--base",
        place / "tiny",
        "--out",
        place / out,
        *OPTIONS,
        *more,
    )


@pytest.fixture(scope="module")
def nova(place):
    """A model trained and merged by the command line."""
    result = novarag(*line(place, "sft", "nova", "--merge"))
    assert "tiny, nova:" in result.stderr
    return place / "nova"


@pytest.fixture(scope="module")
def job(place):
    return prepare(place / "sft", str(place / "tiny"), place / "unused", TrainingSettings(**HOW))


def test_upper_layers_alone_are_adapted(place):
    from safetensors import safe_open

    novarag(*line(place, "short", "upper", "--upper-layers", 1))
    with safe_open(place / "upper" / "adapter" / "adapter_model.safetensors", "np") as weights:
        names = list(weights.keys())
    assert names
    assert all(".layers.1." in name for name in names)  # the tiny model has layers 0 and 1
    many = novarag(*line(place, "short", "many", "--upper-layers", 3), code=1)
    assert "--upper-layers is 3, and the model has 2 layers" in str(many.exception)


def load(folder, adapter=None):
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return (PeftModel.from_pretrained(model, adapter) if adapter else model).eval()


def test_what_is_written_is_safetensors_and_words(nova):
    told = json.loads((nova / "training.json").read_bytes())
    assert told["variant"] == "nova"
    assert told["losses"][-1]["loss"] < told["losses"][0]["loss"]
    assert [row["step"] for row in told["losses"]] == list(range(1, len(told["losses"]) + 1))
    assert told["losses"][-1]["tokens"] > 1000
    assert told["dev_losses"][-1]["step"] == told["losses"][-1]["step"]
    ends = {path.suffix for path in nova.rglob("*") if path.is_file()}
    assert ends == {".json", ".md", ".html", ".jinja", ".safetensors"}
    assert not (nova / "checkpoints").exists()
    assert "# tiny, taught nova" in (nova / "README.md").read_text()


def test_the_adapter_changes_replies_and_the_merged_model_is_base_and_adapter(place, nova):
    import torch
    from transformers import AutoTokenizer

    told = json.loads((nova / "training.json").read_bytes())
    tokenizer = AutoTokenizer.from_pretrained(nova / "merged")
    asked = torch.tensor([told["sample"]["tokens"]])
    base, adapted, merged = (
        load(place / "tiny"), load(place / "tiny", nova / "adapter"), load(nova / "merged"),
    )  # fmt: skip
    with torch.no_grad():
        logits = [model(asked).logits for model in (base, adapted, merged)]
        replies = [
            model.generate(asked, max_new_tokens=12, do_sample=False)[0, asked.shape[1] :].tolist()
            for model in (base, adapted, merged)
        ]
    assert (logits[1] - logits[2]).abs().max() < 1e-4
    assert (logits[0] - logits[1]).abs().max() > 0.1
    assert replies[0] != replies[1]
    assert replies[1] == replies[2]
    assert tokenizer.decode(replies[2])


def test_the_loss_is_on_the_completion_alone_to_the_end_of_the_turn(job):
    from novarag.sft.train.engine import make_trainer

    trainer = make_trainer(job)
    tokenizer = job.ruler.tokenizer
    said = {(tuple(job.ruler.render(e.prompt)[1]), e.completion) for e in job.splits["train"]}
    batch = next(iter(trainer.get_train_dataloader()))
    assert len(batch["labels"]) == HOW["at_once"]
    for tokens, labels in zip(batch["input_ids"], batch["labels"], strict=True):
        learnt = labels[labels != -100]
        assert learnt[-1] == tokenizer.eos_token_id
        completion = tokenizer.decode(learnt[:-1], clean_up_tokenization_spaces=False)
        before = tokens[: int((labels != -100).nonzero()[0])]
        assert (tuple(before.tolist()), completion) in said


def test_what_is_too_long_is_left_out_never_cut(place):
    card = json.loads((place / "sft" / "card.json").read_bytes())
    longest = card["lengths"]["median"]
    settings = TrainingSettings(**HOW, max_length=longest)
    job = prepare(place / "sft", str(place / "tiny"), place / "other", settings)
    lengths = [job.ruler.measure(example)[0] for example in job.splits["train"]]
    assert max(lengths) <= longest
    rows = (place / "sft" / "train.jsonl").read_text().count("\n")
    assert job.left_out["train"] == {f"longer than {longest} tokens": rows - len(lengths)}
    assert len(lengths) < rows


def whole_until_the_end(save):
    def full(self, folder=None, **named):
        if Path(folder).name.startswith(".adapter."):
            raise OSError(28, "No space left on device")
        save(self, folder, **named)

    return full


def test_a_full_disk_stops_in_one_line_and_the_same_command_goes_on(place, monkeypatch):
    from novarag.sft.train.engine import _Trainer

    write, written = _Trainer._save_rng_state, []

    def full(self, folder):
        written.append(folder)
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        write(self, folder)

    with monkeypatch.context() as disk:
        disk.setattr(_Trainer, "_save_rng_state", full)
        stopped = novarag(*line(place, "short", "label-only"), code=1)
    assert isinstance(stopped.exception, StorageError)
    assert "No space left on device. Make room and run the same command" in str(stopped.exception)
    with monkeypatch.context() as disk:
        disk.setattr(_Trainer, "save_model", whole_until_the_end(_Trainer.save_model))
        stopped = novarag(*line(place, "short", "label-only"), code=1)
    assert isinstance(stopped.exception, StorageError)
    assert "found: checkpoint-4 was not whole and is cleared away" in stopped.stderr
    assert "found: going on after step 2" in stopped.stderr
    result = novarag(*line(place, "short", "label-only"))
    assert "found: going on after step 6" in result.stderr
    told = json.loads((place / "label-only" / "training.json").read_bytes())
    assert told["variant"] == "label-only"
    assert [row["step"] for row in told["losses"]] == [1, 2, 3, 4, 5, 6]  # and no seventh
    assert [row["step"] for row in told["dev_losses"]] == [6]
    tokens = [row["tokens"] for row in told["losses"]]
    assert tokens == sorted(set(tokens))


def test_layers_that_a_model_does_not_have_are_named_with_those_it_has():
    from transformers import GPT2Config, GPT2LMHeadModel

    from novarag.sft.train.engine import _check_targets

    model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=9))
    with pytest.raises(UsageError, match=r"named q_proj; give `targets` that it has: c_attn"):
        _check_targets(model, ["c_attn", "q_proj"])
    _check_targets(model, ["c_attn", "c_proj", "c_fc"])


def test_a_loss_that_is_no_number_ends_the_training(place):
    wild = TrainingSettings(**HOW | {"learning_rate": 1e30})
    job = prepare(place / "short", str(place / "tiny"), place / "wild", wild)
    with pytest.raises(UsageError, match="come apart; begin again with a lower `learning_rate`"):
        train(job, on_event=lambda _: None, notice=lambda _: None)


def test_kills_change_no_bit():
    command = [sys.executable, "-m", "validation.train_crashes", "--random", "1", "--writes", "1"]
    done = subprocess.run(
        command, cwd=ROOT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("28/28 tensors the same bits") == 2
