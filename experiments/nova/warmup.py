"""Replies in the strategies' forms, filled in from the kinds of the passages; no model wrote them.

They teach to read and a form. The answer is the right one in every kind of group. The number of the
confidence is there to be masked (`novarag train fit --mask-confidence`): none is learnt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from novarag.errors import DataError
from novarag.filters import funnel
from novarag.grading import contains, normalize
from novarag.grouping import evidence_state
from novarag.records import Completion, PassageGroup
from novarag.rows import tabulate
from novarag.seeding import rng_for
from novarag.sft.examples import TrainingExample
from novarag.strategies import STRATEGIES
from novarag.taxonomy import EvidenceState, GroupKind, PassageKind, Utility
from novarag.trials import make_trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag.records import Passage

ROTATED = ("vanilla", "cot", "noise-aware")
"""Each group is also asked by one of these, in turn, so that `nova` is not all that is learnt."""

_KINDS = tuple(GroupKind)
_QUOTES = dict.fromkeys(map(ord, '"`~\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u2018'))
_OPENING = 3  # words
_ANSWER = 78  # characters that the form of every strategy has room for
_HINT = "leave the group out, or mend the template."
_STAGES = ("format", "judgment", "rules")
_MASKED = range(15, 100, 10)  # percents that no one learns


def claim_of(passage: Passage, answers: Sequence[str]) -> str:
    """Say what answer a gold or counterfactual passage puts forward."""
    if passage.kind is PassageKind.COUNTERFACTUAL and passage.claim:
        return passage.claim
    text = normalize(passage.text)
    return next((a for a in answers if contains(text, normalize(a))), answers[0])


def bare(text: str) -> str:
    """Put a text on one line, without quotation marks: what they hold is none of a model's own.

    >>> bare('"Grown\\nUps"')
    'Grown Ups'
    """
    return re.sub(r"(?<!\S)'", "", " ".join(text.translate(_QUOTES).split()))


def fits(group: PassageGroup) -> bool:
    """Say whether the answer is as short as the strategies ask for."""
    return len(right_answer(group)) <= _ANSWER


def opening(text: str) -> str:
    """Return the first words of a passage: a small model that copies them looks at that passage.

    >>> opening('"Hidden America" (2016) is a travel parody')
    'Hidden America 2016'
    """
    words = re.findall(r"\w[\w'-]*", text[:200])
    return " ".join(words[:_OPENING])


def _said(group: PassageGroup, passage: Passage) -> str:
    return bare(claim_of(passage, group.question.answers).rstrip(" .\n")).rstrip(" .")


def _step(group: PassageGroup, place: int) -> str:
    passage = group.passages[place - 1]
    named = f"Passage {place} ({opening(passage.text)})"
    if passage.kind is PassageKind.RELEVANT:
        return f"{named} is on the topic but gives no answer."
    if passage.kind is PassageKind.IRRELEVANT:
        return f"{named} is about something else."
    return f"{named} says {_said(group, passage)}."


def _rule(group: PassageGroup) -> str:
    match evidence_state(group):
        case EvidenceState.CONFLICTING:
            return "Two answers disagree, so rule 1."
        case EvidenceState.CONSISTENT if group.evidence == 1:
            return "One passage answers, so rule 2."
        case EvidenceState.CONSISTENT:
            return "The answers agree, so rule 2."
        case _:
            return "No passage answers, so rule 3."


def _classes(group: PassageGroup) -> list[str]:
    return [kind.utility.title() for kind in group.kinds or ()]


def steps_of(group: PassageGroup) -> str:
    """Say in one step what each passage says, and in a last one what follows."""
    said = [*(_step(group, i + 1) for i in range(len(group.passages))), _rule(group)]
    return "".join(f"Step {i}: {step}\n" for i, step in enumerate(said, start=1))


def _nova(group: PassageGroup) -> str:
    judged = "; ".join(f"Passage {i}: {c}" for i, c in enumerate(_classes(group), start=1))
    state = str(evidence_state(group)).capitalize()
    return f"{steps_of(group)}Passage Classifications: {judged}\nGroup Judgment: {state}\n"


def _cot(group: PassageGroup) -> str:
    said = [
        f"passage {i} says {_said(group, p)}"
        for i, p in enumerate(group.passages, start=1)
        if p.kind is not None and p.kind.utility is Utility.HIGHLY_RELEVANT
    ]
    if not said:
        return "No passage gives an answer, so I use what I know.\n"
    first = ", ".join(said)
    end = ""
    if len(said) > 1:
        conflict = evidence_state(group) is EvidenceState.CONFLICTING
        end = " They disagree, so I use what I know." if conflict else " They agree."
    return f"P{first[1:]}.{end}\n"


def _noise_aware(group: PassageGroup) -> str:
    named = (f"Passage {i} is {c}." for i, c in enumerate(_classes(group), start=1))
    return f"{' '.join(named)} {_rule(group)}\n"


_REASONING = {
    "nova": _nova,
    "cot": _cot,
    "noise-aware": _noise_aware,
    "vanilla": lambda _: "",
    "label-only": lambda _: "",
}


def right_answer(group: PassageGroup) -> str:
    """Return the accepted answer that a gold passage of the group gives, else the first."""
    gold = [p for p in group.passages if p.kind is PassageKind.GOLD]
    return _said(group, gold[0]) if gold else bare(group.question.answers[0])


def completion_for(group: PassageGroup, strategy: str, percent: int) -> str:
    """Write the reply that a strategy asks for, as short as its form allows."""
    answer = right_answer(group)
    return f"{_REASONING[strategy](group)}Answer: {answer}\nConfidence: {percent}%"


def make_row(group: PassageGroup, strategy: str) -> TrainingExample:
    """Make one training row: the strategy's prompt, and a reply whose number is to be masked."""
    percent = rng_for(0, str(group.id), strategy, "masked").choice(_MASKED)
    return TrainingExample(
        prompt=STRATEGIES[strategy].render(group).text,
        completion=completion_for(group, strategy, percent),
        question=group.question.id,
        group=str(group.id),
        kind=str(group.kind),
        answer=right_answer(group),
        confidence=percent / 100,
        correct=True,
    )


def make_rows(
    groups: Iterable[PassageGroup], form: str = "nova"
) -> list[tuple[PassageGroup, str, TrainingExample]]:
    """Make a row of `nova` of each group, and with evidence one of the others, in turn over both.

    Without evidence the right answer cannot be learnt, only the habit of guessing. Where systems
    do not answer by `nova`, its long rows are left out.
    """
    ranks: dict[str, int] = {}
    rows = []
    for group in groups:
        rank = ranks.setdefault(group.question.id, len(ranks))
        # The kind turns it on too: else every strategy would be shown a single kind of group.
        other = ROTATED[(rank + _KINDS.index(group.kind or _KINDS[0])) % len(ROTATED)]
        long = ("nova",) if form == "nova" else ()
        names = long if group.kind is GroupKind.IRRELEVANT else (*long, other)
        rows += [(group, name, make_row(group, name)) for name in names]
    return rows


def check_rows(rows: Sequence[tuple[PassageGroup, str, TrainingExample]]) -> None:
    """Raise unless the readers get everything back from the replies, and the funnel keeps them."""
    trials = []
    for group, name, row in rows:
        if fault := fault_of(group, name, row):
            raise DataError(
                f"the {name} row of {row.group!r} {fault}: {row.completion!r}.", hint=_HINT
            )
        if name == "nova":
            reply = Completion(text=row.completion, model="template")
            trials.append(make_trial(group, STRATEGIES[name], 0, reply))
    poured = funnel(tabulate(trials), _STAGES)
    if poured.dropped.height:
        judged = poured.dropped.select("group", "reason").row(0)
        raise DataError(
            f"the funnel drops {poured.dropped.height} nova rows, such as {judged}.", hint=_HINT
        )


def fault_of(group: PassageGroup, name: str, row: TrainingExample) -> str | None:
    """Say what our own reader does not get back from a row, or None."""
    k = len(group.passages)
    reading = STRATEGIES[name].read(row.completion, k=k)
    if reading.response is None:
        return f"is not read ({reading.flaw})"
    if reading.response.answer != row.answer:
        return f"is read as answer {reading.response.answer!r}"
    if abs(reading.response.confidence - row.confidence) > 1e-9:
        return f"is read with confidence {reading.response.confidence}"
    if not re.fullmatch(STRATEGIES[name].pattern(k), row.completion):
        return "is not in the form that a server holds a model to"
    return _misjudged(group, reading.judgment) if name == "nova" else None


def _misjudged(group: PassageGroup, judgment: object) -> str | None:
    passages = getattr(judgment, "passages", None)
    if passages != tuple(kind.utility for kind in group.kinds or ()):
        return f"is read with classes {passages}"
    state = getattr(judgment, "group", None)
    return None if state is evidence_state(group) else f"is read with judgment {state}"
