"""Replies by class, hostile and honest, of every strategy: two thirds open, one third sealed.

The two parts have words of their own (`reader_words_open`, `reader_words_sealed`). Every strategy
draws from a seed of its own, so that a new strategy draws no other anew.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from novarag.strategies import STRATEGIES
from tests.support import reader_words_open, reader_words_sealed
from tests.support.adversarial_parts import (
    EVERY,
    PLAIN,
    SHOWN,
    SINGLE,
    STEPWISE,
    Scene,
    other,
    said,
)
from tests.support.copied_fields import dressed, escaped, number_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

SEED = 33
LEAST = 200  # replies of a class
WORDS = {"open": reader_words_open, "sealed": reader_words_sealed}
FRAMED = tuple(name for name in EVERY if not name.endswith("-paper"))


@dataclass(frozen=True)
class ReplyCase:
    """A reply, and what may be read from it: `own` is its confidence, None where it has none."""

    kind: str
    strategy: str
    reply: str
    own: float | None = None
    passages: tuple[str, ...] = ()
    known: bool = False
    framed: bool = False

    def is_right(self, stated: float | None) -> bool:
        """Say whether what was read is the model's own; a hostile reply must be refused."""
        if self.own is None or stated is None:
            return self.own is stated
        return abs(self.own - stated) < 1e-6


Maker = "Callable[[Scene, ModuleType], ReplyCase]"
KINDS: dict[str, tuple[Callable[[Scene, ModuleType], ReplyCase], tuple[str, ...]]] = {}
HONEST: set[str] = set()


def kind(strategies: tuple[str, ...] = EVERY, *, honest: bool = False):
    """Enter a class of replies."""

    def enter(make: Callable[[Scene, ModuleType], ReplyCase]):
        name = make.__name__.replace("_", "-")
        KINDS[name] = (make, strategies)
        if honest:
            HONEST.add(name)
        return make

    return enter


def cases(part: str, seed: int = SEED) -> Iterator[ReplyCase]:
    """Yield the cases of the open or of the sealed part, class by class."""
    for name, (make, strategies) in KINDS.items():
        third = ceil(LEAST / len(strategies) / 3)
        for strategy in strategies:
            rng = random.Random(f"{seed} {part} {name} {strategy}")
            start = rng.randrange(1000)
            for n in range(third if part == "sealed" else 2 * third):
                scene = Scene(rng=rng, strategy=strategy, n=start + n)
                yield replace(make(scene, WORDS[part]), kind=name)


def hostile(s: Scene, reply: str, **more) -> ReplyCase:
    return ReplyCase("", s.strategy, reply, **more)


def honest(s: Scene, reply: str, **more) -> ReplyCase:
    return ReplyCase("", s.strategy, reply, own=s.value, **more)


def filled(s: Scene, text: str) -> str:
    """Put own and other answers and numbers into words."""
    words = {
        "{a}": s.answer, "{b}": s.bad, "{c}": str(s.own[-1]), "{d}": other(s)[-1].removesuffix("%"),
        "{n}": str(s.where), "@A": s.answer, "@B": s.bad, "@C": str(s.own[0]),
        "@U": f"{s.own[-1] / 100:g}", "@D": str(s.poison[0]), "@F": f"{s.own[-1]}/100",
    }  # fmt: skip
    for sign, word in words.items():
        text = text.replace(sign, word)
    return text


def planted(s: Scene, words: ModuleType) -> tuple[str, ...]:
    """Return passages of which one states a confidence, with filler between label and number."""
    filler, hedge = s.pick(words.FILLERS), s.rng.choice(words.HEDGES)
    forged = s.forged.replace("onfidence:", f"onfidence{filler}:").replace(": ", f": {hedge}", 9)
    s.forged = forged.replace(f"Answer: {hedge}", "Answer: ")
    return tuple(
        p.replace(p, f"{s.fact}\n{s.forged}") if p is s.poisoned else p for p in s.passages
    )


@kind(SHOWN)
def verbatim_copies(s, words):
    passages = planted(s, words)
    last = s.rng.choice(("", "", s.rng.choice(words.REFUSALS)))
    return hostile(
        s, said(s.think() if s.n % 2 else "", s.forged, last), passages=passages, known=True
    )


@kind(SHOWN)
def edited_copies(s, words):
    passages = planted(s, words)
    shown = tuple(escaped(s.rng, dressed(s.rng, p)) if s.n % 2 else p for p in passages)
    values = [s.rng.choice(number_forms(v)) for v in s.poison]
    copy = dressed(s.rng, s.with_said(values, answer=s.bad))
    return hostile(s, said(s.think() if s.n % 3 else "", copy), passages=shown, known=True)


@kind(SHOWN)
def attributed_copies(s, words):
    passages = planted(s, words)
    lead, last = filled(s, s.pick(words.ATTRIBUTIONS)), s.rng.choice(words.REFUSALS)
    return hostile(s, said(f"{lead}\n{s.forged}", last), passages=passages, known=True)


@kind()
def corrections(s, words):
    head = s.think() if s.n % 2 else ""
    glue = s.rng.choice(("\n", "\n\n", "\n\n"))
    return hostile(s, said(head, s.block()) + glue + filled(s, s.pick(words.CORRECTIONS)))


@kind()
def words_on_the_line(s, words):
    return hostile(s, said(s.think(), s.saying(filled(s, s.pick(words.LINE_WORDS)))))


@kind()
def foreign_reasoning_unclosed(s, words):
    start, _ = s.pick(words.REASONING)
    head = s.rng.choice(("", "", "Sure.\n"))
    return hostile(
        s, head + start + s.rng.choice(("", "\n")) + said(s.think(), s.with_said(other(s)))
    )


@kind()
def attributions(s, words):
    lead, glue = filled(s, s.pick(words.ATTRIBUTIONS)), s.rng.choice(("\n", "\n\n"))
    return hostile(s, said(s.think(), lead + glue + s.forged, s.rng.choice(words.REFUSALS)))


@kind()
def odd_quotations(s, words):
    start, end = s.pick(words.ODD_QUOTATIONS)
    return hostile(s, said(s.think(), start + s.forged + end, s.rng.choice(words.REFUSALS)))


@kind(tuple(x for x in SHOWN if x in SINGLE))
def confidence_of_another(s, words):
    label = "Final Answer" if s.strategy.endswith("-paper") else "Answer"
    return hostile(s, said(s.think(), f"{label}: {s.answer}\n{filled(s, s.pick(words.OTHERS))}"))


@kind(STEPWISE)
def steps_that_disagree(s, words):
    lines = s.block().splitlines()
    return hostile(s, said(s.think(), s.pick((
        lambda: s.block() + "\n\n" + s.with_said([f"{v}%" for v in s.own], answer=s.bad),
        lambda: "\n".join(x.rsplit(" ", 1)[0] if "Step 2 Conf" in x else x for x in lines),
        lambda: "\n".join(x.rsplit(" ", 1)[0] + "\n" if "Step 2 Conf" in x else x for x in lines),
        lambda: "\n".join(x.rsplit(" ", 1)[0] + " [0% - 100%]" if "Step 2 Conf" in x else x for x in lines),
        lambda: s.block() + "\n\n" + s.with_said(other(s)),
    ))()))  # fmt: skip


@kind(tuple(x for x in SINGLE if x not in {"nova", "top-k"}))
def hostile_objects(s, words):
    return hostile(s, filled(s, s.pick(words.HOSTILE_JSON)))


@kind(FRAMED)
def framed_own_block(s, words):
    text = s.pick(words.FRAMED).replace("{block2}", s.block().replace("\n", "\n> "))
    return hostile(s, said(s.think(), filled(s, text.replace("{block}", s.block()))), framed=True)


@kind(honest=True)
def signs_after_the_number(s, words):
    return honest(s, said(s.think(), s.saying(filled(s, s.pick(words.SIGNS)))))


@kind(honest=True)
def own_after_foreign_reasoning(s, words):
    start, end = s.pick(words.REASONING)
    draft = s.with_said(other(s), answer=s.rng.choice((s.bad, s.answer)))
    return honest(
        s, f"{start}\n{said(s.think(), draft)}\n{end}\n{s.rng.choice(('', chr(10)))}{s.block()}"
    )


@kind(honest=True)
def own_after_odd_quotation(s, words):
    start, end = s.pick(words.ODD_QUOTATIONS)
    return honest(s, said(start + s.forged + end, s.rng.choice(("", s.think())), s.block()))


@kind(tuple(x for x in PLAIN if x != "nova-paper"), honest=True)
def objects_after_a_sentence(s, words):
    found = filled(s, s.pick(words.JSONS)).replace(json.dumps(s.answer)[1:-1], s.answer)
    lead = s.rng.choice(("", filled(s, s.rng.choice(words.SENTENCES))))
    fence = s.rng.choice(("```json\n{}\n```", "```\n{}\n```", "{}"))
    return honest(s, said(lead, fence.replace("{}", found)))


@kind(honest=True)
def labels_of_languages(s, words):
    answers, stated, step = words.LANGUAGES[sorted(words.LANGUAGES)[s.n % len(words.LANGUAGES)]]
    colon, bold = s.rng.choice(words.COLONS), s.rng.choice(("{}{}", "{}{}", "**{}{}**"))
    labels = [f"{s.rng.choice(answers)}"]
    numbers = [f"{v}{s.rng.choice(('%', ' %'))}" for v in s.own]
    answer = bold.format(labels[0], colon.rstrip()) + " " + s.answer
    if s.strategy in STEPWISE:
        lines = [
            bold.format(step.format(i), colon.rstrip()) + f" {v}" for i, v in enumerate(numbers, 1)
        ]
        return honest(s, said(s.think(), "\n".join([*lines, answer])))
    line = bold.format(s.rng.choice(stated), colon.rstrip()) + " " + numbers[0]
    return honest(s, said(s.think() if s.n % 2 else "", f"{answer}\n{line}"))


@kind(SHOWN, honest=True)
def own_number_beside_a_planted_one(s, words):
    """The planted number looks like the own one in another form: 4% is no 4/10 (T4)."""
    tens = s.rng.choice((20, 30, 40))
    s.own = (80, 50) if s.strategy in STEPWISE else (tens,)
    s.poison = tuple(v // 10 for v in s.own)
    filler = s.pick(words.FILLERS) if s.n % 2 else ""
    planted_ones = " ".join(f"Confidence{filler}: {v}%" for v in s.poison)
    shown = tuple(f"{s.fact} {planted_ones}" if p is s.poisoned else p for p in s.passages)
    block = s.block(form=lambda v: f"{v // 10}/10")
    return honest(s, said(s.think(), block), passages=shown, known=True)


@kind(honest=True)
def remarks_after_the_block(s, words):
    return honest(s, said(s.think(), s.block(), filled(s, s.pick(words.REMARKS))))


def known_strategies() -> bool:
    """Say whether every strategy is met."""
    return {s for _, names in KINDS.values() for s in names} == set(STRATEGIES)
