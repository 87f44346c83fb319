"""Rank the floors of recorded results as the report does now: by fold.

python -m experiments.nova.ranked_again experiments/nova/results/FORM…

A run's replies are not kept, its figures are. Of a constant the AUROC by fold is one half whatever
was answered, as each fold states one number. That of word overlap cannot be had from the figures,
nor can differences from either: they are taken out.
"""

import json
import sys
from pathlib import Path

from experiments.nova.page import page
from experiments.nova.report import AGAIN, WANTED, figure
from experiments.nova.tables import CONSTANT, is_floor


def rank_again(found):
    """Go through recorded results, and put each floor's AUROC right or take it out."""
    if isinstance(found, list):
        return [rank_again(value) for value in found]
    if not isinstance(found, dict):
        return found
    names = [value for name in ("system", "against") if isinstance(value := found.get(name), str)]
    if not any(map(is_floor, names)):
        return {name: rank_again(value) for name, value in found.items()}
    rest = {name: value for name, value in found.items() if name != "auroc"}
    if "auroc" in found and "against" not in found and names[0].startswith(CONSTANT):
        known = found["auroc"]["value"]
        rest["auroc"] = figure(known if known is None or known != known else 0.5, None, None)
    return rest


def main(places):
    """Write the results and their tables again."""
    for place in map(Path, places):
        results = rank_again(json.loads((place / "proof.json").read_text()))
        (place / "proof.json").write_text(json.dumps(results) + "\n")
        (place / "tables.md").write_text(page(results, WANTED, AGAIN))
        print(f"wrote {place / 'tables.md'}")


if __name__ == "__main__":
    main(sys.argv[1:])
