"""What each loss teaches a tiny random llama: which tokens its gradient reaches, and its optimum."""

import json
import re
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.errors import UsageError
from novarag.sft.lengths import load_ruler
from novarag.sft.train.scored import number_place
from novarag.sft.train.settings import TrainingSettings
from novarag.sft.train.training import prepare
from tests.support.tiny_model import make_model, write_rows

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
HOW = {"learning_rate": 0.01, "epochs": 1.0, "batch": 4, "at_once": 4, "save_every": 2}


def novarag(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("losses")
    make_model(folder / "tiny")
    write_rows(folder / "rows" / "train.jsonl", rows=8)
    write_rows(folder / "rows" / "dev.jsonl", rows=4, seed=1)
    return folder


def trainer_of(place, **changed):
    from novarag.sft.train.engine import make_trainer

    settings = TrainingSettings(**HOW | changed)
    out = Path(tempfile.mkdtemp(dir=place))
    job = prepare(place / "rows", str(place / "tiny"), out, settings)
    return job, make_trainer(job)


def test_a_masked_number_gets_no_gradient_and_the_rest_of_the_reply_does(place):
    job, trainer = trainer_of(place, mask_confidence=True)
    assert trainer.train_dataset.num_rows == 8
    for split, rows in (("train", trainer.train_dataset), ("dev", trainer.eval_dataset)):
        for example, row in zip(job.splits[split], rows, strict=True):
            found = number_place(job.ruler, example)
            _, asked = job.ruler.render(example.prompt)
            expected = [
                i for i in range(len(asked), len(found.tokens))
                if not found.first <= i < found.last
            ]  # fmt: skip
            assert [i for i, label in enumerate(row["labels"]) if label != -100] == expected
    batch = trainer.data_collator([trainer.train_dataset[i] for i in range(4)])
    made = trainer.model(**batch)
    made.logits.retain_grad()
    made.loss.backward()
    reached = made.logits.grad.abs().sum(-1) > 0
    for i in range(4):
        found = number_place(job.ruler, job.splits["train"][i])
        assert not reached[i, found.first - 1 : found.last - 1].any()
        assert reached[i, found.first - 2]
        assert reached[i, found.last - 1 : len(found.tokens) - 1].all()


@pytest.fixture(scope="module")
def digits(place):
    """A model that takes digits one by one, and replies of its own, right and wrong."""
    make_model(place / "digits" / "tiny", digits=True)
    write_rows(place / "digits" / "rows" / "train.jsonl", rows=12)
    write_rows(place / "digits" / "rows" / "dev.jsonl", rows=4, seed=1)
    for path in (place / "digits" / "rows").iterdir():
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        graded = (row | {"correct": i % 3 == 0} for i, row in enumerate(rows))
        path.write_text("".join(json.dumps(row) + "\n" for row in graded))
    return place / "digits"


@pytest.mark.parametrize("loss", ["level-entropy", "tokenized-brier", "mean-brier"])
def test_a_loss_on_levels_reaches_the_confidence_alone(digits, loss):
    import torch

    job, trainer = trainer_of(digits, loss=loss)
    loader = trainer.get_train_dataloader()
    batch = next(iter(loader))
    assert sorted(batch) == ["attention_mask", "input_ids", "labels", "level", "target"]
    for tokens, labels in zip(batch["input_ids"], batch["labels"], strict=True):
        (at,) = (labels != -100).nonzero(as_tuple=True)
        said = job.ruler.tokenizer.decode(tokens[at])
        assert re.fullmatch(r"[0-9]5%\s*<\|end\|>\s*", said)  # the level, and what ends the reply
        assert job.ruler.tokenizer.decode(tokens[: at[0]]).endswith("Confidence: ")
    seen = []

    def watched(**given):
        made = trainer.model(**given)
        made.logits.retain_grad()
        seen.append((made.logits, given["logits_to_keep"]))
        return made

    each = trainer.level_loss.of_samples(watched, batch)
    each.sum().backward()
    ((made, kept),) = seen
    exactly = 1e-2 if made.dtype is torch.bfloat16 else 1e-6  # gradients are in the model's numbers
    logits = made.detach().float()
    names = job.ruler.tokenizer.convert_tokens_to_ids(list("0123456789"))
    for row, labels in enumerate(batch["labels"]):
        first = int((labels != -100).nonzero()[0])
        reached = {int(kept[i]) for i in made.grad[row].abs().sum(-1).nonzero().flatten()}
        assert reached == {first - 1, *range(first, int(labels.ne(-100).sum()) + first - 1)}
        at_level = made.grad[row, (kept == first - 1).nonzero().item()]
        all_of_it = torch.softmax(logits[row, (kept == first - 1).nonzero().item()], -1)
        form = -all_of_it[names].sum().log()  # that a level stands here
        others = [i for i in range(len(all_of_it)) if i not in names]
        count = int((labels != -100).sum())
        assert at_level[others].tolist() == pytest.approx(
            (all_of_it[others] / count).tolist(), exactly
        )
        q = torch.softmax(logits[row, (kept == first - 1).nonzero().item(), names], -1)
        values = torch.arange(10) / 10 + 0.05
        target, level = batch["target"][row], int(batch["level"][row])
        assert level == (9 if target else 0)
        score = {
            "level-entropy": -q[level].log(),
            "tokenized-brier": (q * (values - target) ** 2).sum(),
            "mean-brier": ((q * values).sum() - target) ** 2,
        }[loss]
        ends = [
            torch.log_softmax(logits[row, (kept == first + i).nonzero().item()], -1)[token]
            for i, token in enumerate(labels[labels != -100][1:])
        ]
        assert len(ends) == count - 1
        assert each[row].item() == pytest.approx((score + (form - sum(ends)) / count).item(), 1e-4)


def test_the_optimum_is_the_true_frequency():
    import torch

    from novarag.sft.levels import ConfidenceLevels
    from novarag.sft.train.losses import SCORES

    levels = ConfidenceLevels(10)
    values, share = torch.tensor(levels.values), torch.tensor([0.07, 0.28, 0.62, 0.91])
    best = {}
    for name, score in SCORES.items():
        logits = torch.zeros(4, 10, requires_grad=True)
        step = torch.optim.Adam([logits], lr=0.2)
        for _ in range(400):
            wrong, right = (
                score(logits, (values - bit).expand(4, 10), torch.tensor([levels.nearest(bit)] * 4))
                for bit in (0.0, 1.0)
            )
            step.zero_grad()
            ((1 - share) * wrong + share * right).sum().backward()
            step.step()
        best[name] = torch.softmax(logits.detach(), -1)
    assert (best["mean-brier"] @ values - share).abs().max() < 0.005
    assert best["tokenized-brier"].argmax(-1).tolist() == [levels.nearest(s.item()) for s in share]
    assert best["tokenized-brier"].max(-1).values.min() > 0.9
    assert (best["level-entropy"][:, 9] - share).abs().max() < 0.005  # of bits: two levels


def test_a_step_is_the_mean_over_its_samples_however_they_are_taken(digits):
    grads = []
    for at_once in (4, 2):
        _, trainer = trainer_of(digits, loss="mean-brier", at_once=at_once)
        rows = [trainer.train_dataset[i] for i in range(4)]
        parts = [trainer.data_collator(rows[i : i + at_once]) for i in range(0, len(rows), at_once)]
        count = sum((part["labels"] != -100).sum() for part in parts)
        trainer.model.train()
        for part in parts:
            trainer.compute_loss(trainer.model, part, num_items_in_batch=count).backward()
        grads.append({n: p.grad for n, p in trainer.model.named_parameters() if p.requires_grad})
        assert trainer.compute_loss(trainer.model, parts[0]).ndim == 0
    assert any(grad.abs().max() > 0 for grad in grads[0].values())
    for name, grad in grads[0].items():
        assert (grad - grads[1][name]).abs().max() < 1e-6, name


def test_levels_that_a_tokenizer_cuts_are_refused(digits, place):
    with pytest.raises(UsageError, match=r"101 levels by one token of its own \(.*`levels=10`"):
        trainer_of(digits, loss="tokenized-brier", levels=101)
    make_model(place / "pairs" / "tiny", texts=["Confidence: 75% 75% 75% 75% 95 95 95"], pieces=300)
    write_rows(place / "pairs" / "rows" / "train.jsonl", rows=4)
    with pytest.raises(UsageError, match=r"each of 10 levels by one token .*`loss='text'`"):
        trainer_of(place / "pairs", loss="tokenized-brier")


def test_two_answers_get_the_frequency_of_each(place):
    """The toy: one answer is right three times of four, the other once; the levels say so."""
    import torch

    folder = place / "toy"
    make_model(folder / "tiny", digits=True, spread=0.2)
    rows = [
        {
            "prompt": [{"role": "user", "content": "Which?"}],
            "completion": [{"role": "assistant", "content": f"Answer: {said}\nConfidence: 50%"}],
            "question": f"{said}{i}", "group": f"{said}{i}", "kind": None, "confidence": 0.5,
            "correct": i < right,
        }
        for said, right in (("river", 3), ("keeper", 1))
        for i in range(4)
    ]  # fmt: skip
    (folder / "rows").mkdir()
    (folder / "rows" / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    novarag(
        "train", "fit", folder / "rows", "--base", folder / "tiny", "--out", folder / "out",
        "--loss", "level-entropy", "--batch", 8, "--at-once", 8, "--learning-rate", 0.01,
        "--epochs", 120, "--merge", "--no-gradient-checkpointing", "--save-every", 100,
    )  # fmt: skip
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder / "out" / "merged", dtype=torch.float32)
    ruler = load_ruler(str(folder / "tiny"))
    names = ruler.tokenizer.convert_tokens_to_ids(list("0123456789"))
    values = torch.arange(10) / 10 + 0.05
    asked, _ = ruler.render("Which?")
    for said, share in (("river", 0.75), ("keeper", 0.25)):
        text = f"{asked}Answer: {said}\nConfidence: "
        tokens = ruler.tokenizer(text, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0, -1]
        among = torch.softmax(logits[names], -1)  # of bits: the lowest level and the highest
        assert float(among @ values) == pytest.approx(0.05 + 0.9 * share, abs=0.03)
        assert float(torch.softmax(logits, -1)[names].sum()) > 0.9  # it does state a level
        more = model.generate(torch.tensor([tokens]), max_new_tokens=8, do_sample=False)
        assert re.fullmatch(r"\d5%\s*<\|end\|>.*", ruler.tokenizer.decode(more[0, len(tokens) :]))


def test_a_killed_training_of_levels_goes_on_to_the_same_weights(digits, monkeypatch):
    from safetensors.torch import load_file

    from novarag.sft.train.engine import _Trainer
    from novarag.sft.train.training import train

    def job(out):
        settings = TrainingSettings(**HOW | {"loss": "tokenized-brier", "epochs": 2.0})
        return prepare(digits / "rows", str(digits / "tiny"), digits / out, settings)

    def weights(out):
        return load_file(digits / out / "adapter" / "adapter_model.safetensors")

    calm = train(job("calm"), on_event=lambda _: None, notice=lambda _: None)
    write, written = _Trainer._save_rng_state, []

    def killed(self, folder):
        write(self, folder)
        written.append(folder)
        if len(written) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as power:
        power.setattr(_Trainer, "_save_rng_state", killed)
        with pytest.raises(KeyboardInterrupt):
            train(job("cut"), on_event=lambda _: None, notice=lambda _: None)
    said = []
    told = train(job("cut"), on_event=lambda _: None, notice=said.append)
    assert "going on after step 2" in said
    assert [r["loss"] for r in told["losses"]] == [r["loss"] for r in calm["losses"]]
    ours, theirs = weights("cut"), weights("calm")
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in ours)
    assert any(ours[name].abs().max() > 0 for name in ours if "lora_B" in name)


def test_a_mask_is_said_by_the_command_line_and_written_down(place):
    novarag(
        "train", "fit", place / "rows", "--base", place / "tiny", "--out", place / "masked",
        "--mask-confidence", "--batch", 4, "--epochs", 1,
    )  # fmt: skip
    told = json.loads((place / "masked" / "training.json").read_bytes())
    (said,) = [s for s in told["settings"] if s["name"] == "mask_confidence"]
    assert said == {"name": "mask_confidence", "value": True, "said": "set: not the default (no)"}
    assert told["dev_losses"]
