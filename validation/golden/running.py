"""One install at work: runs commands in its folder, and sees what they leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from validation.golden.comparing import Result, scan
from validation.golden.renamed import words_now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from validation.golden.commands import Command
    from validation.golden.installs import Install

LONGEST = 300  # seconds of one command


@dataclass(frozen=True)
class Side:
    """An install, the addresses of its servers, and the Python that forks its commands, if any."""

    install: Install
    data: Path | None
    addresses: dict[str, str]
    forking: tuple[subprocess.Popen[bytes], IO[str], IO[str]] | None = None

    def run(self, command: Command) -> Result:
        """Run a command, and see what it did to the work folder."""
        work, words = self.install.work, command.words(**self.addresses)
        if self.install.name == "head":
            words = words_now(words)
        if command.first is not None:
            command.first(work)
        before = scan(work)
        streams = [self.install.place / name for name in ("stdin", "stdout", "stderr")]
        for stream, content in zip(streams, (command.stdin, "", ""), strict=True):
            stream.write_text(content, "utf-8")
        code = (self._forked if self.forking else self._fresh)(words, streams)
        _, stdout, stderr = (stream.read_bytes() for stream in streams)
        return Result(code, stdout, stderr, before, scan(work), work)

    def _fresh(self, words: list[str], streams: list[Path]) -> int:
        with (
            streams[0].open("rb") as given,
            streams[1].open("wb") as out,
            streams[2].open("wb") as errors,
        ):
            return subprocess.run(
                [sys.executable, "-m", "novarag", *words], cwd=self.install.work, stdin=given,
                stdout=out, stderr=errors, env=self.install.environment(self.data), check=False,
                timeout=LONGEST,
            ).returncode  # fmt: skip

    def _forked(self, words: list[str], streams: list[Path]) -> int:
        assert self.forking is not None
        process, orders, answers = self.forking
        order = {"words": words, "folder": str(self.install.work), "longest": LONGEST}
        orders.write(json.dumps(order | {"streams": [str(s) for s in streams]}) + "\n")
        orders.flush()
        answer = answers.readline()
        if not answer:
            sys.exit(
                f"golden: what forks the {self.install.name}'s commands ended: {process.wait()}"
            )
        return int(answer)


@contextmanager
def at_work(
    install: Install, data: Path | None, addresses: dict[str, str], *, cold: bool
) -> Iterator[Side]:
    """Let an install run commands until the block ends: each in a fresh Python, or forked."""
    if cold:
        yield Side(install, data, addresses)
        return
    (orders_in, orders_out), (answers_in, answers_out) = os.pipe(), os.pipe()
    place = Path(__file__).with_name("warm.py")
    process = subprocess.Popen(
        [sys.executable, str(place), str(orders_in), str(answers_out)],
        pass_fds=(orders_in, answers_out), env=install.environment(data),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(orders_in)
    os.close(answers_out)
    with os.fdopen(orders_out, "w") as orders, os.fdopen(answers_in) as answers:
        try:
            yield Side(install, data, addresses, (process, orders, answers))
        finally:
            process.kill()
            process.wait()
