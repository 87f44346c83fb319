"""Audit the released files: which cues tell their groups apart. Usage: python -m validation.released_audit"""

from novarag.datasets import DATASETS, load_benchmark
from novarag.noise.audit import audit

for name, splits in DATASETS.items():
    for split in splits:
        for k in (3, 5):
            found = audit(load_benchmark(name, part=split, k=k))
            cues = dict.fromkeys(f.cue for f in found.shortcuts)
            print(f"{name} {split} k={k}: {found.groups} groups, shortcuts in {', '.join(cues)}")
            for cue in ("position", "typography", "pairs", "length modulo", "question"):
                best = max(
                    (f for f in found.findings if f.cue == cue and f.kind), key=lambda f: f.excess
                )
                print(
                    f"  {cue:<13} tells {best.kind} in {best.accuracy:.1%}, by chance"
                    f" {best.majority:.1%}: {best.points} ({'; '.join(best.telling[:2])})"
                )
            ranked = [
                f"{f.kind} {f.auroc:.2f}" for f in found.findings if f.cue == "question" and f.kind
            ]
            print(f"  question      AUROC: {', '.join(ranked)}")
