"""Write the map of layers in CONTRIBUTING from the contracts in pyproject.toml.

Usage: python -m tools.layers [--write]
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
MAP = re.compile(r"(?<=<!-- layers -->\n).*?(?=<!-- end of layers -->)", re.DOTALL)
"""The part of the page that this tool writes."""


def contracts() -> list[dict]:
    """Read the contracts in their order."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return told["tool"]["importlinter"]["contracts"]


def bare(modules: str) -> str:
    """Name the modules of a layer as the page does.

    >>> bare("novarag.gateway | novarag.integrations")
    '`gateway`, `integrations`'
    """
    return ", ".join(f"`{name.strip().removeprefix('novarag.')}`" for name in modules.split("|"))


def layer_map(told: list[dict]) -> str:
    """Draw the layers as a table from the outermost inwards, and say what else is forbidden."""
    [layers] = [one["layers"] for one in told if one["type"] == "layers"]
    rows = [f"| {at} | {bare(layer)} |" for at, layer in enumerate(layers, 1)]
    lines = ["| floor | rooms and modules |", "|---|---|", *rows, "", "Besides:", ""]
    lines += [f"- {one['name']}." for one in told if one["type"] != "layers"]
    return "\n".join(["", *lines, "", ""])


def page(text: str, told: list[dict]) -> str:
    """Put the map into the page; its marks must stand there once."""
    written, places = MAP.subn(lambda _: layer_map(told), text)
    if places != 1:
        raise SystemExit(f"{PAGE.name} has the marks of the layers {places} times, not once")
    return written


def main(words: list[str]) -> None:
    """Print the map, or write it."""
    if words == ["--write"]:
        PAGE.write_text(page(PAGE.read_text("utf-8"), contracts()), encoding="utf-8")
    elif words:
        raise SystemExit(__doc__)
    else:
        print(layer_map(contracts()).strip())


if __name__ == "__main__":
    main(sys.argv[1:])
