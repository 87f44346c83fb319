"""A server of chat completions that costs next to nothing, so that what is before it shows.

`python -m tests.support.quick_upstream FD` serves at an open socket until it is ended.
"""

import asyncio
import json
import re
import socket
import sys

from tests.support.gateways import REPLY, completion, framed

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_FRAME = re.compile(rb"Answer\[([0-9a-f]{6})\]:")
_BODY = json.dumps(completion(framed(REPLY, "Answer[abcdef]:"))).encode()
_SLOW = 10.0  # seconds before a reply to what asks for it
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Quick(asyncio.Protocol):
    """Replies to every request after a pause, with the frame that its prompt asks for."""

    def __init__(self, pause=0.001):
        self._pause, self._left = pause, b""

    def connection_made(self, transport):
        self._transport = transport

    def data_received(self, data):
        self._left += data
        while (end := self._left.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._left, 0, end)
            size = int(length[1]) if length else 0
            if len(self._left) < end + 4 + size:
                return
            body = self._left[end + 4 : end + 4 + size]
            self._left = self._left[end + 4 + size :]
            pause = _SLOW if b"SLOW: " in body else self._pause
            asyncio.get_running_loop().call_later(pause, self._reply, body)

    def _reply(self, body):
        found = _FRAME.search(body)
        reply = _BODY.replace(b"abcdef", found[1] if found else b"000000")
        self._transport.write(_HEAD % len(reply) + reply)


async def main(fd):
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Quick, sock=socket.socket(fileno=fd), backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
