"""Other witnesses: a model that is asked, and one that weighs entailment. Each has one vote.

A vote is a chance for each of the four kinds. The verdict is the average of the votes, so one
witness alone cannot overrule a sure other, only make the verdict unsure. On yes/no questions, and
where no answer is known, words have no vote if anybody else has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from novarag.annotation.annotate import Annotation, QuotedEvidence
from novarag.annotation.model import KINDS
from novarag.calls import Sampling
from novarag.errors import UsageError
from novarag.records import Prompt
from novarag.strategies.template import Template, lay_out
from novarag.taxonomy import PassageKind
from novarag.texts import plain_text
from novarag.uncertainty.semantic import weighed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.annotation.model import Chances
    from novarag.records import Passage, PassageGroup, Question
    from novarag.uncertainty.semantic import Weigh

JUDGE, NLI = "judge", "nli"
TRUST = 0.85
"""The chance that a judge's kind is given; the others share the rest."""

PATTERN = r"Kind: (supports|another answer|related|unrelated)\nStated: [^\n]{1,120}"
"""What a reply must look like, for servers that can hold a model to it."""

JUDGING = Sampling(temperature=0.0, max_tokens=120, regex=PATTERN)
"""How a judge is asked, where the server can hold it to the form."""

# A judge that is not held to a form dresses its lines: a quote, a list, bold, code, a bracket.
_KIND = re.compile(
    r"^[ \t>*#_`\-]{0,8}kind[ \t*_`]{0,4}:[ \t*_`\[\"']{0,6}"
    r"(supports?|states another answer|another answer|related|unrelated)\b",
    re.IGNORECASE | re.MULTILINE,
)
_STATED = re.compile(
    r"^[ \t>*#_`\-]{0,8}stated[ \t*_`]{0,4}:[ \t*_`]{0,6}([^\n]{0,200})",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS = {
    "support": PassageKind.GOLD,
    "supports": PassageKind.GOLD,
    "another answer": PassageKind.COUNTERFACTUAL,
    "states another answer": PassageKind.COUNTERFACTUAL,
    "related": PassageKind.RELEVANT,
    "unrelated": PassageKind.IRRELEVANT,
}
_NOTHING = frozenset({"", "none", "n/a", "nothing"})
_SLOTS = frozenset({"question", "answers", "passage"})
_THOUGHT = "</think>"  # what stands before it is no verdict
_FOUR = 4  # kinds of passages among which a vote goes
_BATCH = 256  # pairs an entailment model is handed at once
_ROUNDING = 0.02  # by which three chances may miss 1, in half precision or cut to two digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one witness says: a chance for each kind, the answer it saw stated, and why."""

    by: str
    chances: Chances
    claim: str | None = None
    reason: str = ""


@lru_cache(maxsize=1)
def judge_template() -> Template:
    """Load the judge's prompt."""
    text = files("novarag.annotation").joinpath("prompts/judge.txt").read_text("utf-8")
    return Template(text, slots=_SLOTS)


def render_judge(question: Question, passage: Passage) -> Prompt:
    """Return the prompt that asks what one passage is."""
    template = judge_template()
    text = template.put(
        {
            "question": question.text.replace("\n", "\n  "),
            "answers": "; ".join(question.answers).replace("\n", "\n  ") or "not known",
            "passage": lay_out([passage.text]),
        }
    )
    return Prompt(text=text, strategy=JUDGE, template_hash=template.hash)


def judge_key(prompt: str, sampling: Sampling) -> str:
    """Name what a judge is asked: to hold it to a form is another request than to ask freely."""
    asked = f"{sampling.regex or ''}\0{prompt}"
    return sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()


def read_judge(reply: str) -> Vote | None:
    r"""Read a judge's reply; None where it names no kind. The last one named counts.

    >>> read_judge("Kind: another answer\nStated: Lyon").claim
    'Lyon'
    """
    body = reply.rpartition(_THOUGHT)[2]
    kinds = _KIND.findall(body)
    if not kinds:
        return None
    kind = _WORDS[kinds[-1].lower()]
    stated = [s.strip(" \t\"'*_`[]") for s in _STATED.findall(body)]
    said = stated[-1] if stated and stated[-1].lower().strip(".") not in _NOTHING else None
    rest = (1 - TRUST) / (_FOUR - 1)
    a, b, c, d = (TRUST if k is kind else rest for k in KINDS)
    reason = f"the judge says {kinds[-1].lower()}" + (f": '{plain_text(said)}'" if said else "")
    return Vote(by=JUDGE, chances=(a, b, c, d), claim=said, reason=reason)


def judge_note(said: Sequence[Sequence[Vote | None]]) -> str:
    """Say how many passages a judge was asked about, and how many replies were of no use."""
    total = sum(len(row) for row in said)
    unread = sum(vote is None for row in said for vote in row)
    return (
        f"A judge was asked about {total:,} passages; {unread:,} replies failed or could not be"
        " read, and the words' verdict stands there."
    )


def hypothesis(question: Question) -> str:
    """Return the statement that a passage entails, denies or leaves open."""
    answer = question.answers[0] if question.answers else "known"
    return f'The answer to the question "{question.text.strip()}" is: {answer}'


def nli_vote(weighed: tuple[float, float, float], words: Chances) -> Vote:
    """Turn chances of entailment, neutral and contradiction into a vote.

    Words part related from unrelated. What cannot be three chances is refused.
    """
    entails, neutral, denies = weighed
    total = entails + neutral + denies
    if not (all(0 <= c <= 1 for c in weighed) and abs(total - 1) <= _ROUNDING):
        raise UsageError(
            "an entailment model must give three chances from 0 to 1 that add up to 1, not"
            f" {entails:g}, {neutral:g}, {denies:g}; if these are logits, take the softmax first"
        )
    open_ = words[2] + words[3]
    apart = words[3] / open_ if open_ > 0 else 0.0
    left = neutral / total
    chances = (entails / total, denies / total, left * (1 - apart), left * apart)
    reason = f"entailment {entails / total:.2f}, contradiction {denies / total:.2f}"
    return Vote(by=NLI, chances=chances, reason=reason)


def entailment_votes(
    groups: Sequence[PassageGroup], verdicts: Sequence[Sequence[Annotation]], weigh: Weigh
) -> list[list[Vote]]:
    """Put every passage with its question's answer to a model of entailment."""
    votes: list[list[Vote]] = [[] for _ in groups]
    places = [(n, i) for n, group in enumerate(groups) for i in range(len(group.passages))]
    for start in range(0, len(places), _BATCH):
        part = places[start : start + _BATCH]
        pairs = [(groups[n].passages[i].text, hypothesis(groups[n].question)) for n, i in part]
        for (n, i), row in zip(part, weighed(weigh, pairs), strict=True):
            votes[n].append(nli_vote(row, verdicts[n][i].chances))
    return votes


def combine_all(
    verdicts: Sequence[Sequence[Annotation]], *witnesses: Sequence[Sequence[Vote | None]]
) -> list[tuple[Annotation, ...]]:
    """Combine the words' verdict on each passage with what each witness says; None says nothing."""
    return [
        tuple(
            combine(words, [vote for said in witnesses if (vote := said[n][i]) is not None])
            for i, words in enumerate(row)
        )
        for n, row in enumerate(verdicts)
    ]


def combine(words: Annotation, votes: Sequence[Vote]) -> Annotation:
    """Average the votes; the evidence says who decided. Without votes the words stand."""
    if not votes:
        return words
    parties = [(v.by, v.chances) for v in votes]
    if words.kind is not None:
        parties = [*((name, words.chances) for name in words.by), *parties]
    pooled = [sum(c[i] for _, c in parties) / len(parties) for i in range(_FOUR)]
    top = pooled.index(max(pooled))
    kind = KINDS[top]
    by = tuple(name for name, c in parties if c.index(max(c)) == top)
    agreed = [v.reason for v in votes if v.by in by]
    against = [f"{v.reason} (against)" for v in votes if v.by not in by]
    own = [words.evidence.reason] if words.kind is kind or words.kind is None else []
    claim = next((v.claim for v in votes if v.by in by and v.claim), words.claim)
    a, b, c, d = pooled
    return replace(
        words,
        kind=kind,
        confidence=pooled[top],
        evidence=QuotedEvidence(
            quote=words.evidence.quote, reason="; ".join([*own, *agreed, *against])
        ),
        by=by,
        chances=(a, b, c, d),
        claim=claim if kind is PassageKind.COUNTERFACTUAL else None,
    )
