"""`novarag` and `python -m novarag`: the command line, which an interrupt may end at any time."""

from __future__ import annotations

import sys
import warnings

STOPPED = 130
"""What a command ends with that Ctrl-C stopped; `ExitCode.STOPPED`, before anything is loaded."""


def main() -> None:
    """Load the command line and run it; Ctrl-C ends it without a word, even while it loads.

    The version alone is printed without the command line, whose library takes longer to load than
    all else.
    """
    if sys.argv[1:] == ["--version"]:
        from novarag.version import __version__

        print(__version__)
        return
    sys.unraisablehook = _say_again
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


def _say_again(lost: sys.UnraisableHookArgs) -> None:
    """Repeat an interrupt that came where no exception can be raised; show all else as ever."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    from signal import SIGINT, pthread_kill
    from threading import Timer, main_thread

    again = Timer(0.01, pthread_kill, (main_thread().ident, SIGINT))
    again.daemon = True
    again.start()


def _hush() -> None:
    """Let nothing complain that an interrupt left half made, such as an event loop."""
    sys.unraisablehook = lambda _: None
    warnings.simplefilter("ignore")


if __name__ == "__main__":
    main()
