"""From the words of the library to those of the command line.

The library names parameters, calls and functions in backticks: `out`, `percent=True`,
`recover('runs/a')`, and `ask(...)` for a call whose arguments the caller knows. A person at a shell
has flags and verbs: --out, --percent, `novarag run recover runs/a`, `novarag ask`. The two tables
below say which is which, and a test holds them against both sides. Messages quote what others
wrote, so nothing in them is evaluated, and every pattern is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from shlex import quote
from typing import TYPE_CHECKING

from novarag.answers.cells.unsettled import UnsettledTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typer.core import TyperCommand, TyperGroup

VERB_OF = {
    "measure": "measure",
    "calibrate": "calibrate",
    "gate": "gate",
    "apply_calibration": "apply",
    "apply_gate": "apply",
    "answer": "answer",
    "ask": "ask",
    "probe": "probe",
    "preview_probe": "probe --dry-run",
    "attack": "attack",
    "compare": "compare",
    "write_example": "example",
    "render": "prompt render",
    "read_reply": "prompt read",
    "summarise": "run show",
    "iter_trial_tables": "run show --jsonl",
    "recover": "run recover",
    "reread": "run reread",
    "estimate": "run estimate",
    "run_experiment": "run experiment",
    "send_answers": "run send",
    "make_noise": "train noise",
    "group_passages": "train group",
    "audit_groups": "train audit",
    "filter_trials": "train filter",
    "build_training_set": "train build",
    "export_training_set": "train export",
    "train_model": "train fit",
    "serving_plan": "train serve",
    "serve_gateway": "gateway serve",
    "add_gateway_key": "gateway key add",
    "list_gateway_keys": "gateway key list",
    "revoke_gateway_key": "gateway key revoke",
    "export_audit": "gateway audit export",
    "drop_audit": "gateway audit drop",
    "forget_tenant": "gateway audit forget",
    "propose_calibration": "gateway propose",
    "propose_gate": "gateway propose",
    "adopt_proposal": "gateway adopt",
    "build_index": "retrieval index",
    "retrieve": "retrieval retrieve",
    "annotate": "retrieval annotate",
    "pick_answers": "grading pick",
    "read_grades": "grading grades",
    "reproduce": "paper reproduce",
    "rebuild_benchmark": "paper nova-clean",
    "public_data": "paper data",
    "make_rating_sheet": "paper study sheet",
    "read_rating_files": "paper study read",
}
"""Each function, and the verb that calls it."""

FLAG_OF = {
    "action": "--screen-action",
    "budgets": "--budget",
    "compiled": "--compile",
    "formats": "--format",
    "kinds": "--kind",
    "methods": "--method",
    "metrics": "--metric",
    "notes": "--note",
    "old": "--with",
    "partial_runs": "--partial",
    "question_count": "--questions",
    "scopes": "--scope",
    "strategies": "--strategy",
    "texts": "--text",
    "values": "--value",
}
"""Parameters whose flag has another name; the others have their own, with dashes."""

_QUOTED = r"'[^'`]{0,500}'|\"[^\"`]{0,500}\""
# What messages hold in backticks: a call, `recover('runs/a')`, its arguments, a parameter with
# or without a value, `risk=0.1`, and a tuple of one. Each repeat has its bound.
_CALL = re.compile(rf"`([a-z_]{{1,40}})\(((?:{_QUOTED}|[^`()'\"]){{0,500}})\)`")
_ARGUMENT = re.compile(rf"(?:{_QUOTED}|[^,'\"]){{1,500}}")
_NAMED = re.compile(r"`([a-z_][a-z_0-9]{0,40})(?:=([^`]{1,500}))?`")
_ONE = re.compile(r"\(([^(),]{1,500}),\)")
_LEFT_OUT = ("...", "…")

_flags: ContextVar[frozenset[str]] = ContextVar("flags", default=frozenset())


def speak_as(verb: TyperCommand | TyperGroup) -> None:
    """Let `said` use the flags of a verb from here on."""
    _flags.set(frozenset(_iter_flags([verb])))


def _iter_flags(verbs: Iterable[TyperCommand | TyperGroup]) -> Iterator[str]:
    for verb in verbs:
        for param in verb.params:
            yield from (*param.opts, *param.secondary_opts)
        yield from _iter_flags(getattr(verb, "commands", {}).values())


def said(message: object) -> str:
    """Say a message of the library in the flags of the verb that was called."""
    if isinstance(message, UnsettledTable):
        message = message.words(say_flag)
    return for_the_shell(str(message), _flags.get())


def say_flag(parameter: str, value: object) -> str:
    """Write a setting as the command line takes it.

    >>> say_flag("percent", True), say_flag("right", ("4", "5")), say_flag("values", {"1": 1.0})
    ('--percent', '--right 4,5', '--value 1=100%')
    """
    if value is True:
        return flag_of(parameter)
    return f"{flag_of(parameter)} {quote(_listed(value))}"


def _listed(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{_cell(key)}={_share(one)}" for key, one in value.items())
    return ",".join(map(_cell, value)) if isinstance(value, tuple) else str(value)


def _cell(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',"') else text


def _share(value: object) -> str:
    return f"{100 * value:.6g}%" if isinstance(value, float) else str(value)


def flag_of(parameter: str) -> str:
    """Return the flag of a parameter.

    >>> flag_of("key_env"), flag_of("methods")
    ('--key-env', '--method')
    """
    return FLAG_OF.get(parameter, "--" + parameter.replace("_", "-"))


def for_the_shell(message: str, flags: frozenset[str]) -> str:
    """Say a message of the library as the command line would, for a verb with these flags.

    >>> for_the_shell("it exists; give another `out`", frozenset({"--out"}))
    'it exists; give another --out'
    >>> for_the_shell("pass `unread=(-1,)`, or `recover('runs/a')`", frozenset({"--unread"}))
    'pass --unread -1, or `novarag run recover runs/a`'
    """
    return _NAMED.sub(lambda found: _flagged(found, flags), _CALL.sub(_command, message))


def _command(found: re.Match[str]) -> str:
    verb = VERB_OF.get(found[1])
    if verb is None:
        return found[0]
    parts = (part.strip() for part in _ARGUMENT.findall(found[2]))
    words = [_argument(part) for part in parts if part and part not in _LEFT_OUT]
    return f"`{' '.join(['novarag', verb, *words])}`"


def _argument(text: str) -> str:
    name, given, value = text.partition("=")
    if not given or not name.isidentifier():
        return _bare(text)
    return flag_of(name) if value == "True" else f"{flag_of(name)} {_bare(value)}"


def _bare(text: str) -> str:
    """Return a value as a shell takes it: a text without its quotes, unless it needs some."""
    one = _ONE.fullmatch(text)
    value = one[1] if one else text
    quoted = len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]
    return quote(value[1:-1]) if quoted else value


def _flagged(found: re.Match[str], flags: frozenset[str]) -> str:
    flag, value = flag_of(found[1]), found[2]
    if flag not in flags:
        return found[0]
    return flag if value in {None, "True"} else f"{flag} {_bare(value)}"
