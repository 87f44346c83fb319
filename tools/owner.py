"""Say where the project lives, or move it: one command writes every file that names the place.

Usage: python -m tools.owner [OWNER/NAME [--site ADDRESS]]

The place is `[project.urls]` of pyproject.toml, from which package indexes take it, too. It is empty
until the project has an account. The site is that of the account unless it has an address of its
own. Without words, this says where the project lives.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACEHOLDER = "OWNER/novarag"
"""What pages say for the repository while nobody knows it."""

REPOSITORY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?/[A-Za-z0-9._-]{1,100}")
"""An account and a name, as the host of the code allows them."""
SITE = re.compile(r"https://[a-z0-9][a-z0-9.-]*(?:/[A-Za-z0-9._~-]+)*/?")
"""An address of pages: its host and folders, without a query."""
URLS = re.compile(r"(?<=^\[project\.urls\]\n)[^\[]*", re.MULTILINE)
"""The rows of the place; none of its values has a bracket."""
REPORT = re.compile(r"\[?the page of this repository\]?(?:\(https:[^)]*\))?")
"""Where SECURITY.md says on which page a vulnerability is reported."""


@dataclass(frozen=True)
class Home:
    """Where the project lives."""

    repository: str
    """The account and the name, such as `somebody/novarag`."""
    site: str
    """The address of the pages; it ends with a slash."""

    @property
    def page(self) -> str:
        """The address of the repository."""
        return f"https://github.com/{self.repository}"


def make_home(repository: str, site: str | None = None) -> Home:
    """Check the words of the command line.

    >>> make_home("Somebody/novarag")
    Home(repository='Somebody/novarag', site='https://somebody.github.io/novarag/')
    """
    if not REPOSITORY.fullmatch(repository):
        raise SystemExit(f"{repository!r} is not OWNER/NAME, such as somebody/novarag")
    owner, name = repository.split("/")
    site = site or f"https://{owner.lower()}.github.io/{name}/"
    if not SITE.fullmatch(site):
        raise SystemExit(f"{site!r} is no address of pages, such as https://docs.example.com/")
    return Home(repository, f"{site.rstrip('/')}/")


def read_home(root: Path = ROOT) -> Home | None:
    """Read the place; nothing while it is empty."""
    told = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    urls = told["project"].get("urls", {})
    if not urls:
        return None
    owner, name = urls["Repository"].split("/")[-2:]
    return Home(f"{owner}/{name}", urls["Documentation"])


def _urls(text: str, home: Home, before: Home | None) -> str:
    rows = {
        "Documentation": home.site,
        "Repository": home.page,
        "Issues": f"{home.page}/issues",
        "Changelog": f"{home.page}/blob/main/CHANGELOG.md",
    }
    lines = "".join(f'{key} = "{value}"\n' for key, value in rows.items())
    return _page(URLS.sub(lambda _: f"{lines}\n", text), home, before)


def _keys(after: str, rows: Callable[[Home], Mapping[str, str]]) -> Writer:
    """Make what puts rows of YAML after a row, in place of those that stand there."""

    def write(text: str, home: Home, _: Home | None) -> str:
        told = rows(home)
        kept = [
            line
            for line in text.splitlines(keepends=True)
            if not line.startswith(tuple(f"{key}: " for key in told))
        ]
        at = next(n for n, line in enumerate(kept, 1) if line.startswith(f"{after}: "))
        return "".join([*kept[:at], *(f"{k}: {v}\n" for k, v in told.items()), *kept[at:]])

    return write


def _report(text: str, home: Home, _: Home | None) -> str:
    link = f"[the page of this repository]({home.page}/security/advisories/new)"
    return REPORT.sub(lambda _: link, text)


def _page(text: str, home: Home, before: Home | None) -> str:
    """Name the repository where a page says how others use it."""
    text = text.replace(f"Put the place of this repository for `{PLACEHOLDER}`, and ", "Put ")
    for old in (PLACEHOLDER, *([before.repository] if before else [])):
        text = re.sub(rf"https://[\w.]+/{re.escape(old)}(?![\w-])", home.page, text)
        text = re.sub(rf"(?<![\w./-]){re.escape(old)}(?![\w-])", home.repository, text)
    return text


Writer = Callable[[str, Home, Home | None], str]
FILES: dict[str, Writer] = {
    "pyproject.toml": _urls,
    "mkdocs.yml": _keys(
        "site_description",
        lambda home: {
            "site_url": home.site,
            "repo_url": home.page,
            "repo_name": home.repository,
        },
    ),
    "CITATION.cff": _keys("license", lambda home: {"repository-code": home.page, "url": home.site}),
    "SECURITY.md": _report,
    "docs/ci.md": _page,
}
"""Each file that names the place, and what writes it; workflows ask the host where they run."""


def written(home: Home, root: Path = ROOT) -> dict[Path, str]:
    """Make the text of each file as it is with this home."""
    before = read_home(root)
    return {
        root / name: write((root / name).read_text("utf-8"), home, before)
        for name, write in FILES.items()
    }


def stale(root: Path = ROOT) -> list[str]:
    """Name the files that say something else than the place; none while it is empty."""
    home = read_home(root)
    told = written(home, root) if home else {}
    return [
        str(path.relative_to(root))
        for path, text in told.items()
        if path.read_text("utf-8") != text
    ]


def main(words: list[str], root: Path = ROOT) -> None:
    """Say where the project lives, or write it."""
    match words:
        case []:
            home = read_home(root)
            print(
                f"{home.page}, {home.site}"
                if home
                else "nowhere yet: python -m tools.owner OWNER/NAME"
            )
            if wrong := stale(root):
                raise SystemExit(f"other places stand in {', '.join(wrong)}: give OWNER/NAME again")
        case [repository] | [repository, "--site", _] if not repository.startswith("-"):
            home = make_home(repository, *words[2:])
            for path, text in written(home, root).items():
                path.write_text(text, encoding="utf-8")
            print(f"{home.page}, {home.site}: {', '.join(FILES)}")
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
