"""The command line as its user meets it."""

import io
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from novarag import __version__
from novarag.cli import app, main
from novarag.strategies import STRATEGIES

run = CliRunner().invoke
CSV = "question,confidence,correct,model\n" + "\n".join(
    f"q{i},{(i % 10) / 10},{int(i % 3 > 0)},m{i % 2}" for i in range(200)
)


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(CSV)
    return path


def test_version_and_help():
    assert run(app, ["--version"]).stdout == f"{__version__}\n"
    for words in ([], ["prompt", "render"], ["prompt"], ["measure"]):
        assert "Usage" in run(app, [*words, "--help"]).stdout


def test_help_names_every_strategy_and_format():
    from novarag.cli.options import OURS, PAPERS, PRESETS
    from novarag.strategies import FORMATS

    assert f"{OURS}, {PAPERS}".split(", ") == list(STRATEGIES)
    assert PRESETS.split(", ") == list(FORMATS)


def test_module_entry():
    out = subprocess.run(
        [sys.executable, "-m", "novarag", "--version"], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == __version__


def test_the_version_is_printed_without_the_command_line():
    code = "import sys; from novarag.__main__ import main; main(); print('typer' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == [__version__, "False"]


def test_measuring_a_table_loads_nothing_of_replies_runs_and_servers(tmp_path):
    rows = [f"q{i},{i % 10 / 10},{i % 3 % 2}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["question,confidence,correct", *rows]))
    code = (
        "import sys; from novarag.cli import app; app(standalone_mode=False); print(*sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, "measure", str(tmp_path / "rows.csv")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(out.stdout.splitlines()[-1].split())
    assert "novarag.calibration.level_effects" in loaded
    needless = {"novarag.strategies", "novarag.runs.reader", "asyncio", "scipy.linalg"}
    assert not needless & loaded


@pytest.mark.parametrize("name", STRATEGIES)
def test_render_shows_the_example(name):
    assert "Brent Rock lighthouse" in run(app, ["prompt", "render", "--strategy", name]).stdout


def test_render_takes_a_file_and_shows_hashes(tmp_path):
    path = tmp_path / "g.json"
    path.write_text('{"question": "Who?", "passages": ["It was {k}."]}')
    result = run(app, ["prompt", "render", str(path), "-s", "cot", "--hash"])
    assert "Passage 1: It was {k}." in result.stdout
    assert STRATEGIES["cot"].template.hash in result.stderr


def test_read_prints_one_json_object():
    reply = "Passage Classifications: HR, I\nGroup Judgment: Consistent\nAnswer: \u00c9ire\nConfidence: 1%"
    result = run(app, ["prompt", "read", "--reader", "nova", "--k", "2"], input=reply)
    said = json.loads(result.stdout)
    assert said["answer"] == "\u00c9ire"
    assert said["confidence"] == 0.01
    assert said["judgment"] == {
        "passages": ["highly relevant", "irrelevant"],
        "group": "consistent",
    }
    assert said["flaw"] is None
    assert result.stdout.count("\n") == 1


def test_read_takes_foreign_formats_and_reports_flaws():
    said = json.loads(
        run(app, ["prompt", "read", "--reader", "guess-probability"], input="Paris, 0.9").stdout
    )
    assert (said["answer"], said["confidence"]) == ("Paris", 0.9)
    said = json.loads(run(app, ["prompt", "read"], input=b"\xff\xfe").stdout)
    assert said["flaw"] == "no confidence found"
    assert said["judgment"] is None


def test_example_writes_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "480 simulated answers" in run(app, ["example"]).stdout
    assert "exists already" in str(run(app, ["example"]).exception)


def test_scale_says_what_a_bare_number_means():
    reply = '{"answer": "Paris", "confidence": 1}'
    flawed = json.loads(run(app, ["prompt", "read"], input=reply).stdout)
    assert flawed["flaw"] == "the confidence could be a fraction or a percent"
    said = json.loads(run(app, ["prompt", "read", "--scale", "unit"], input=reply).stdout)
    assert said["confidence"] == 1


def test_a_strategy_beside_the_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_here.py").write_text("from novarag.strategies import VANILLA as MINE")
    assert "Brent Rock" in run(app, ["prompt", "render", "-s", "mine_here:MINE"]).stdout


def test_a_strategy_may_be_imported():
    name = "novarag.strategies:COT"
    assert "Brent Rock" in run(app, ["prompt", "render", "-s", name]).stdout
    assert (
        json.loads(
            run(app, ["prompt", "read", "--reader", name], input="Answer: x\nConfidence: 3%").stdout
        )["confidence"]
        == 0.03
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["prompt", "render", "-s", "cott"], "'cott' is not one of closed-book, cot,"),
        (["prompt", "render", "-s", "nowhere:X"], "cannot be imported"),
        (["prompt", "render", "-s", "novarag.strategies:read"], "is not a Strategy but a function"),
        (["prompt", "read", "--reader", "vibes"], "answer-tags"),
        (["prompt", "render", "-s", ":X"], "cannot be imported"),
        (["prompt", "render", "-s", ".x:X"], "cannot be imported"),
        (["example", "nowhere/x.csv"], "nowhere/x.csv"),
        (["example", "x.parquet"], "must end in .csv"),
        (["measure", "nope.csv"], "nope.csv: there is no such file. Fix: check the path."),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(words, says, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["novarag", *words])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b""), encoding="utf-8"))
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


def test_measure_prints_words_and_writes_a_report(answers, tmp_path):
    out = tmp_path / "report"
    result = run(
        app, ["measure", str(answers), "--by", "model", "--replicates", "100", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("- Do not act on any of these 2 confidences as they are")
    assert "m0: Do not act" in result.stdout
    assert (out / "report.html").is_file()
    assert "wrote" in result.stderr


def test_measure_prints_json(answers):
    result = run(app, ["measure", str(answers), "--json", "--replicates", "100"])
    figure = json.loads(result.stdout)["overall"]["figures"]["brier"]
    assert set(figure) == {"value", "low", "high", "n"}


def test_measure_says_when_every_row_is_its_own_question(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("confidence,correct\n" + "0.5,1\n" * 60)
    result = run(app, ["measure", str(path), "--json", "--replicates", "100"])
    assert json.loads(result.stdout)["heading"]["notes"] == [
        "Every row counts as its own question."
    ]


def test_measure_reads_raw_replies(tmp_path):
    path = tmp_path / "a.jsonl"
    row = {"question": "q", "reply": "Answer: Paris\nConfidence: 80%", "gold": "Paris"}
    path.write_text("\n".join(json.dumps({**row, "question": f"q{i}"}) for i in range(60)))
    result = run(
        app,
        [
            "measure",
            str(path),
            "--reply",
            "reply",
            "--gold",
            "gold",
            "--json",
            "--replicates",
            "100",
        ],
    )
    assert json.loads(result.stdout)["overall"]["figures"]["accuracy"]["value"] == 1
