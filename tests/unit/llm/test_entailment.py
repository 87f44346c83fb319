"""A model of entailment: three chances in our order, whatever the order of the model."""

import sys
import types
from types import MappingProxyType

import numpy as np
import pytest

from novarag import UsageError
from novarag.flows.encoders import open_entailment
from novarag.llm.entailment import load_entailment
from novarag.uncertainty import by_entailment


class Fake:
    """A cross-encoder whose first class is contradiction, as many models have it."""

    classes = MappingProxyType({0: "CONTRADICTION", 1: "ENTAILMENT", 2: "NEUTRAL"})

    def __init__(self, name, **how):
        if name == "broken":
            raise OSError("no weights\nat all")
        self.name, self.how = name, how
        self.config = types.SimpleNamespace(id2label=self.classes)

    def predict(self, pairs, *, batch_size, apply_softmax, show_progress_bar):
        assert apply_softmax
        assert not show_progress_bar
        same = np.array([a.split()[-1] == b.split()[-1] for a, b in pairs])
        return np.stack([np.full(len(pairs), 0.05), np.where(same, 0.9, 0.2),
                         np.where(same, 0.05, 0.75)], axis=1)  # fmt: skip


@pytest.fixture
def fake(monkeypatch):
    module = types.ModuleType("sentence_transformers")
    module.CrossEncoder = Fake
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return Fake


def test_chances_come_in_our_order(fake):
    model = load_entailment("an/nli")
    assert model([("the river", "a river"), ("Lyon", "Paris")]) == [
        (0.9, 0.05, 0.05), (0.2, 0.75, 0.05),
    ]  # fmt: skip
    assert model([]) == []
    assert model._model.how == {
        "device": None, "trust_remote_code": False, "model_kwargs": {"use_safetensors": True},
    }  # fmt: skip


def test_it_says_which_answers_mean_the_same(fake):
    same = by_entailment(load_entailment("an/nli"))
    assert same("Which?", ["the river", "a river", "Lyon"]) == [0, 0, 1]


@pytest.mark.parametrize(
    "classes", [{0: "LABEL_0"}, {0: "entailment", 1: "not_entailment"},
                {0: "entailment", 1: "neutral", 2: "entails"}],
)  # fmt: skip
def test_another_kind_of_model_is_refused(fake, monkeypatch, classes):
    monkeypatch.setattr(fake, "classes", classes)
    with pytest.raises(UsageError, match="tells entailment, neutral and contradiction"):
        load_entailment("a/reranker")


def test_what_cannot_be_loaded_is_the_users_to_mend(fake, monkeypatch):
    with pytest.raises(
        UsageError, match=r"broken cannot be loaded as a cross-encoder: no weights$"
    ):
        load_entailment("broken")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match="pip install"):
        load_entailment("an/nli")


def test_a_user_names_a_model_or_a_function(fake, monkeypatch):
    toy = types.ModuleType("toy_weigher")
    toy.weigh, toy.number = (lambda pairs: [(1, 0, 0)] * len(pairs)), 3
    monkeypatch.setitem(sys.modules, "toy_weigher", toy)
    assert open_entailment("toy_weigher:weigh") is toy.weigh
    assert open_entailment("an/nli")([("a", "a")])[0][0] == 0.9
    with pytest.raises(UsageError, match="cannot be called"):
        open_entailment("toy_weigher:number")
    with pytest.raises(UsageError, match="is not a folder"):
        open_entailment("./nowhere")
