"""Does the study find what is there? Simulated raters with known means and agreement, many times.

Prints how often 95 % intervals cover the truth, and how often each test calls systems different
that are equal, or finds one that is better. Usage: python -m validation.study_truth [RUNS]
"""

import sys

import numpy as np

from novarag.study import RUBRIC, Rubric, analyse, make_sheet, simulated_ratings
from tests.support.machine import described
from tests.support.studied import systems

NAMES = ("R1", "R2", "R3", "R4", "R5")
ONE = Rubric(criteria=RUBRIC.criteria[:1])
QUESTIONS, RATERS = 40, 4  # the paper's, nova.tex, Human Evaluation


def one_run(sheet, means, agreement, seed):
    """Analyse one simulated study of one criterion."""
    given = simulated_ratings(sheet, means, raters=RATERS, agreement=agreement, seed=seed)
    found = analyse(given, replicates=1000, seed=seed)
    first = found.criteria[0]
    alpha = first.agreement.interval
    return {
        "means": np.mean([f.low <= means[n] <= f.high for n, f in first.means.items()]),
        "alpha": alpha.low <= agreement <= alpha.high,
        "friedman": first.friedman.p < 0.05,
        "kruskal": first.kruskal.p < 0.05,
        "wilcoxon": any(c.wilcoxon_holm < 0.05 for c in first.contrasts),
        "dunn": any(c.dunn_bonferroni < 0.05 for c in first.contrasts),
    }


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    sheet = make_sheet(systems(QUESTIONS, names=NAMES), questions=QUESTIONS, rubric=ONE)
    equal = dict.fromkeys(NAMES, 3.5)
    print(described(f"{runs} simulated studies a row: {QUESTIONS} questions, {RATERS} raters"))
    print(f"{'':36}{'intervals cover':>18}{'p < 0.05':>30}")
    heads = ("means", "alpha", "Friedman", "Wilcoxon", "Kruskal", "Dunn")
    print(f"{'five systems':36}" + "".join(f"{h:>10}" for h in heads))
    for label, means in (("equal", equal), ("R5 better by 0.4", equal | {"R5": 3.9})):
        for agreement in (0.0, 0.4, 0.7):
            found = [one_run(sheet, means, agreement, seed) for seed in range(runs)]
            share = {key: float(np.mean([f[key] for f in found])) for key in found[0]}
            cells = [
                f"{share[k]:10.3f}"
                for k in ("means", "alpha", "friedman", "wilcoxon", "kruskal", "dunn")
            ]
            if label != "equal":
                cells[1] = (
                    f"{'':>10}"  # systems that differ raise alpha above the agreement on each
                )
            print(f"{f'{label}, agreement {agreement:.1f}':36}" + "".join(cells), flush=True)
