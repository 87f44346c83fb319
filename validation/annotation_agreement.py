"""How well the annotator finds the benchmark's own labels, which it is not shown.

    python -m validation.annotation_agreement

For each test set (k=3 and k=5 together): macro-F1 with its interval, the confusion matrix, and
cheap baselines whose thresholds were tuned on HotpotQA's training file. Passages that the data's
own flags call mislabelled or empty are counted apart, not dropped. Known kinds down, verdicts across.
"""

import os
import platform
from datetime import UTC, datetime

import numpy as np

from novarag.annotation import PassageOrigin, agree, annotate
from novarag.annotation.features import gather
from novarag.annotation.model import KINDS
from novarag.annotation.tokens import cut_sentences, make_lexicon
from novarag.datasets.benchmark import load_benchmark
from novarag.metrics.table import brier, ece
from novarag.records import AnswerForm
from novarag.taxonomy import PassageKind

GOLD, OTHER, RELATED, UNRELATED = KINDS
FLAWED = frozenset(
    {
        "placeholder_text", "noise_contains_answer", "noise_contains_alias",
        "cf_answer_equals_gold", "cf_contains_answer", "cf_contains_answer_not_claim",
        "cf_claim_absent", "support_lacks_answer",
    }
)  # fmt: skip
SETS = ("hotpotqa", "nq", "bamboogle", "strategyqa")


class Rows:
    """Every passage of a test set once per question, with what was found."""

    def __init__(self, name, split="test"):
        groups = [g for k in (3, 5) for g in load_benchmark(name, part=split, k=k)]
        cuts = {p.text: cut_sentences(p.text) for g in groups for p in g.passages}
        lexicon = make_lexicon(cuts.values())
        verdicts = {e: annotate(groups, expect=e) for e in PassageOrigin}
        seen, self.rows = set(), []
        for n, g in enumerate(groups):
            for i, p in enumerate(g.passages):
                if (g.question.id, p.text) not in seen:
                    seen.add((g.question.id, p.text))
                    clues = gather(p.text, cuts[p.text], g.question, lexicon)
                    said = {e: verdicts[e][n][i] for e in PassageOrigin}
                    self.rows.append((g.question, p, clues, said))

    def pick(self, *, flawed, form=AnswerForm.OPEN):
        return [
            r for r in self.rows
            if r[0].form is form and bool(FLAWED.intersection(r[1].flags)) == flawed
        ]  # fmt: skip


def by_threshold(rows, low):
    """The answer is in it: supports. Else it shares words with the question: related."""
    return [GOLD if c.strong else RELATED if c.about >= low else UNRELATED for _, _, c, _ in rows]


def by_two(rows, low, high):
    """The same, and what shares most words without the answer states another."""
    return [
        GOLD if c.strong else OTHER if c.about >= high else RELATED if c.about >= low else UNRELATED
        for _, _, c, _ in rows
    ]


def macro(rows, said):
    known = np.array([KINDS.index(p.kind) for _, p, _, _ in rows])
    guess = np.array([KINDS.index(s) for s in said])
    scores = []
    for k in range(4):
        hits = ((known == k) & (guess == k)).sum()
        scores.append(2 * hits / max(1, (known == k).sum() + (guess == k).sum()))
    return float(np.mean(scores))


def tuned(rows):
    grid = np.arange(0.02, 0.9, 0.02)
    one = max(grid, key=lambda t: macro(rows, by_threshold(rows, t)))
    two = max(
        ((a, b) for a in grid[::2] for b in grid[::2] if a < b),
        key=lambda t: macro(rows, by_two(rows, *t)),
    )
    return float(one), tuple(map(float, two))


def agreement(rows, said):
    return agree(
        [p.kind for _, p, _, _ in rows], said, [q.id for q, _, _, _ in rows], replicates=1000
    )


def show(title, rows, said):
    found = agreement(rows, said)
    f = found.macro_f1
    parts = " ".join(f"{found.f1[k.value].value:.3f}" for k in KINDS)
    print(f"  {title:<44} macro-F1 {f.value:.3f} ({f.low:.3f} to {f.high:.3f})  by kind {parts}")
    return found


def main():
    print(f"{platform.machine()}, {os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d}")
    train = Rows("hotpotqa", "train").pick(flawed=False)
    one, two = tuned(train)
    print(
        f"baselines tuned on training passages: related from {one:.2f}; {two[0]:.2f}, {two[1]:.2f}"
    )
    for name in SETS:
        table = Rows(name)
        rows = table.pick(flawed=False)
        if rows:
            print(f"\n{name}: {len(rows):,} passages of {len({q.id for q, *_ in rows})} questions")
            for e in (PassageOrigin.PLANTED, PassageOrigin.RETRIEVED):
                found = show(
                    f"annotator, expecting {e} passages", rows, [s[e].kind for *_, s in rows]
                )
                if e is PassageOrigin.PLANTED:
                    planted = found
            show("answer in it, else shared words", rows, by_threshold(rows, one))
            show("the same, most shared words state another", rows, by_two(rows, *two))
            show("the commonest kind", rows, [GOLD] * len(rows))
            for kind, cells in zip(KINDS, planted.matrix, strict=True):
                print(f"    {kind.value:<15}" + "".join(f"{n:>7,}" for n in cells))
            sure = [s[PassageOrigin.PLANTED] for *_, s in rows]
            right = [a.kind is r[1].kind for a, r in zip(sure, rows, strict=True)]
            stated = [a.confidence for a in sure]
            print(
                f"  confidence, planted: mean {np.mean(stated):.3f}, right {np.mean(right):.3f},"
                f" Brier {brier(stated, right):.3f}, ECE {ece(stated, right):.3f}"
            )
        odd = table.pick(flawed=True)
        if odd:
            said = [s[PassageOrigin.PLANTED].kind for *_, s in odd]
            show(f"flagged as mislabelled or empty: {len(odd):,}", odd, said)
        binary = [r for r in table.rows if r[0].form is AnswerForm.YES_NO]
        if binary:
            left = sum(r[3][PassageOrigin.PLANTED].kind is None for r in binary)
            print(f"  yes/no: {len(binary):,} passages, {left:,} left open, as words cannot decide")


if __name__ == "__main__":
    assert set(KINDS) == set(PassageKind)
    main()
