"""There is one place where a shard is planned and run, and one that says a story is unfinished."""

import ast
from functools import cache
from pathlib import Path

import novarag

SOURCE_FOLDER = Path(novarag.__file__).parent

ASKING = {
    "Driver", "Job", "Memory", "ProgressBoard", "Settings", "drive", "frame_secret", "is_finished",
    "open_store", "plan", "run_shard", "settle", "unfinished",
}  # fmt: skip
"""What plans a run, opens the place of one, drives it, or says whether anything is left."""

ELSEWHERE = {
    "flows/runs.py": {"Job", "settle"},  # `recover` and `iter_trial_tables`, which ask nothing
    "flows/reread.py": {"Memory"},  # memory is not shared with other processes
    "flows/draws.py": {"is_finished"},  # which of two runs has what a need wants
}

UNFINISHED_ELSEWHERE = {"flows/reproduce/bench.py"}  # several runs at a time, one error of all


def imported_from_runs(tree):
    """What a module takes from the room of runs, but for the names that only annotations use."""
    typed = {node for block in ast.walk(tree) if isinstance(block, ast.If)
             and ast.unparse(block.test) == "TYPE_CHECKING" for node in ast.walk(block)}  # fmt: skip
    for node in ast.walk(tree):
        inside = isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("novarag.runs.")
        if inside and node not in typed:
            yield from (alias.name for alias in node.names)


def raised(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield ast.unparse(node.exc.func)


@cache
def trees():
    """Every module outside of the two rooms that this is the work of."""
    named = [
        (path.relative_to(SOURCE_FOLDER).as_posix(), path) for path in SOURCE_FOLDER.rglob("*.py")
    ]
    outside = [(name, path) for name, path in named if not name.startswith(("runner/", "runs/"))]
    return [(name, ast.parse(path.read_text("utf-8"))) for name, path in outside]


def test_no_second_place_plans_and_runs_a_shard():
    found = {name: ASKING.intersection(imported_from_runs(tree)) for name, tree in trees()}
    assert {name: names for name, names in found.items() if names} == ELSEWHERE


def test_no_second_place_says_that_a_story_is_unfinished():
    found = {name for name, tree in trees() if "UnfinishedError" in raised(tree)}
    assert found == UNFINISHED_ELSEWHERE


def test_no_story_opens_a_run_to_drive_it():
    """`novarag.runs` is taken by name, so that the test above sees what is taken."""
    found = [name for name, tree in trees() for node in ast.walk(tree)
             if isinstance(node, ast.Import) for alias in node.names
             if alias.name.startswith("novarag.runs")]  # fmt: skip
    assert found == []
