"""From the words of the library to those of the command line.

A message of the library keeps the parameters and calls that it names as parts beside its text. A
person at a shell has flags and verbs: --out, --percent, `novarag run recover runs/a`. The two
tables below say which is which, and a test holds them against both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from shlex import quote
from typing import TYPE_CHECKING

from novarag.prose import Call, Parameter, Prose
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typer.core import TyperCommand, TyperGroup

    from novarag.prose import ProsePart

VERB_OF = {
    "measure": "measure",
    "calibrate": "calibrate",
    "gate": "gate",
    "measure_judge": "grading judge",
    "apply_calibration": "apply",
    "apply_gate": "apply",
    "answer": "answer",
    "ask": "ask",
    "probe": "probe",
    "preview_probe": "probe --dry-run",
    "attack": "attack",
    "compare": "compare",
    "serve_demo": "demo",
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
    "open_page": "--open",
    "partial_runs": "--partial",
    "question_count": "--questions",
    "repeats": "--repeat",
    "scopes": "--scope",
    "scores": "--score",
    "strategies": "--strategy",
    "texts": "--text",
    "values": "--value",
}
"""Parameters whose flag has another name; the others have their own, with dashes."""

_LONGEST = 4000  # characters of a command; longer ones nobody types

_flags: ContextVar[frozenset[str]] = ContextVar("flags", default=frozenset())


def speak_as(verb: TyperCommand | TyperGroup) -> None:
    """Let `said` use the flags of a verb from here on."""
    _flags.set(frozenset(_iter_flags([verb])))


def _iter_flags(verbs: Iterable[TyperCommand | TyperGroup]) -> Iterator[str]:
    for verb in verbs:
        for param in verb.params:
            yield from (*param.opts, *param.secondary_opts)
        yield from _iter_flags(getattr(verb, "commands", {}).values())


def said(message: str, flags: frozenset[str] | None = None) -> str:
    """Say a message of the library in the words of a shell.

    Args:
        message: What was said. Only a `Prose` has parts; any other text stays as it is.
        flags: The flags there are; None takes those of the verb that was called.

    >>> from novarag.prose import say
    >>> said(say("it exists; give another `out`"), frozenset({"--out"}))
    'it exists; give another --out'
    >>> said(say("pass `unread=(-1,)`, or `recover('runs/a')`"), frozenset({"--unread"}))
    'pass --unread -1, or `novarag run recover runs/a`'
    """
    known = _flags.get() if flags is None else flags
    parts = message.parts if isinstance(message, Prose) else (message,)
    return "".join(_said(part, known) for part in parts)


def _said(part: ProsePart, flags: frozenset[str]) -> str:
    if isinstance(part, Parameter) and flag_of(part.name) in flags:
        shown = flag_of(part.name) if part.value is ... else say_flag(part.name, part.value)
    elif isinstance(part, Call) and part.function in VERB_OF:
        shown = _command(part)
    else:
        return str(part)
    return plain_text(shown, longest=_LONGEST)


def _command(call: Call) -> str:
    given = [quote(str(one)) for one in call.arguments if one is not ...]
    named = [say_flag(name, value) for name, value in call.settings.items()]
    return f"`{' '.join(['novarag', VERB_OF[call.function], *given, *named])}`"


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


def _cell(value: object) -> str:
    text = str(value)
    return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',"') else text


def _share(value: object) -> str:
    return f"{100 * value:.6g}%" if isinstance(value, float) else str(value)


def flag_of(parameter: str) -> str:
    """Return the flag of a parameter.

    >>> flag_of("key_env"), flag_of("methods")
    ('--key-env', '--method')
    """
    return FLAG_OF.get(parameter, "--" + parameter.replace("_", "-"))
