"""The options of every verb that asks a model, said once: how it is reached, and shards are run.

A verb takes `access: Access`; `@reaches_models()` puts the options in its place, and builds it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from novarag.cli.expansion import expand
from novarag.cli.options import KeyEnv, Timeout
from novarag.runner.access import Access

if TYPE_CHECKING:
    from collections.abc import Callable

SHARDS_ALONE = frozenset({"key_env", "concurrency", "timeout", "attempts"})
"""Fields that a verb leaves out whose settings file says how a model is reached."""

ONE_PROCESS = frozenset({"driver", "ray_address"})
"""Fields that a verb leaves out which runs no shards on other machines."""

_OPTIONS: dict[str, Any] = {
    "key_env": KeyEnv,
    "concurrency": Annotated[
        int, typer.Option(min=1, help="Most requests in flight per endpoint and worker.")
    ],
    "timeout": Timeout,
    "attempts": Annotated[int, typer.Option(min=1, help="Attempts before giving up.")],
    "driver": Annotated[
        Literal["local", "ray"], typer.Option(help="What runs the shards: this process, or Ray.")
    ],
    "ray_address": Annotated[
        str | None, typer.Option(help="Address of the Ray cluster; default: start one here.")
    ],
    "retry_failed": Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what was given up before.")
    ],
    "group_readable": Annotated[
        bool,
        typer.Option(
            "--group-readable", help="Let your group read the run's files; default: you alone."
        ),
    ],
}
"""The option of each field of `Access`; its default is the field's."""


def reaches_models(
    *, without: frozenset[str] = frozenset()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Put the options of `Access` in the place of a verb's parameter `access`."""
    options = {
        field.name: (_OPTIONS[field.name], field.default)
        for field in fields(Access)
        if field.name not in without
    }
    return expand("access", options, Access)
