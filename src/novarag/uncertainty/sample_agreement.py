"""Methods that say how far the samples agree: how many give one answer, and how alike they are.

A sample that could not be read is as unlike all others as can be: it is compared, never dropped.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.grading import normalize, tokens
from novarag.records import Flaw, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from novarag.records import Trial

    Words = Callable[[str], Sequence[Hashable]]

_PAIR = 2  # samples, the least that can be alike
_DIGITS = 12  # beyond them eigenvalues depend on the order of the samples, and would break ties


def lexical_similarity(
    greedy: Sequence[Trial], samples: Sequence[Trial], *, words: Words = tokens
) -> Response | Flaw:
    """Return the greedy answer with the mean ROUGE-L of all pairs of samples.

    Fomicheva et al., 2020, TACL 8; with ROUGE-L in Kuhn, Gal and Farquhar, 2023, ICLR. `words`
    splits an answer; by default as answers are graded, without stemming.
    """
    stated = basis(greedy, samples)
    if isinstance(stated, Flaw):
        return stated
    split = [None if a is None else words(a) for a in answers(samples)]
    alike = fmean(
        0.0 if one is None or two is None else rouge_l(one, two)
        for one, two in combinations(split, 2)
    )
    return Response(answer=stated.answer, confidence=alike)


def eigen_laplacian(greedy: Sequence[Trial], samples: Sequence[Trial]) -> Response | Flaw:
    """Return the greedy answer with one minus the scaled number of meanings among the samples.

    Lin, Trivedi and Sun, Generating with Confidence, 2024, TMLR.
    The number is the sum of max(0, 1 - eigenvalue) of the graph Laplacian of the answers' Jaccard
    similarities: 1 where all N are alike, N where none are. The confidence is (N - it) / (N - 1).
    """
    stated = basis(greedy, samples)
    if isinstance(stated, Flaw):
        return stated
    count = len(samples)
    kept = round((count - meanings(answers(samples))) / (count - 1), _DIGITS)
    return Response(answer=stated.answer, confidence=min(1.0, max(0.0, kept)))


def basis(greedy: Sequence[Trial], samples: Sequence[Trial]) -> Response | Flaw:
    """Return what the greedy reply states, or the flaw that leaves nothing to speak of."""
    if len(samples) < _PAIR:
        raise UsageError("samples are compared in pairs; let the method's need ask for two or more")
    stated = greedy[0].response
    if stated is None:
        return greedy[0].flaw or Flaw.EMPTY
    if all(trial.response is None for trial in samples):
        return samples[0].flaw or Flaw.EMPTY
    return stated


def answers(samples: Sequence[Trial]) -> list[str | None]:
    """Return the answer of each sample, None where it could not be read."""
    return [None if trial.response is None else trial.response.answer for trial in samples]


def rouge_l(one: Sequence[Hashable], two: Sequence[Hashable]) -> float:
    """Return the F1 of the longest common subsequence (Lin, 2004); nothing is like nothing.

    >>> rouge_l("the big dog".split(), "the dog".split())
    0.8
    """
    if not one and not two:
        return 1.0
    return 2 * _common(one, two) / (len(one) + len(two))


def _common(one: Sequence[Hashable], two: Sequence[Hashable]) -> int:
    """Measure the longest common subsequence, a row of the table as the bits of one number.

    Answers may run long where a model does, and the plain table would take minutes.
    """
    places: dict[Hashable, int] = {}
    for i, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << i
    everywhere = (1 << len(one)) - 1
    free = everywhere
    for word in two:
        hit = free & places.get(word, 0)
        free = ((free + hit) | (free - hit)) & everywhere
    return len(one) - free.bit_count()


def meanings(said: Sequence[str | None]) -> float:
    """Count meanings among answers by the eigenvalues of their graph's normalised Laplacian."""
    import numpy as np

    split = [None if a is None else frozenset(a.lower().split()) for a in said]
    alike = np.eye(len(split))
    for (i, one), (j, two) in combinations(enumerate(split), 2):
        alike[i, j] = alike[j, i] = _jaccard(one, two)
    root = 1 / np.sqrt(alike.sum(axis=1))
    laplacian = np.eye(len(split)) - root[:, None] * alike * root
    return float(np.maximum(0.0, 1.0 - np.linalg.eigvalsh(laplacian)).sum())


def _jaccard(one: frozenset[str] | None, two: frozenset[str] | None) -> float:
    if one is None or two is None:
        return 0.0
    return 1.0 if one == two else len(one & two) / len(one | two)


def ensemble(samples: Sequence[Trial]) -> Response | Flaw:
    """Return the most frequent answer with its mean confidence; ties go to the first sample."""
    winner = _majority(samples)
    if isinstance(winner, Flaw):
        return winner
    return Response(answer=winner[0].answer, confidence=fmean(r.confidence for r in winner))


def self_frequency(samples: Sequence[Trial]) -> Response | Flaw:
    """Return the most frequent answer with its share of all samples, unread ones included.

    Wang et al., Self-Consistency, 2023, ICLR, who take the answer by such a vote.
    """
    winner = _majority(samples)
    if isinstance(winner, Flaw):
        return winner
    return Response(answer=winner[0].answer, confidence=len(winner) / len(samples))


def _majority(samples: Sequence[Trial]) -> list[Response] | Flaw:
    """Find the largest camp of equal answers, or the flaw where none was read."""
    camps: dict[str, list[Response]] = defaultdict(list)
    for trial in samples:
        if trial.response is not None:
            camps[normalize(trial.response.answer)].append(trial.response)
    if not camps:
        return samples[0].flaw or Flaw.EMPTY
    return max(camps.values(), key=len)
