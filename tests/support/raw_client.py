"""A client of HTTP/1.1 that costs little and hides nothing: one connection, one request at a time."""

import asyncio
import json

HEAD = (
    "POST {path} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
    "Content-Length: {size}\r\n{more}\r\n"
)


def request(body, path="/v1/chat/completions", more=""):
    """Write a request."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HEAD.format(path=path, size=len(content), more=more).encode() + content


class Reply:
    """What came back, and whether it came to its end."""

    def __init__(self, status, headers, body, *, whole):
        self.status, self.headers, self.body, self.whole = status, headers, body, whole

    def json(self):
        return json.loads(self.body)


class RawClient:
    """A connection that is opened when it is needed and kept as long as the server does."""

    def __init__(self, port):
        self._port, self._reader, self._writer = port, None, None

    async def send(self, content):
        """Send a request that was written before; return its reply."""
        if self._reader is not None and self._reader.at_eof():
            self.close()  # the server has closed it meanwhile, as pools of clients notice, too
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(content)
        return await self._reply()

    async def _reply(self):
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split(" ", 2)[1])
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body, whole = await self._body(headers)
        if not whole or headers.get("connection") == "close":
            self.close()
        return Reply(status, headers, body, whole=whole)

    async def _body(self, headers):
        try:
            if "content-length" in headers:
                return await self._reader.readexactly(int(headers["content-length"])), True
            return await self._chunks(), True
        except asyncio.IncompleteReadError as error:
            return error.partial, False

    async def _chunks(self):
        found = bytearray()
        while True:
            try:
                size = int(await self._reader.readuntil(b"\r\n"), 16)
                piece = await self._reader.readexactly(size + 2)
            except asyncio.IncompleteReadError as error:
                raise asyncio.IncompleteReadError(bytes(found + error.partial), None) from None
            if not size:
                return bytes(found)
            found += piece[:-2]

    def close(self):
        if self._writer is not None:
            self._writer.close()
            self._reader = self._writer = None
