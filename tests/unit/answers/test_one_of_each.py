"""There is one place where a table of answers is opened, and one that asks whether it is a run."""

import ast
from pathlib import Path

import pytest

import novarag

SOURCE_FOLDER = Path(novarag.__file__).parent
HOME = "answers/opening/answers.py"
OPENS = {"Answers", "as_frame", "check_tables", "known_table", "open_table"}
"""What makes answers of a table, and what opens one."""

ELSEWHERE = {"answers/opening/open_table.py": {"known_table", "open_table"}}  # `read_table`

OF_RUNS_ALONE = {
    "flows/filter.py", "flows/runs.py", "flows/sources.py",
}  # fmt: skip
"""Verbs that take runs and nothing else: a place there is the folder of one, or an error."""

OF_OWN_FOLDER = {
    "flows/attack/runs.py", "flows/build.py", "flows/experiment.py",
}  # fmt: skip
"""Verbs that ask whether they began already, in the folder that they write to."""

VERBS = [
    "flows/calibrate.py", "flows/compare.py", "flows/gate.py", "flows/measure.py",
    "flows/pick.py", "gateway/admin/propose.py", "integrations/send_answers.py",
]  # fmt: skip


def sources():
    for path in SOURCE_FOLDER.rglob("*.py"):
        name = path.relative_to(SOURCE_FOLDER).as_posix()
        if not name.startswith("runs/"):
            yield name, ast.parse(path.read_text("utf-8"))


def called(node):
    function = getattr(node, "func", None)
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def calls_in(tree):
    return [called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def asks_for_a_run(tree):
    """Say whether code looks for a manifest in a folder, or whether something is a `Run`."""
    for node in ast.walk(tree):
        if called(node) == "isinstance":
            kinds = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
            if "Run" in kinds:
                return True
        if isinstance(node, ast.Constant) and str(node.value).endswith("manifest.json"):
            return True
    return False


def second_openers(found):
    return {
        name: opened
        for name, tree in found
        if (opened := OPENS.intersection(calls_in(tree)) - ELSEWHERE.get(name, set()))
        and name != HOME
    }


def second_askers(found):
    return {name for name, tree in found if name != HOME and asks_for_a_run(tree)}


def test_no_second_place_opens_a_table_of_answers():
    assert second_openers(sources()) == {}


def test_no_second_place_asks_whether_something_is_a_run():
    assert second_askers(sources()) <= OF_RUNS_ALONE | OF_OWN_FOLDER | {"flows/draws.py"}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_on_a_table_reads_it_by_the_same_function(verb):
    assert "read_answers" in calls_in(dict(sources())[verb])


@pytest.mark.parametrize(
    "code",
    [
        "found = check_tables([table], columns)",
        "frame = frames.as_frame(given)",
        "return Answers(table=frame)",
    ],
)
def test_a_second_opener_would_be_found(code):
    assert second_openers([("flows/new.py", ast.parse(code))])


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(place, (str, Path, Run))",
        "isinstance(place, runs.Run | Run)",
        "(Path(place) / 'manifest.json').is_file()",
        "Path(f'{place}/manifest.json').exists()",
    ],
)
def test_a_second_asker_would_be_found(code):
    assert second_askers([("flows/new.py", ast.parse(code))])
