"""Samples whose confidence is scored: targets, turns through the levels, tokens that decide one."""

from dataclasses import replace

import pytest

from novarag.errors import UnknownNameError, UsageError
from novarag.sft.examples import TrainingExample
from novarag.sft.lengths import load_ruler
from novarag.sft.levels import NO_NUMBER, ConfidenceLevels
from novarag.sft.train.rows import read_dataset
from novarag.sft.train.scored import (
    NO_LEVEL,
    NOT_GRADED,
    level_tokens,
    number_place,
    take_turns,
    target_of,
)
from novarag.sft.train.settings import TrainingSettings, labelled
from novarag.sft.train.training import prepare
from tests.support.tiny_model import make_tokenizer
from tests.support.tiny_training import row, write_base, write_rows

SAID = "Answer: 1871\nConfidence: 100%"


def example(completion=SAID, **changed):
    return TrainingExample(
        prompt="Which year?", completion=completion, question="q", group="g", kind=None, answer="",
        confidence=1.0, correct=True,
    ) if not changed else replace(example(completion), **changed)  # fmt: skip


def ruler_of(folder, **how):
    make_tokenizer(folder, **how)
    return load_ruler(str(folder))


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return ruler_of(tmp_path_factory.mktemp("digits"), digits=True)


def test_a_target_goes_before_a_grade():
    assert target_of(example()) == 1.0
    assert target_of(example(correct=False)) == 0.0
    assert target_of(example(target=0.3)) == 0.3
    assert target_of(example(correct=None)) is None
    assert target_of(example(correct=None, target=0.3)) == 0.3


def test_samples_take_turns_through_the_levels():
    made = list(take_turns([example()] * 12, ConfidenceLevels(10)))
    assert [e.completion.partition("Confidence: ")[2] for e in made[:10]] == [
        f"{d}5%" for d in range(10)
    ]
    assert made[10].completion == made[0].completion
    assert all(e.fault is None for e in made)


def test_what_cannot_be_scored_says_why():
    wrong = [
        example(correct=None), example("Answer: x\nConfidence: 7/10"), example(target=1.5),
        example(target=float("nan")),
    ]  # fmt: skip
    found = [e.fault for e in take_turns(wrong, ConfidenceLevels(10))]
    assert found == [NOT_GRADED, NO_NUMBER, NOT_GRADED, NOT_GRADED]


def test_with_digits_one_by_one_the_first_says_the_level(digits):
    found = level_tokens(example(), digits, ConfidenceLevels(10))
    assert digits.tokenizer.convert_ids_to_tokens(list(found.tokens)) == list("0123456789")
    assert digits.tokenizer.convert_ids_to_tokens(list(found.rest)) == ["5", "%", "<|end|>"]
    (turned,) = take_turns([example()], ConfidenceLevels(10))
    assert found.fit(turned, digits)
    assert not found.fit(example(), digits)  # 100 % is no level
    assert not found.fit(example("Answer: 1871"), digits)


def test_levels_that_begin_alike_are_refused(digits, tmp_path):
    with pytest.raises(UsageError) as told:
        level_tokens(example(), digits, ConfidenceLevels(101))
    assert "does not say each of 101 levels by one token of its own (0 is 0, 1 is 1" not in str(
        told.value
    )
    assert "; give `levels=10`" in str(told.value)
    texts = [f"{i} {i}5% {i}5 {i}5" for i in (7, 9)]
    pairs = ruler_of(tmp_path, texts=texts, pieces=290)
    with pytest.raises(UsageError, match=r"10 levels by one token.*; train with `loss='text'`"):
        level_tokens(example(), pairs, ConfidenceLevels(10))


def test_levels_that_are_no_token_at_all_are_refused(tmp_path):
    words = load_ruler(str(write_base(tmp_path / "words")))  # it knows none, and calls each unknown
    with pytest.raises(UsageError, match=r"\(05 is <unk>, 15 is <unk>\)"):
        level_tokens(example(), words, ConfidenceLevels(10))


def test_whole_percents_may_be_tokens_of_their_own(tmp_path):
    """A tokenizer of words has one for each number."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<|turn|>", "<|end|>", "Answer", "Confidence", ":", "%"]
    known = {word: i for i, word in enumerate([*words, *map(str, range(101)), "05"])}
    bare = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    bare.pre_tokenizer = pre_tokenizers.Whitespace()
    made = PreTrainedTokenizerFast(tokenizer_object=bare, unk_token="<unk>", eos_token="<|end|>")
    made.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    made.save_pretrained(tmp_path)
    ruler = load_ruler(str(tmp_path))
    for count in (10, 101):
        levels = ConfidenceLevels(count)
        found = level_tokens(example(), ruler, levels)
        assert found.tokens == tuple(known[digits] for digits in levels.digits)
        assert found.rest == (known["%"],)


def test_a_number_far_from_the_end_is_ended_by_the_next_token(digits):
    near, far = (
        number_place(digits, example(f"Answer: x\nConfidence: 15%{more}"))
        for more in ("", "\nBecause the passages say so, all of them.")
    )
    names = digits.tokenizer.convert_ids_to_tokens
    assert names(list(near.ended)) == ["1", "5", "%", "<|end|>"]
    assert names(list(far.ended)) == ["1", "5", "%"]
    assert near.number == far.number


def test_a_completion_without_a_number_has_no_levels(digits):
    with pytest.raises(UsageError, match="is not one number"):
        level_tokens(example("Answer: x"), digits, ConfidenceLevels(10))


def test_a_job_holds_what_can_be_scored_and_counts_the_rest(tmp_path):
    base = write_base(tmp_path / "base")
    make_tokenizer(base, digits=True)
    rows = [row(i) for i in range(4)]
    for i, said in enumerate(("Answer: x\nConfidence: 70%",) * 3 + ("Answer: x",)):
        rows[i]["completion"][0]["content"] = said
    rows[1]["correct"] = None
    export = write_rows(tmp_path / "rows", rows)
    settings = TrainingSettings(loss="tokenized-brier")
    job = prepare(export, str(base), tmp_path / "out", settings)
    assert [e.question for e in job.splits["train"]] == ["q0", "q2"]
    assert job.left_out["train"] == {NOT_GRADED: 1, NO_NUMBER: 1}
    assert [e.completion[-3:] for e in job.splits["train"]] == ["05%", "25%"]
    assert not job.dataset.is_filtered
    kept = read_dataset(export).splits["train"]
    assert [e.completion[-3:] for e in kept[:3]] == ["70%"] * 3  # the rows stay as they are


def test_nothing_to_score_is_said(tmp_path):
    base = write_base(tmp_path / "base")
    make_tokenizer(base, digits=True)
    export = write_rows(tmp_path / "rows", [row(0, correct=None)])
    with pytest.raises(UsageError, match=f"no sample is left to train on.*1: {NOT_GRADED}"):
        prepare(export, str(base), tmp_path / "out", TrainingSettings(loss="mean-brier"))


def test_a_sample_cut_otherwise_is_left_out(tmp_path):
    base = write_base(tmp_path / "base")
    make_tokenizer(base, digits=True)
    rows = [row(i) for i in range(3)]
    for one, said in zip(
        rows, ("Confidence: 70%", "Confidence: 70%", "Confidence:70%"), strict=True
    ):
        one["completion"][0]["content"] = f"Answer: x\n{said}"
    export = write_rows(tmp_path / "rows", rows)
    job = prepare(export, str(base), tmp_path / "out", TrainingSettings(loss="mean-brier"))
    assert len(job.splits["train"]) + sum(job.left_out["train"].values()) == 3
    assert set(job.left_out["train"]) <= {NO_LEVEL}


def test_settings_of_losses():
    assert not TrainingSettings().is_scored
    assert TrainingSettings(loss="level-entropy").is_scored
    told = {s["name"]: s["said"] for s in labelled(TrainingSettings(loss="mean-brier"))}
    assert told["loss"] == "set: not the default (text)"
    with pytest.raises(UnknownNameError, match="brier"):
        TrainingSettings(loss="brier")
    with pytest.raises(UsageError, match="`levels` is 10 or 101"):
        TrainingSettings(levels=7)
    with pytest.raises(UsageError, match="leaves out all that `loss='mean-brier'` looks at"):
        TrainingSettings(loss="mean-brier", mask_confidence=True)
