"""The first ten minutes: from nothing but the wheel to a live answer, doing only what is printed.

Usage: python -m validation.ten_minutes [--command FOLDER] [--wheel FILE] [--write FILE]

A folder holds one raw table, as a support bot's log may be. The first command is
`novarag measure prod.csv`; each next one is what the one before printed, after "For example:" or
"next:", with its capitals filled in. The model behind the live answer is a small server here.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST = "novarag measure prod.csv"
LEADS = re.compile(r"^(?:For example|next): (novarag .*)$", re.MULTILINE)
MARK = re.compile(r"Confidence(\[[0-9a-f]+\]):")
LABEL = re.compile(r"^[A-Z][A-Za-z ]+(?=:)", re.MULTILINE)
MOST = 10
SENTENCES = 3
"""How many of the sentences about the figures the page shows of one command."""
QUESTION, TEXT = (
    "How do I reset device 12?",
    "Hold the button for five seconds to reset the device.",
)
CALLED = "http://127.0.0.1:8000/v1=bot"
"""What the server is called in the transcript, whichever port it had."""

RIGHT = {70: 0.3, 80: 0.5, 90: 0.8, 95: 0.97, 99: 0.985}
"""How often the bot is right where it states so many percent."""

HEAD = """# The first ten minutes

Written by `make prove NAME=first-minutes`: the wheel alone in a new environment, one raw table in an empty \
folder, and nothing typed but `{first}` and what each command printed. Capitals such as `QUESTION` \
were filled in; the model is a small server on the same machine, which always gives the same reply. Of the sentences about the figures, \
which begin with a dash, the first {sentences} of each command stand here.

The table is made up: {rows} answers of a bot that is right less often than it says.

```text
{table}
```
"""


REPLY = (
    "Passage Classifications: highly relevant\nGroup Judgment: consistent\n"
    "Answer: Hold the button for five seconds\nConfidence: 95%"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One command: what was typed, what it printed, its exit code and how long it took."""

    typed: str
    printed: str
    code: int
    seconds: float


class Model(BaseHTTPRequestHandler):
    """A model that always says the same, as an OpenAI-compatible server does."""

    said = REPLY

    def do_GET(self) -> None:
        """Name the model."""
        self._send({"object": "list", "data": [{"id": "bot", "object": "model"}]})

    def do_POST(self) -> None:
        """Reply as the strategy `nova` asks to, with the mark that a gateway puts on each field."""
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        mark = MARK.search(asked)
        said = LABEL.sub(rf"\g<0>{mark[1]}", self.said) if mark else self.said
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 200, "completion_tokens": 30, "total_tokens": 230}
        self._send({"id": "1", "model": "bot", "choices": [choice], "usage": usage})

    def _send(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(said: str = REPLY) -> Iterator[str]:
    """Serve a model that says one thing on a free port of this machine; yield URL=NAME."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Speaker", (Model,), {"said": said}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1=bot"
    finally:
        server.shutdown()
        server.server_close()


def write_table(path: Path, rows: int = 700) -> None:
    """Write the log of a bot as its export would be: a percent sign, thumbs, other columns."""
    rng = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["ts", "user question", "bot answer", "Confidence", "thumbs"])
        for n in range(rows):
            stated = rng.choice(list(RIGHT))
            thumb = "up" if rng.random() < RIGHT[stated] else "down"
            asked, said = f"How do I reset device {n}?", f"Hold the button {n % 9 + 1} seconds"
            table.writerow([f"2026-10-{n % 28 + 1:02}", asked, said, f"{stated}%", thumb])


def run(typed: str, folder: Path, command: Path) -> Step:
    """Type one command in a folder; `command` is where novarag is installed."""
    environment = {"PATH": f"{command}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    began = time.monotonic()
    done = subprocess.run(
        shlex.split(typed), cwd=folder, env=environment | {"COLUMNS": "100"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return Step(typed, done.stdout, done.returncode, time.monotonic() - began)


def lead(printed: str) -> str | None:
    """Return the command that was printed to come next.

    >>> lead("done\\nnext: novarag gate a.csv\\n      sets a gate")
    'novarag gate a.csv'
    """
    found = LEADS.findall(printed)
    return found[-1] if found else None


def fill_in(command: str, model: str) -> str:
    """Put a question, a file and a model in the place of the capitals."""
    filled = {"QUESTION": QUESTION, "FILE": "passage.txt", "URL=NAME": model}
    for capitals, value in filled.items():
        command = command.replace(capitals, value)
    return command


def follow(folder: Path, command: Path) -> list[Step]:
    """Type the first command, and then whatever is printed, until nothing more is."""
    write_table(folder / "prod.csv")
    (folder / "passage.txt").write_text(f"{TEXT}\n", encoding="utf-8")
    steps: list[Step] = []
    with serving() as model:
        typed: str | None = FIRST
        while typed is not None and len(steps) < MOST:
            step = run(fill_in(typed, model), folder, command)
            shown = step.typed.replace(model, CALLED), step.printed.replace(model, CALLED)
            steps.append(Step(*shown, step.code, step.seconds))
            typed = lead(step.printed)
    return steps


def problems(steps: list[Step], folder: Path) -> list[str]:
    """Say what of verdict, threshold, calibration and live answer was not reached."""
    said = "\n".join(step.printed for step in steps)
    wanted = {
        "a verdict": "Do not act on this confidence as it is",
        "thresholds by risk": "At most 10 % wrong: answer at",
        "a promise": "with 90 % probability over the graded rows",
        "a live answer": "Answer      Hold the button for five seconds",
        "a calibrated confidence": ", calibrated",
        "a decision": "Decision    answer:",
        "the way into an app": "from Python: novarag.answer(",
    }
    missing = [name for name, words in wanted.items() if words not in said]
    missing += [n for n in ("calibration.json", "gate.json") if not (folder / n).is_file()]
    if [step.code for step in steps] != [2, *[0] * (len(steps) - 1)]:
        missing.append(f"exit codes {[step.code for step in steps]}")
    return missing


def shorten(step: Step) -> str:
    """Return what was typed and printed with only the first sentences about the figures."""
    lines, said = [], 0
    for line in step.printed.rstrip().splitlines():
        said += line.startswith("- ")
        if not line.startswith("- ") or said <= SENTENCES:
            lines.append(line)
        elif said == SENTENCES + 1:
            lines.append("- ...")
    return "\n".join([step.typed, *lines])


def transcript(steps: list[Step], table: str) -> str:
    """Write down what was typed and what was printed."""
    lines = table.splitlines()
    shown = "\n".join([*lines[:4], "..."])
    text = HEAD.format(first=FIRST, rows=len(lines) - 1, table=shown, sentences=SENTENCES)
    for step in steps:
        text += f"\n```text\n$ {shorten(step)}\n```\n"
    took = sum(step.seconds for step in steps)
    return f"{text}\n{len(steps)} commands, {took:.0f} seconds of waiting.\n"


def install(wheel: Path | None, folder: Path, extra: str = "") -> Path:
    """Install the wheel, built where none is given, in a new environment; alone but for an extra."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip = str(folder / "venv/bin/pip")
    if wheel is None:
        subprocess.run(
            [pip, "wheel", "-qq", "--no-deps", "-w", str(folder / "dist"), "."], check=True
        )
        wheel = next((folder / "dist").glob("*.whl"))
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([pip, "install", "-qq", "-c", "constraints.txt", wanted], check=True)
    return folder / "venv" / "bin"


def main() -> None:
    """Follow what is printed, say how it went, and write it down."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", type=Path, help="Folder of an installed novarag.")
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        command = args.command or install(args.wheel, Path(made))
        folder = Path(made) / "desk"
        folder.mkdir()
        steps = follow(folder, command.resolve())
        missing = problems(steps, folder)
        text = transcript(steps, (folder / "prod.csv").read_text("utf-8"))
    if args.write:
        args.write.write_text(text, encoding="utf-8")
    for step in steps:
        print(f"{step.seconds:6.1f} s  $ {step.typed}")
    print(
        f"missing: {', '.join(missing)}" if missing else "verdict, threshold, calibration, answer"
    )
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
