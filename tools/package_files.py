"""Fail unless the archives hold just what they should. Usage: python tools/package_files.py DIST

The source archive must hold every file that git tracks and no other but PKG-INFO; the wheel must
hold every file of `src/novarag` byte for byte and no other but its metadata.
"""

import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]


def differences(what: str, found: set[str], wanted: set[str]) -> list[str]:
    """Say which names are too few and which too many."""
    return [
        *(f"{what} lacks {name}" for name in sorted(wanted - found)),
        *(f"{what} has {name}, which it should not" for name in sorted(found - wanted)),
    ]


def check_source(archive: Path, tracked: set[str]) -> list[str]:
    """Compare the source archive with what is tracked."""
    with tarfile.open(archive) as files:
        names = [member.name.partition("/")[2] for member in files if not member.isdir()]
        links = [f"{archive.name} has a link: {m.name}" for m in files if m.issym() or m.islnk()]
    return links + differences(archive.name, set(names), tracked | {"PKG-INFO"})


def check_wheel(archive: Path, tracked: set[str]) -> list[str]:
    """Compare the wheel with the package's source."""
    own = {name.removeprefix("src/") for name in tracked if name.startswith("src/novarag/")}
    with ZipFile(archive) as files:
        names = {name for name in files.namelist() if ".dist-info/" not in name}
        other = [
            f"{archive.name} has another {name} than the source"
            for name in sorted(names & own)
            if files.read(name) != (ROOT / "src" / name).read_bytes()
        ]
    return differences(archive.name, names, own) + other


def main() -> None:
    [source], [wheel] = (sorted(Path(sys.argv[1]).glob(kind)) for kind in ("*.tar.gz", "*.whl"))
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    tracked = set(filter(None, listed.stdout.split("\0")))
    wrong = check_source(source, tracked) + check_wheel(wheel, tracked)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{source.name}: {len(tracked)} files, as git has them; {wheel.name}: as src/novarag")


if __name__ == "__main__":
    main()
