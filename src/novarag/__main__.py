"""`novarag` and `python -m novarag`: the command line, which an interrupt may end at any time."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it; Ctrl-C while it loads ends it without a word."""
    try:
        from novarag.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
