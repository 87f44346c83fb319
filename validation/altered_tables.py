"""Are altered files ever believed? A thousand alterations of a run, a filter's folder, an export.

Usage: python -m validation.altered_tables [FLIPS]

The unit tests make sixty; see `tests/unit/runs/test_altered_tables.py` for what is altered and
read.
"""

from __future__ import annotations

import sys

from tests.unit.runs.test_altered_tables import main

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
