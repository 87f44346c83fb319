"""Recipes of docs/extending.md are followed to the letter, in a package or in a copy of this tree.

Each test prints the files that it touched: one and its row, and what is generated from them.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from typer.testing import CliRunner

from novarag import METHODS, ScriptedLLM, estimate, measure, write_example
from novarag.cli import app
from novarag.datasets.groups import group_line
from novarag.examples import EXAMPLE_GROUP
from novarag.strategies import VANILLA

ROOT = Path(__file__).parents[2]
PACKAGE = "recipe_of_extending"
COPIED = (
    *("src", "tests/__init__.py", "tests/conftest.py", "tests/support", "tools", "Makefile"),
    *("tests/unit/strategies", "tests/unit/flows/test_public_data.py", "docs/cli.md"),
    *("docs/figures.md", "pyproject.toml", "tests/unit/gateway/test_decisions.py"),
)


def recipe(heading, kind="python"):
    """Take the blocks of one kind under a heading of the page; there is one at least."""
    text = (ROOT / "docs" / "extending.md").read_text("utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    fence = re.compile(rf"^( *)```{kind}\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
    blocks = [dedent(block) for _, block in fence.findall(section)]
    assert blocks, heading
    return blocks


class Tree:
    """A copy of this tree in which recipes are followed."""

    def __init__(self, folder):
        self.folder = folder
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            copy(ROOT / name, folder / name)

    def texts(self):
        skipped = {"__pycache__", ".pytest_cache", ".hypothesis", "out"}
        found = (p for p in self.folder.rglob("*") if p.is_file())
        found = (p for p in found if not skipped & set(p.relative_to(self.folder).parts))
        return {p.relative_to(self.folder).as_posix(): p.read_bytes() for p in found}

    @contextmanager
    def followed(self, name):
        """Collect which files a recipe touches, with the lines that it takes away, and print them."""
        before, touched = self.texts(), {}
        yield touched
        for path, content in self.texts().items():
            if before.get(path) != content:
                old, new = (b.decode().splitlines() for b in (before.get(path, b""), content))
                touched[path] = list((Counter(old) - Counter(new)).elements())
        print(f"\n{name}: {', '.join(touched)}")

    def put(self, path, text, *, before=None):
        """Write a file, or put lines before a line of one."""
        place = self.folder / path
        if before is not None:
            old = place.read_text("utf-8")
            assert old.count(before) == 1, (path, before)
            text = old.replace(before, text + before)
        place.write_text(text, encoding="utf-8")

    def run(self, *words):
        home = Path(sys.executable).parent
        told = os.environ | {
            "PATH": f"{home}:{os.environ['PATH']}",
            "PYTHONPATH": f"{self.folder / 'src'}:{self.folder}",
            "COLUMNS": "80",
        }
        told.pop("PYTEST_XDIST_WORKER", None)
        done = subprocess.run(
            words, cwd=self.folder, env=told, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return Tree(tmp_path_factory.mktemp("recipes"))


def test_a_strategy_is_a_prompt_and_a_row(tree):
    prompt, row = recipe("Add a strategy", "text")
    with tree.followed("a strategy") as touched:
        tree.put("src/novarag/strategies/prompts/terse.txt", prompt)
        tree.put("src/novarag/strategies/table.py", row, before='        _paper("vanilla",')
        tree.put("src/novarag/cli/options.py", ", terse", before='"\nPAPERS = ')
        tree.run("make", "snapshots", "cli-docs")
    cases = {f"tests/unit/strategies/adversarial_{part}.jsonl" for part in ("open", "sealed")}
    snapshots = "tests/unit/strategies/__snapshots__/test_prompts.ambr"
    prompt, *rows = "strategies/prompts/terse.txt", "strategies/table.py", "cli/options.py"
    written = {f"src/novarag/{name}" for name in (prompt, *rows)}
    assert set(touched) == {*written, *cases, snapshots, "docs/cli.md"}
    assert all(touched[name] == [] for name in (*cases, snapshots))
    assert {line.replace("top-k", "top-k, terse") for line in touched["docs/cli.md"]} < set((tree.folder / "docs/cli.md").read_text("utf-8").splitlines())  # fmt: skip
    tests = ["test_prompts.py", "test_adversarial_files.py", "test_steering.py::test_frozen_adversarial_replies"]  # fmt: skip
    folder = "tests/unit/strategies"
    tree.run("pytest", "-q", "-p", "no:cacheprovider", *(f"{folder}/{name}" for name in tests))


def test_a_metric_is_a_row(tree):
    block = recipe("Add a metric")[0]
    row = block[block.index("sharpness = ") : block.index("assert")]
    table = "src/novarag/metrics/table.py"
    with tree.followed("a metric") as touched:
        tree.put(table, "from novarag.metrics.tally import add_up\n", before="from novarag.metrics.tally import Tally, tally\n")  # fmt: skip
        tree.put(table, row, before="METRICS: dict[str, Metric] = {\n")
        tree.put(table, "        sharpness,\n", before="    )\n}\n")
        tree.run("make", "figures-docs")
    (tree.folder / "out").mkdir(exist_ok=True)
    assert touched == {table: [], "docs/figures.md": []}
    tree.run("python", "-m", "novarag", "example", "out/answers.csv")
    words = ("measure", "out/answers.csv", "--replicates", "100", "--out", "out")
    tree.run("python", "-m", "novarag", *words)
    assert "| Sharpness | 0." in (tree.folder / "out/report.md").read_text("utf-8")


def test_a_dataset_is_a_converter_its_row_and_its_entry(tree):
    [module], [row] = recipe("Add a dataset", "py"), recipe("Add a dataset", "text")
    converters = "src/novarag/datasets/converters.py"
    register = "src/novarag/presets/public_data.toml"
    with tree.followed("a dataset") as touched:
        tree.put("src/novarag/datasets/lamps.py", module)
        tree.put(converters, "from novarag.datasets.lamps import LAMPS, convert_lamps\n", before="from novarag.datasets.public_answers")  # fmt: skip
        tree.put(converters, row, before='}\n"""Every converter')
        tree.put(
            register, "\n" + recipe("Add a dataset", "toml")[0] + "\n", before="\n[retrieval]\n"
        )
    assert touched == {"src/novarag/datasets/lamps.py": [], converters: [], register: []}
    (tree.folder / "out").mkdir(exist_ok=True)
    line = '{"q": "Who lit it?", "a": "Ada", "p": ["Ada lit it."]}\n'
    (tree.folder / "out/lamps.jsonl").write_text(line, encoding="utf-8")
    said = tree.run(
        "python", "-m", "novarag", "paper", "data", "lamps", "out/lamps.jsonl", "--out", "out"
    )
    assert "1 of 1 tables: 1 made" in said
    words = (
        "python",
        "-m",
        "novarag",
        "prompt",
        "render",
        "out/lamps/lamps.parquet",
        "-s",
        "vanilla",
    )
    assert "Ada lit it." in tree.run(*words)
    tree.run("pytest", "-q", "-p", "no:cacheprovider", "tests/unit/flows/test_public_data.py", "-k", "register or every_source or without_files")  # fmt: skip


POLICY_DECIDES = """
import asyncio, sys
from pathlib import Path
from novarag.gateway.audit.codes import CODES
from novarag.gateway.audit.graded import _ASKED_AGAIN
from novarag.gateway.audit.payloads import from_payload, to_payload
from novarag.gateway.audit.schema import read_migrations
from novarag.gateway.http.openapi import make_document
from tests.support.audited import row
from tests.support.gateways import Upstream, ask, fronted, post
from tests.unit.gateway.test_decisions import DATED, reply

def model(body):
    alone = "Retrieved passages (1)" in body["messages"][-1]["content"]
    one = reply("bread", 80, "Consistent", ["Highly Relevant"])
    return one if alone else reply(classes=("Highly Relevant",) * 3)

async def story():
    tail = '[models.support.policy]\\nconflicting = "prefer-short"\\n'
    async with fronted(Path(sys.argv[1]), Upstream(model), tail=tail) as client:
        return await post(client, ask(novarag={"passages": DATED}))

status, _, found = asyncio.run(story())
told = found["novarag"]
assert (status, told["action"], told["decision"]) == (200, "prefer-short", "answer"), found
assert "it was asked again with passage 3 alone" in told["reason"], told["reason"]
assert [p["shown"] for p in told["passages"]] == [False, False, True]
number = CODES["action"]["prefer-short"]
assert number == 8 and f"{number})" in _ASKED_AGAIN
assert number in from_payload(to_payload(row(action="prefer-short"))).values
assert "'prefer-short'])[d.action]" in read_migrations()[max(read_migrations())]
assert "prefer-short" in make_document()["components"]["schemas"]["Action"]["enum"]
"""


def test_a_policy_is_a_file_and_a_row(tree, tmp_path):
    [module], [row] = recipe("Add a gateway policy"), recipe("Add a gateway policy", "text")
    policy, table = "src/novarag/scoring/shortest.py", "src/novarag/scoring/policy.py"
    with tree.followed("a policy") as touched:
        tree.put(policy, module)
        tree.put(table, "from novarag.scoring.shortest import SHORTEST\n", before="\nif TYPE_CHECKING:\n")  # fmt: skip
        tree.put(table, f"    {row.strip()}\n", before="\n    _value_: str\n")
    assert touched == {policy: [], table: []}
    tree.run("python", "-c", POLICY_DECIDES, str(tmp_path))


SINK_HEARS = """
import asyncio, sys
from pathlib import Path
from tests.support.gateways import Upstream, ask, fronted, post

async def story():
    async with fronted(Path(sys.argv[1]), Upstream()) as client:
        await post(client, ask())
        await post(client, {"model": 1})

asyncio.run(story())
"""


def test_a_sink_is_a_function_and_a_row(tree, tmp_path):
    [function], [row] = recipe("Add a sink", "py"), recipe("Add a sink", "text")
    table = "src/novarag/gateway/observe/sinks.py"
    with tree.followed("a sink") as touched:
        tree.put(table, f"{function}\n\n", before="SINKS: Final")
        tree.put(table, f"    {row.strip()}\n", before='}\n"""The sinks, in the order')
    assert touched == {table: []}
    said = tree.run("python", "-c", SINK_HEARS, str(tmp_path))
    assert said.count("failed: ") == 1


def test_a_method_is_a_function_and_a_row(tree):
    block = recipe("Add an uncertainty method")[0]
    function, _, row = block.replace("from novarag.uncertainty import Method, Need\n", "").partition("EAGER = ")  # fmt: skip
    table = "src/novarag/uncertainty/__init__.py"
    with tree.followed("an uncertainty method") as touched:
        tree.put("src/novarag/uncertainty/eager.py", function)
        tree.put(table, "from novarag.uncertainty.eager import eager\n", before="from novarag.uncertainty.needs import")  # fmt: skip
        tree.put(table, f"EAGER = {row}\n", before="METHODS: dict[str, Method] = {\n")
        tree.put(table, "        EAGER,\n", before="        ENSEMBLE,\n        SELF_FREQUENCY,\n")
    assert touched == {"src/novarag/uncertainty/eager.py": [], table: []}
    asked = "estimate([EXAMPLE_GROUP], 'cot', 'simulated:base', methods='eager').trials"
    code = f"from novarag import estimate; from novarag.examples import EXAMPLE_GROUP; print(*{asked})"  # fmt: skip
    assert tree.run("python", "-c", code).strip() == "eager"


@pytest.fixture
def package(request, tmp_path, monkeypatch):
    """Write a recipe's block into a package of its own, and import it."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    heading = getattr(request, "param", "Add an uncertainty method")
    (folder / "own.py").write_text(recipe(heading)[0], encoding="utf-8")
    print(f"\n{heading.removeprefix('Add ')}: own.py of a package")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield importlib.import_module(f"{PACKAGE}.own")
    for name in (PACKAGE, f"{PACKAGE}.own"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("package", ["Add a metric"], indirect=True)
def test_a_metric_of_the_recipe_stands_beside_ours(package, tmp_path):
    own, table = f"{PACKAGE}.own:sharpness", str(tmp_path / "answers.csv")
    write_example(table)
    found = measure(table, metrics=[own], replicates=100, out=tmp_path / "out")
    figure = found.overall.figures["sharpness"]
    assert figure.low < figure.value < figure.high
    assert [m.name for m in found.metrics] == ["sharpness"]
    for name in ("report.md", "report.html"):
        assert "Sharpness" in (tmp_path / "out" / name).read_text("utf-8")
    shared = replace(package.sharpness, unit="share")
    found = measure(table, metrics=[shared], replicates=100, out=tmp_path / "out")
    assert f"| Sharpness | {100 * figure.value:.1f} % |" in (tmp_path / "out/report.md").read_text("utf-8")  # fmt: skip


@pytest.mark.parametrize("package", ["Add a retriever"], indirect=True)
def test_a_retriever_of_the_recipe_is_searched(package, tmp_path):
    (tmp_path / "questions.jsonl").write_text('{"question": "Who lit the lamp?"}\n', "utf-8")
    words = ["retrieval", "retrieve", str(tmp_path / "questions.jsonl"), "--k", "1", "--out"]
    told = ["--search", f"{PACKAGE}.own:by_words"]
    result = CliRunner().invoke(app, [*words, str(tmp_path / "groups.jsonl"), *told])
    assert result.exit_code == 0, result.output
    assert package.LAMPS[0] in (tmp_path / "groups.jsonl").read_text("utf-8")


def test_a_method_of_the_recipe_stands_beside_ours(package):
    llm = ScriptedLLM(
        {"Brent Rock": ["Answer: 1871\nConfidence: 40%", "Answer: 1884\nConfidence: 9%"]}
    )
    methods = [METHODS["verbal"], METHODS["ensemble"], package.EAGER]
    found = estimate([EXAMPLE_GROUP], VANILLA, llm, methods=methods)
    assert list(found.trials) == ["verbal", "ensemble", "eager"]
    [trial] = found.trials["eager"]
    assert (trial.response.answer, trial.response.confidence) == ("1871", 0.5)
    assert trial.correct
    assert found.paid.calls == 2  # its two samples are among the ensemble's three
    assert found.costs["eager"].calls == 1


TABLE = f"""
title = "The recipe's method"
datasets = ["ours"]
metrics = ["brier"]
min_rows = 10
replicates = 100
[[settings]]
groups = "file"
file = "groups.jsonl"
[[systems]]
name = "Verbal"
[[systems]]
name = "Eager"
method = "{PACKAGE}.own:EAGER"
[model]
endpoints = ["simulated:base"]
"""


def test_a_method_of_the_recipe_stands_in_the_tables(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        replace(EXAMPLE_GROUP, id=f"g{i}", question=replace(EXAMPLE_GROUP.question, id=f"q{i}"))
        for i in range(12)
    ]
    (tmp_path / "groups.jsonl").write_bytes(b"".join(map(group_line, rows)))
    told = ["run", "estimate", "groups.jsonl", "--model", "simulated:base", "--out", "estimated"]
    named = ["--method", "verbal", "--method", f"{PACKAGE}.own:EAGER", "--replicates", "100"]
    result = CliRunner().invoke(app, [*told, *named])
    assert result.exit_code == 0, result.output
    assert "| eager | 12 | 12 |" in (tmp_path / "estimated/report/report.md").read_text("utf-8")
    (tmp_path / "table.toml").write_text(TABLE, encoding="utf-8")
    result = CliRunner().invoke(app, ["run", "experiment", "table.toml"])
    assert result.exit_code == 0, result.output
    assert "| Eager | ours | 12 (12) |" in (tmp_path / "experiment/table.md").read_text("utf-8")


def test_every_method_has_its_row_on_the_page():
    page = (ROOT / "docs" / "uncertainty.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert rows == list(METHODS)
