"""Draw passages of the benchmark to be checked by eye, and hold the validators against the record.

    python -m validation.passage_eye_sample draw > sheet.jsonl      texts to read, without our verdict
    python -m validation.passage_eye_sample check                   validators against the record

The record, docs/evidence/passage-eye-sample.csv, names passages and verdicts; it holds no text.
"""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

from novarag.datasets import DATASETS, load_benchmark
from novarag.noise import Fault, find_fault
from novarag.seeding import rng_for

RECORD = Path(__file__).parents[1] / "docs" / "evidence" / "passage-eye-sample.csv"
AT_RANDOM, ALARMED = 200, 60


def passages():
    """Yield (name, group, passage) of every distinct passage of a question, in a fixed order."""
    seen = set()
    for dataset, splits in DATASETS.items():
        for split in splits:
            for k in (3, 5):
                for group in load_benchmark(dataset, split=split, k=k):
                    for place, passage in enumerate(group.passages):
                        if (group.question.id, passage.text) not in seen:
                            seen.add((group.question.id, passage.text))
                            yield f"{group.id}/p{place}", group, passage


def drawn():
    """Return the names of the random sample, then of further passages that raise an alarm."""
    everything = {name: (group, passage) for name, group, passage in passages()}
    names = sorted(everything)
    random = rng_for(0, "passage eye sample").sample(names, AT_RANDOM)
    alarmed = [n for n in names if n not in set(random) and _alarm(*everything[n])]
    return everything, random, rng_for(0, "alarmed").sample(alarmed, ALARMED)


def _alarm(group, passage):
    fault = find_fault(passage, group.question)
    return fault is not None and fault is not Fault.PLACEHOLDER


def draw():
    everything, random, alarmed = drawn()
    both = rng_for(0, "mixed").sample(random + alarmed, AT_RANDOM + ALARMED)
    for name in both:
        group, p = everything[name]
        question = group.question
        print(
            json.dumps(
                {
                    "passage": name,
                    "question": question.text,
                    "answers": question.answers,
                    "kind": p.kind,
                    "provenance": p.provenance,
                    "claim": p.claim,
                    "text": p.text,
                },
                ensure_ascii=False,
            )
        )


def compare():
    """Return the counts of (sample, alarm raised, sound by eye)."""
    everything, random, _ = drawn()
    counts = Counter()
    with RECORD.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            group, passage = everything[row["passage"]]
            sample = "random" if row["passage"] in set(random) else "alarmed"
            alarm = find_fault(passage, group.question) is not None
            counts[sample, alarm, row["sound"] == "yes"] += 1
    return counts


def check():
    counts = compare()
    total = sum(n for (sample, _, _), n in counts.items() if sample == "random")
    false = counts["random", True, True]
    missed = counts["random", False, False]
    print(f"at random: {total} passages, {false} false alarms ({false / total:.1%}),")
    print(f"           {missed} unsound ones missed, {counts['random', True, False]} found")
    false, right = counts["alarmed", True, True], counts["alarmed", True, False]
    print(f"of {false + right} more alarms, {right} are right and {false} are false")
    print(
        f"           ({counts['alarmed', False, True] + counts['alarmed', False, False]} stilled)"
    )


if __name__ == "__main__":
    {"draw": draw, "check": check}[sys.argv[1]]()
