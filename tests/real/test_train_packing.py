"""Rows behind one copy of their common beginning: the same loss, gradient and replies as alone."""

import pytest

from tests.support.tiny_model import make_model

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
BEGINNING = list(range(20, 55))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packing") / "tiny"
    make_model(folder)
    return str(folder)


@pytest.fixture
def model(place):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(3)
    bare = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32)
    made = get_peft_model(
        bare, LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    )
    for name, weight in made.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    return made


def rows():
    """Rows of three lengths that begin alike; of each the last tokens are learnt."""
    from experiments.nova_qwen.packing import NOT_LEARNT

    tokens = [
        [*BEGINNING, 70, 71, 90, 91],
        [*BEGINNING, 70, 80, 92, 93, 94, 95],
        [*BEGINNING, 60, 81, 82, 96, 97],
    ]
    return tokens, [
        [NOT_LEARNT] * (len(row) - count) + row[-count:]
        for row, count in zip(tokens, (2, 4, 1), strict=True)
    ]


def padded(tokens, labels):
    import torch

    from experiments.nova_qwen.packing import NOT_LEARNT

    longest = max(map(len, tokens))

    def fill(lines, value):
        return torch.tensor([[*line, *[value] * (longest - len(line))] for line in lines])

    return {
        "input_ids": fill(tokens, 0),
        "labels": fill(labels, NOT_LEARNT),
        "attention_mask": fill([[1] * len(row) for row in tokens], 0),
    }


def gradient(model, loss):
    import torch

    model.zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def alone(model, tokens, labels):
    """Sum the losses of rows that are read one by one."""
    import torch

    summed = 0
    for row, label in zip(tokens, labels, strict=True):
        logits = model(input_ids=torch.tensor([row])).logits[0, :-1]
        summed += torch.nn.functional.cross_entropy(
            logits, torch.tensor(label[1:]), reduction="sum"
        )
    return summed


def test_the_loss_and_its_gradient_are_those_of_the_rows_one_by_one(model):
    import torch

    from experiments.nova_qwen.packing import packed_loss

    tokens, labels = rows()
    wanted = alone(model, tokens, labels) / 7
    expected = gradient(model, wanted)
    found = packed_loss(model, padded(tokens, labels))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gradient(model, found), expected, rtol=1e-4, atol=1e-6)
    halved = packed_loss(model, padded(tokens, labels), 14)
    torch.testing.assert_close(2 * halved, wanted, rtol=1e-5, atol=1e-6)


def test_rows_without_a_common_beginning_are_packed_too(model):
    import torch

    from experiments.nova_qwen.packing import packed_loss

    tokens = [[30, 31, 32, 33], [40, 41, 42]]
    labels = [[-100, -100, 32, 33], [-100, 41, 42]]
    wanted = alone(model, tokens, labels) / 4
    found = packed_loss(model, padded(tokens, labels))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def test_no_row_sees_another(model):
    import torch

    from experiments.nova_qwen.packing import pack

    tokens, labels = rows()
    packed = pack(tokens, labels)
    seen = packed.mask(torch.float32)[0, 0] == 0
    first, second = (torch.nonzero(packed.segments == n).flatten() for n in (1, 2))
    assert not seen[second][:, first].any()
    assert not seen[first][:, second].any()
    assert seen[second][:, packed.segments == 0].all()
    assert len(packed.tokens) % 64 == 0


def test_replies_are_those_that_each_prompt_gets_alone(model, place):
    from transformers import AutoTokenizer

    from experiments.nova_qwen.packing import write_replies

    tokenizer = AutoTokenizer.from_pretrained(place)
    prompts = [
        "Judge every passage and answer. Question: " + more
        for more in ("who lit it?", "which river runs through the town, and when?", "why?")
    ]
    beside = write_replies(model, tokenizer, prompts, longest=12, at_once=2)
    each = [
        write_replies(model, tokenizer, [prompt], longest=12, at_once=1)[0] for prompt in prompts
    ]
    plain = []
    for prompt in prompts:
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
        )
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)
        made = model.generate(**ids, max_new_tokens=12, do_sample=False)
        plain.append(
            tokenizer.decode(made[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
        )
    assert beside == each == plain
    assert any(beside)
