"""Lengths by a real tokenizer, made here so that no network is needed."""

import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from novarag.errors import UsageError
from novarag.runs.group_table import read_groups
from novarag.sft.exporting import ExportOptions, export
from novarag.sft.filtered_trials import read_filtered
from novarag.sft.lengths import CHANGED, SPECIAL, load_ruler, too_long
from tests.support.filtered_folder import make_group, make_row, make_rows, write_filtered

TEMPLATE = (
    "{% for m in messages %}<|turn|>{{ m['role'] }} {{ m['content'] | trim }}<|end|>{% endfor %}"
)
FORGETFUL = TEMPLATE.replace("m['content']", "m['content'].split('</think>')[-1]")
DATED = "{{ strftime_now('%Y') if date_string is not defined else date_string }} " + TEMPLATE


def save_tokenizer(folder, template=TEMPLATE):
    bare = Tokenizer(models.WordLevel({"<unk>": 0, "<|turn|>": 1, "<|end|>": 2}, unk_token="<unk>"))
    bare.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare,
        unk_token="<unk>",
        eos_token="<|end|>",
        extra_special_tokens=["<|turn|>"],
    )
    made.chat_template = template
    made.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def tokenizer(tmp_path):
    return save_tokenizer(tmp_path / "tokenizer")


def read(tmp_path, rows):
    return read_filtered(write_filtered(tmp_path / "f", rows), read_groups=read_groups)


def rejected(out):
    return [json.loads(line) for line in (out / "rejected.jsonl").read_text().splitlines()]


def words(row):
    prompt = row["prompt"][0]["content"].split()
    said = row["completion"][0]["content"].split()
    return len(prompt) + len(said) + 2 + 4  # two roles, two marks a turn


def test_what_is_too_long_is_rejected_whole_and_the_edge_is_kept(tokenizer, tmp_path):
    rows = make_rows(1)
    rows[1]["reply"] += "\nAnswer: 1871\nConfidence: 80%"
    source = read(tmp_path, rows)
    facts = export(source, tmp_path / "all", ExportOptions(ruler=load_ruler(tokenizer)))
    lines = (tmp_path / "all" / "train.jsonl").read_text().splitlines()
    lengths = sorted(words(json.loads(line)) for line in lines)
    found = facts["lengths"]
    assert [found["least"], found["median"], found["most"]] == lengths
    assert found["max_length"] == 2048
    assert found["tokenizer"] == "tokenizer"
    edge = lengths[1]
    export(source, tmp_path / "out", ExportOptions(ruler=load_ruler(tokenizer, longest=edge)))
    kept = (tmp_path / "out" / "train.jsonl").read_text().splitlines()
    assert [words(json.loads(line)) for line in kept] == lengths[:2]
    (row,) = rejected(tmp_path / "out")
    assert (row["tokens"], row["reason"]) == (lengths[2], too_long(edge))
    assert row["completion"][0]["content"] == rows[1]["reply"]
    for longest, fall in ((lengths[2], 0), (lengths[2] - 1, 1)):
        export(
            source, tmp_path / "edge", ExportOptions(ruler=load_ruler(tokenizer, longest=longest))
        )
        assert len(rejected(tmp_path / "edge")) == fall
    page = (tmp_path / "out" / "README.md").read_text()
    assert f"| longer than {edge} tokens | 1 |" in page
    assert "not checked" not in page
    assert (
        f"cutoff_len: {edge}  # set by --max-length"
        in (tmp_path / "out" / "llama-factory" / "train.yaml").read_text()
    )


def test_a_special_token_in_a_text_would_end_the_turn(tokenizer, tmp_path):
    rows = make_rows(1)
    rows[0]["reply"] += " <|end|>"
    rows[1]["reply"] = "<|turn|>user " + rows[1]["reply"]
    export(read(tmp_path, rows), tmp_path / "out", ExportOptions(ruler=load_ruler(tokenizer)))
    assert [row["reason"] for row in rejected(tmp_path / "out")] == [SPECIAL, SPECIAL]


def test_a_template_that_forgets_the_reasoning_is_noticed(tmp_path):
    rows = make_rows(1)
    rows[0]["reasoning"] = "Hm."
    place = save_tokenizer(tmp_path / "forgetful", FORGETFUL)
    export(read(tmp_path, rows), tmp_path / "out", ExportOptions(ruler=load_ruler(place)))
    assert [row["reason"] for row in rejected(tmp_path / "out")] == [CHANGED]


def test_a_template_that_writes_the_date_does_not_change_overnight(tmp_path):
    ruler = load_ruler(save_tokenizer(tmp_path / "dated", DATED))
    facts = export(read(tmp_path, make_rows(1)), tmp_path / "out", ExportOptions(ruler=ruler))
    plain = load_ruler(save_tokenizer(tmp_path / "plain"))
    other = export(read(tmp_path, make_rows(1)), tmp_path / "out2", ExportOptions(ruler=plain))
    assert facts["lengths"]["most"] == other["lengths"]["most"] + 3
    assert facts["lengths"]["sha256"] != other["lengths"]["sha256"]


def test_a_tokenizer_that_cannot_serve_is_named(tmp_path):
    with pytest.raises(UsageError, match="has no chat template"):
        load_ruler(save_tokenizer(tmp_path / "bare", None))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"empty' cannot be loaded"):
        load_ruler(str(tmp_path / "empty"))
    refusing = save_tokenizer(tmp_path / "refusing", "{{ raise_exception('no such role') }}")
    source = read(tmp_path, [make_row(make_group("q0", "consistent"))])
    with pytest.raises(UsageError, match=r"'refusing' refuses.*no such role"):
        export(source, tmp_path / "out", ExportOptions(ruler=load_ruler(refusing)))


def test_without_transformers_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(UsageError, match=r"\.\[tokenizer\]"):
        load_ruler("anything")
