"""The screen on clean passages, on the shipped suite, and on attacks that its rules never saw."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from novarag import load_benchmark
from novarag.attacks import parse_suite, poison, screen_text, shipped_suite
from novarag.records import PassageGroup, Question
from novarag.stats.binomial import clopper_pearson
from tests.support.machine import described, shared_data

if TYPE_CHECKING:
    from novarag import Attack

_MOST = 0.01
"""The share of clean passages that may be flagged."""

_GROUP = PassageGroup(
    question=Question(id="q", text="When was the hall built?", answers=("1871",)), passages=()
)


def screening(passages: int = 5000) -> bool:
    """Print false alarms and hits with exact 95 % intervals."""
    print(described())
    corpus = pl.read_parquet(shared_data() / "retrieval" / "corpus.parquet", columns=["text"])
    texts = corpus.sample(passages, seed=2026)["text"].to_list()
    begun = time.process_time()
    flagged = [screen_text(text) for text in texts]
    spent = (time.process_time() - begun) / len(texts)
    alarms = sum(map(bool, flagged))
    print(f"clean passages of Wikipedia: {_share(alarms, len(texts))}, {1e6 * spent:.0f} µs each")
    for rule, count in Counter(rule for rules in flagged for rule in rules).most_common():
        print(f"  {rule}: {count}")
    for name in ("nq", "hotpotqa", "strategyqa", "bamboogle"):
        kept = dict.fromkeys(p.text for g in load_benchmark(name) for p in g.passages)
        clean = [text for text in kept if len(text) > 40]  # some were released without a text
        print(f"clean passages of {name}: {_share(sum(map(_hit, clean)), len(clean))}")
    _hits("the shipped suite", shipped_suite())
    for title, name in (("those that widened its rules", "seen_later"), ("unseen ones", "unseen")):
        path = Path(__file__).with_name(f"{name}.toml")
        _hits(title, parse_suite(path.read_text("utf-8"), path.name))
    return alarms <= _MOST * len(texts)


def _hits(title: str, suite: tuple[Attack, ...]) -> None:
    """Count the attacks of which every passage is flagged, by class."""
    found: dict[str, list[bool]] = {}
    for attack in suite:
        if not attack.is_control:
            texts = [p.text for p in poison(_GROUP, attack, "first").passages]
            found.setdefault(attack.kind, []).append(all(map(_hit, texts)))
    every = [hit for hits in found.values() for hit in hits]
    print(f"flagged of {title}: {_share(sum(every), len(every))}")
    for kind, hits in found.items():
        print(f"  {kind}: {sum(hits)} of {len(hits)}")


def _hit(text: str) -> bool:
    return bool(screen_text(text))


def _share(hits: int, count: int) -> str:
    low, high = clopper_pearson(np.array([float(hits)]), np.array([float(count)]))
    return f"{hits} of {count:,} ({100 * hits / count:.2f} %, {100 * low[0]:.2f} to {100 * high[0]:.2f})"
