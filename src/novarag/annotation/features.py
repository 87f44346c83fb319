"""What the words of one passage tell about one question, as numbers and as quotes."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.annotation.competing_answers import AnswerType, find_rival, title_of
from novarag.annotation.matching import STRONG, find_mentions
from novarag.annotation.tokens import stem, stems_of, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.annotation.competing_answers import CompetingAnswer
    from novarag.annotation.matching import Mention
    from novarag.annotation.tokens import Lexicon, Sentence
    from novarag.records import Question

_HEAVY = 3  # the rarest words of a question, which name its subject
_UNMISTAKABLE = 12.0  # weight of an answer that cannot turn up by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFeatures:
    """What was found: the best mention of the answer, the best rival, and how much is shared.

    Shares are weighed by how rare a word is: `about` of the question's words in the passage, `best`
    in its best sentence, `subject` of its rarest words, `around` in the sentences about the
    mention. `rarity` says how unlikely the answer is to turn up by chance; `rarest` is the
    question's rarest word, as a stem. `held` is what `about` is before an encoder has its say.
    """

    mention: Mention | None
    around: float
    rarity: float
    in_question: bool
    about: float
    held: float
    best: float
    subject: float
    rarest: str
    rival: CompetingAnswer | None
    shared: tuple[str, ...]
    sentence: Sentence | None
    title: Sentence | None

    @property
    def strong(self) -> bool:
        """Whether the answer is mentioned by all its words, a sure alias or its value."""
        return self.mention is not None and self.mention.how in STRONG

    @property
    def support_row(self) -> tuple[float, ...]:
        """What tells a passage that supports the answer from one that only mentions it."""
        strong = float(self.strong)
        return (
            strong, self.around, strong * self.rarity, float(self.in_question), self.about,
            self.best,
        )  # fmt: skip

    @property
    def rival_row(self) -> tuple[float, ...]:
        """What tells a passage that states another answer from one that is only related."""
        rival = self.rival
        typed = float(rival is not None and rival.wanted is not AnswerType.NAME)
        beside = 0.0 if rival is None else rival.near
        return (
            self.about, self.about**2, self.best, self.subject, beside, typed, typed * beside,
            float(self.mention is not None),
        )  # fmt: skip

    @property
    def relevance_row(self) -> tuple[float, ...]:
        """What tells a related passage from an unrelated one, where both were written for it."""
        return (self.about, self.best, self.subject)

    @property
    def nearness_row(self) -> tuple[float, ...]:
        """What tells a related passage from one that a search found by its words alone."""
        return (self.about, self.subject)


def gather(
    text: str,
    sentences: Sequence[Sentence],
    question: Question,
    lexicon: Lexicon,
    *,
    closeness: float | None = None,
) -> AnswerFeatures:
    """Hold one passage against one question; `closeness` is an encoder's word on how near it is."""
    asked = stems_of(words_of(question.text))
    title = title_of(text, sentences)
    head: frozenset[str] = title.stems if title is not None else frozenset()
    shares = [lexicon.share(asked, s.stems | head) for s in sentences]
    words = [w for s in sentences for w in s.words]
    spots = find_mentions(text, words, question.answers)
    mention, at = _best_mention(spots, sentences, shares)
    best = max(shares, default=0.0)
    quoted = at if at is not None else shares.index(best) if shares else None
    held = _stems(sentences)
    about = lexicon.share(asked, held)
    rare = sorted(asked, key=lambda w: (-lexicon.weight(w), w))
    answer = [w.word for w in words_of(mention.answer)] if mention is not None else []
    said = words_of(text[mention.start : mention.end]) if mention is not None else []
    known = {w.word for w in words_of(question.text)}
    return AnswerFeatures(
        mention=mention,
        around=_around(asked, sentences, at, head, lexicon),
        rarity=min(1.0, sum(lexicon.weight(stem(w)) for w in answer) / _UNMISTAKABLE),
        in_question=bool(answer)
        and (known.issuperset(answer) or known.issuperset(w.word for w in said)),
        about=about if closeness is None else (about + closeness) / 2,
        held=about,
        best=best,
        subject=lexicon.share(rare[:_HEAVY], held),
        rarest=rare[0] if rare else "",
        rival=find_rival(text, sentences, question, asked, lexicon),
        shared=_shared(text, [s for s in (sentences[quoted], title) if s], asked, lexicon)
        if quoted is not None
        else (),
        sentence=None if quoted is None else sentences[quoted],
        title=title,
    )


def _stems(sentences: Sequence[Sentence]) -> frozenset[str]:
    return frozenset().union(*(s.stems for s in sentences))


def _best_mention(
    spots: Sequence[Mention], sentences: Sequence[Sentence], shares: Sequence[float]
) -> tuple[Mention | None, int | None]:
    """Choose the mention that stands with most of the question, strong ones first."""
    starts = [sentence.start for sentence in sentences]
    places = [
        (spot.how in STRONG, shares[i], -spot.start, spot, i)
        for spot in spots
        for i in [bisect_right(starts, spot.start) - 1]  # mentions are made of sentences' words
    ]
    if not places:
        return None, None
    best = max(places, key=lambda p: p[:3])
    return best[3], best[4]


def _around(
    asked: frozenset[str], sentences: Sequence[Sentence], at: int | None, head: frozenset[str],
    lexicon: Lexicon,
) -> float:  # fmt: skip
    """Weigh what stands in the sentence of a mention, its neighbours and the title."""
    if at is None:
        return 0.0
    return lexicon.share(asked, _stems(sentences[max(0, at - 1) : at + 2]) | head)


def _shared(
    text: str, places: Sequence[Sentence], asked: frozenset[str], lexicon: Lexicon
) -> tuple[str, ...]:
    """Quote the words of the question that stand in some sentences, rarest first."""
    held: dict[str, str] = {}
    for word in (w for place in places for w in place.words):
        if stem(word.word) in asked:
            held.setdefault(stem(word.word), text[word.start : word.end])
    rare = sorted(held, key=lambda w: (-lexicon.weight(w), w))
    return tuple(held[w] for w in rare[:_HEAVY])
