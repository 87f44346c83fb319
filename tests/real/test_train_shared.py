"""Samples of one prompt taken together: the same losses and gradients, and every sample once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tiny_model import make_model

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]


def cut(order, size):
    return [order[i : i + size] for i in range(0, len(order), size)]


@settings(max_examples=200, deadline=None)
@given(
    prompts=st.lists(st.sampled_from("abcde"), min_size=1, max_size=40),
    size=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_every_sample_comes_once_and_blocks_are_of_one_prompt_where_that_goes(prompts, size, seed):
    from novarag.sft.train.shared import BlockSampler

    order = BlockSampler(prompts, size, seed)
    orders = []
    for epoch in (0, 1, 0):
        order.set_epoch(epoch)
        orders.append(list(order))
        assert sorted(orders[-1]) == list(range(len(prompts)))
        assert len(order) == len(prompts)
        blocks = [{prompts[i] for i in block} for block in cut(orders[-1], size)]
        whole = sum(prompts.count(one) // size for one in set(prompts))
        assert sum(len(block) == 1 for block in blocks) >= whole
    assert orders[0] == orders[2]  # a killed training goes on with the same order


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    import torch
    from transformers import AutoModelForCausalLM

    place = tmp_path_factory.mktemp("shared") / "tiny"
    make_model(place, spread=0.2)
    return AutoModelForCausalLM.from_pretrained(place, dtype=torch.float64).train()


@pytest.mark.parametrize("lengths", [(50, 50, 50), (50, 41, 46), (60,)])
@pytest.mark.parametrize("common", [0, 20, 40])
def test_logits_and_gradients_are_those_of_whole_rows(model, lengths, common):
    import torch

    from novarag.sft.train.shared import logits_at

    chance = torch.Generator().manual_seed(7)
    size, most = len(lengths), max(lengths) + 5
    tokens = torch.randint(5, 200, (size, most), generator=chance)
    tokens[:, :common] = tokens[:1, :common].clone()
    mask = torch.arange(most)[None] < torch.tensor(lengths)[:, None]
    tokens[~mask] = 0
    kept = torch.tensor([min(lengths) - 2, min(lengths) - 1])
    found, calls = {}, []

    def watched(**given):
        calls.append(tuple(given["input_ids"].shape))
        return model(**given)

    for share in (False, True):
        model.zero_grad()
        logits = logits_at(watched, tokens, mask.long(), kept, share=share)
        (logits**2).sum().backward()
        grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        found[share] = (logits.detach(), grads)
    assert torch.allclose(found[False][0], found[True][0], rtol=1e-9, atol=1e-12)
    for whole, parts in zip(found[False][1], found[True][1], strict=True):
        assert (whole - parts).norm() <= 1e-5 * whole.norm()  # layer norms are float32
    shared = size > 1 and common == 40
    assert len(calls) == (3 if shared else 2)
    if shared:
        begin = min(common, min(lengths) - 2)
        assert calls[1:] == [(1, begin), (size, min(lengths) - begin)]
