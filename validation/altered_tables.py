"""Are altered files ever believed? A thousand alterations of a run, a filter's folder, an export.

Usage: python validation/altered_tables.py [FLIPS]

The unit tests make sixty; see `tests/unit/test_altered_tables.py` for what is altered and read.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))

from test_altered_tables import main

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
