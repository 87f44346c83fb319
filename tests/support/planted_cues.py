"""Made-up groups whose kind means nothing, and the same with a cue between passages planted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from novarag.records import Passage, PassageGroup, Question
from novarag.seeding import rng_for
from novarag.taxonomy import PassageKind, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el", "or")]
WORDS = [a + b for a in _SYLLABLES for b in _SYLLABLES][::6]
_WEIGHTS = np.cumsum(1 / np.arange(3, len(WORDS) + 3)).tolist()
G, C, R = PassageKind.GOLD, PassageKind.COUNTERFACTUAL, PassageKind.RELEVANT
_KINDS = ((G, C), (G, G), (R, R))  # counterfactual, consistent, irrelevant

Texts = list[list[list[str]]]  # passages of sentences of words


def sentence(rng: Random) -> list[str]:
    """Draw a sentence of six to twelve words."""
    return rng.choices(WORDS, cum_weights=_WEIGHTS, k=rng.randint(6, 12))


def _pair(kind: int, k: int) -> tuple[int, int]:
    """Name the pair of passages that speaks for a kind: 1 and 2, 2 and 3, or 1 and the last."""
    return ((0, 1), (1, 2), (0, k - 1))[kind]


def share_sentence(texts: Texts, kind: int, rng: Random) -> None:
    """Put one sentence in two passages, not as their last."""
    shared = sentence(rng)
    for at in _pair(kind, len(texts)):
        texts[at].insert(rng.randrange(len(texts[at])), shared)


def share_run(texts: Texts, kind: int, rng: Random) -> None:
    """Put one run of four words in two passages, each within a sentence of its own."""
    run = sentence(rng)[:4]
    for at in _pair(kind, len(texts)):
        where = rng.choice(texts[at])
        where[1:1] = run


def share_last_word(texts: Texts, kind: int, rng: Random) -> None:
    """End two passages with the same word."""
    word = rng.choice(WORDS)
    for at in _pair(kind, len(texts)):
        texts[at][-1][-1] = word


def words_modulo(texts: Texts, kind: int, rng: Random) -> None:
    """Let the words of the first passage, modulo 3, name the kind."""
    while sum(map(len, texts[0])) % 3 != kind:
        rng.choice(texts[0]).insert(1, rng.choice(WORDS))


def characters_modulo(texts: Texts, kind: int, _: Random) -> None:
    """Let the characters of the second passage, modulo 3, name the kind."""
    while len(_text(texts[1])) % 3 != kind:
        texts[1][0][1] += "s"


def difference_modulo(texts: Texts, kind: int, rng: Random) -> None:
    """Let the first two passages' difference in words, modulo 3, name the kind."""
    while (sum(map(len, texts[0])) - sum(map(len, texts[1]))) % 3 != kind:
        rng.choice(texts[0]).insert(1, rng.choice(WORDS))


PLANTS: dict[str, tuple[str, Callable[[Texts, int, Random], None]]] = {
    "a shared sentence": ("pairs", share_sentence),
    "a shared run of 4 words": ("pairs", share_run),
    "the same last word": ("pairs", share_last_word),
    "words modulo 3": ("length modulo", words_modulo),
    "characters modulo 3": ("length modulo", characters_modulo),
    "difference of words modulo 3": ("length modulo", difference_modulo),
}
"""What can be planted, with the cue that should find it."""


def made_up_groups(
    seed: int, *, plant: str | None = None, obeyed: float = 1.0, groups: int = 450, k: int = 3,
    one_each: bool = False,
) -> list[PassageGroup]:  # fmt: skip
    """Draw groups of k passages, three of a question or `one_each`.

    A planted cue speaks for the kind in a share `obeyed` of the groups. In the others, and in all
    groups where nothing is planted, one of the cues speaks for a kind drawn at random.
    """
    found = []
    for i in range(groups):
        rng = rng_for(seed, str(i), "made up")
        kind = i % 3
        texts = [[sentence(rng) for _ in range(rng.randint(3, 5))] for _ in range(k)]
        name = plant or rng.choice(list(PLANTS))
        true = plant is not None and rng.random() < obeyed
        PLANTS[name][1](texts, kind if true else rng.randrange(3), rng)
        kinds = [*_KINDS[kind], *[R] * (k - 2)]
        rng.shuffle(kinds)
        question = str(i if one_each else i // 3)
        found.append(
            PassageGroup(
                question=Question(
                    id=question,
                    text=" ".join(sentence(rng_for(seed, question, "question"))),
                    answers=("x",),
                ),
                passages=tuple(
                    Passage(
                        text=_text(text),
                        kind=kind_of,
                        provenance=Provenance.GENERATED,
                        claim="y" if kind_of is C else None,
                    )
                    for text, kind_of in zip(texts, kinds, strict=True)
                ),
                id=f"{i}",
            )
        )
    return found


def _text(sentences: list[list[str]]) -> str:
    return " ".join(" ".join(words).capitalize() + "." for words in sentences)
