"""The verbs of a gateway's keys: draw one for a client, list them, revoke one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.gateway.admin.client_keys import GatewayKey

KeySettings = Annotated[
    Path, typer.Option(help="Settings file of the gateway, whose audit names the database.")
]


def add(
    tenant: Annotated[str, typer.Argument(help="Whose key it is: what the audit is kept under.")],
    settings: Annotated[
        Path | None,
        typer.Option(help="Settings file of the gateway, whose audit names the database."),
    ] = None,
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help="chat, score, feedback or metrics; may be repeated. Default: the first three.",
        ),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="Day or time of its end, such as 2027-01-31, in UTC.")
    ] = None,
    note: Annotated[str, typer.Option(help="Note on what the key is for, kept beside it.")] = "",
    hash_only: Annotated[
        bool,
        typer.Option("--hash-only", help="Store nothing; print lines for the settings file."),
    ] = False,
) -> None:
    """Draw a key for a tenant and print it, once; its hash goes to the gateway's database."""
    from novarag.gateway.admin.client_keys import add_gateway_key

    chosen = tuple(scopes) if scopes else ("chat", "score", "feedback")
    made = add_gateway_key(
        tenant, settings, scopes=chosen, expires=expires, note=note, hash_only=hash_only
    )
    print(made.key)
    if hash_only:
        print("\n".join(made.settings_lines()))
    kept = "nothing was kept" if hash_only else f"kept is its hash, {made.known_by.sha256[:12]}…"
    print(f"the key is shown this once; {kept}", file=sys.stderr)


def list_keys(settings: KeySettings) -> None:
    """List keys by the beginning of their SHA-256: tenant, scopes, end, where they stand, note."""
    from novarag.gateway.admin.client_keys import list_gateway_keys

    for key in list_gateway_keys(settings):
        print(_line(key))


def revoke(
    sha256: Annotated[
        str, typer.Argument(help="First 8 or more hex digits of its SHA-256, as listed.")
    ],
    settings: KeySettings,
) -> None:
    """Delete a key from the database; gateways that run learn of it within `access.reread`."""
    from novarag.gateway.admin.client_keys import revoke_gateway_key

    print(f"revoked {_line(revoke_gateway_key(sha256, settings))}")


def _line(key: GatewayKey) -> str:
    end = "no end" if key.expires is None else f"until {key.expires:%Y-%m-%d %H:%M}"
    state = f"{end}, over" if key.expired else end
    parts = (key.sha256[:12], key.tenant, ",".join(key.scopes), state, key.source, key.note)
    return plain_text("  ".join(part for part in parts if part), longest=300)
