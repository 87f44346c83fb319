"""A training from beginning to end, with a stand-in for the trainer; real ones are in tests/real."""

import json
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import orjson
import pytest

from novarag.errors import DataError, StorageError, UsageError
from novarag.sft.card import TrustedMarkdown, table
from novarag.sft.export_folder import seal_card
from novarag.sft.lengths import CHANGED, SPECIAL, load_ruler, too_long
from novarag.sft.levels import NO_NUMBER
from novarag.sft.recipe import train_yaml
from novarag.sft.train import training as module
from novarag.sft.train.base import find_base
from novarag.sft.train.model_card import TAUGHT, card_text
from novarag.sft.train.progress import TrainingSnapshot
from novarag.sft.train.rows import OTHERWISE, read_dataset, sound
from novarag.sft.train.settings import LINEAR, SAID, TrainingSettings, labelled, shown
from novarag.sft.train.training import prepare, train
from novarag.sft.train.workdir import differences, write_json
from tests.support.tiny_training import TEMPLATE, Killed, StandIn, row, write_base, write_rows

CARD = {
    "made_by": "novarag export",
    "label_only": False,
    "funnel": {
        "settings": {"alignment": "argmin"},
        "counts": [{"stage": "read", "kind": None, "kept": 7}],
        "reasons": [{"stage": "format", "reason": "no answer", "kind": None, "count": 2}],
    },
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return write_base(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def export(tmp_path):
    return write_rows(tmp_path / "export", [row(i) for i in range(5)])


@pytest.fixture
def job(base, export, tmp_path):
    return prepare(export, str(base), tmp_path / "out", TrainingSettings())


def run(job, engine, **more):
    said, seen = [], []
    told = train(job, on_event=seen.append, notice=said.append, engine=engine, **more)
    return told, said, seen


def adapter(out):
    return (out / "adapter" / "adapter_model.safetensors").read_text()


# Settings


def test_the_paper_and_assumptions_are_told_apart():
    told = {s["name"]: s for s in labelled(TrainingSettings())}
    assert told.keys() == SAID.keys()
    assert [n for n, s in told.items() if s["said"].startswith("paper")] == [
        "learning_rate", "epochs", "max_length",
    ]  # fmt: skip
    assert [n for n, s in told.items() if s["said"].startswith("released")] == [
        "rank", "targets", "upper_layers", "schedule", "warmup", "batch", "at_once",
    ]  # fmt: skip
    assert told["targets"]["value"] == list(LINEAR)
    changed = TrainingSettings(rank=4, targets=("c_attn",), epochs=1.5)
    told = {s["name"]: s["said"] for s in labelled(changed)}
    assert told["rank"] == "set: not the default (16)"
    assert told["alpha"] == SAID["alpha"]  # still twice the rank
    assert told["targets"].startswith("set: not the default (q_proj, k_proj")
    assert told["epochs"] == "set: not the default (2)"
    assert shown([False, True]) == "False, True"
    assert shown(False) == "no"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"learning_rate": 0}, "`learning_rate` must be a number above 0"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"epochs": float("inf")}, "epochs"),
        ({"rank": -1}, "rank"),
        ({"upper_layers": -1}, "`upper_layers` is a number of layers"),
        ({"targets": ()}, "`targets` must name a layer"),
        ({"batch": 9}, "`batch` and `at_once`"),
        ({"warmup": 1.0}, "`warmup` is a share"),
        ({"warmup": float("nan")}, "`warmup` is a share"),
    ],
)
def test_settings_that_cannot_be(wrong, said):
    with pytest.raises(UsageError, match=said):
        TrainingSettings(**wrong)


def test_a_step_is_shared_by_devices_evenly_or_not_at_all():
    assert TrainingSettings().accumulation(1) == 32
    assert TrainingSettings().accumulation(4) == 8  # as released
    assert TrainingSettings(batch=4).accumulation(1) == 1  # never more at once than in a step
    for devices in (3, 64):
        with pytest.raises(UsageError, match=f"shared by {devices} devices"):
            TrainingSettings().accumulation(devices)


def test_steps_are_counted_up_and_a_tenth_of_them_rises():
    released = TrainingSettings()
    assert (released.steps(1751), released.warmup_steps(1751)) == (14, 2)
    assert (released.steps(1), released.warmup_steps(1)) == (2, 1)
    assert TrainingSettings(epochs=0.5).steps(257) == 1
    assert TrainingSettings(warmup=0.0).warmup_steps(1751) == 0


def test_llama_factory_is_told_the_same():
    usual, text = TrainingSettings(), train_yaml(dataset="d", dev=None, base=None, longest=2048)
    for line in (
        f"lora_rank: {usual.rank}", f"lora_alpha: {usual.alpha}", "learning_rate: 5.0e-05",
        f"num_train_epochs: {usual.epochs}", f'lr_scheduler_type: "{usual.schedule}"',
        f"per_device_train_batch_size: {usual.at_once}", f"seed: {usual.seed}",
        f"gradient_accumulation_steps: {usual.batch // usual.at_once}", "cutoff_len: 2048  # paper",
        f"warmup_ratio: {usual.warmup}",
    ):  # fmt: skip
        assert f"\n{line}" in text


# The base


def test_a_base_is_known_by_all_its_weights(base, tmp_path):
    found = find_base(str(base))
    assert (found.name, found.place, found.dtype) == ("tiny", str(base.resolve()), "bfloat16")
    other = write_base(tmp_path / "tiny")
    assert find_base(str(other)).fingerprint == found.fingerprint
    weights = bytearray((other / "model.safetensors").read_bytes())
    weights[-1] ^= 1  # far behind the names and the embeddings
    (other / "model.safetensors").write_bytes(weights)
    assert find_base(str(other)).fingerprint != found.fingerprint
    for dtype in ("auto", "float64"):
        assert find_base(str(write_base(tmp_path / dtype, dtype=dtype))).dtype == "float32"


def test_a_base_that_cannot_serve(base, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"holds no config.json with weights as safetensors"):
        find_base(str(tmp_path / "empty"))
    broken = write_base(tmp_path / "broken")
    for content in ("{", "[]"):
        (broken / "config.json").write_text(content)
        with pytest.raises(UsageError, match=r"config.json of '.*broken' is damaged"):
            find_base(str(broken))


def test_a_name_is_looked_up_on_the_hub(base, monkeypatch):
    import huggingface_hub

    def snapshot(name, allow_patterns):
        assert not any("bin" in pattern or "py" in pattern for pattern in allow_patterns)
        if name == "some/model":
            return str(base)
        raise OSError(name)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    found = find_base("some/model")
    assert (found.name, found.place) == ("some/model", "some/model")
    with pytest.raises(UsageError, match="'no/such' is no folder, and no model of the hub"):
        find_base("no/such")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"\.\[train\]"):
        find_base("some/model")


# Rows


def test_rows_are_read_with_their_hashes(export, tmp_path):
    write_rows(export, [row(9, kind=None, correct=None)], split="dev")
    found = read_dataset(export)
    assert [len(found.splits[name]) for name in ("train", "dev")] == [5, 1]
    assert [file["name"] for file in found.files] == ["train.jsonl", "dev.jsonl"]
    assert len(found.files[0]["sha256"]) == 64
    assert found.variant == "other"
    with pytest.raises(UsageError, match=r"holds no train.jsonl"):
        read_dataset(tmp_path)


def carded(export, card=CARD, **changed):
    """Put a data card beside the rows that tells of them."""
    rows = [path for path in sorted(export.iterdir()) if path.suffix == ".jsonl"]
    files = [{"name": p.name, "sha256": sha256(p.read_bytes()).hexdigest()} for p in rows]
    sealed = seal_card({**card, "files": files}) | changed
    (export / "card.json").write_text(json.dumps(sealed))
    return export


@pytest.mark.parametrize(
    ("card", "variant"),
    [
        (CARD, "nova"),
        (CARD | {"label_only": True}, "label-only"),
        (CARD | {"funnel": CARD["funnel"] | {"settings": {"alignment": "soft"}}}, "soft"),
        (CARD | {"funnel": CARD["funnel"] | {"settings": {"unjudged": True}}}, "unjudged"),
        (CARD | {"funnel": CARD["funnel"] | {"settings": {"unfiltered": True}}}, "own-replies"),
    ],
)
def test_the_card_names_the_variant(export, card, variant):
    found = read_dataset(carded(export, card))
    assert found.variant == variant
    assert variant in TAUGHT
    assert "seal" not in found.card
    assert read_dataset(carded(export, card, licence="CC0")).card["licence"] == "CC0"


@pytest.mark.parametrize("card", [{"made_by": "somebody"}, {}, []])
def test_the_card_of_somebody_else_is_none(export, card):
    (export / "card.json").write_text(json.dumps(card))
    assert (read_dataset(export).card, read_dataset(export).variant) == (None, "other")


@pytest.mark.parametrize(
    "changed",
    [{"label_only": True}, {"made_by": "somebody"}, {"seal": "0"}, {"files": []}, {"more": 1}],
)
def test_a_card_that_was_altered_is_refused(export, changed):
    carded(export, **changed)
    with pytest.raises(
        DataError, match=r"card\.json: the file is damaged.*`export_training_set\(\.\.\.\)` again"
    ):
        read_dataset(export)


@pytest.mark.parametrize("text", ["{", '{"made_by": "novarag export"}'])
def test_a_card_that_cannot_be_read_or_vouches_for_nothing_is_refused(export, text):
    (export / "card.json").write_text(text)
    with pytest.raises(DataError, match=r"card\.json: the file is damaged.*take card\.json away"):
        read_dataset(export)


def test_rows_that_the_card_does_not_tell_of_are_refused(export):
    carded(write_rows(export, [row(9)], split="dev"))
    whole = (export / "dev.jsonl").read_bytes()
    (export / "dev.jsonl").write_bytes(whole.replace(b"70%", b"71%"))
    with pytest.raises(DataError, match=r"dev\.jsonl: the file is damaged"):
        read_dataset(export)
    (export / "dev.jsonl").unlink()
    with pytest.raises(DataError, match=r"dev\.jsonl: the file is damaged"):
        read_dataset(export)
    carded(export)
    (export / "dev.jsonl").write_bytes(whole)
    with pytest.raises(DataError, match=r"dev\.jsonl: the file is damaged"):
        read_dataset(export)


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"prompt": []}',
        json.dumps(row(0, prompt=[])),
        json.dumps(row(0, prompt=[{"role": "system", "content": "x"}])),
        json.dumps(row(0, completion=[{"role": "assistant", "content": 3}])),
        json.dumps(row(0, completion=[{"role": "assistant", "content": "x"}] * 2)),
        json.dumps(row(0, confidence="much")),
    ],
)
def test_a_row_that_is_none_is_named(export, line):
    text = (export / "train.jsonl").read_text()
    (export / "train.jsonl").write_text(f"{text}\n{line}\n")
    with pytest.raises(DataError, match=r"train.jsonl, row 7: is not a prompt"):
        read_dataset(export)


def test_what_cannot_be_learnt_as_it_is_is_left_out_and_counted(base, tmp_path):
    fine = row(1)
    long = row(2, completion=[{"role": "assistant", "content": "word " * 40 + "end"}])
    special = row(3, prompt=[{"role": "user", "content": "stop <|end|> there"}])
    folder = write_rows(tmp_path / "e", [fine, long, special, long])
    (examples,) = read_dataset(folder).splits.values()
    found = sound(examples, load_ruler(str(base), longest=30))
    assert [e.question for e in found.examples] == ["q1"]
    assert found.left_out == {too_long(30): 2, SPECIAL: 1}
    thinking = TEMPLATE.replace("assistant {% endif", "assistant <|turn|> {% endif")
    ruler = load_ruler(str(write_base(tmp_path / "thinking", template=thinking)))
    assert sound(examples[:1], ruler).left_out == {OTHERWISE: 1}
    forgetful = TEMPLATE.replace("m['content']", "m['content'][:9]")
    ruler = load_ruler(str(write_base(tmp_path / "forgetful", template=forgetful)))
    assert sound(examples[:1], ruler).left_out == {CHANGED: 1}


def test_what_states_no_number_cannot_have_it_masked(base, tmp_path):
    said = "Answer: x Confidence: high"
    silent = row(1, completion=[{"role": "assistant", "content": said}])
    export = write_rows(tmp_path / "e", [row(0), silent, row(2)])
    masked = TrainingSettings(mask_confidence=True)
    job = prepare(export, str(base), tmp_path / "out", masked)
    assert [e.question for e in job.splits["train"]] == ["q0", "q2"]
    assert job.left_out["train"] == {NO_NUMBER: 1}
    job = prepare(export, str(base), tmp_path / "out", TrainingSettings())
    assert len(job.splits["train"]) == 3


# A training


def test_a_training_writes_what_it_says(job, base):
    engine = StandIn()
    told, said, seen = run(job, engine)
    assert said == []
    assert [p.step for p in seen] == [1, 2, 3, 4, 5, 6]
    assert told == orjson.loads((job.out / "training.json").read_bytes())
    assert told["made_by"] == "novarag train"
    assert told["base"]["fingerprint"] == find_base(str(base)).fingerprint
    assert told["tokenizer_sha256"] == job.ruler.fingerprint
    assert told["losses"][-1] == {
        "step": 6, "epoch": 2.0, "loss": 2 / 6, "learning_rate": 1e-4, "tokens": 60, "seconds": 3.0,
    }  # fmt: skip
    assert told["dev_losses"] == []
    assert told["versions"].keys() == {"numpy"}
    assert told["sample"]["prompt"] == "What is number 0 ?"
    assert told["sample"]["text"].endswith("<|turn|> assistant ")
    assert told["sample"]["tokens"] == job.ruler.render("What is number 0 ?")[1]
    assert sorted(p.name for p in job.out.iterdir()) == [
        "README.md", "adapter", "plan.json", "training.json",
    ]  # fmt: skip


def test_a_log_of_an_older_trainer_is_read(job):
    engine = StandIn()
    fit = engine.fit
    engine.fit = lambda *a: [
        {k: v for k, v in r.items() if k not in {"tokens", "seconds"}} | {"num_tokens": 5.0}
        for r in fit(*a)
    ]
    told, _, _ = run(job, engine)
    assert (told["losses"][0]["tokens"], told["losses"][0]["seconds"]) == (5, 0.0)


@pytest.mark.parametrize("killed", [1, 2, 3, 5, 6])
def test_a_killed_training_goes_on_and_ends_the_same(job, killed, tmp_path):
    calm, _, _ = run(replace(job, out=tmp_path / "calm"), StandIn())
    engine = StandIn()
    engine.kill_after = killed
    with pytest.raises(Killed):
        run(job, engine)
    engine.kill_after = None
    told, said, seen = run(job, engine)
    whole = killed // 2 * 2
    assert engine.resumed == [0, whole]
    assert said == ([f"going on after step {whole}"] if whole else [])
    assert [p.fresh for p in seen] == list(range(1, 7 - whole))
    assert adapter(job.out) == adapter(tmp_path / "calm")
    assert told == calm
    assert not (job.out / "checkpoints").exists()


def test_a_damaged_checkpoint_is_passed_over_and_said(job, tmp_path):
    run(replace(job, out=tmp_path / "calm"), StandIn())
    engine = StandIn()
    engine.kill_after = 5
    with pytest.raises(Killed):
        run(job, engine)
    (job.out / "checkpoints" / "checkpoint-4" / "state").write_text("scratched")
    (job.out / "checkpoints" / "checkpoint-6").mkdir()
    engine.kill_after = None
    _, said, _ = run(job, engine)
    assert said == [
        "checkpoint-6 was not whole and is cleared away",
        "checkpoint-4 was not whole and is cleared away",
        "going on after step 2",
    ]
    assert adapter(job.out) == adapter(tmp_path / "calm")


def test_what_is_finished_is_not_done_again_and_can_be_merged_later(job):
    engine = StandIn()
    first, _, _ = run(job, engine)
    (job.out / "checkpoints").mkdir()  # as if killed after the last word
    (job.out / "README.md").unlink()
    again, said, seen = run(job, engine, merged=True)
    assert (again, said, seen, engine.resumed) == (first, [], [], [0])
    assert engine.merged == [job.out / "merged"]
    assert (job.out / "merged" / "model.safetensors").read_text().endswith("bfloat16")
    assert (job.out / "README.md").is_file()
    assert not (job.out / "checkpoints").exists()
    run(job, engine, merged=True)
    assert len(engine.merged) == 1


def test_an_adapter_that_is_gone_is_made_again(job):
    engine = StandIn()
    run(job, engine)
    (job.out / "adapter" / "adapter_model.safetensors").unlink()
    run(job, engine)
    assert engine.resumed == [0, 0]
    assert adapter(job.out)


def test_a_kill_before_the_adapter_repeats_no_step(job):
    engine = StandIn()
    engine.kill_before_adapter = True
    with pytest.raises(Killed):
        run(job, engine)
    engine.kill_before_adapter = False
    _, _, seen = run(job, engine)
    assert (engine.resumed, seen) == ([0, 6], [])


def test_going_on_otherwise_is_refused_by_name(base, export, tmp_path):
    out = tmp_path / "out"
    engine = StandIn()
    engine.kill_after = 3
    with pytest.raises(Killed):
        run(prepare(export, str(base), out, TrainingSettings()), engine)

    def refused(settings=None, model=base):
        with pytest.raises(UsageError) as caught:
            prepare(export, str(model), out, settings or TrainingSettings())
        return str(caught.value)

    said = refused(TrainingSettings(batch=8, at_once=4, learning_rate=1e-3))
    assert (
        "`learning_rate` was 5e-05, now 0.001; `batch` was 256, now 8; `at_once` was 8, now 4."
        in said
    )
    assert "`out`" in said
    said = refused(TrainingSettings(targets=("q_proj",)))
    assert (
        "`targets` was q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, now q" in said
    )
    prepare(export, str(base), out, TrainingSettings(save_every=7))  # decides nothing
    other = write_base(tmp_path / "other", template=TEMPLATE + " ")
    (other / "model.safetensors").write_bytes(b"others")
    said = refused(model=other)
    for part in ("name of the base model was tiny, now other", "fingerprint of", "the tokenizer"):
        assert part in said
    write_rows(export, [row(0)], split="dev")
    write_rows(export, [row(0)])
    said = refused()
    assert "SHA-256 of dev.jsonl was not there, now" in said
    assert "SHA-256 of train.jsonl was" in said
    assert "…" in said


def test_another_arithmetic_is_refused(job):
    engine = StandIn(arithmetic="bfloat16")
    engine.kill_after = 3
    with pytest.raises(Killed):
        run(job, engine)
    with pytest.raises(UsageError, match="arithmetic of the machine was bfloat16, now float32"):
        run(job, StandIn())
    plan = orjson.loads((job.out / "plan.json").read_bytes())
    del plan["precision"]  # as before it was noted
    write_json(job.out / "plan.json", plan)
    run(job, StandIn())


def test_a_setting_that_did_not_exist_yet_is_no_difference(job):
    begun = job.plan | {"settings": {"rank": 16, "warmup_steps": 0}}
    assert list(differences(begun, job.plan)) == []
    now = job.plan | {"settings": job.plan["settings"] | {"mask_confidence": True}}
    assert list(differences(begun, now)) == ["`mask_confidence` was no, now yes"]
    assert list(differences({"made_by": "x"}, job.plan)) == ["it is no training of novarag's"]


def test_a_foreign_folder_is_left_alone(base, export, tmp_path):
    place = tmp_path / "mine"
    place.mkdir()
    prepare(export, str(base), place, TrainingSettings())  # an empty one will do
    (place / "thesis.txt").write_text("years")
    for out in (place, place / "thesis.txt"):
        with pytest.raises(UsageError, match="holds something else"):
            prepare(export, str(base), out, TrainingSettings())
    assert (place / "thesis.txt").read_text() == "years"


def test_a_kill_in_the_first_instant_leaves_nothing_in_the_way(job, base, export):
    job.out.mkdir()
    draft = job.out / f".plan.json.{2**22 + 1}.draft"  # of a process above the largest number
    draft.write_bytes(b"{")
    run(prepare(export, str(base), job.out, TrainingSettings()), StandIn())
    assert not draft.exists()


def test_damaged_notes_are_named(job, base, export):
    run(job, StandIn())
    for name in ("training.json", "plan.json"):
        for content in ("{", "[]"):
            (job.out / name).write_text(content)
            with pytest.raises(DataError, match=rf"{name}: is damaged"):
                run(prepare(export, str(base), job.out, TrainingSettings()), StandIn())


def test_only_one_process_of_several_writes(job, monkeypatch):
    engine = StandIn()
    engine._save = lambda *_: None
    monkeypatch.setenv("RANK", "1")
    fit = engine.fit

    def watched(*given):
        job.out.mkdir()
        log = fit(*given)
        (job.out / "adapter" / "adapter_model.safetensors").unlink()
        (job.out / "adapter").rmdir()
        return log

    engine.fit = watched
    told, said, _ = run(job, engine, merged=True)
    assert len(told["losses"]) == 6
    assert list(job.out.iterdir()) == []
    assert (said, engine.merged) == ([], [])


def test_nothing_left_is_said_with_reasons(base, tmp_path):
    folder = write_rows(tmp_path / "e", [row(1), row(2)])
    with pytest.raises(UsageError, match=r"no sample is left to train on \(2: longer than 3"):
        prepare(folder, str(base), tmp_path / "out", TrainingSettings(max_length=3))
    write_rows(folder, [])
    with pytest.raises(UsageError, match=r"\(train.jsonl is empty\)"):
        prepare(folder, str(base), tmp_path / "out", TrainingSettings())


def test_a_dev_split_is_watched_or_its_loss_of_rows_is_told(base, export, tmp_path):
    long = row(9, prompt=[{"role": "user", "content": "word " * 99}])
    write_rows(export, [row(7), long], split="dev")
    job = prepare(export, str(base), tmp_path / "out", TrainingSettings(max_length=50))
    told, _, _ = run(job, StandIn())
    assert told["dev_losses"] == [{"step": 6, "loss": 0.5}]
    assert told["left_out"] == [{"split": "dev", "reason": too_long(50), "count": 1}]
    for rows in ([], [long]):
        write_rows(export, rows, split="dev")
        job = prepare(
            export, str(base), tmp_path / f"out{len(rows)}", TrainingSettings(max_length=50)
        )
        assert job.splits.keys() == {"train"}
        assert run(job, StandIn())[0]["dev_losses"] == []


def test_a_full_disk_is_one_line(job, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(StorageError, match=r"cannot write .*plan.json: No space left"):
        run(job, StandIn())
    monkeypatch.undo()
    monkeypatch.setattr("novarag.sft.train.model_card.write_whole", full)
    with pytest.raises(StorageError, match="No space left on device; fix that and run the same"):
        module._wind_up(job, run_told(job, monkeypatch))
    monkeypatch.undo()
    run(job, StandIn())


def run_told(job, monkeypatch):
    with monkeypatch.context() as calm:
        calm.undo()
        engine = StandIn()
        log = [{"step": 1, "epoch": 1.0, "loss": 1.0, "learning_rate": 1e-4}]
        return module._tell(job, log, engine)


def test_missing_packages_are_named_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None if name in {"trl", "peft"} else 1)
    with pytest.raises(
        UsageError, match=r"\.\[train\]' in a clone of novarag \(not there: peft, trl\)"
    ):
        module.check_packages()
    monkeypatch.setattr(module, "find_spec", lambda name: 1)
    module.check_packages()

    def broken(name):
        raise ImportError("no torch")

    monkeypatch.setattr(module, "import_module", broken)
    with pytest.raises(UsageError, match=r"\.\[train\]' in a clone of novarag \(no torch\)"):
        module.load_engine()
    monkeypatch.setattr(module, "import_module", lambda name: name)
    assert module.load_engine() == "novarag.sft.train.engine"


def test_the_real_engine_is_taken_when_none_is_handed_in(job, monkeypatch):
    engine = StandIn()
    monkeypatch.setattr(module, "load_engine", lambda: engine)
    run(job, None)
    run(job, None, merged=True)
    assert (engine.resumed, len(engine.merged)) == ([0], 1)


def test_reading_settings_does_not_bring_torch():
    code = "import sys, novarag.sft.train; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_time_left_is_of_this_process():
    now = TrainingSnapshot(step=60, steps=100, fresh=10, loss=1.0, tokens=0, seconds=5.0)
    assert now.left == pytest.approx(20.0)
    assert TrainingSnapshot(step=0, steps=9, fresh=0, loss=1.0, tokens=0, seconds=0).left == 0


# The model card

HOSTILE = "<img src=x onerror=alert(1)>|`**[a](http://x)\u202e\n# Head {{7*7}}"


def test_the_card_of_a_model_tells_all(job, tmp_path):
    told, _, _ = run(job, StandIn())
    page = (job.out / "README.md").read_text()
    assert page.startswith("---\nlibrary_name: peft\n")
    assert "| `learning_rate` | 5e-05 | paper: 5e-5 |" in page
    assert "| `targets` | q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj |" in page
    assert "| `gradient_checkpointing` | yes |" in page
    assert "\\" not in page  # nothing here is foreign
    assert f"| train.jsonl | {told['data']['files'][0]['sha256']} |" in page
    assert "6 steps in float32: mean loss 2.000 over the first 1, 0.333 over the last 1." in page
    assert "There was no dev split." in page
    assert "the folder had no data card" in page
    assert page.index("mean loss") < page.index("The losses above")
    assert str(tmp_path) not in page


def test_a_card_shows_funnel_dev_and_what_was_left_out(job):
    told, _, _ = run(job, StandIn())
    told |= {
        "variant": "nova",
        "dev_losses": [{"step": 6, "loss": 0.25}],
        "left_out": [{"split": "dev", "reason": too_long(9), "count": 1234}],
    }
    told["data"] |= {"card": CARD}
    told["examples"].append(
        {"split": "dev", "all": False, "kind": None, "examples": 1, "questions": 1}
    )
    page = card_text(told)
    assert "# tiny, taught nova" in page
    assert "| read | 7 |" in page
    assert "| format | no answer | 2 |" in page
    assert "| dev | longer than 9 tokens | 1,234 |" in page
    assert "| dev | not known | 1 | 1 |" in page
    assert "Loss on the dev split: 0.250 after step 6." in page


def test_no_foreign_text_changes_the_card(job):
    told, _, _ = run(job, StandIn())
    told["base"]["name"] = HOSTILE
    told["settings"] = labelled(TrainingSettings(targets=(HOSTILE,)))
    told["examples"][1]["kind"] = HOSTILE
    calm = card_text(orjson.loads((job.out / "training.json").read_bytes()))
    page = card_text(told)
    assert len(page.splitlines()) == len(calm.splitlines())
    assert page.count("\n#") == calm.count("\n#")
    assert "<img" not in page
    assert "\u202e" not in page
    for line, plain in zip(page.splitlines(), calm.splitlines(), strict=True):
        assert line.replace("\\|", "").count("|") == plain.count("|")


def test_words_of_ours_are_shown_as_they_are():
    assert table(("a_b",), [(TrustedMarkdown("`x_y`"),), ("x_y",)]).splitlines()[2:] == [
        "| `x_y` |",
        r"| x\_y |",
    ]
