"""What each passage of a group is, relative to the known answer, and on whose word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.annotation.competing_answers import AnswerType
from novarag.annotation.features import gather
from novarag.annotation.model import KINDS, Chances, PassageOrigin, is_in_context, shipped_weights
from novarag.annotation.near_duplicates import PassageSentences, find_near_copy, find_twin
from novarag.annotation.tokens import cut_sentences, make_lexicon, stems_of, words_of
from novarag.defaults import ANNOTATE
from novarag.formatting import whole_percent
from novarag.noise.validators import is_placeholder
from novarag.records import AnswerForm
from novarag.taxonomy import PassageKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.annotation.features import AnswerFeatures
    from novarag.annotation.model import KindWeights
    from novarag.annotation.near_duplicates import NearDuplicate
    from novarag.annotation.tokens import Lexicon, Sentence
    from novarag.records import Passage, PassageGroup, Question

LEAST = ANNOTATE.min_confidence
"""The confidence from which a verdict becomes the passage's kind, unless told otherwise."""

WORDS, TWIN = "words", "twin"
_TWIN_CHANCES: Chances = (0.05, 0.75, 0.2, 0.0)  # too few exist to fit; see docs/annotating.md
_NOT_ANSWERING = frozenset({PassageKind.RELEVANT, PassageKind.IRRELEVANT})
_ASKED_FOR = 0.9  # share of the question that stands beside a value which may be its answer
_LONGEST_QUOTE = 300  # characters of evidence that stand beside a verdict
_CANNOT = "words cannot decide a yes/no question"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedEvidence:
    """Why: a quoted span of the passage, and a reason in words."""

    quote: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A verdict on one passage. `kind` is None where nobody could decide.

    `by` names the witnesses whose own verdict this is; `claim` is the other answer it states.
    """

    kind: PassageKind | None
    confidence: float
    evidence: QuotedEvidence
    by: tuple[str, ...]
    chances: Chances
    claim: str | None = None


def annotate(
    groups: Sequence[PassageGroup],
    *,
    expect: PassageOrigin = PassageOrigin.RETRIEVED,
    closeness: Sequence[Sequence[float]] | None = None,
    weights: KindWeights | None = None,
) -> list[tuple[Annotation, ...]]:
    """Decide for every passage of every group, by its words; kinds that are known are not read.

    How rare a word is, is counted over the passages given. `closeness` holds an encoder's word on
    how near each passage is to its question, from 0 to 1.
    """
    cuts = {p.text: cut_sentences(p.text) for group in groups for p in group.passages}
    lexicon = make_lexicon(cuts.values())
    weights = weights or shipped_weights()
    found = []
    for number, group in enumerate(groups):
        near = closeness[number] if closeness is not None else [None] * len(group.passages)
        held = [
            _cut(p, cuts[p.text], group.question, lexicon, c)
            for p, c in zip(group.passages, near, strict=True)
        ]
        chances = [weights.chances(cut.clues, expect) for cut in held]
        found.append(
            tuple(_verdict(held, i, group.question, expect, chances) for i in range(len(held)))
        )
    return found


def _cut(
    passage: Passage, sentences: Sequence[Sentence], question: Question, lexicon: Lexicon,
    closeness: float | None,
) -> PassageSentences:  # fmt: skip
    clues = gather(passage.text, sentences, question, lexicon, closeness=closeness)
    return PassageSentences(passage.text, sentences, clues)


def _verdict(
    cuts: Sequence[PassageSentences],
    at: int,
    question: Question,
    expect: PassageOrigin,
    every: Sequence[Chances],
) -> Annotation:
    cut = cuts[at]
    if not cut.sentences or is_placeholder(cut.text):
        empty = QuotedEvidence(
            quote=cut.text[:_LONGEST_QUOTE].strip(), reason="there is no text to judge"
        )
        sure: Chances = (0.0, 0.0, 0.0, 1.0)
        return Annotation(
            kind=PassageKind.IRRELEVANT, confidence=1.0, evidence=empty, by=(WORDS,), chances=sure
        )
    chances = every[at]
    if question.form is AnswerForm.YES_NO or not question.answers:
        return _undecided(cut, chances, question)
    asked = stems_of(words_of(question.text))
    supports = [c.index(max(c)) == 0 for c in every]
    twin = find_twin(cuts, at, supports, asked)
    if twin is not None:
        return _by_twin(cut, twin)
    kind = KINDS[chances.index(max(chances))]
    doubt = _doubt(cuts, at, supports, expect) if kind in _NOT_ANSWERING else None
    if doubt is not None:
        return _unsure(cut, chances, kind, expect, doubt)
    rival = cut.clues.rival
    claims = kind is PassageKind.COUNTERFACTUAL and rival is not None
    return Annotation(
        kind=kind,
        confidence=max(chances),
        evidence=_evidence(cut, kind, expect),
        by=(WORDS,),
        chances=chances,
        claim=rival.text if claims and rival is not None else None,
    )


def _doubt(
    cuts: Sequence[PassageSentences], at: int, supports: Sequence[bool], expect: PassageOrigin
) -> str | None:
    """Say why a passage that does not state the answer is not surely only related to it."""
    copied = find_near_copy(cuts, at, supports)
    if copied is not None:
        return f"nearly a copy of passage {copied + 1}, which states the answer"
    rival = cuts[at].clues.rival
    typed = (
        expect is PassageOrigin.RETRIEVED
        and rival is not None
        and rival.wanted is not AnswerType.NAME
    )
    if typed and rival is not None and rival.near >= _ASKED_FOR:
        return f"says '{rival.text}' in a sentence on all that the question names"
    return None


def _unsure(
    cut: PassageSentences, chances: Chances, kind: PassageKind, expect: PassageOrigin, doubt: str
) -> Annotation:
    """Leave a passage between what its words say and another answer: half of the chance each."""
    a, b, c, d = ((one + other) / 2 for one, other in zip(chances, _TWIN_CHANCES, strict=True))
    mixed: Chances = (a, b, c, d)
    known = _evidence(cut, kind, expect)
    return Annotation(
        kind=KINDS[mixed.index(max(mixed))],
        confidence=max(mixed),
        evidence=QuotedEvidence(quote=known.quote, reason=f"{known.reason}; {doubt}"),
        by=(WORDS,),
        chances=mixed,
    )


def _undecided(cut: PassageSentences, chances: Chances, question: Question) -> Annotation:
    """Leave a passage open; only that it shares nothing with the question can be seen."""
    apart = chances[3]
    rest = (1 - apart) / 3
    why = _CANNOT if question.answers else "no answer is known"
    return Annotation(
        kind=None,
        confidence=rest if apart < rest else apart / 2,
        evidence=QuotedEvidence(
            quote=_quote(cut, cut.clues.sentence), reason=f"{why}; {_share(cut.clues)}"
        ),
        by=(),
        chances=(rest, rest, rest, apart),
    )


def _by_twin(cut: PassageSentences, twin: NearDuplicate) -> Annotation:
    claim = cut.text[twin.start : twin.end]
    reason = f"says what passage {twin.of + 1} says, with '{claim}' in the answer's place"
    return Annotation(
        kind=PassageKind.COUNTERFACTUAL,
        confidence=_TWIN_CHANCES[1],
        evidence=QuotedEvidence(quote=_quote(cut, twin.sentence), reason=reason),
        by=(TWIN,),
        chances=_TWIN_CHANCES,
        claim=claim,
    )


def _evidence(cut: PassageSentences, kind: PassageKind, expect: PassageOrigin) -> QuotedEvidence:
    clues = cut.clues
    beside = ", ".join(f"'{word}'" for word in clues.shared)
    sentence, reason = clues.sentence, _share(clues) + (f", {beside} among it" if beside else "")
    if kind is PassageKind.GOLD:
        reason = _mentioned(clues, cut.text, beside)
        if expect is PassageOrigin.RETRIEVED and not is_in_context(clues):
            reason += "; too little of the question stands around it to rule out chance"
    if kind is PassageKind.COUNTERFACTUAL and clues.rival is not None:
        sentence = clues.rival.sentence
        reason = f"states '{clues.rival.text}' where the question asks, and not the answer"
    return QuotedEvidence(quote=_quote(cut, sentence), reason=reason)


def _mentioned(clues: AnswerFeatures, text: str, beside: str) -> str:
    mention = clues.mention
    said = "" if mention is None else text[mention.start : mention.end]
    how = "" if mention is None or clues.strong else f" ({mention.how})"
    return f"states '{said}'{how}" + (f" beside {beside}" if beside else "")


def _share(clues: AnswerFeatures) -> str:
    mention = "" if clues.mention is None else "mentions the answer, and "
    return f"{mention}holds {whole_percent(clues.held)} of the question by weight"


def _quote(cut: PassageSentences, sentence: Sentence | None) -> str:
    """Quote a sentence; a longer one around its mention."""
    place = sentence or cut.sentences[0]
    start, end = place.start, place.end
    mention = cut.clues.mention
    if end - start > _LONGEST_QUOTE and mention is not None and start <= mention.start < end:
        start = max(start, mention.start - _LONGEST_QUOTE // 2)
    return cut.text[start : min(end, start + _LONGEST_QUOTE)].strip()
