"""Where a model is served: an address that was checked, and where its key is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from novarag.errors import UsageError

KEY = "NOVARAG_API_KEY"
_OWN_KEYS = {"api.openai.com": "OPENAI_API_KEY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One OpenAI-compatible server and the model it serves.

    `key_env` names the environment variable that holds the key; the key itself is never kept.
    """

    url: str
    model: str
    key_env: str = KEY
    key_needed: bool = False

    def key(self) -> str | None:
        """Take the key from the environment, if there is one."""
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            if self.key_needed:
                raise UsageError(f"{self.key_env} is not set, and the key is to come from there")
            return None
        if not key.isascii() or not key.isprintable():
            raise UsageError(f"the key in {self.key_env} holds characters that no header may hold")
        return key


def parse_endpoint(text: str, *, key_env: str | None = None, path: str = "/v1") -> Endpoint:
    """Read `URL=NAME`; an address without a path means `path`.

    >>> parse_endpoint("http://localhost:8000=llama").url
    'http://localhost:8000/v1'
    """
    url, found, model = text.partition("=")
    if not found or not model.strip():
        raise UsageError(f"{text!r} is not URL=NAME, such as http://localhost:8000/v1=llama")
    if not _is_whole(model):
        raise UsageError(f"{text!r} names a model by half a character: write its name in UTF-8")
    host, address = _checked(url.strip(), path)
    return Endpoint(
        url=address,
        model=model.strip(),
        key_env=key_env or _OWN_KEYS.get(host, KEY),
        key_needed=key_env is not None,
    )


def parse_address(url: str, *, key_env: str | None = None) -> Endpoint:
    """Read the whole address of a server that is no model's; only a key named for it is sent.

    >>> parse_address("http://localhost:9000/search/").url
    'http://localhost:9000/search'
    """
    _, address = _checked(url.strip(), "")
    return Endpoint(url=address, model="", key_env=key_env or "", key_needed=key_env is not None)


def _is_whole(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _check_labels(url: str, host: str) -> None:
    """Refuse a host that no resolver could be asked for, such as one with a part of 64 letters."""
    try:
        if ":" not in host:
            host.encode("idna")
    except UnicodeError:
        problem = "a part of its host is over 63 characters, or holds some that no name may hold"
        raise UsageError(f"{url!r} is not an address: {problem}") from None


def _checked(url: str, path: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is not an address: {error}") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageError(f"{url!r} is not an address: write http://host:port/v1 or https://…")
    if ":" not in host and not all(host.rstrip(".").split(".")):
        raise UsageError(f"{url!r} is not an address: its host has an empty part")
    _check_labels(url, host)
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"the address of {host} holds a password: keys come from the environment")
    if parts.query or parts.fragment or not url.isprintable() or any(c.isspace() for c in url):
        raise UsageError(f"the address of {host} must end with its path, such as /v1")
    name = f"[{host}]" if ":" in host else host
    place = f"{parts.scheme}://{name}" + (f":{port}" if port is not None else "")
    return host, place + (parts.path.rstrip("/") or path)
