"""Messages that keep what they name: parameters and calls stay data beside plain words.

What a message names stands in backticks in its template, as Python: `out`, `percent=True`,
`recover({})`. Each becomes a part of its own, which a command line writes as a flag or a verb.
Values are filled in after a template was taken apart: a backtick in a file's name or in a reply
is text like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Self

_WORDS = Formatter()


class Blank(str):
    """A word for the reader to replace: NAME, SHARE."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that a message names; a value of `...` is none.

    >>> print(Parameter("out"), Parameter("percent", True), Parameter("reply", Blank("NAME")))
    `out` `percent=True` `reply=NAME`
    """

    name: str
    value: object = ...

    def __str__(self) -> str:
        return f"`{self.name}`" if self.value is ... else f"`{self.name}={_written(self.value)}`"


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a message names; an argument of `...` is what the caller gave before.

    >>> print(Call("recover", ("runs/a",)), Call("train_model", (...,), {"merge": True}))
    `recover('runs/a')` `train_model(..., merge=True)`
    """

    function: str
    arguments: tuple[object, ...]
    settings: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        named = [f"{name}={_written(value)}" for name, value in self.settings.items()]
        return f"`{self.function}({', '.join([*map(_written, self.arguments), *named])})`"


ProsePart = str | Parameter | Call
"""What a message is made of."""


def _written(value: object) -> str:
    """Write a value as Python does."""
    if value is ...:
        return "..."
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_written(one)}' for key, one in value.items())}}}"
    return str(value) if isinstance(value, Blank) else repr(value)


class Prose(str):
    """A text that keeps the parts it is made of; other operations on it give plain text.

    >>> Prose("give another ", Parameter("out")).parts
    ('give another ', Parameter(name='out', value=Ellipsis))
    """

    __slots__ = ("parts",)
    parts: tuple[ProsePart, ...]

    def __new__(cls, *parts: ProsePart) -> Self:
        """Put parts together; a `Prose` among them brings its own."""
        made = super().__new__(cls, "".join(map(str, parts)))
        made.parts = tuple(
            one for part in parts for one in (part.parts if isinstance(part, Prose) else (part,))
        )
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return Prose, self.parts

    @property
    def parameter(self) -> str | None:
        """The first parameter that is named."""
        return next((part.name for part in self.parts if isinstance(part, Parameter)), None)


def join_prose(between: str, texts: Iterable[ProsePart]) -> Prose:
    """Join texts as `str.join` does; their parts stay parts.

    >>> join_prose(" or ", [Parameter("uri"), Parameter("http")])
    '`uri` or `http`'
    """
    parts = [part for text in texts for part in (between, text)]
    return Prose(*parts[1:])


def say(template: str, /, *values: object) -> Prose:
    """Write a message from its template, which is a literal, and the values of its fields.

    Fields are those of `str.format`, in the order of `values`; in backticks, `{}` is a value as
    Python writes it, or a name. A `Prose`, `Parameter` or `Call` that fills one stays what it is.

    Args:
        template: The words, and in backticks what they name.
        values: What fills the fields.

    >>> say("{:,} shards of {} are damaged: run `recover({})`", 1200, "a`b", "a`b").parts[-1]
    Call(function='recover', arguments=('a`b',), settings={})
    """
    parts: list[ProsePart] = []
    left = iter(values)
    for number, piece in enumerate(template.split("`")):
        parts.extend([_named(piece, left)] if number % 2 else _filled(piece, left))
    return Prose(*parts)


def _filled(words: str, values: Iterator[object]) -> Iterator[ProsePart]:
    for text, name, spec, conversion in _WORDS.parse(words):
        if text:
            yield text
        if name is None:
            continue
        value = next(values)
        if isinstance(value, Prose | Parameter | Call):
            yield value
        else:
            yield str(_WORDS.format_field(_WORDS.convert_field(value, conversion), spec or ""))


def _named(code: str, values: Iterator[object]) -> ProsePart:
    """Read what stands in backticks, as the argument of a call: it may be a setting."""
    if code == "{}":
        return Parameter(str(next(values)))
    if code.startswith("{}="):
        return Parameter(str(next(values)), _value(ast.parse(code[3:], mode="eval").body, values))
    match ast.parse(f"_({code})", mode="eval").body:
        case ast.Call(args=[], keywords=[ast.keyword(arg=str(name), value=value)]):
            return Parameter(name, _value(value, values))
        case ast.Call(args=[ast.Name(name)], keywords=[]):
            return Parameter(name)
        case ast.Call(args=[ast.Call(ast.Name(name), given, named)], keywords=[]):
            arguments = tuple([_value(one, values) for one in given])
            return Call(name, arguments, {str(k.arg): _value(k.value, values) for k in named})
        case _:
            raise ValueError(f"`{code}` is no parameter, setting or call")


def _value(node: ast.expr, values: Iterator[object]) -> object:
    match node:
        case ast.Dict(keys=[]):
            return next(values)
        case ast.Name(word):
            return Blank(word)
        case _:
            return ast.literal_eval(node)
