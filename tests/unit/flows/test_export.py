"""Exporting from Python."""

import asyncio
import json

import pytest

import novarag
from novarag.errors import UnknownNameError, UsageError
from novarag.flows.events import FileWritten
from novarag.strategies import Strategy, Template
from tests.support.filtered_folder import contents, make_group, make_row, make_rows, write_filtered

MINE = Strategy(name="mine", template=Template("Question: {question}\n"))


@pytest.fixture
def filtered(tmp_path):
    return write_filtered(tmp_path / "filtered", make_rows())


def test_what_was_written_is_a_record(filtered, tmp_path):
    told = []
    done = novarag.export_training_set(filtered, tmp_path / "out", dev=0.5, on_event=told.append)
    card = json.loads((tmp_path / "out" / "card.json").read_bytes())
    assert done.place == tmp_path / "out"
    assert told == [FileWritten(tmp_path / "out")]
    assert done.formats == ("canonical", "llama-factory", "openai")
    assert [s.name for s in done.splits] == ["train", "dev"]
    for split in done.splits:
        assert split.examples == sum(row.examples for row in split.kinds)
        lines = (tmp_path / "out" / f"{split.name}.jsonl").read_bytes().splitlines()
        assert split.examples == len(lines)
    assert done.card["examples"] == card["examples"]
    assert done.rejected == {}
    assert any("too few to train on" in warning for warning in done.warnings)
    assert any("lengths were not checked" in warning for warning in done.warnings)


def test_its_repr_is_a_few_lines(tmp_path):
    rows = make_rows(1)
    rows[0]["answer"] = "<think>"
    filtered = write_filtered(tmp_path / "f", rows)
    done = novarag.export_training_set(
        str(filtered), str(tmp_path / "out"), formats="openai", label_only=True, dev=1e-9
    )
    assert done.formats == ("openai",)
    assert done.rejected == {"the answer cannot be read back from two lines": 1}
    assert "no question fell to the dev split; give a larger `dev`" in done.warnings
    lines = repr(done).splitlines()
    assert lines[0] == f"Export of replies of 'small/model' at {str(tmp_path / 'out')!r}"
    assert "  rejected 1: the answer cannot be read back from two lines" in lines
    assert "  formats: openai" in lines


def test_the_same_inside_a_running_loop(filtered, tmp_path):
    async def notebook():
        return novarag.export_training_set(filtered, tmp_path / "two")

    novarag.export_training_set(filtered, tmp_path / "one")
    asyncio.run(notebook())
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.parametrize("own", [MINE, [MINE], "mine_beside:MINE", ["nova", "mine_beside:MINE"]])
def test_a_strategy_of_ones_own_as_object_or_by_name(tmp_path, monkeypatch, own):
    (tmp_path / "mine_beside.py").write_text(
        "from novarag.strategies import Strategy, Template\n"
        "MINE = Strategy(name='mine', template=Template('Question: {question}\\n'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    group = make_group("q0", "consistent")
    row = make_row(group) | {"strategy": "mine", "prompt_hash": MINE.render(group).hash}
    filtered = write_filtered(tmp_path / "f", [row])
    with pytest.raises(UsageError, match=r"`strategies='package.module:OBJECT'`"):
        novarag.export_training_set(filtered, tmp_path / "out")
    done = novarag.export_training_set(filtered, tmp_path / "out", strategies=own)
    assert done.splits[0].examples == 1


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"strategies": "novanova"}, UnknownNameError, "'novanova' is not one of"),
        ({"strategies": "a:"}, UsageError, "'a:' cannot be imported: write package.module:OBJECT"),
        ({"strategies": "no.such:THING"}, UsageError, "cannot be imported: No module named"),
        ({"strategies": "novarag:ask"}, UsageError, "is not a Strategy but a function"),
        ({"strategies": [3]}, TypeError, "strategies must be Strategy objects or .*, not int"),
        ({"max_length": 9}, UsageError, "`max_length` counts tokens, so it needs `tokenizer`"),
        ({"formats": "csv"}, UnknownNameError, "canonical"),
    ],
)
def test_impossible_wishes_are_refused(filtered, tmp_path, given, error, said):
    with pytest.raises(error, match=said):
        novarag.export_training_set(filtered, tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_another_type_says_what_was_expected(tmp_path):
    with pytest.raises(TypeError, match="filtered must be the path of a folder, not int"):
        novarag.export_training_set(3, tmp_path / "out")
    with pytest.raises(TypeError, match="out must be the path of a folder, not NoneType"):
        novarag.export_training_set(tmp_path, None)
