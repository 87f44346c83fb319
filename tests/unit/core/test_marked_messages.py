"""What a message names is data: no parameter or call stands in backticks in plain text."""

import ast
import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import pytest

import novarag
from novarag.answers.opening.columns import Columns
from novarag.prose import Parameter, say
from novarag.serving.options import ServingOptions

ROOT = Path(novarag.__file__).parent
NAMED = re.compile(r"`([a-z_]{1,40})(?:=[^`]{1,200}|\([^`]{0,200}\))?`")
"""What a message may name: a parameter, a parameter with a value, a call."""

ALLOWED = {
    "cli/retrieval/index.py": "columns, in the help of an argument",
    "cli/retrieval/retrieve.py": "columns and a verb, in a door's own words",
    "cli/train/export.py": "an extra and kinds of targets, in the help of options",
    "cli/train/filter.py": "kinds of targets, in the help of an option",
    "cli/translate.py": "the one place that writes verbs",
    "cli/verbs.py": "verbs, in the list of verbs",
    "datasets/clean_card.py": "the card of the benchmark, a file",
    "flows/encoders.py": "attributes of an object",
    "flows/reproduce/page.py": "a page in Markdown",
    "gateway/http/openapi.py": "the description of the routes",
    "gateway/http/reply_models.py": "the description of the routes",
    "gateway/http/score.py": "fields of a request",
    "gateway/settings.py": "lines of the settings",
    "integrations/inspect.py": "a field of another tool's score",
    "scoring/second_asking.py": "lines of the settings",
    "prose.py": "the one place that writes parts",
    "sft/train/model_card.py": "the model card, a file",
    "texts.py": "foreign text as Markdown",
}
"""Modules with backticks that name something else, and what."""

OF_RECORDS = {"pair", "bound", "scores", "variants", "data", "port", "wait", "trace", "span"}
"""Parameters of functions that are not public by name, and fields of what they take."""


@cache
def parameters():
    """Name every parameter of a public function or record."""
    public = [getattr(novarag, name) for name in novarag.__all__]
    found = {
        "retriever_span",
        "warmup",
        *(f.name for f in (*fields(Columns), *fields(ServingOptions))),
    }
    for one in public:
        if is_dataclass(one):
            found |= {field.name for field in fields(one)}
        elif inspect.isfunction(one):
            found |= set(inspect.signature(one).parameters)
    return frozenset(found)


def messages(path):
    """Return the literals of a module, and the templates that are taken apart with their values."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    imported = {a.name for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names}
    calls = [
        n for n in nodes if isinstance(n, ast.Call) and called(n) in {"saying", *imported & {"say"}}
    ]
    skip = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}  # docstrings
    skip |= {id(n.args[0]) for n in calls}
    texts = [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    joined = [n for n in nodes if isinstance(n, ast.JoinedStr)]
    inside = {id(part) for n in joined for part in ast.walk(n) if part is not n}
    plain = [(n.lineno, n.value) for n in texts if id(n) not in skip | inside]
    plain += [(n.lineno, written(n)) for n in joined]
    return plain, calls


def called(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def written(joined):
    """Write an f-string with a word in the place of each value."""
    return "".join(
        str(getattr(part, "value", "")) if isinstance(part, ast.Constant) else "value"
        for part in joined.values
    )


def unmarked(name):
    known = parameters() | set(novarag.__all__)
    return [
        (line, found[0])
        for line, text in messages(ROOT / name)[0]
        for found in NAMED.finditer(text)
        if found[1] in known | {"value"}
    ]


def modules():
    return [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.rglob("*.py"))]


def test_no_plain_text_names_a_parameter_or_a_call():
    found = {name: unmarked(name) for name in modules() if name not in ALLOWED}
    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_needed(name):
    assert unmarked(name)


def written_calls():
    return [
        (name, call)
        for name in modules()
        for call in messages(ROOT / name)[1]
        if name not in {"errors.py", "prose.py"}
    ]


def test_every_template_is_a_literal_with_a_value_for_each_field():
    """A value that stood in a template could be taken for what the message names."""
    known = parameters() | OF_RECORDS
    calls = set(novarag.__all__) | {"tabulate"}
    seen = 0
    for name, call in written_calls():
        where = f"{name}:{call.lineno}"
        template, *values = call.args
        assert isinstance(template, ast.Constant), f"{where}: the template is no literal"
        assert not call.keywords, where
        left = iter([Field()] * len(values))
        parts = say(template.value, *left).parts
        given = [part for part in parts if not isinstance(part, str)]
        assert next(left, None) is None, f"{where}: more values than fields"
        for part in given:
            seen += 1
            if isinstance(part, Parameter):
                assert part.name in known | {str(Field())}, f"{where}: {part} is no parameter"
            else:
                assert part.function in calls, f"{where}: {part} is no function"
    assert seen > 200


class Field(float):
    """A value that any field can take: a number with a name."""

    def __new__(cls):
        return super().__new__(cls, 0.5)

    def __str__(self):
        return "field"
