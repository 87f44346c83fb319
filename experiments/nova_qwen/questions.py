"""Who is sampled, who is chosen on and who is measured: made by the seed from the shared data.

Tests ask only questions with really retrieved passages that no run of any model asked; what is left
of `nova-clean` was asked of another model before, and is a column of its own that says so.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from experiments.nova.plan import SEED
from experiments.nova.prepare import ASKED, SIZES, Clean, Found
from experiments.nova.splits import check_disjoint, counts, dealt, place_of
from experiments.nova_qwen.plan import FEW
from novarag.datasets import load_groups
from novarag.errors import DataError
from novarag.flows.group import write_groups
from novarag.noise.group_build import GroupBuild

if TYPE_CHECKING:
    from experiments.nova_qwen.store import Store
    from novarag.records import PassageGroup

FACTS = "facts.json"
MORE_ASKED = ASKED.parent / "number" / ASKED.name
DEALT = SimpleNamespace(clean={"sample": 150, "graded": None}, found={"sample": 600, "graded": 320})
"""Training questions by split: of nova-clean, and of those with retrieved passages."""
DEV, LOOK, SAMPLE, GRADED, TEST, AGAIN = 300, 100, 800, 300, 400, 200
"""Groups of each file at most; `look` are the first dev questions, for the prompts before training."""


def data_folder() -> Path:
    """Return where the shared data lies."""
    return Path(os.environ.get("NOVARAG_DATA", "../shared/data"))


def asked() -> set[str]:
    """Return the names of all test questions that a run asked."""
    return {name for path in (ASKED, MORE_ASKED) for name in path.read_text("utf-8").split()}


def splits(out: Path, data: Path) -> dict[str, list[PassageGroup]]:
    """Make the groups of every split, and see that no two share a question."""
    clean = Clean(out, data, DEALT)
    found = Found(out, data, clean, DEALT)
    known = asked()
    fresh = {k: [g for g in found.groups["test"][k] if g.question.id not in known] for k in SIZES}
    made = {
        "sample": _mixed(clean.of("sample"), found.of("train", found.split["sample"]))[:SAMPLE],
        "graded": _mixed(clean.of("graded"), found.of("train", found.split["graded"]), each=False)[:GRADED],
        "dev": _mixed(clean.dev, found.groups["dev"], each=False)[:DEV],
        "test": in_order(dealt(fresh, SEED))[:TEST],
        "test-asked-of-others": in_order(dealt(clean.test, SEED))[:AGAIN],
    }  # fmt: skip
    learnt = {n: [g.question for g in made[n]] for n in ("sample", "graded", "dev")}
    check_disjoint(learnt, {n: [g.question for g in made[n]] for n in made if n not in learnt})
    return made | {"look": made["dev"][:LOOK], "dev-rest": made["dev"][LOOK:]}


def _mixed(clean, found, *, each: bool = True) -> list[PassageGroup]:
    """Take groups of both sources in the order of their questions' hashes.

    Of nova-clean's questions every kind of group, or one; of those with retrieved passages one.
    """
    return in_order(dealt(clean, SEED, each=each) + dealt(found, SEED))


def in_order(groups: list[PassageGroup]) -> list[PassageGroup]:
    """Sort by the hashes of groups, so that a part of a split is a fair part of it."""
    return sorted(groups, key=lambda g: place_of(SEED, g.id))


def prepare(build: Path, store: Store, data: Path | None = None) -> None:
    """Write the groups into `build`, and what they are into `results/`, or hold them against it.

    Raises:
        DataError: The same seed gave other groups than those whose replies are in `results/`.
    """
    made = splits(build, data or data_folder())
    facts = {
        "made_by": "python -m experiments.nova_qwen.proof",
        "seed": SEED,
        "groups": {
            name: counts(groups) | {"sha256": digest(groups)} for name, groups in made.items()
        },
    }
    known = store.read_json(FACTS)
    if known is not None and known != facts:
        raise DataError(
            "the questions are not those of the results.",
            hint="look at the shared data, or begin with an empty folder of results.",
        )
    for name, groups in made.items():
        write_groups(GroupBuild(groups=groups), build / "groups" / f"{name}.jsonl")
    store.write_json(FACTS, facts)


def digest(groups: list[PassageGroup]) -> str:
    """Return a checksum of what is asked: names, questions and passages, in order."""
    said = "\x1e".join(
        "\x1f".join([str(g.id), g.question.text, *(p.text for p in g.passages)]) for g in groups
    )
    return sha256(said.encode()).hexdigest()


def groups_of(build: Path, split: str) -> list[PassageGroup]:
    """Read the groups of a split; `few` are the first of `look`."""
    if split == "few":
        return groups_of(build, "look")[:FEW]
    return list(load_groups(build / "groups" / f"{split}.jsonl"))
