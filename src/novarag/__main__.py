"""`python -m novarag`."""

from __future__ import annotations

from novarag.cli import main

if __name__ == "__main__":
    main()
