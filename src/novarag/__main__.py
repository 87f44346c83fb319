"""`novarag` and `python -m novarag`: the command line, which an interrupt may end at any time."""

from __future__ import annotations

import sys
import warnings

STOPPED = 130
"""What a command ends with that Ctrl-C stopped; `ExitCode.STOPPED`, before anything is loaded."""


def main() -> None:
    """Load the command line and run it; Ctrl-C ends it without a word, even while it loads."""
    try:
        from novarag.cli import main as run

        run()
    except KeyboardInterrupt:
        _hush()
        sys.exit(STOPPED)
    except SystemExit as end:
        if end.code == STOPPED:
            _hush()
        raise


def _hush() -> None:
    """Let nothing complain that an interrupt left half made, such as an event loop."""
    sys.unraisablehook = lambda _: None
    warnings.simplefilter("ignore")


if __name__ == "__main__":
    main()
