"""Commands start quickly: `measure` loads little more than the packages that it computes with."""

import os
import resource
import subprocess
import sys

import pytest

from novarag import write_example
from tests.support.least import least

BARE = "import numpy, polars, typer, scipy.special"


def cpu(*command, env):
    """The CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(getattr(after, n) - getattr(before, n) for n in ("ru_utime", "ru_stime"))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "a.csv"
    lines = [f"{0.5 + i % 5 / 10},{i % 3 and 1}" for i in range(60)]
    path.write_text("confidence,correct\n" + "\n".join(lines) + "\n")
    return path


def test_measure_starts_quickly(table):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    told = ("measure", str(table), "--replicates", "100")

    def share():  # side by side, as what else the machine does slows both
        bare = cpu(sys.executable, "-c", BARE, env=env)
        return cpu(sys.executable, "-m", "novarag", *told, env=env) / bare

    lowest = least(share, 2.3)
    assert lowest < 2.3, f"{lowest:.2f} times the CPU of bare imports"


YARDSTICK = 1.0
"""CPU seconds that `BARE` takes where the budgets are meant; a slower machine gets more."""
BUDGETS = {
    "--version": (("--version",), 0.15),
    "--help": (("--help",), 0.45),
    "measure of 480 rows": (("measure", "answers.csv"), 1.6),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_a_command_keeps_its_budget(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_example("answers.csv")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words, budget = BUDGETS[name]

    def seconds():  # beside its yardstick each time, as what else the machine does slows both
        slower = max(1.0, cpu(sys.executable, "-c", BARE, env=env) / YARDSTICK)
        return cpu(sys.executable, "-m", "novarag", *words, env=env) / slower

    lowest = least(seconds, budget)
    with capsys.disabled():
        print(f"\n{name}: {lowest:.2f} CPU seconds of {budget}")
    assert lowest < budget


def test_what_is_slow_to_load_is_not_loaded(table):
    code = (
        "import sys; sys.argv = ['novarag', 'measure', sys.argv[1], '--replicates', '100']\n"
        "from novarag.cli import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "heavy = {'scipy.stats', 'scipy.optimize', 'scipy.fft', 'aiohttp', 'jinja2', 'torch',"
        " 'pyarrow', 'pandas'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code, str(table)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
