"""Every flag of a verb reaches a parameter of its function, and every parameter has a flag."""

import inspect
from dataclasses import fields

import pytest
import typer

import novarag
from novarag.answers.opening.columns import Columns
from novarag.cli import app
from novarag.cli.translate import FLAG_OF, VERB_OF, flag_of
from novarag.cli.verbs import VERBS
from novarag.serving.options import ServingOptions

RECORDS = {
    "access": novarag.Access,
    "columns": Columns,
    "sampling": novarag.Sampling,
    "settings": novarag.TrainingSettings,
    "source": novarag.AnswerSource,
}
"""Parameters that are records; their fields are flags of their own."""

ARGUMENTS = {
    ("measure", "answers"): "files",
    ("prompt render", "groups"): "group",
    ("apply", "calibration"): "file",
    ("apply", "gate"): "file",
}
"""Parameters whose positional argument has another name."""

PYTHON_ONLY = {
    ("*", "on_event"): "a shell sees what is told on standard error",
    ("*", "stop"): "a shell stops with Ctrl-C",
    ("answer", "signal"): "a value that a program has, such as the score of a retriever",
    ("answer", "signals"): "values that a program has, by name",
    ("measure", "min_rows"): "reports for the shell always need as many rows",
    ("measure", "notes"): "lines that a caller adds to the report",
    ("prompt read", "text"): "a shell pipes it in",
    ("train serve", "extra"): "a shell gives them after a bare --",
}
"""Parameters that a shell has no use for, and why."""

FIELDS_PYTHON_ONLY = {
    ("sampling", "alternatives"): "only methods of `estimate` ask for them",
    ("sampling", "n"): "the flag is --samples, a parameter of `ask`",
    ("settings", "alpha"): "twice the rank; for experiments with the trainer",
    ("settings", "dropout"): "for experiments with the trainer",
    ("settings", "schedule"): "for experiments with the trainer",
    ("source", "model"): "the flag is --source, as the parameter is",
}
"""Fields that no verb has a flag for, and why."""

DOOR_ONLY = {
    ("*", "--json"): "how the result is printed",
    ("*", "--price"): "what the screen makes of tokens",
    ("ask", "--dry-run"): "calls `preview_ask`",
    ("probe", "--dry-run"): "calls `preview_probe`",
    ("probe", "--fail-on"): "the code that the verb ends with",
    ("attack", "--dry-run"): "calls `preview_attack`",
    ("attack", "--fail-on"): "the code that the verb ends with",
    ("gateway serve", "--check"): "calls `check_gateway`",
    ("gateway audit drop", "--yes"): "asks a person at a shell to mean it",
    ("gateway audit forget", "--yes"): "asks a person at a shell to mean it",
    ("train noise", "--dry-run"): "prints the prompts of one question",
    ("answer", "--show-reply"): "prints the raw reply too",
    ("prompt render", "--hash"): "prints the hash of a strategy",
    ("train serve", "--check-server"): "calls `check_serving`",
    ("train serve", "--key-env"): "goes to `check_serving`",
    ("train serve", "--run"): "calls `start_serving`",
    ("train serve", "--wait"): "goes to `start_serving`",
    ("run show", "--jsonl"): "calls `iter_trial_tables`",
    ("run show", "--replies"): "how many replies are printed",
}
"""Flags that the door itself answers, and why."""


def command(path):
    found = typer.main.get_command(app)
    for name in path.split():
        found = found.get_command(None, name)
    return found


COMMANDS = {verb: command(verb) for verb in VERBS}
FUNCTIONS: dict[str, list[str]] = {}
for _function, _verb in VERB_OF.items():
    if "--" not in _verb:
        FUNCTIONS.setdefault(_verb, []).append(_function)


def flags(verb):
    every = [p for p in COMMANDS[verb].params if p.param_type_name == "option"]
    return {option for p in every for option in p.opts if option.startswith("--")}


def arguments(verb):
    return {p.name for p in COMMANDS[verb].params if p.param_type_name == "argument"}


def parameters(verb):
    """The parameters of a verb's function; a few verbs choose between two."""
    every = (inspect.signature(getattr(novarag, name)).parameters for name in FUNCTIONS[verb])
    return list(dict.fromkeys(name for parameters in every for name in parameters))


def listed(table, verb, name):
    return (verb, name) in table or ("*", name) in table


def test_every_verb_has_its_function_and_every_function_its_verb():
    assert set(FUNCTIONS) == set(COMMANDS)
    assert set(VERB_OF) <= set(novarag.__all__)


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_parameter_is_a_flag_an_argument_a_record_or_listed(verb):
    for name in parameters(verb):
        known = (
            flag_of(name) in flags(verb)
            or ARGUMENTS.get((verb, name), name) in arguments(verb)
            or name in RECORDS
            or listed(PYTHON_ONLY, verb, name)
        )
        assert known, f"{FUNCTIONS[verb]}({name}=) has no flag in `novarag {verb}`"


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_flag_and_argument_reaches_a_parameter_or_is_listed(verb):
    names = parameters(verb)
    records = [RECORDS[name] for name in names if name in RECORDS]
    reached = {flag_of(f.name) for record in records for f in fields(record)}
    reached |= {flag_of(name) for name in names if not listed(PYTHON_ONLY, verb, name)}
    for flag in flags(verb):
        assert flag in reached or listed(DOOR_ONLY, verb, flag), f"novarag {verb} {flag}"
    positional = {ARGUMENTS.get((verb, name), name) for name in names}
    assert arguments(verb) <= positional


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_of_a_record_is_a_flag_somewhere_or_listed(record):
    takers = [verb for verb in COMMANDS if record in parameters(verb)]
    known = {flag for verb in takers for flag in flags(verb)}
    short = {f.name for f in fields(RECORDS[record]) if flag_of(f.name) not in known}
    assert short == {name for place, name in FIELDS_PYTHON_ONLY if place == record}


def test_the_tables_hold_nothing_that_is_not_there():
    every = {name for verb in COMMANDS for name in parameters(verb)}
    of_records = {f.name for record in RECORDS.values() for f in fields(record)}
    assert set(FLAG_OF) <= every | of_records
    for table in (PYTHON_ONLY, ARGUMENTS):
        assert all(name in (every if verb == "*" else parameters(verb)) for verb, name in table)
    shown = {flag for verb in COMMANDS for flag in flags(verb)}
    assert all(flag in (shown if v == "*" else flags(v)) for v, flag in DOOR_ONLY)


def test_defaults_of_serving_are_named_as_its_parameters():
    named = {f.name for f in fields(ServingOptions)} - {"dtype"}
    assert named <= set(parameters("train serve"))
