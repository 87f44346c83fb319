"""Is the answer right? Normalised containment at token boundaries, and its stricter cousins."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from novarag.errors import UnknownNameError
from novarag.records import AnswerForm
from novarag.refusals import REFUSALS_WITHIN, WHOLE_REFUSALS
from novarag.taxonomy import Grade

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from novarag.records import PassageGroup, Question

    MatchesGold = Callable[[str, str], bool]

_ARTICLES = frozenset({"a", "an", "the"})
_FOLDED = str.maketrans({"\u2212": "-", **dict.fromkeys("'\u2018\u2019\u02bc`")})
# Points that are no decimal point, commas within 1,000, and what is then a word: a number
# with its sign, one sign of a script without spaces, or letters, with "c++" and "c#".
_LOOSE_POINT = re.compile(r"(?<!\d)\.|\.(?!\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TOKEN = re.compile(
    r"(?:(?<![\w.)])-)?\d+(?:\.\d+)*|[\u3040-\u30ff\u3400-\u9fff]"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff]+[+#]{0,2}"
)
# Where a clause of an answer ends: "Paris, not Lyon" has two.
_CLAUSE_END = re.compile(r"[,.;:!?()\[\]\n\u2013\u2014]")

_POLARITY = {"yes": True, "true": True, "no": False, "false": False}
_NOT_A_NO = frozenset({"one", "idea", "way", "matter", "doubt", "information", "answer"})
_DOUBT = frozenset({"neither", "whether", "unclear"})


def tokens(text: str) -> list[str]:
    """Split into lower-case words and numbers without accents, articles and punctuation.

    >>> tokens("The U.S. paid $1,000.50 in Côte-d'Or!")
    ['us', 'paid', '1000.50', 'in', 'cote', 'dor']
    """
    if not text.isascii():
        spread = unicodedata.normalize("NFKD", text)
        text = unicodedata.normalize(
            "NFKC", "".join(c for c in spread if not unicodedata.combining(c))
        )
    text = text.casefold().translate(_FOLDED)
    words = _TOKEN.findall(_LOOSE_POINT.sub("", _THOUSANDS.sub("", text)))
    last = len(words) - 1
    return [w for i, w in enumerate(words) if i == last or w not in _ARTICLES]


def normalize(text: str) -> str:
    """Lower-case, drop accents, punctuation and articles, squeeze spaces.

    >>> normalize("The  Eiffel Tower!")
    'eiffel tower'
    """
    return _normalize_short(text) if len(text) < 200 else " ".join(tokens(text))


_REFUSALS_WHOLE = frozenset(" ".join(tokens(text)) for text in WHOLE_REFUSALS)
# Refusals that count anywhere in an answer, as whole words of it.
_REFUSED = re.compile(
    rf"(?:^| )(?:{'|'.join(re.escape(' '.join(tokens(text))) for text in REFUSALS_WITHIN)})(?= |$)"
)


@lru_cache(maxsize=4096)  # sixteen samples are graded against the same gold answers and claims
def _normalize_short(text: str) -> str:
    return " ".join(tokens(text))


def contains(haystack: str, needle: str) -> bool:
    """Say whether one normalised text holds another at token boundaries.

    >>> contains("in 2010", "10"), contains("10 of them", "10")
    (False, True)
    """
    return bool(needle) and f" {needle} " in f" {haystack} "


def is_refusal(answer: str) -> bool:
    """Say whether an answer declines to answer.

    >>> is_refusal("I do not know."), is_refusal("Unknown Pleasures")
    (True, False)
    """
    words = normalize(answer)
    return words in _REFUSALS_WHOLE or bool(_REFUSED.search(words))


def polarity(answer: str) -> bool | None:
    """Read a yes or a no; None when the answer commits to neither.

    >>> polarity("Yes, he did."), polarity("The answer is no."), polarity("North Korea")
    (True, False, None)
    """
    clauses = [words for part in _CLAUSE_END.split(answer) if (words := tokens(part))]
    if not clauses:
        return None
    first = clauses[0]
    if first[0] in _POLARITY and not (len(first) > 1 and first[1] in _NOT_A_NO):
        return _POLARITY[first[0]]
    if is_refusal(answer) or any(w in _DOUBT for words in clauses for w in words):
        return None
    said = {
        _POLARITY[words[-1]] != (words[-2:-1] == ["not"])
        for words in clauses
        if words[-1] in _POLARITY
    }
    return said.pop() if len(said) == 1 else None


def _token_f1(answer: str, gold: str) -> float:
    a, g = Counter(answer.split()), Counter(gold.split())
    shared = (a & g).total()
    return 2 * shared / (a.total() + g.total()) if shared else 0.0


CRITERIA: dict[str, MatchesGold] = {
    "boundary": contains,
    "containment": lambda answer, gold: bool(gold) and gold in answer,
    "exact": lambda answer, gold: bool(gold) and answer == gold,
    "f1": lambda answer, gold: _token_f1(answer, gold) >= 0.5,
}
"""How a normalised answer may match a normalised gold answer; `boundary` is the default."""


def grade(
    answer: str,
    question: Question,
    *,
    claims: Collection[str] = (),
    criterion: str = "boundary",
) -> Grade:
    """Grade one answer against the gold answers.

    Args:
        answer: The answer to grade.
        question: The question with its gold answers. If it asks for yes or no, only that is read of
            the answer, and neither `claims` nor `criterion` plays a part.
        claims: The wrong answers that the passages put forward. A gold answer found only inside
            such a claim does not count: "26 October 1918" is not "1918".
        criterion: How an answer must match a gold answer, once both are normalised: "boundary"
            (holds it as whole words), "containment" (holds it anywhere), "exact", or "f1" (token F1
            of 0.5 or more).

    >>> from novarag.records import Question
    >>> q = Question(id="q", text="When?", answers=("1918",))
    >>> grade("26 October 1918", q, claims=["26 October 1918"])
    <Grade.WRONG: 'wrong'>
    """
    if criterion not in CRITERIA:
        raise UnknownNameError(criterion, CRITERIA)
    if question.form is AnswerForm.YES_NO:
        gold = {p for a in question.answers if (p := polarity(a)) is not None}
        if gold:
            said = polarity(answer)
            return Grade.ABSTAINED if said is None else Grade.RIGHT if said in gold else Grade.WRONG
    words = normalize(answer)
    wrong = [normalize(claim) for claim in claims]
    right = [normalize(gold) for gold in question.answers]
    if words in wrong and words not in right:
        return Grade.WRONG
    for gold_words in right:
        if CRITERIA[criterion](_without(words, wrong, gold_words), gold_words):
            return Grade.RIGHT
    return Grade.ABSTAINED if is_refusal(answer) else Grade.WRONG


def _without(words: str, claims: Iterable[str], gold: str) -> str:
    """Blank out the claims that swallow the gold answer."""
    padded = f" {words} "
    for claim in claims:
        if claim != gold and contains(claim, gold):
            padded = padded.replace(f" {claim} ", " \x1f ")
    return padded.strip()


def grade_in(group: PassageGroup, answer: str, *, criterion: str = "boundary") -> Grade:
    """Grade an answer given beside a group of passages, whose claims are graded first."""
    claims = [p.claim for p in group.passages if p.claim and p.kind and p.kind.is_noise]
    return grade(answer, group.question, claims=claims, criterion=criterion)
