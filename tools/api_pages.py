"""For the API pages: functions as a caller meets them.

`ask = synchronous(ask_async)` is shown as the function it makes, and a default that the source
takes from a constant is shown as its value.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from inspect import signature

import griffe

TWIN = "Inside `async` code, `await {name}(…)` takes the same parameters."
SHOWN = ("novarag.flows.", "novarag.sft.train.settings")
PLAIN = (str, int, float, bool, tuple, type(None))


class Synchronous(griffe.Extension):
    """Show sync forms as functions, and defaults as values."""

    def on_module_members(self, *, mod: griffe.Module, **kwargs: object) -> None:
        if not mod.path.startswith(SHOWN):
            return
        for member in list(mod.members.values()):
            if isinstance(member, griffe.Function) and not member.name.startswith("_"):
                _say_defaults(mod, member)
            elif isinstance(member, griffe.Class) and not member.name.startswith("_"):
                _say_fields(mod, member)
        for name, member in list(mod.members.items()):
            twin = mod.members.get(f"{name}_async")
            if isinstance(member, griffe.Attribute) and isinstance(twin, griffe.Function):
                mod.set_member(name, _form(member, twin))


def _say_defaults(mod: griffe.Module, function: griffe.Function) -> None:
    named = [p for p in function.parameters if isinstance(p.default, griffe.Expr)]
    if not named:
        return
    real = signature(getattr(import_module(mod.path), function.name)).parameters
    for parameter in named:
        value = real[parameter.name].default
        if isinstance(value, PLAIN):
            parameter.default = repr(value)


def _say_fields(mod: griffe.Module, record: griffe.Class) -> None:
    real = getattr(import_module(mod.path), record.name)
    given = {f.name: f.default for f in fields(real)} if is_dataclass(real) else {}
    for name, member in record.members.items():
        if isinstance(member, griffe.Attribute) and isinstance(member.value, griffe.Expr):
            value = given.get(name, MISSING)
            if isinstance(value, PLAIN):
                member.value = repr(value)


def _form(member: griffe.Attribute, twin: griffe.Function) -> griffe.Function:
    said = "" if twin.docstring is None else twin.docstring.value
    return griffe.Function(
        member.name,
        parameters=twin.parameters,
        returns=twin.returns,
        docstring=griffe.Docstring(_with_twin(said, twin.name)),
        lineno=member.lineno,
        endlineno=member.endlineno,
    )


def _with_twin(said: str, name: str) -> str:
    """Name the async function after the text, before the first section."""
    text, args, rest = said.partition("\nArgs:\n")
    return f"{text.rstrip()}\n\n{TWIN.format(name=name)}\n{args}{rest}"
