"""Where a model is served: an address that was checked, and where its key is kept.

The key of a host stands in the variable of its own, `NOVARAG_API_KEY_` and its name, if that is
set, and else in `NOVARAG_API_KEY`. One variable's key goes to one host.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from novarag.errors import UsageError
from novarag.web.key_forms import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterable

KEY = "NOVARAG_API_KEY"
_OWN_KEYS = {"api.openai.com": "OPENAI_API_KEY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One OpenAI-compatible server and the model it serves.

    `key_env` names the environment variable that holds the key; the key itself is never kept. A
    variable of that name with `_` and the host behind it, such as `NOVARAG_API_KEY_GPU_1_LAN`,
    comes first; set and empty, it says that the host gets no key.
    """

    url: str
    model: str
    key_env: str = KEY
    key_needed: bool = False

    @property
    def host(self) -> str:
        """The host that the address names."""
        return urlsplit(self.url).hostname or ""

    @property
    def own_variable(self) -> str:
        """The variable that holds the key of this host alone, if it is set."""
        return f"{self.key_env}_{re.sub('[^A-Z0-9]', '_', self.host.upper())}"

    @property
    def variable(self) -> str:
        """The variable that the key comes from."""
        own = self.own_variable if self.key_env else ""
        return own if own in os.environ else self.key_env

    def key(self) -> str | None:
        """Take the key from the environment, if there is one."""
        variable = self.variable
        key = os.environ.get(variable, "").strip()
        if not key:
            if self.key_needed and variable == self.key_env:
                raise UsageError(f"{self.key_env} is not set, and the key is to come from there")
            return None
        if not key.isascii() or not key.isprintable():
            raise UsageError(f"the key in {variable} holds characters that no header may hold")
        return key


def refuse_shared_keys(endpoints: Iterable[Endpoint]) -> None:
    """Refuse to send the key of one variable to several hosts; what is no secret may go anywhere.

    A host is meant with all its ports: several servers on one machine share its key.
    """
    shared: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for endpoint in endpoints:
        if is_secret(endpoint.key() or ""):
            shared[endpoint.variable][endpoint.host] = endpoint.own_variable
    for variable, hosts in shared.items():
        names = sorted(set(hosts.values()))
        if len(hosts) > len(names) == 1:
            raise UsageError(
                f"{', '.join(hosts)} have one variable for their keys, {names[0]}; give them in two"
                " runs, or by addresses that differ in letters or digits"
            )
        if len(hosts) > 1:
            raise UsageError(
                f"the key in {variable} would go to {len(hosts)} hosts ({', '.join(hosts)}); set"
                f" {', '.join(hosts.values())} instead, empty where a host needs no key"
            )


def parse_endpoint(text: str, *, key_env: str | None = None, url_path: str = "/v1") -> Endpoint:
    """Read the address of a server and the name of its model.

    Args:
        text: The text of both, as `URL=NAME`, such as http://localhost:8000/v1=llama.
        key_env: Environment variable that holds the key and must be set; None takes OPENAI_API_KEY
            for api.openai.com and NOVARAG_API_KEY for other hosts, and sends no key where that is
            not set.
        url_path: The path that is added to an address without one.

    >>> parse_endpoint("http://localhost:8000=llama").url
    'http://localhost:8000/v1'
    """
    url, found, model = text.partition("=")
    if not found or not model.strip():
        raise UsageError(f"{text!r} is not URL=NAME, such as http://localhost:8000/v1=llama")
    if not _is_whole(model):
        raise UsageError(f"{model!r} holds half a character: write the name of the model in UTF-8")
    host, address = _checked(url.strip(), url_path)
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
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"the address of {host} holds a password: keys come from the environment")
    if parts.query or parts.fragment or not url.isprintable() or any(c.isspace() for c in url):
        raise UsageError(f"the address of {host} must end with its path, such as /v1")
    _check_labels(url, host)
    name = f"[{host}]" if ":" in host else host
    place = f"{parts.scheme}://{name}" + (f":{port}" if port is not None else "")
    return host, place + (parts.path.rstrip("/") or path)
