"""`novarag train fit` as its users meet it, with a stand-in for the trainer."""

import json
import re
import sys

import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.cli.train.fit import show
from novarag.errors import UsageError
from novarag.report.templating import text_hash
from novarag.report.training import loss_curve, training_page
from novarag.sft.train import training as module
from novarag.sft.train.progress import TrainingSnapshot
from tests.support.tiny_training import Killed, StandIn, row, write_base, write_rows

run = CliRunner().invoke


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


def train(export, base, out, *more):
    return run(app, ["train", "fit", str(export), "--base", str(base), "--out", str(out), *more])


def test_from_an_export_to_a_model(engine, export, base, tmp_path):
    write_rows(export, [row(8)], split="dev")
    result = train(export, base, tmp_path / "m", "--merge", "--batch", "4")
    assert result.exit_code == 0, result.output
    assert "tiny, other: 5 samples, 1 to watch\n" in result.stderr
    assert "6 steps, loss 2.000 at the first and 0.333 at the last" in result.stdout
    assert f"wrote {tmp_path / 'm'}: adapter/, merged/, a model card" in result.stdout
    assert f"next: novarag train serve {tmp_path / 'm'}" in result.stdout
    told = json.loads((tmp_path / "m" / "training.json").read_bytes())
    assert {s["name"]: s["value"] for s in told["settings"]}["batch"] == 4
    assert (tmp_path / "m" / "report.html").is_file()


def test_the_same_line_again_goes_on(engine, export, base, tmp_path):
    engine.kill_after = 3
    with pytest.raises(Killed):
        run(app, ["train", "fit", str(export), "--base", str(base), "--out", str(tmp_path / "m")],
            catch_exceptions=False)  # fmt: skip
    engine.kill_after = None
    result = train(export, base, tmp_path / "m")
    assert "found: going on after step 2" in result.stderr
    again = train(export, base, tmp_path / "m")
    assert again.exit_code == 0
    assert "loss" not in again.stderr
    assert again.stdout == result.stdout


def test_what_is_left_out_is_said(engine, export, base, tmp_path):
    long = row(9, prompt=[{"role": "user", "content": "word " * 99}])
    write_rows(export, [row(1), long])
    write_rows(export, [long, long], split="dev")
    result = train(export, base, tmp_path / "m", "--max-length", "50")
    assert "left out of train 1: longer than 50 tokens" in result.stderr
    assert "left out of dev 2: longer than 50 tokens" in result.stderr
    assert "no sample is left in dev.jsonl: its loss is not watched" in result.stderr


def test_layers_can_be_named(engine, export, base, tmp_path):
    train(export, base, tmp_path / "m", "--targets", "c_attn", "--targets", "c_proj")
    plan = json.loads((tmp_path / "m" / "plan.json").read_bytes())
    assert plan["settings"]["targets"] == ["c_attn", "c_proj"]


def test_other_processes_are_silent_and_write_no_page(engine, export, base, tmp_path, monkeypatch):
    assert train(export, base, tmp_path / "m").exit_code == 0
    (tmp_path / "m" / "report.html").unlink()
    monkeypatch.setenv("RANK", "3")
    result = train(export, base, tmp_path / "m")
    assert (result.exit_code, result.output) == (0, "")
    assert not (tmp_path / "m" / "report.html").exists()


def test_usage_is_checked_before_anything_is_imported(export, base, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"\.\[train\]"):
        run(
            app,
            ["train", "fit", str(export), "--base", str(base), "--out", str(tmp_path / "m")],
            catch_exceptions=False,
        )


def progress(step, steps, seconds=10.0):
    return TrainingSnapshot(
        step=step, steps=steps, fresh=step, loss=1.23456, tokens=4000 * step, seconds=seconds
    )


@pytest.mark.parametrize("steps", [1, 7, 20, 39, 1000])
def test_where_nothing_can_be_drawn_there_are_few_lines(capsys, steps):
    for step in range(1, steps + 1):
        show(progress(step, steps))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == min(steps, 20)
    last = f"step {steps:,} of {steps:,} · loss 1.235 · {400 * steps:,} tokens/s · 0 s left"
    assert lines[-1] == last


def test_on_a_terminal_one_line_moves_and_is_no_wider(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    show(progress(1, 4))
    show(progress(4, 4, seconds=0.0))
    said = capsys.readouterr().err
    first, second = said.split("\r\x1b[2K")[1:]
    assert first.startswith("██░░░░░░░░ step 1 of 4 · loss 1.235 · 400 tokens/s · 30")
    assert len(first) == 59
    assert second.startswith("██████████ step 4 of 4 · loss 1.235 · 0 tokens/s")
    assert second.endswith("\n")


# The page

HOSTILE = '<script>alert(1)</script>"\u202e{{7*7}}'


@pytest.fixture
def told(engine, export, base, tmp_path):
    write_rows(export, [row(8, kind=None)], split="dev")
    train(export, base, tmp_path / "m", "--epochs", "3")
    return json.loads((tmp_path / "m" / "training.json").read_bytes())


def test_the_page_stands_alone(told):
    html = training_page(told)
    assert "<script" not in html
    assert not re.search(r"https?://", html)
    assert " style=" not in html
    assert "default-src 'none'" in html
    assert html.count("<svg") == 1
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert text_hash(style) in html  # or the browser would refuse it
    assert html.count('class="dot"') == 1
    assert "dev split after step 6: 0.500" in html
    assert "not known" in html
    for setting in told["settings"]:
        assert setting["name"] in html
        assert setting["said"] in html
    assert "q_proj, k_proj" in html
    assert told["data"]["files"][0]["sha256"] in html


def test_no_foreign_text_changes_the_page(told):
    told["base"]["name"] = HOSTILE
    told["settings"][6]["value"] = [HOSTILE]
    told["examples"][1]["kind"] = HOSTILE
    told["left_out"] = [{"split": "dev", "reason": "longer than 9 tokens", "count": 1}]
    html = training_page(told)
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "\u202e" not in html
    assert html.count("{{7*7}}") >= 3
    assert "dev, left out" in html


def test_the_curve_holds_every_step_within_its_frame():
    losses = [{"step": s, "loss": 3.0 / s} for s in range(1, 41)]
    drawn = str(loss_curve(losses, [{"step": 40, "loss": 3.5}]))
    raw, mean = re.findall(r'<path d="([^"]*)"', drawn)
    assert raw.count("L") == mean.count("L") == 39
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", raw + mean)]
    assert min(numbers) >= 0
    assert max(numbers) <= 52 + 640
    assert ">3.50<" in drawn
    flat = str(loss_curve([{"step": 1, "loss": 0.0}], []))
    assert "nan" not in flat
