"""Two hundred ways in which a server may write a key, and a server that does so in six places."""

from __future__ import annotations

import base64
import json
import re
import threading
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "sk-Canary-7Qx/9Zp2LwV4_tR8mN3bHd6Y"
PLACES = ("content", "reasoning", "tokens", "error", "location", "models")


def _each(write: Callable[[str], str], joint: str = "") -> Callable[[str], str]:
    return lambda key: joint.join(map(write, key))


def _some(write: Callable[[str], str], step: int) -> Callable[[str], str]:
    """Escape one character of a few, as a careless encoder does."""
    return lambda key: "".join(c if i % step else write(c) for i, c in enumerate(key))


def _coded(form: str) -> Callable[[str], str]:
    return lambda char: form.format(ord(char))


def _wide(char: str) -> str:
    return chr(ord(char) + 0xFEE0)


def _bold(char: str) -> str:
    for low, high, start in (("a", "z", 0x1D41A), ("A", "Z", 0x1D400), ("0", "9", 0x1D7CE)):
        if low <= char <= high:
            return chr(start + ord(char) - ord(low))
    return char


def _base64(before: str = "", after: str = "", code: str = "utf-8") -> Callable[[str], str]:
    return lambda key: base64.b64encode((before + key + after).encode(code)).decode()


def _base32(before: str) -> Callable[[str], str]:
    return lambda key: base64.b32encode((before + key).encode()).decode().rstrip("=")


def _wrapped(size: int) -> Callable[[str], str]:
    return lambda text: "\n".join(text[i : i + size] for i in range(0, len(text), size))


def _then(*steps: Callable[[str], str]) -> Callable[[str], str]:
    def spell(key: str) -> str:
        for step in steps:
            key = step(key)
        return key

    return spell


def _json(key: str) -> str:
    return json.dumps(key)[1:-1]


ESCAPES = {
    "json": _coded("\\u{:04x}"), "json upper": _coded("\\u{:04X}"),
    "json twice": _coded("\\\\u{:04x}"), "json thrice": _coded("\\\\\\\\u{:04x}"),
    "brace": _coded("\\u{{{:x}}}"), "long": _coded("\\U{:08x}"), "byte": _coded("\\x{:02x}"),
    "byte twice": _coded("\\\\x{:02X}"), "octal": _coded("\\{:03o}"), "percent": _coded("%{:02X}"),
    "percent lower": _coded("%{:02x}"), "percent twice": _coded("%25{:02X}"),
    "percent thrice": _coded("%2525{:02x}"), "percent u": _coded("%u{:04x}"),
    "entity": _coded("&#{};"), "entity hex": _coded("&#x{:x};"), "entity HEX": _coded("&#X{:X};"),
    "entity twice": _coded("&amp;#{};"), "printed": _coded("={:02X}"),
    "entity in percent": _coded("%26%23{}%3B"), "percent in json": _coded("\\u0025{:02x}"),
    "wide": _wide, "bold": _bold, "accents": lambda c: c + "\u0301", "spaced": lambda c: c + " ",
}  # fmt: skip
BETWEEN = {
    "spaces": " ", "lines": "\n", "tabs": "\t", "carriages": "\r\n", "zero width": "\u200b",
    "soft hyphens": "\u00ad", "marks": "\ufeff", "joiners": "\u2060", "directions": "\u202e",
    "dots": ".", "commas": ", ", "bars": " | ", "quotes": '", "', "stars": "**", "hyphens": "-",
    "underscores": "_", "wide spaces": "\u3000", "points": "·", "nulls": "\x00", "hanzi": "中",
    "escaped lines": "\\n", "escaped marks": "\\u200b", "tags": "<>", "no-break": "\u00a0",
}  # fmt: skip
WHOLE = {
    "plain": str, "upper": str.upper, "lower": str.lower, "swapped": str.swapcase,
    "backwards": lambda k: k[::-1], "upper backwards": lambda k: k.upper()[::-1],
    "slashes escaped": lambda k: k.replace("/", "\\/"), "dumped": _json, "dumped twice": _then(_json, _json),
    "signs escaped": lambda k: re.sub(r"[-_/]", lambda m: "\\" + m[0], k),
    "signs in percent": lambda k: re.sub(r"[-_/]", lambda m: f"%{ord(m[0]):02X}", k),
    "signs twice in percent": lambda k: re.sub(r"[-_/]", lambda m: f"%25{ord(m[0]):02X}", k),
    "html": lambda k: escape(k).replace("/", "&sol;").replace("_", "&lowbar;"),
    "header": lambda k: f"Bearer {k}", "address": lambda k: f"http://x/?key={k}&y=1",
    "list of characters": lambda k: str(list(k)), "list of bytes": lambda k: str(list(k.encode())),
    "bytes": lambda k: str(k.encode()), "dumped list": lambda k: json.dumps(list(k)),
    "hex": lambda k: k.encode().hex(), "HEX": lambda k: k.encode().hex().upper(),
    "hex colons": lambda k: k.encode().hex(":"), "hex hyphens": lambda k: k.encode().hex("-"),
    "hex spaces": lambda k: k.encode().hex(" "), "hex commas": _each(_coded("0x{:02x}"), ", "),
    "hex close": _each(_coded("0x{:02x}")), "hex of upper": lambda k: k.upper().encode().hex(),
    "hex of lower": lambda k: k.lower().encode().hex(), "hex of wide": lambda k: k.encode("utf-16-be").hex(),
    "points": _each(_coded("U+{:04X}"), " "), "decimals": _each(_coded("{}"), " "),
    "decimals close": _each(_coded("{}")), "decimals hyphens": _each(_coded("{}"), "-"),
    "octals": _each(_coded("{:o}"), " "), "octals padded": _each(_coded("{:03o}"), ","),
    "binary": _each(_coded("{:08b}")), "binary spaces": _each(_coded("{:08b}"), " "),
    "hex lines": _then(lambda k: k.encode().hex(), _wrapped(16)),
    "hex in percent": _then(lambda k: k.encode().hex(), _each(_coded("%{:02x}"))),
    "base64": _base64(), "base64 second": _base64("x"), "base64 third": _base64("xy"),
    "base64 header": _base64("Bearer "), "base64 basic": _base64("user:", ":x"),
    "base64 json": _base64('{"key": "', '"}'), "base64 upper case": _then(str.upper, _base64()),
    "base64 of lower": _then(str.lower, _base64("a")), "base64 folded": _then(_base64(), str.lower),
    "base64 utf-16": _base64(code="utf-16-le"), "base64 utf-16 big": _base64("x", code="utf-16-be"),
    "base64 url": lambda k: base64.urlsafe_b64encode(k.encode()).decode(),
    "base64 bare": lambda k: base64.b64encode(k.encode()).decode().rstrip("="),
    "base64 lines": _then(_base64(), _wrapped(4)), "base64 mail": _then(_base64("xx"), _wrapped(19)),
    "base64 spaced": _then(_base64(), " ".join), "base64 percent": _then(_base64(), _each(_coded("%{:02X}"))),
    "base64 json escapes": _then(_base64("x"), _each(_coded("\\u{:04x}"))),
    "base64 backwards key": _then(lambda k: k, _base64("key=", "\n")),
    **{f"base32 {n}": _base32("x" * n) for n in range(5)},
    "base32 lower": _then(_base32(""), str.lower), "base32 lines": _then(_base32("ab"), _wrapped(8)),
}  # fmt: skip
PARTS = {
    "first half": lambda k: k[: len(k) // 2], "second half": lambda k: k[len(k) // 2 :],
    "last twelve": lambda k: k[-12:], "middle": lambda k: k[9:22],
    "sixteen": lambda k: k[5:21],
}  # fmt: skip


def spellings() -> dict[str, Callable[[str], str]]:
    """Return the spellings by name: whole keys, escaped, drawn apart, encoded; and parts of them."""
    found: dict[str, Callable[[str], str]] = dict(WHOLE)
    for name, write in ESCAPES.items():
        found[f"all {name}"] = _each(write)
        found[f"third {name}"] = _some(write, 3)
    for name, joint in BETWEEN.items():
        found[name] = joint.join
    parts = (
        "plain", "upper", "dumped", "hex", "base64", "base64 second", "base64 third", "base32 0",
    )  # fmt: skip
    for name, part in PARTS.items():
        for spelled in parts:
            found[f"{name} {spelled}"] = _then(part, WHOLE[spelled])
        for escaped in ("json", "percent", "entity", "wide"):
            found[f"{name} {escaped}"] = _then(part, _each(ESCAPES[escaped]))
        found[f"{name} zero width"] = _then(part, "\u200b".join)
    return found


def size_of(name: str) -> int:
    """Return how many characters of the key a spelling writes."""
    parts = [len(part(KEY)) for own, part in PARTS.items() if name.startswith(own)]
    return parts[0] if parts else len(KEY)


def leaks(spelled: str, size: int, text: str) -> bool:
    """Say whether a text holds as much of a spelled key as 12 of its characters take, and some.

    It knows nothing of encodings: it looks for pieces of what the server wrote.
    """
    width = min(len(spelled), -(-len(spelled) * 15 // size))
    return any(spelled[i : i + width] in text for i in range(len(spelled) - width + 1))


@contextmanager
def leaking(place: str, written: list[str]) -> Iterator[str]:
    """Serve replies with a spelled key in one place: number i for a prompt about lighthouse i."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(place, written))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(place: str, written: list[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            names = written if place == "models" else ["chaos"]
            self._send(200, {"data": [{"id": name} for name in names]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            number = int(re.findall(r"lighthouse (\d+)", asked["messages"][0]["content"])[-1])
            spelled = written[number]
            if place == "location":
                where = re.sub(r"[\r\n\x00]", " ", spelled).encode().decode("latin-1")
                self._send(307, {}, location=f"http://{where}/")
            elif place == "error":
                self._send(400, {"error": {"message": f"you sent {spelled}, which is wrong"}})
            else:
                self._send(200, {"choices": [_choice(place, spelled)]})

        def _send(self, status: int, content: object, location: str | None = None) -> None:
            body = json.dumps(content).encode()
            self.send_response_only(status)
            if location is not None:
                self._headers_buffer.append(  # type: ignore[attr-defined]
                    f"Location: {location}\r\n".encode("latin-1")
                )
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _choice(place: str, spelled: str) -> dict[str, object]:
    text = "Answer: 1871\nConfidence: 80%"
    said = f"I was sent {spelled}.\n{text}" if place == "content" else text
    message = {"content": said, "reasoning": f"Hm, {spelled}!" if place == "reasoning" else None}
    told = spelled if place == "tokens" else text
    tokens = [told[i : i + 5] for i in range(0, len(told), 5)]
    entries = [{"token": token, "logprob": -0.5} for token in tokens]
    entries[0]["top_logprobs"] = [{"token": t, "logprob": -1.0} for t in (told, "x")]
    return {"message": message, "finish_reason": "stop", "logprobs": {"content": entries}}
