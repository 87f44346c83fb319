"""Two installs beside each other: the last commit before the move, and today's tree."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ("PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR", "SYSTEMROOT")


@dataclass(frozen=True)
class Install:
    """One install of the package, and the folder its commands work in."""

    name: str
    place: Path

    @property
    def site(self) -> Path:
        """Where the package is installed."""
        return self.place / "site"

    @property
    def work(self) -> Path:
        """Where the commands run."""
        return self.place / "work"

    def environment(self, data: Path | None) -> dict[str, str]:
        """Return the environment of a command: fixed, without any key."""
        fixed = {
            "PYTHONPATH": str(self.site), "TZ": "UTC", "COLUMNS": "100", "LINES": "40",
            "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
            "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
        }  # fmt: skip
        found = {"NOVARAG_DATA": str(data)} if data is not None else {}
        return {name: os.environ[name] for name in KEPT if name in os.environ} | fixed | found


def install_revision(revision: str, place: Path) -> Install:
    """Install a commit, unless it was installed before."""
    said = ["git", "-C", str(ROOT), "rev-parse", "--verify", f"{revision}^{{commit}}"]
    found = subprocess.run(said, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"golden: there is no commit {revision}; fetch the whole history")
    commit, stamp = found.stdout.strip(), place / "commit"
    made = Install("base", place)
    if not stamp.is_file() or stamp.read_text() != commit:
        shutil.rmtree(place, ignore_errors=True)
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(place / "source", filter="data")
        _install(place / "source", made)
        stamp.write_text(commit)
    return made


def install_tree(place: Path) -> Install:
    """Install the tree as it stands."""
    made = Install("head", place)
    shutil.rmtree(place, ignore_errors=True)
    _install(ROOT, made)
    return made


def _install(source: Path, made: Install) -> None:
    """Build a wheel and unpack it in a folder of its own; dependencies are those of this Python."""
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    here = ["--no-build-isolation"] if find_spec("hatchling") else []
    wheels = made.place / "wheel"
    subprocess.run([*pip, "wheel", "--no-deps", *here, "-w", str(wheels), str(source)], check=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run(
        [*pip, "install", "--no-deps", "--target", str(made.site), str(wheel)], check=True
    )
    code = "import novarag, sys; sys.stdout.write(novarag.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", code], env=made.environment(None), cwd=made.place,
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    if not Path(found).is_relative_to(made.site):
        sys.exit(f"golden: {made.name} would import {found}, not what was installed")
