"""Fail unless a CycloneDX file holds the core's packages as pinned, and no others.

Usage: python -m tools.bill_of_materials build/sbom.json
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tools import dependencies
from tools.dependencies import plain

INSTALLERS = {"pip", "setuptools"}
"""What an empty environment has."""


def needed_here() -> dict[str, str]:
    """Read the core's pins that hold on this platform, from deploy/requirements.txt."""
    lines = dependencies.HASHED.read_text("utf-8").splitlines()
    asked = [Requirement(line.rstrip("\\ ")) for line in lines if line[:1].isalnum()]
    here = [one for one in asked if one.marker is None or one.marker.evaluate()]
    return {plain(one.name): str(one.specifier).removeprefix("==") for one in here}


def problems(bill: Mapping[str, Any], needed: Mapping[str, str]) -> list[str]:
    """Say what the bill lacks, has too much, or has in another version."""
    listed = {plain(one["name"]): one.get("version") for one in bill["components"]}
    main = bill["metadata"].get("component", {})
    asks = {ref["ref"]: ref.get("dependsOn", []) for ref in bill["dependencies"]}
    return [
        *(f"the bill lacks {name}" for name in sorted(needed.keys() - listed.keys())),
        *(
            f"the bill has {name}, which the core does not need"
            for name in sorted(listed.keys() - needed.keys() - INSTALLERS)
        ),
        *(
            f"the bill has {name} {listed[name]}, pinned is {needed[name]}"
            for name in sorted(needed.keys() & listed.keys())
            if listed[name] != needed[name]
        ),
        *(
            f"the bill names no licence of {one['name']}"
            for one in bill["components"]
            if not one.get("licenses")
        ),
        *(
            []
            if main.get("version")
            else ["the bill does not say which version of novarag it is of"]
        ),
        *(
            []
            if asks.get(main.get("bom-ref", ""))
            else ["the bill does not say what novarag asks for"]
        ),
    ]


def main() -> None:
    needed = needed_here()
    if wrong := problems(json.loads(Path(sys.argv[1]).read_text("utf-8")), needed):
        sys.exit("\n".join(wrong))
    print(f"{sys.argv[1]}: all {len(needed)} packages of the core, as pinned, and no others")


if __name__ == "__main__":
    main()
