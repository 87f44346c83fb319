"""The groups that `build paper` makes of HotpotQA's pools, by kind, beside the paper's words.

Usage: python -m validation.paper_groups [--pools 200] [--mix MIX]

The pools are the questions of HotpotQA's training set with all passages that were released for
them. Mix, k and seed are those of the preset; `--mix training` shows ours.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from novarag.config import load_pipeline
from novarag.datasets.clean import clean_pools
from novarag.noise.groups import build_groups
from novarag.taxonomy import GroupKind, PassageKind
from tests.support.machine import described, shared_data

POOLS = 200
WORDS = {
    GroupKind.COUNTERFACTUAL: (2096, "the gold passage alongside at least one contradictory"),
    GroupKind.CONSISTENT: (2097, "the gold passage mixed with relevant or irrelevant noise"),
    GroupKind.IRRELEVANT: (2098, "only relevant and irrelevant passages"),
}
"""The paper's words for each kind of group, and the line they stand on."""

_OWN = (
    '[model]\nendpoints = ["http://localhost:8000/v1=m"]\n[questions]\nfile = "questions.jsonl"\n'
)


def preset():
    """Return the preset as a pipeline; model and questions are the user's."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "own.toml"
        own.write_text(_OWN, "utf-8")
        return load_pipeline("paper", own)


def draw(pools, *, mix=None):
    """Draw the groups of some pools as the preset says, or by another mix."""
    settings = preset()
    given = settings.groups
    return build_groups(
        pools, mix or given.mix, k=given.k, one_each=given.one_each, seed=settings.seed
    )


def hotpotqa(count):
    """Return the first pools of HotpotQA's training set."""
    return clean_pools("hotpotqa", data=shared_data())["train"][:count]


def is_worded(group):
    """Say whether a group is as the paper words its kind."""
    kinds = Counter(group.kinds)
    gold, against = kinds[PassageKind.GOLD], kinds[PassageKind.COUNTERFACTUAL]
    noise = kinds[PassageKind.RELEVANT] + kinds[PassageKind.IRRELEVANT]
    return {
        GroupKind.COUNTERFACTUAL: gold == 1 and against >= 1,
        GroupKind.CONSISTENT: gold == 1 and against == 0 and noise >= 1,
        GroupKind.IRRELEVANT: noise == len(group.passages),
    }[group.kind]


def held(groups):
    """Count groups by how many passages of each kind they hold, the most frequent first."""
    short = {kind: kind.value for kind in PassageKind}
    return Counter(
        " + ".join(f"{n} {short[kind]}" for kind in PassageKind if (n := g.kinds.count(kind)))
        for g in groups
    ).most_common()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pools", type=int, default=POOLS)
    parser.add_argument("--mix")
    wanted = parser.parse_args()
    found = draw(hotpotqa(wanted.pools), mix=wanted.mix)
    print(
        f"{wanted.pools} pools of HotpotQA, mix {wanted.mix or preset().groups.mix}; {described()}"
    )
    print(found)
    kept = True
    for kind, (line, words) in WORDS.items():
        own = [g for g in found.groups if g.kind is kind]
        worded = sum(map(is_worded, own))
        kept &= bool(own) and worded == len(own)
        print(f'\n{kind}: L{line} "{words}": {worded} of {len(own)} groups')
        for what, count in held(own):
            print(f"  {count:4} {what}")
        print(
            f"  supporting passages: {dict(Counter(g.kinds.count(PassageKind.GOLD) for g in own))}"
        )
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
