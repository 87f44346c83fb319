"""From the words of the library to those of the command line.

The library names parameters, calls and functions in backticks: `out`, `percent=True`,
`recover('runs/a')`. A person at a shell has flags and verbs: --out, --percent, `novarag recover
runs/a`. The two tables below say which is which, and a test holds them against both sides.
"""

from __future__ import annotations

import re

VERB_OF = {
    "annotate": "annotate",
    "answer": "answer",
    "ask": "ask",
    "audit_groups": "audit",
    "build_index": "index",
    "build_training_set": "build",
    "estimate": "estimate",
    "export_training_set": "export",
    "filter_trials": "filter",
    "group_passages": "group",
    "make_noise": "noise",
    "make_rating_sheet": "study sheet",
    "measure": "measure",
    "read_rating_files": "study read",
    "read_reply": "read",
    "rebuild_benchmark": "nova-clean",
    "recover": "recover",
    "render": "render",
    "reproduce": "reproduce",
    "reread": "reread",
    "retrieve": "retrieve",
    "run_experiment": "run",
    "serving_plan": "serve-model",
    "summarise": "show",
    "train_model": "train",
    "write_example": "example",
}
"""Each function, and the verb that calls it."""

FLAG_OF = {
    "compiled": "--compile",
    "formats": "--format",
    "kinds": "--kind",
    "methods": "--method",
    "partial_runs": "--partial",
    "search": "--with",
    "strategies": "--strategy",
}
"""Parameters whose flag has another name; the others have their own, with dashes."""

_CALL = re.compile(r"`([a-z_]{1,40})\(([^`()]{0,500})\)`")
_NAMED = re.compile(r"`([a-z_]{1,40})(?:=([^`]{1,200}))?`")


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
    >>> for_the_shell("pass `unread=-1`, or `recover('runs/a')`", frozenset({"--unread"}))
    'pass --unread -1, or `novarag recover runs/a`'
    """
    said = _CALL.sub(_command, message)
    return _NAMED.sub(lambda found: _flagged(found, flags), said)


def _command(found: re.Match[str]) -> str:
    verb = VERB_OF.get(found[1])
    if verb is None:
        return found[0]
    words = [_argument(part.strip()) for part in found[2].split(", ") if part.strip()]
    return f"`{' '.join(['novarag', verb, *words])}`"


def _argument(text: str) -> str:
    name, given, value = text.partition("=")
    if not given or not name.isidentifier():
        return _bare(text)
    return flag_of(name) if value == "True" else f"{flag_of(name)} {_bare(value)}"


def _bare(text: str) -> str:
    quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
    return text[1:-1] if quoted else text


def _flagged(found: re.Match[str], flags: frozenset[str]) -> str:
    flag, value = flag_of(found[1]), found[2]
    if flag not in flags:
        return found[0]
    return flag if value in {None, "True"} else f"{flag} {_bare(value)}"
