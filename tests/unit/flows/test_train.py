"""Training from Python, with a stand-in for the trainer."""

import asyncio
import hashlib
import json
import threading

import pytest

import novarag
from novarag.flows.events import Note, Notice, TrainingProgress
from novarag.sft.export_folder import seal_card
from novarag.sft.train import training as module
from tests.support.tiny_model import make_tokenizer
from tests.support.tiny_training import Killed, StandIn, row, write_base, write_rows


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return write_base(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def export(tmp_path):
    return write_rows(tmp_path / "export", [row(i) for i in range(5)])


@pytest.fixture
def engine(monkeypatch):
    made = StandIn()
    monkeypatch.setattr(module, "load_engine", lambda: made)
    monkeypatch.setattr(module, "check_packages", lambda: None)
    return made


def test_from_an_export_to_a_model(engine, export, base, tmp_path):
    told, out = [], tmp_path / "m"
    settings = novarag.TrainingSettings(batch=4, epochs=1.0)
    done = novarag.train_model(
        export, base, out, settings=settings, merge=True, on_event=told.append
    )
    assert told[0] == Note("tiny, other: 5 samples")
    assert told[1] == Note("2 steps in all, of 4 samples: a smaller `batch` gives more")
    steps = [event.now.step for event in told if isinstance(event, TrainingProgress)]
    assert steps == [1, 2, 3, 4, 5, 6]
    assert done.adapter.is_dir()
    assert engine.merged == [out / "merged"]
    assert done.samples == {"train": 5}
    assert done.left_out == {"train": {}}
    assert len(done.losses) == 6
    assert done.facts == json.loads((out / "training.json").read_bytes())
    assert (out / "report.html").is_file()
    assert repr(done).splitlines() == [
        f"TrainingResult of 'tiny' at {str(out)!r}",
        "  samples: train 5",
        "  6 steps, loss 2.000 to 0.333",
        "  merged: yes",
    ]


@pytest.mark.parametrize(
    ("loss", "unfiltered"), [("text", 0), ("mean-brier", 0), ("mean-brier", 1)]
)
@pytest.mark.usefixtures("engine")
def test_filtered_replies_are_no_measure_of_confidence(tmp_path, loss, unfiltered):
    base = write_base(tmp_path / "digits")
    make_tokenizer(base, digits=True)
    said = [{"role": "assistant", "content": "Answer: x\nConfidence: 70%"}]
    export = write_rows(tmp_path / "export", [row(i, completion=said) for i in range(3)])
    funnel = {"settings": {"alignment": "brier", "unfiltered": bool(unfiltered)}, "counts": []}
    rows = hashlib.sha256((export / "train.jsonl").read_bytes()).hexdigest()
    card = {"made_by": "novarag export", "files": [{"name": "train.jsonl", "sha256": rows}]}
    model = "simulated:base" if unfiltered else "llama"
    card |= {"funnel": funnel | {"reasons": []}, "label_only": False, "model": model}
    (export / "card.json").write_text(json.dumps(seal_card(card)))
    told, settings = [], novarag.TrainingSettings(loss=loss, batch=2)
    novarag.train_model(export, base, tmp_path / "m", settings=settings, on_event=told.append)
    simulated = [e for e in told if isinstance(e, Note) and "an instrument, not a" in e.text]
    assert len(simulated) == unfiltered
    warned = [e for e in told if isinstance(e, Note) and "these replies were filtered" in e.text]
    assert len(warned) == (loss != "text" and not unfiltered)


def test_a_killed_training_goes_on_in_a_loop_or_a_thread(engine, export, base, tmp_path):
    engine.kill_after = 3
    with pytest.raises(Killed):
        novarag.train_model(export, base, tmp_path / "m")
    engine.kill_after, told = None, []

    async def notebook():
        return novarag.train_model(
            str(export), str(base), str(tmp_path / "m"), on_event=told.append
        )

    first = asyncio.run(notebook())
    assert Notice("going on after step 2") in told
    found = []
    thread = threading.Thread(
        target=lambda: found.append(novarag.train_model(export, base, tmp_path / "m"))
    )
    thread.start()
    thread.join()
    assert found[0].losses == first.losses


def test_of_several_processes_one_writes_and_tells(engine, export, base, tmp_path, monkeypatch):
    novarag.train_model(export, base, tmp_path / "m")
    (tmp_path / "m" / "report.html").unlink()
    monkeypatch.setenv("RANK", "1")
    told = []
    done = novarag.train_model(export, base, tmp_path / "m", on_event=told.append)
    assert (done.lead, told) == (False, [])
    assert not (tmp_path / "m" / "report.html").exists()


def test_settings_are_of_their_type(export, base, tmp_path):
    with pytest.raises(TypeError, match="settings must be TrainingSettings, not dict"):
        novarag.train_model(export, base, tmp_path / "m", settings={"rank": 4})
