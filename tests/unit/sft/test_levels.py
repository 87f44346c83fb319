"""Levels of confidence, and targets that an export writes as the confidence of a reply."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import export_training_set
from novarag.errors import UsageError
from novarag.runs.group_table import read_groups
from novarag.sft.examples import NO_TARGET
from novarag.sft.exporting import ExportOptions, export
from novarag.sft.filtered_trials import read_filtered
from novarag.sft.levels import NO_NUMBER, ConfidenceLevels, write_level
from novarag.sft.train.rows import read_dataset
from novarag.strategies import LABEL_ONLY, NOVA
from tests.support.filtered_folder import (
    make_group,
    make_row,
    make_rows,
    make_tally,
    write_filtered,
)


@pytest.mark.parametrize("count", [10, 101])
def test_every_level_is_read_back_as_what_it_states(count):
    levels = ConfidenceLevels(count)
    assert len(levels.values) == len(set(levels.digits)) == count
    assert list(levels.values) == sorted(levels.values)
    for i, (value, digits) in enumerate(zip(levels.values, levels.digits, strict=True)):
        said = f"Answer: 1871\nConfidence: {digits}%"
        assert NOVA.read(said).confidence == value
        assert levels.nearest(value) == i
        assert write_level("Answer: 1871\nConfidence: 33%", levels, i) == said
    if count == 10:
        assert [digits[0] for digits in levels.digits] == list("0123456789")


@given(st.floats(0, 1), st.sampled_from([10, 101]))
def test_the_nearest_level_is_the_nearest(confidence, count):
    levels = ConfidenceLevels(count)
    far = abs(levels.values[levels.nearest(confidence)] - confidence)
    assert far <= min(abs(value - confidence) for value in levels.values) + 1e-8


def test_a_share_between_two_levels_goes_up():
    assert [ConfidenceLevels(10).nearest(k / 10) for k in range(11)] == [*range(10), 9]
    assert ConfidenceLevels(101).nearest(0.145) == 15
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="from 0 to 1"):
            ConfidenceLevels(10).nearest(wrong)


def test_only_ten_or_a_hundred_and_one():
    with pytest.raises(UsageError, match="`levels` is 10 or 101, not 11"):
        ConfidenceLevels(11)
    with pytest.raises(UsageError, match="`levels` is 10 or 101, not 5"):
        ExportOptions(levels=5)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Answer: x\nConfidence: 0.9", "Answer: x\nConfidence: 75%"),
        ("Answer: 90\nConfidence: about 90 %", "Answer: 90\nConfidence: about 75 %"),
        ("I am 90% sure.\nAnswer: x\nConfidence: 90%", "I am 90% sure.\nAnswer: x\nConfidence: 75%"),
        ("Answer: x\nConfidence: 9/10", None),
        ('{"answer": "x", "confidence": 0.9}', None),
        ("Answer: x", None),
    ],
)  # fmt: skip
def test_a_level_takes_the_place_of_the_number_alone(said, written):
    assert write_level(said, ConfidenceLevels(10), 7) == written


def kept(folder, rows, **settings):
    tally = make_tally(rows)
    tally["settings"] |= settings
    return write_filtered(folder, rows, tally=tally)


def jsonl(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("alignment", ["share", "teacher"])
def test_the_target_is_written_as_the_confidence(tmp_path, alignment):
    rows = make_rows(1)
    for row, target in zip(rows, (0.0, 0.625, 1.0), strict=True):
        row["target"] = target
    folder = kept(tmp_path / "kept", rows, alignment=alignment)
    done = export_training_set(folder, tmp_path / "out", formats="canonical")
    found = jsonl(tmp_path / "out" / "train.jsonl")
    said = [row["completion"][0]["content"] for row in found]
    assert [text.rpartition(" ")[2] for text in said] == ["05%", "65%", "95%"]
    assert [NOVA.read(text).confidence for text in said] == [row["confidence"] for row in found]
    assert [row["target"] for row in found] == [0.0, 0.625, 1.0]
    assert all(text.startswith("Step 1: it says so.\nAnswer: 1871\n") for text in said)
    assert done.card["levels"] == 10
    page = (tmp_path / "out" / "README.md").read_text()
    assert "was written anew" in page
    assert "nearest of 10 levels" in page
    assert "| export: levels | 10 |" in page.replace("\\", "")
    data = read_dataset(tmp_path / "out")
    assert data.variant == alignment
    assert [e.target for e in data.splits["train"]] == [0.0, 0.625, 1.0]
    export_training_set(folder, tmp_path / "fine", formats="canonical", levels=101)
    fine = [r["completion"][0]["content"] for r in jsonl(tmp_path / "fine" / "train.jsonl")]
    assert [text.rpartition(" ")[2] for text in fine] == ["0%", "63%", "100%"]


def test_label_only_states_the_level_too(tmp_path):
    rows = [make_row(make_group("q0", "consistent"), target=0.04)]
    folder = kept(tmp_path / "kept", rows, alignment="share")
    export_training_set(folder, tmp_path / "out", formats="canonical", label_only=True)
    (row,) = jsonl(tmp_path / "out" / "train.jsonl")
    assert row["completion"][0]["content"] == "Answer: 1871\nConfidence: 05%"
    assert LABEL_ONLY.read("Answer: 1871\nConfidence: 05%").confidence == row["confidence"] == 0.05


def test_what_cannot_be_written_is_rejected_and_counted(tmp_path):
    rows = make_rows(1)
    rows[0] |= {"target": 0.5}
    rows[1] |= {"target": 0.5, "reply": "Answer: 1871\nConfidence: 8/10"}
    folder = kept(tmp_path / "kept", rows, alignment="share")
    done = export_training_set(folder, tmp_path / "out", formats="canonical")
    assert done.rejected == {NO_NUMBER: 1, NO_TARGET: 1}
    assert [r["group"] for r in jsonl(tmp_path / "out" / "train.jsonl")] == [rows[0]["group"]]


@pytest.mark.parametrize("alignment", ["brier", "soft"])
def test_no_other_alignment_changes_a_reply(tmp_path, alignment):
    rows = [row | {"target": 0.1} for row in make_rows(1)]
    folder = kept(tmp_path / "kept", rows, alignment=alignment)
    facts = export(
        read_filtered(folder, read_groups=read_groups), tmp_path / "out", ExportOptions()
    )
    assert "levels" not in facts
    for row in jsonl(tmp_path / "out" / "train.jsonl"):
        assert row["completion"][0]["content"] == rows[0]["reply"]
        assert "target" not in row


def test_replies_that_nobody_filtered_are_named(tmp_path):
    folder = kept(tmp_path / "kept", make_rows(1), alignment="brier", unfiltered=True)
    export_training_set(folder, tmp_path / "out", formats="canonical")
    assert read_dataset(tmp_path / "out").variant == "own-replies"
