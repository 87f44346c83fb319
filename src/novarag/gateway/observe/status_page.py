"""The status page: `/status` for people, `/status.json` for programs, for operators alone."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from novarag.formatting import whole_percent
from novarag.gateway.http.replies import make_error
from novarag.gateway.settings import KeyScope
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Template
    from starlette.requests import Request

    from novarag.gateway.observe.status import StatusMonitor
    from novarag.gateway.state import Gateway

_NOT_HERE = "this page is for the machine that the gateway runs on, or for a key of scope metrics"
_PASSED_ON = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_STYLES = ("tokens.css", "page.css")
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def from_this_machine(request: Request) -> bool:
    """Say whether a request comes from this machine itself, and for it by name.

    One that a proxy on this machine passed on is somebody else's; and a web page that has its own
    name lead here asks for that name.
    """
    if request.client is None or any(name in request.headers for name in _PASSED_ON):
        return False
    try:
        near = ip_address(request.client.host).is_loopback
    except ValueError:
        return False
    return near and request.url.hostname in _NAMES


def make_status_routes(gateway: Gateway, monitor: StatusMonitor) -> list[Route]:
    """Make the routes of the status page; who may look is on this machine, or has a key."""

    def has_key(request: Request) -> bool:
        return gateway.authenticator.allows(request.scope["headers"], KeyScope.METRICS)

    def guarded(show: Callable[[dict[str, Any]], Response]) -> Callable[..., Any]:
        async def endpoint(request: Request) -> Response:
            if not (from_this_machine(request) or has_key(request)):
                return JSONResponse(make_error(_NOT_HERE, 403), status_code=403)
            return show(monitor.status())

        return endpoint

    served = {"/status": _send_page, "/status.json": _send_json}
    return [Route(path, guarded(show), methods=["GET"]) for path, show in served.items()]


def _send_json(status: dict[str, Any]) -> Response:
    return Response(orjson.dumps(status), media_type="application/json", headers=_HEADERS)


def _send_page(status: dict[str, Any]) -> Response:
    headers = _HEADERS | {"Refresh": "30"}
    return Response(render_status(status), media_type="text/html", headers=headers)


def render_status(status: dict[str, Any]) -> str:
    """Write the page; it loads nothing, runs nothing, and every name in it is escaped."""
    from markupsafe import Markup

    style = _read_style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    marked = Markup(style)  # noqa: S704 - our own files
    return _load_template().render(**status, style=marked, style_hash=digest, script="")


@lru_cache(maxsize=1)
def _load_template() -> Template:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # a page may not be wanted

    environment = Environment(
        loader=FunctionLoader(_read_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": plain_text, "whole": _format_count, "percent": whole_percent,
        "lasted": _format_duration, "size": _format_size, "sentence": _capitalise,
    }  # fmt: skip
    return environment.get_template("status.html.j2")


@lru_cache(maxsize=1)
def _read_style() -> str:
    return "".join(map(_read_file, _STYLES)) + _read_file("status.css")


def _read_file(name: str) -> str:
    """Return a file of our templates, or of the reports'; that package itself is too heavy here."""
    package = files("novarag")
    rooms = (package / "gateway" / "observe" / "templates", package / "report" / "templates")
    place = next(room / name for room in rooms if (room / name).is_file())
    return place.read_text("utf-8")


def _format_count(number: float) -> str:
    return f"{number:,.0f}"


def _format_duration(seconds: float) -> str:
    """Say a time by its two largest parts.

    >>> _format_duration(59), _format_duration(3700), _format_duration(200_000)
    ('59 s', '1 h 1 min', '2 d 7 h')
    """
    for size, name, less, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name} {int(seconds % size // less)} {smaller}"
    return f"{int(seconds)} s" if seconds < 60 else f"{int(seconds // 60)} min"


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def _format_size(number: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
