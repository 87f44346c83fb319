"""Exports: the right prompt beside the right reply, in every format, whole or not at all."""

import json
import re
from dataclasses import replace
from hashlib import sha256

import polars as pl
import pytest
import yaml
from markdown_it import MarkdownIt
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from novarag.checksums import file_checksum
from novarag.errors import DataError, UnknownNameError, UsageError
from novarag.runs.group_table import read_groups
from novarag.sealed_json import seal_files
from novarag.sft.examples import UNREADABLE, fault_of_two_lines, make_examples
from novarag.sft.exporting import ExportOptions, export
from novarag.sft.filtered_trials import read_filtered
from novarag.sft.formats import FORMATS, json_line
from novarag.strategies import LABEL_ONLY, NOVA, STRATEGIES, Strategy, Template
from tests.support.filtered_folder import (
    contents,
    make_group,
    make_row,
    make_rows,
    reseal,
    write_filtered,
)

HOSTILE = "m|\n# H1 <script>alert(1)</script> [x](http://e.vil) `a` \u2028\u202e**b**"


class TextSnapshot(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "txt"


def read(folder, **chosen):
    return read_filtered(folder, read_groups=read_groups, **chosen)


@pytest.fixture
def filtered(tmp_path):
    return write_filtered(tmp_path / "filtered", make_rows())


def jsonl(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("label_only", [False, True], ids=["whole", "label-only"])
@pytest.mark.parametrize("name", FORMATS)
def test_format_snapshot(name, label_only, tmp_path, snapshot, monkeypatch):
    monkeypatch.setattr("novarag.sft.exporting.version", lambda _: "0")
    rows = make_rows(1)
    rows[1] |= {"reasoning": "Hm.\nYes.", "confidence": 0.055, "correct": False}
    source = read(write_filtered(tmp_path / "filtered", rows))
    export(source, tmp_path / "out", ExportOptions(formats=[name], label_only=label_only, dev=0))
    found = contents(tmp_path / "out")
    shown = "\n".join(f"=== {file}\n{text.decode()}" for file, text in found.items())
    assert shown == snapshot(extension_class=TextSnapshot)


def test_prompt_is_what_was_asked_and_completion_what_came(filtered, tmp_path):
    facts = export(read(filtered), tmp_path / "out", ExportOptions(dev=0))
    rows = jsonl(tmp_path / "out" / "train.jsonl")
    kept = pl.read_parquet(filtered / "kept.parquet").to_dicts()
    assert len(rows) == len(kept) == 12
    for row, trial in zip(rows, kept, strict=True):
        (asked,) = row["prompt"]
        (said,) = row["completion"]
        assert (asked["role"], said["role"]) == ("user", "assistant")
        assert sha256(asked["content"].encode()).hexdigest() == trial["prompt_hash"]
        assert said["content"] == trial["reply"]
        names = ("question", "group", "kind", "confidence", "correct")
        assert [row[name] for name in names] == [trial[name] for name in names]
    assert facts["examples"][0] == {
        "split": "train", "kind": None, "all": True, "examples": 12, "questions": 4,
    }  # fmt: skip


def test_every_format_holds_the_same_samples(filtered, tmp_path):
    out = tmp_path / "out"
    export(read(filtered), out, ExportOptions(dev=0.5))
    for split in ("train", "dev"):
        rows = jsonl(out / f"{split}.jsonl")
        pairs = [(r["prompt"][0]["content"], r["completion"][0]["content"]) for r in rows]
        messages = [r["messages"] for r in jsonl(out / "openai" / f"{split}.jsonl")]
        assert [(a["content"], b["content"]) for a, b in messages] == pairs
        lf = out / "llama-factory"
        told = json.loads((lf / "dataset_info.json").read_bytes())
        shared = told[f"novarag_sharegpt_{split}"]
        talks = json.loads((lf / shared["file_name"]).read_bytes())
        tags = shared["tags"]
        said = [t[shared["columns"]["messages"]] for t in talks]
        assert [[m[tags["role_tag"]] for m in t] for t in said] == [["human", "gpt"]] * len(pairs)
        assert [tuple(m[tags["content_tag"]] for m in t) for t in said] == pairs
        flat = told[f"novarag_alpaca_{split}"]
        plain = json.loads((lf / flat["file_name"]).read_bytes())
        assert [(r["instruction"], r["output"]) for r in plain] == pairs
        assert all(r["input"] == "" for r in plain)


def test_the_recipe_is_the_one_of_the_decisions(filtered, tmp_path):
    export(read(filtered), tmp_path / "out", ExportOptions(dev=0.5, base='a: "b" # \u2028null'))
    folder = tmp_path / "out" / "llama-factory"
    train, merge = (yaml.safe_load((folder / f"{n}.yaml").read_text()) for n in ("train", "merge"))
    expected = {
        "stage": "sft", "finetuning_type": "lora", "lora_rank": 16, "lora_alpha": 32,
        "lora_dropout": 0.0, "lora_target": "all", "learning_rate": 5e-5, "num_train_epochs": 2,
        "cutoff_len": 2048, "lr_scheduler_type": "cosine", "warmup_ratio": 0.1, "dataset_dir": ".",
        "dataset": "novarag_sharegpt_train", "eval_dataset": "novarag_sharegpt_dev",
        "model_name_or_path": 'a: "b" # \u2028null', "trust_remote_code": False,
    }  # fmt: skip
    assert {name: train[name] for name in expected} == expected
    assert train["per_device_train_batch_size"] * train["gradient_accumulation_steps"] == 256
    assert merge["adapter_name_or_path"] == train["output_dir"]
    assert merge["model_name_or_path"] == train["model_name_or_path"]
    assert set(json.loads((folder / "dataset_info.json").read_bytes())) >= {train["dataset"]}


def test_what_a_machine_without_a_gpu_needs_is_said_where_one_looks(filtered, tmp_path):
    export(read(filtered), tmp_path / "all", ExportOptions())
    page = (tmp_path / "all" / "README.md").read_text()
    assert page.count("## Training with LLaMA-Factory") == page.count("`use_cpu=true`") == 1
    folder = tmp_path / "all" / "llama-factory"
    train, merge = ((folder / f"{name}.yaml").read_text() for name in ("train", "merge"))
    assert "# Without a GPU, add use_cpu=true to that line." in train
    assert "use_cpu" not in yaml.safe_load(train)  # else a GPU would stand idle
    assert all("write template: deepseekr1" in text for text in (train, merge))
    assert all("template" not in yaml.safe_load(text) for text in (train, merge))
    export(read(filtered), tmp_path / "one", ExportOptions(formats=["canonical", "openai"]))
    assert "LLaMA-Factory" not in (tmp_path / "one" / "README.md").read_text()


def test_reasoning_kept_apart_leads_the_completion(tmp_path):
    rows = [make_row(make_group("q0", "consistent"), reasoning="Let me see.\nYes.")]
    export(read(write_filtered(tmp_path / "f", rows)), tmp_path / "out", ExportOptions())
    said = jsonl(tmp_path / "out" / "train.jsonl")[0]["completion"][0]["content"]
    assert said == f"<think>\nLet me see.\nYes.\n</think>\n\n{rows[0]['reply']}"
    assert NOVA.read(said).answer == "1871"


def test_label_only_asks_the_same_groups_without_the_steps(filtered, tmp_path):
    export(read(filtered), tmp_path / "out", ExportOptions(label_only=True))
    for row in jsonl(tmp_path / "out" / "train.jsonl"):
        group = make_group(row["question"], row["group"].rpartition("/")[2])
        assert row["prompt"][0]["content"] == LABEL_ONLY.render(group).text
        assert row["completion"][0]["content"] == "Answer: 1871\nConfidence: 80%"


def test_an_answer_that_two_lines_cannot_hold_is_rejected_and_counted(tmp_path):
    rows = make_rows(1)
    rows[0]["answer"] = "<think> x"
    rows[1]["answer"] = "two\nlines"
    facts = export(
        read(write_filtered(tmp_path / "f", rows)), tmp_path / "out", ExportOptions(label_only=True)
    )
    assert [r["count"] for r in facts["rejected"]] == [1]
    (row,) = jsonl(tmp_path / "out" / "rejected.jsonl")
    assert row["group"] == rows[0]["group"]
    assert row["reason"] == facts["rejected"][0]["reason"]
    kept = jsonl(tmp_path / "out" / "train.jsonl")
    assert kept[0]["completion"][0]["content"].startswith("Answer: two lines\n")


def test_a_prompt_that_has_changed_is_refused(tmp_path):
    rows = make_rows(2)
    rows[4]["prompt_hash"] = "0" * 64
    source = read(write_filtered(tmp_path / "f", rows))
    with pytest.raises(DataError, match=r"row 5.*'prompt_hash'.*has changed"):
        export(source, tmp_path / "out", ExportOptions())
    with pytest.raises(DataError, match="has changed"):
        export(source, tmp_path / "out", ExportOptions(label_only=True))
    assert not (tmp_path / "out").exists()


def test_a_group_that_is_not_there_is_refused(tmp_path):
    rows = make_rows(2)
    source = read(write_filtered(tmp_path / "f", rows, groups=[make_group("q0", "consistent")]))
    with pytest.raises(DataError, match=r"row 2: the group .* is not in groups.parquet"):
        export(source, tmp_path / "out", ExportOptions())


def test_a_strategy_of_the_users_own(tmp_path):
    mine = Strategy(name="mine", template=Template("Question: {question}\n{passages}\n"))
    group = make_group("q0", "consistent")
    row = make_row(group) | {"strategy": "mine", "prompt_hash": mine.render(group).hash}
    source = read(write_filtered(tmp_path / "f", [row]))
    with pytest.raises(UsageError, match=r"'mine'.*`strategies="):
        export(source, tmp_path / "out", ExportOptions())
    facts = export(
        source, tmp_path / "out", ExportOptions(), strategies=STRATEGIES | {"mine": mine}
    )
    assert facts["strategies"] == ["mine"]


def test_dev_holds_whole_questions_and_depends_on_question_and_seed_only(tmp_path):
    def sides(rows, name, seed=0):
        source = read(write_filtered(tmp_path / f"f{name}", rows))
        export(source, tmp_path / name, ExportOptions(formats=["canonical"], dev=0.3, seed=seed))
        return [
            {row["question"] for row in jsonl(tmp_path / name / f"{split}.jsonl")}
            for split in ("train", "dev")
        ]

    usual = export(
        read(write_filtered(tmp_path / "usual", make_rows(200))), tmp_path / "u", ExportOptions()
    )
    assert usual["dev_share"] == 0.1  # as released
    train, dev = sides(make_rows(200), "all")
    assert not train & dev
    assert len(train | dev) == 200
    assert 40 <= len(dev) <= 80
    fewer = sides(make_rows(200)[90:], "some")[1]
    assert fewer == {q for q in dev if int(q[1:]) >= 30}
    assert sides(make_rows(200), "other", seed=1)[1] != dev


def test_no_dev_split_where_no_question_falls_to_it(tmp_path):
    source = read(write_filtered(tmp_path / "f", make_rows(1)))
    export(source, tmp_path / "out", ExportOptions(dev=1e-9))
    assert not (tmp_path / "out" / "dev.jsonl").exists()
    with pytest.raises(UsageError, match="smaller `dev`"):
        export(source, tmp_path / "out", ExportOptions(dev=1 - 1e-9))
    with pytest.raises(UsageError, match="below 1"):
        export(source, tmp_path / "out", ExportOptions(dev=1.0))


def test_repeated_it_is_the_same_bytes(filtered, tmp_path):
    for name in ("one", "two", "two"):
        export(read(filtered), tmp_path / name, ExportOptions(dev=0.4))
    one, two = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert one == two
    assert len(one) == 14
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_the_card_counts_and_hashes_what_is_there(filtered, tmp_path):
    out = tmp_path / "out"
    facts = export(read(filtered), out, ExportOptions(dev=0.4))
    assert facts == json.loads((out / "card.json").read_bytes())
    files = contents(out)
    assert {f["name"] for f in facts["files"]} == set(files) - {"card.json"}
    for file in facts["files"]:
        content = files[file["name"]]
        assert (file["bytes"], file["sha256"]) == (len(content), sha256(content).hexdigest())
    page = files["README.md"].decode()
    for row in facts["examples"]:
        kind = "all" if row["all"] else row["kind"]
        assert f"| {row['split']} | {kind} | {row['examples']} | {row['questions']} |" in page
    assert sum(r["examples"] for r in facts["examples"] if not r["all"]) == 12
    assert "Lengths were not checked" in page
    assert "| total | 100 | 100 | 100 | 100 |" in page
    assert "| balance | 40 | 40 | 40 | 40 |" in page
    assert "| format | no answer found | 10 |" in page
    assert "| filter: balance | uniform |" in page
    assert sha256(files["train.jsonl"]).hexdigest() in page
    assert str(tmp_path) not in page + files["card.json"].decode()


def test_hostile_names_do_not_break_the_card(tmp_path):
    rows = [row | {"model": HOSTILE} for row in make_rows(1)]
    rows[0]["kind"] = HOSTILE
    rows[1]["kind"] = None
    folder = write_filtered(tmp_path / "f", rows)
    export(read(folder), tmp_path / "out", ExportOptions())
    page = (tmp_path / "out" / "README.md").read_text("utf-8")
    shown = MarkdownIt("commonmark").enable("table").render(page.partition("\n---\n")[2])
    assert not re.search(r"<(script|a|code>a|strong>b)", shown)
    assert shown.count("<h1>") == 1
    for table in shown.split("<table>")[1:]:
        rows = table.split("</table>")[0].split("<tr>")[1:]
        assert (
            len(
                {
                    row.count("</t")
                    - row.count("</tr")
                    - row.count("</thead")
                    - row.count("</tbody")
                    for row in rows
                }
            )
            == 1
        )
    assert "\u202e" not in page
    assert "| train | not known | 1 | 1 |" in page


def test_texts_stay_on_their_line():
    row = {"text": "a\u2028b\u2029c\u0085d\n\x1ee"}
    line = json_line(row)
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == row


def test_several_models_want_a_choice(tmp_path):
    rows = make_rows(1) + [row | {"model": "other"} for row in make_rows(1)[:2]]
    folder = write_filtered(tmp_path / "f", rows)
    with pytest.raises(UsageError, match=r"`source`: other, small/model"):
        read(folder)
    with pytest.raises(UsageError, match=r"'third'; there is: other, small/model"):
        read(folder, model="third")
    facts = export(read(folder, model="other"), tmp_path / "out", ExportOptions())
    assert facts["examples"][0]["examples"] == 2
    assert [run["model"] for run in facts["funnel"]["runs"]] == ["other"]
    assert {row["model"] for row in facts["funnel"]["counts"]} == {"other"}


def test_nothing_kept_points_to_the_tally(tmp_path):
    folder = write_filtered(tmp_path / "f", [])
    with pytest.raises(UsageError, match=r"kept no trial.*tally\.json"):
        read(folder)


def test_all_rejected_is_said_with_reasons(tmp_path):
    rows = [make_row(make_group("q0", "consistent"), answer="<think> x")]
    source = read(write_filtered(tmp_path / "f", rows))
    with pytest.raises(UsageError, match=r"every example was rejected.*1: the answer"):
        export(source, tmp_path / "out", ExportOptions(label_only=True))


def test_a_folder_of_something_else_is_refused(tmp_path, filtered):
    with pytest.raises(
        UsageError, match=r"not what `filter_trials\(\.\.\.\)` writes.*kept\.parquet"
    ):
        read(tmp_path)
    pl.read_parquet(filtered / "kept.parquet").drop("reply").write_parquet(
        filtered / "kept.parquet"
    )
    with pytest.raises(DataError, match=r"kept\.parquet: the file is damaged: it is not what"):
        read(filtered)
    with pytest.raises(DataError, match="no column reply"):
        read(reseal(filtered))
    (filtered / "seal.json").unlink()
    with pytest.raises(
        UsageError, match=r"has no seal\.json; run the same `filter_trials\(\.\.\.\)` again"
    ):
        read(filtered)


@pytest.mark.parametrize("name", ["kept.parquet", "groups.parquet", "tally.json"])
@pytest.mark.parametrize(
    "content", [b"", b"no such thing", b"[1]", b'{"counts": [{}]}', b'{"counts": [], "runs": 3}']
)
def test_damaged_files_are_named(filtered, name, content):
    (filtered / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}: the file is damaged: it is not what"):
        read(filtered)
    with pytest.raises(DataError, match=f"{name}: the file is damaged \\("):
        read(reseal(filtered))


def test_a_damaged_seal_vouches_for_nothing(filtered):
    seal = filtered / "seal.json"
    seal.write_bytes(seal.read_bytes().replace(b"kept", b"left"))
    with pytest.raises(
        DataError, match=r"seal\.json: the file is damaged.*`filter_trials\(\.\.\.\)` again"
    ):
        read(filtered)
    seal.write_bytes(seal_files({"groups.parquet": file_checksum(filtered / "groups.parquet")}))
    with pytest.raises(DataError, match=r"kept\.parquet: the file is damaged"):
        read(filtered)


def test_an_empty_cell_is_named(tmp_path):
    rows = make_rows(1)
    rows[1]["confidence"] = None
    with pytest.raises(DataError, match="'confidence': 1 rows are empty"):
        read(write_filtered(tmp_path / "f", rows))


def test_an_unknown_format_is_refused():
    with pytest.raises(
        UnknownNameError, match="'csv' is not one of canonical, llama-factory, openai"
    ):
        ExportOptions(formats=["csv"])


def test_two_lines_with_another_confidence_are_at_fault(filtered):
    source = read(filtered)
    kept = source.kept[:1]
    made = make_examples(kept, source.groups, strategies=STRATEGIES, label_only=True)
    (example,) = made
    assert fault_of_two_lines(example) is None
    for text in ("Answer: 1871\nConfidence: 10%", "Answer: 1871", "Answer: 1884\nConfidence: 80%"):
        assert fault_of_two_lines(replace(example, completion=text)) == UNREADABLE


def test_trials_keep_their_order(filtered):
    assert [t.group for t in read(filtered).kept] == [r["group"] for r in make_rows()]
