"""Render, read and example from Python."""

import asyncio
import sys
from dataclasses import replace

import pytest

import novarag
from novarag import STRATEGIES, Labels, load_groups, read_reply, render, write_example
from novarag.errors import DataError, UnknownNameError, UsageError
from novarag.examples import EXAMPLE_GROUP, simulated_pools
from novarag.strategies import FORMATS, NumberScale
from novarag.strategies.finding import find_labels, find_strategy


def test_prompts_of_the_example_a_group_several_and_a_file(tmp_path):
    example = STRATEGIES["nova"].render(EXAMPLE_GROUP)
    assert render() == [example] == render(EXAMPLE_GROUP) == render(iter([EXAMPLE_GROUP]))
    file = write_example(tmp_path / "pools.jsonl").path
    prompts = render(str(file), STRATEGIES["cot"])
    assert prompts == render(simulated_pools(), "cot") == render(file, "novarag.strategies:COT")
    assert len(prompts) == 96


@pytest.mark.parametrize("wrong", [3, ["text"], {"question": "Who?"}])
def test_what_is_no_group_says_what_was_expected(wrong):
    with pytest.raises(TypeError, match="PassageGroup objects, not"):
        render(wrong)


def test_a_strategy_of_another_type_says_what_was_expected():
    with pytest.raises(TypeError, match="a name or a Strategy, not"):
        render(strategy=3)
    with pytest.raises(TypeError, match="a name or a Strategy, not"):
        find_labels(None)
    with pytest.raises(UnknownNameError, match="cott"):
        find_strategy("cott")


def test_a_file_that_is_not_there():
    with pytest.raises(DataError, match="no such file"):
        render("nowhere.jsonl")


def test_a_module_beside_the_caller_is_not_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    (tmp_path / "beside_me.py").write_text("from novarag.strategies import VANILLA as MINE")
    before = list(sys.path)
    with pytest.raises(UsageError, match="cannot be imported"):
        render(strategy="beside_me:MINE")
    assert sys.path == before


def test_a_reply_is_read_by_name_strategy_or_labels():
    reply = "Answer: Paris\nConfidence: 85%"
    found = read_reply(reply)
    assert (found.answer, found.confidence) == ("Paris", 0.85)
    assert found == read_reply(reply, STRATEGIES["nova"]) == read_reply(reply, Labels())
    assert found == novarag.read(reply, Labels())
    assert read_reply("Paris, 0.9", "guess-probability").confidence == 0.9


def test_the_scale_of_a_bare_number():
    reply = '{"answer": "Paris", "confidence": 1}'
    assert read_reply(reply).confidence is None
    assert read_reply(reply, scale="unit").confidence == 1
    assert read_reply(reply, scale=NumberScale.HUNDRED).confidence == 0.01
    assert find_labels("answer-tags", "percent") == replace(
        FORMATS["answer-tags"], scale=NumberScale.PERCENT
    )
    with pytest.raises(UnknownNameError, match="percent"):
        read_reply(reply, scale="per mille")


def test_what_cannot_be_read_says_what_was_expected():
    with pytest.raises(TypeError, match="text of a reply, not bytes"):
        read_reply(b"Answer: x")
    with pytest.raises(UnknownNameError, match="answer-tags"):
        read_reply("", "vibes")


@pytest.mark.parametrize(
    ("name", "holds", "rows"),
    [
        ("a.csv", "answers", 480),
        ("a.jsonl", "pools", 96),
        ("questions.jsonl", "questions", 48),
        ("a.toml", "pipeline", 1),
    ],
)
def test_examples(name, holds, rows, tmp_path):
    made = write_example(str(tmp_path / name))
    assert (made.path, made.holds, made.rows) == (tmp_path / name, holds, rows)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    with pytest.raises(UsageError, match="exists already"):
        write_example(made.path)


def test_an_example_that_cannot_be_written_names_its_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_example(tmp_path / "no" / "a.csv")
    assert caught.value.filename == str(tmp_path / "no" / "a.csv")
    with pytest.raises(UsageError, match="must end in"):
        write_example(tmp_path / "a.txt")


def test_they_work_in_a_running_loop(tmp_path):
    async def notebook():
        file = write_example(tmp_path / "pools.jsonl").path
        return render(file), read_reply("Answer: x\nConfidence: 3%")

    prompts, reading = asyncio.run(notebook())
    assert len(prompts) == len(load_groups(tmp_path / "pools.jsonl"))
    assert reading.confidence == 0.03
