"""The first five minutes, from README alone: a table, an app, a gateway and the paper, by the wheel.

Usage: python -m validation.five_minutes [--wheel FILE] [--pictures FOLDER]

Each way is typed in a folder of its own, as README and the page that it links to print it: every
command and every block of code must stand there. What a reader has to bring is brought: the address
of a model (a small server here), and for the paper the folder of its benchmark. Each way ends in a
page; `--pictures` has Chromium draw them.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

from tests.support.machine import described, shared_data
from validation.ten_minutes import install, run, serving

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REPLY = """Passage Classifications: Passage 1: highly relevant; Passage 2: irrelevant
Group Judgment: consistent
Answer: 1871
Confidence: 90%"""
GOAL = 300  # seconds to the first useful result, without the install


@dataclass
class Desk:
    """A folder of one reader: the pages that are open, and what was typed."""

    folder: Path
    command: Path
    pages: tuple[str, ...]
    failed: int = 0
    typed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def printed(self, words: str) -> str:
        """Insist that words stand on one of the pages."""
        if not any(words in (ROOT / page).read_text("utf-8") for page in self.pages):
            raise SystemExit(f"{words!r} stands on none of {', '.join(self.pages)}")
        return words

    def type(self, shown: str, **changed: str) -> str:
        """Type a command of the pages, with the reader's own words in place of the page's."""
        typed = self.printed(shown)
        for old, new in changed.items():
            typed = typed.replace(old, new)
        step = run(typed, self.folder, self.command)
        self.typed.append(shown)
        self.seconds += step.seconds
        self.failed += step.code != 0
        if step.code:
            print(step.printed)
        return step.printed

    def blocks(self, language: str, page: str) -> list[str]:
        """Return the blocks of a language on a page."""
        text = (ROOT / page).read_text("utf-8")
        return [code for kind, code in BLOCK.findall(text) if kind == language]

    def python(self, code: str) -> str:
        """Run code of the pages as the reader's program."""
        (self.folder / "app.py").write_text(code, encoding="utf-8")
        began = time.monotonic()
        done = subprocess.run(
            [self.command / "python", "app.py"], cwd=self.folder, text=True,
            capture_output=True, check=False,
        )  # fmt: skip
        self.typed.append("python app.py")
        self.seconds += time.monotonic() - began
        self.failed += done.returncode != 0
        if done.returncode:
            print(done.stderr)
        return done.stdout


def table(desk: Desk) -> str:
    """Measure the example's answers."""
    for line in ("novarag example answers.csv", "novarag measure answers.csv --by system --out report"):  # fmt: skip
        desk.type(line)
    return (desk.folder / "report" / "report.html").as_uri()


def app(desk: Desk) -> str:
    """Put an answerer into an app, and look at an answer as a notebook shows it."""
    search, answerer = desk.blocks("python", "docs/guides/rag-app.md")[:2]
    looked = 'found = answerer.answer("When was the lamp lit?", search("lamp"))\n'
    looked += 'open("answer.html", "w").write(found._repr_html_())\nprint(found.confidence)\n'
    said = desk.python(f"{search}\n{answerer}\n{looked}")
    if said.strip() != "0.9":
        raise SystemExit(f"the app's confidence is {said!r}")
    return (desk.folder / "answer.html").as_uri()


def gateway(desk: Desk) -> str:
    """Put a gateway before a model, ask it as a client does, and look at its status."""
    desk.type("novarag example gateway.toml")
    settings = desk.folder / "gateway.toml"
    with serving(REPLY) as model:
        url, _, name = model.partition("=")
        text = settings.read_text("utf-8").replace("http://localhost:8000/v1", url)
        settings.write_text(text.replace('name = "llama"', f'name = "{name}"'), encoding="utf-8")
        desk.type("novarag gateway serve gateway.toml --check")
        line = desk.printed("novarag gateway serve gateway.toml")
        began = time.monotonic()
        with subprocess.Popen(
            [desk.command / "novarag", *line.split()[1:]], cwd=desk.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            try:
                wait_for("http://127.0.0.1:8080/readyz")
                desk.seconds += time.monotonic() - began
                asked = next(b for b in desk.blocks("py", "docs/gateway.md") if "OpenAI(" in b)
                if (said := desk.python(asked).strip()) != "1871 0.9":
                    raise SystemExit(f"the client reads {said!r}")
                page = desk.folder / "status.html"
                with urlopen("http://127.0.0.1:8080/status") as found:
                    page.write_bytes(found.read())
            finally:
                process.send_signal(signal.SIGTERM)
    return page.as_uri()


def paper(desk: Desk) -> str:
    """Make the paper's first table on simulated respondents, from the benchmark's data."""
    shown = next(
        line
        for block in desk.blocks("sh", "docs/reproducing.md")
        for line in block.splitlines()
        if "simulated:base" in line
    )
    smaller = "main-k3 --extent smoke"
    desk.type(shown, all=smaller, **{"--out": f"--data {shared_data().resolve()} --out"})
    return (desk.folder / "out" / "page.html").as_uri()


WAYS: dict[str, tuple[Callable[[Desk], str], tuple[str, ...]]] = {
    "table": (table, ("README.md",)),
    "app": (app, ("README.md", "docs/guides/rag-app.md")),
    "gateway": (gateway, ("README.md", "docs/gateway.md")),
    "paper": (paper, ("README.md", "docs/reproducing.md")),
}


def wait_for(address: str) -> None:
    """Wait until a server answers."""
    for _ in range(600):
        try:
            with urlopen(address):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{address} never answered")


def linked(page: str) -> bool:
    """Say whether README leads to a page in one step."""
    readme = (ROOT / "README.md").read_text("utf-8")
    return page == "README.md" or f"]({page})" in readme


def draw(pages: dict[str, str], folder: Path) -> None:
    """Have Chromium draw the pages that the ways ended in."""
    from tests.support.browser import Browser

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, Browser(profile) as browser:
        for name, address in pages.items():
            browser.look(1200, 900, scale=0.7)
            browser.ask("Page.navigate", url=address)
            browser.wait("document.readyState === 'complete' && location.protocol === 'file:'")
            browser.picture(folder / f"{name}.png")


def main() -> int:
    """Take the four ways, print how long each took, and draw what each ended in."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--pictures", type=Path)
    args = parser.parse_args()
    print(described())
    missed, ended = 0, {}
    with tempfile.TemporaryDirectory() as made:
        began = time.monotonic()
        command = install(args.wheel, Path(made), "gateway")
        subprocess.run([command / "pip", "install", "-qq", "-c", "constraints.txt", "openai"], check=True)  # fmt: skip
        print(
            f"the wheel with its gateway and a client installed in {time.monotonic() - began:.0f} s"
        )
        for name, (way, pages) in WAYS.items():
            if lost := [page for page in pages if not linked(page)]:
                raise SystemExit(f"README does not lead to {', '.join(lost)}")
            desk = Desk(Path(made) / name, command.resolve(), pages)
            desk.folder.mkdir()
            ended[name] = way(desk)
            missed += desk.failed + (desk.seconds > GOAL)
            print(f"{name}: {len(desk.typed)} commands, {desk.failed} failed, {desk.seconds:.1f} s")
        if args.pictures:
            draw(ended, args.pictures)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
