"""`novarag gateway adopt`: a proposed calibration or gate goes live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from novarag.texts import plain_text


def adopt(
    settings: Annotated[Path, typer.Argument(help="Settings file of the gateway (.toml).")],
    served: Annotated[str, typer.Option(help="Name by which that file serves the model.")],
) -> None:
    """Put a proposed calibration, gate or both in force; what was in force is kept beside.

    The gateway goes on as it was until it gets SIGHUP.
    """
    from novarag.gateway.admin.adopt import adopt_proposal

    for line in adopt_proposal(settings, served=served).lines():
        print(plain_text(line, longest=400))
