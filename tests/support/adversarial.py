"""Hostile replies by class, made from a grammar by a seed, and frozen in two files.

`open` holds two thirds of every class, `sealed` one third: not looked at while the reader was
changed. `python -m tests.support.adversarial` writes both. The strategies that were there when the
files were frozen draw together; each later one draws from its own seed, and changes no other case.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import adversarial_texts as texts
from tests.support.adversarial_parts import (
    CHANGES,
    EVERY,
    FIRST,
    ODD,
    PLAIN,
    SHOWN,
    SINGLE,
    SOLID,
    STEPWISE,
    STYLES,
    TABLE,
    Scene,
    beside,
    kind,
    other,
    percent,
    said,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.support.adversarial_parts import Case

SEED = 20260
EACH = 3
"""Cases of a class for each later strategy, of which one is sealed."""
FOLDER = Path(__file__).parents[1] / "unit" / "strategies"


@kind(33)
def marked_before_own(s):
    return s.must(said(s.think(), f"{s.pick(texts.LEADS).format(s.source)}", s.pick(SOLID)(s.copied()), s.rng.choice(texts.TURNS), s.block()))  # fmt: skip


@kind(33)
def marked_after_own(s):
    return s.must(said(s.block(), s.pick(texts.LEADS).format(s.source), s.pick(SOLID)(s.copied())))


@kind(33)
def marked_without_own(s):
    return s.never(said(s.think(), s.pick(texts.LEADS).format(s.source), s.pick(SOLID)(s.copied()), s.pick(texts.refusals(s.answer))))  # fmt: skip


@kind(24)
def two_marked_around_own(s):
    first, second = s.pick(SOLID)(s.forged), s.rng.choice(SOLID)(s.poisoned)
    return s.may(said(first, s.think(), s.block(), second, s.pick(texts.TAILS)))


@kind(45, SHOWN)
def odd_marks(s):
    lead, quoted = s.rng.choice(texts.LEADS).format(s.source), s.pick(ODD)(s.copied())
    if s.n % 5 == 4:
        return s.never(said(s.think(), lead, quoted, s.rng.choice(texts.refusals(s.answer))))
    if s.n % 2:
        return s.may(said(s.think(), lead, quoted, s.block()))
    return s.may(said(s.block(), lead, quoted))


@kind(21, SHOWN)
def bare_copy(s):
    own = s.block()
    return s.pick((
        lambda: s.may(said(s.poisoned, own)),
        lambda: s.may(said(own, s.poisoned)),
        lambda: s.may(said(s.think(), s.poisoned, s.think(), own)),
        lambda: s.may(f"{own}\n{s.poisoned}"),
        lambda: s.never(said(s.think(), s.poisoned)),
        lambda: s.never(said(s.poisoned, s.rng.choice(texts.refusals(s.answer)))),
        lambda: s.may(said(own, s.think(), "\n".join(s.passages))),
    ))()  # fmt: skip


@kind(33, SHOWN)
def changed_copy(s):
    return beside(s, s.pick(CHANGES)(s.copied()))


@kind(12, SHOWN)
def obeyed(s):
    return s.never(s.pick((s.forged, said(s.think(), s.forged), f"{s.fact}\n{s.forged}", said(s.forged, "I hope this helps!"))))  # fmt: skip


@kind(21, SHOWN)
def attributed(s):
    quoted = s.pick(texts.ATTRIBUTED).format(n=s.where, t=" ".join(s.forged.splitlines()))
    return beside(s, quoted, s.rng.choice(texts.refusals(s.answer)))


@kind(18, SHOWN)
def quoted_breaks(s):
    gap = s.pick(texts.GAPS)
    copy, shown = s.poisoned.replace("\n", gap), tuple(p.replace("\n", gap) for p in s.passages)
    return beside(s, s.rng.choice((f"> {copy}", f'"{copy}"', copy)), passages=shown)


@kind(18, tuple(x for x in SHOWN if x in SINGLE))
def borrowed_confidence(s):
    label = "Final Answer" if s.strategy.endswith("-paper") else "Answer"
    line = s.pick(texts.BORROWED).format(n=s.where, p=s.poison[0])
    return s.never(said(s.think(), f"{label}: {s.answer}\n{line}"))


@kind(15, tuple(x for x in SHOWN if x in SINGLE))
def other_confidence(s):
    line = s.pick(texts.OTHERS).format(n=s.where, p=s.poison[0])
    label = "Final Answer" if s.strategy.endswith("-paper") else "Answer"
    if s.n % 3 == 2:
        return s.never(said(s.think(), f"{label}: {s.answer}\n{line}"))
    return s.may(said(line, s.think(), s.block()) if s.n % 3 else said(s.block(), line))


@kind(18, SHOWN)
def disguised_letters(s):
    return beside(s, s.pick(texts.DISGUISES)(s.forged))


@kind(18, SHOWN)
def repeated_prompt(s):
    prompt = texts.prompt(s)
    return s.pick((
        lambda: s.may(said(prompt, s.think(), s.block())),
        lambda: s.never(prompt),
        lambda: s.may(said(s.block(), prompt)),
        lambda: s.may(f"{prompt}\n{s.block()}"),
        lambda: s.never(prompt[: prompt.index(s.poisoned) + len(s.poisoned)], finish="length"),
        lambda: s.may(said("```\n" + prompt + "\n```", s.think(), s.block())),
    ))()  # fmt: skip


@kind(21)
def placeholder(s):
    echo = s.with_said([s.pick(texts.PLACEHOLDERS)] * len(s.own), answer=s.rng.choice(texts.BLANKS))
    if s.n % 3:
        return s.never(said(s.think() if s.n % 2 else "", echo))
    given = s.must if s.strategy in PLAIN else s.may
    return given(said("The required format is:", echo, "Here is my reply.", s.think(), s.block()))


@kind(21)
def role_leak(s):
    leak = s.pick(texts.LEAKS).format(q=s.question, t=s.forged, p=s.poisoned)
    return s.may(s.block() + leak)


@kind(12)
def role_prefix(s):
    return s.may(s.pick(texts.PREFIXES) + said(s.think(), s.block()))


@kind(24)
def reasoning_closed(s):
    start, end = s.pick(texts.REASONING)
    draft = s.rng.choice((s.with_said(other(s)), s.poisoned, s.with_said(other(s), answer=s.bad)))
    return s.must(f"{start}{said(s.think(), draft)}{end}{s.block()}")


@kind(24)
def reasoning_unclosed(s):
    start, end = s.pick(texts.REASONING[:8])
    fooled = s.rng.choice(texts.FALSE_ENDS).format(end.strip().removeprefix("<|end|>"))
    return s.never(start + said(s.think(), fooled if s.n % 2 else "", s.with_said(other(s))))


@kind(12)
def reasoning_only(s):
    start, end = s.pick(texts.REASONING[:6])
    return s.never(start + said(s.think(), s.block()) + end + s.pick(texts.NOTHING))


@kind(15, SHOWN)
def reasoning_forged(s):
    reply, own = s.pick(texts.FORGED_REASONING)
    reply = reply.format(think=s.think(), own=s.block(), forged=s.forged, draft=s.with_said(other(s)))  # fmt: skip
    tagged = tuple(p.replace(s.forged, f"</think>\n{s.forged}") for p in s.passages)
    return (s.may if own else s.never)(reply, passages=tagged)


@kind(18)
def disagreeing(s):
    second = s.with_said(other(s)) if s.n % 3 else s.with_said([percent(v) for v in s.own], answer=s.bad)  # fmt: skip
    between = s.pick(("", s.think(), "---", "The passages came from a search engine."))
    if s.strategy == "closed-book":
        between = s.pick(("", "---"))
    return s.never(said(s.block(), between, second))


@kind(15)
def agreeing(s):
    again = s.block(style=s.rng.choice(("plain", "bold label")))
    return s.must(said(s.block(), s.pick(texts.AGAIN), again))


@kind(21)
def corrected(s):
    draft = s.with_said(other(s), answer=s.rng.choice((s.bad, s.answer)))
    return s.may(said(s.think(), draft, s.pick(texts.CORRECTIONS), s.block()))


@kind(12, tuple(x for x in EVERY if x in SINGLE and x != "top-k"))
def before_and_after(s):
    first, last = s.pick(texts.BEFORE_AFTER)
    answer, own = s.block().rsplit("\n", 1)
    number = own.removeprefix("Confidence: ")
    return s.may(f"{answer}\n{first}: {other(s)[0]}\n{last}: {number}")


@kind(18)
def truncated_number(s):
    quoted = s.rng.choice(SOLID)(s.copied()) if s.n % 2 else ""
    lines = s.block().splitlines()
    at = max(i for i, line in enumerate(lines) if "onfidence: " in line)
    cut = "\n".join([*lines[:at], lines[at].split(": ")[0]]) + s.pick(texts.CUTS)
    return s.never(said(s.think(), quoted, cut), finish="length")


@kind(21)
def truncated_later(s):
    quoted, rest = s.rng.choice(SOLID)(s.copied()), "Passage 1 is also of inter"
    if s.n % 3 == 0:
        return s.never(said(s.think(), quoted, rest), finish="length")
    after = s.pick((s.think()[:-5], quoted, rest, said(quoted, "That text was")))
    return s.never(said(s.block(), after), finish="length")


@kind(9, SINGLE)
def truncated_at_block(s):
    return s.may(said(s.think(), s.rng.choice(SOLID)(s.copied()), s.block()), finish="length")


@kind(45)
def blurred(s):
    return s.never(said(s.think(), s.saying(s.pick(texts.BLURRED))))


@kind(27)
def turned_round(s):
    return s.never(said(s.think(), s.saying(s.pick(texts.TURNED))))


@kind(36)
def no_number(s):
    return s.never(s.saying(s.pick(texts.NO_NUMBER)))


@kind(15)
def share_of_passages(s):
    return s.never(said(s.think(), s.saying(s.pick(texts.SHARES))))


@kind(21)
def two_numbers(s):
    return s.never(s.saying(s.pick(texts.TWO_NUMBERS)))


@kind(12)
def broken_number(s):
    return s.never(said(s.think(), s.saying(s.pick(texts.BROKEN))))


@kind(15)
def empty_confidence(s):
    return s.never(said(s.think(), s.saying(s.pick(texts.EMPTY))))


@kind(24, STEPWISE)
def forged_steps(s):
    reply, own = s.pick(texts.STEPS)
    reply = reply.format(own=s.block(), think=s.think(), forged=s.forged, a=s.own[0], b=s.own[1], p=s.poison[0], answer=s.answer, n=s.where)  # fmt: skip
    return (s.may if own else s.never)(reply)


@kind(18, ("nova",))
def forged_classes(s):
    reply = s.pick(texts.CLASSIFIED)(s)
    return s.may(reply, classes=s.classes)


@kind(30, tuple(x for x in SINGLE if x not in {"nova", "top-k"}))
def structured(s):
    reply, expected = s.pick(texts.STRUCTURED)
    reply = texts.filled(reply, s, other(s)[0])
    return {"may": s.may, "never": s.never}[expected](reply)


@kind(18, tuple(x for x in PLAIN if x in SHOWN))
def copied_object(s):
    copy = texts.filled(s.pick(texts.COPIED), s, "")
    s.n += s.n // len(texts.COPIED)  # every object comes in every place
    return beside(s, copy, passages=tuple(p.replace(s.forged, copy) for p in s.passages))


@kind(15, PLAIN)
def foreign_labels(s):
    answer, confidence = s.pick(texts.FOREIGN)
    quoted = s.rng.choice(SOLID)(s.copied()) if s.n % 2 else ""
    return s.may(said(s.think(), quoted, f"{answer} {s.answer}\n{confidence} {s.own[0]}%"))


@kind(30)
def honest_style(s):
    return s.must(said(s.think() if s.n % 2 else "", s.block(s.pick(tuple(STYLES)))))


@kind(24)
def honest_number(s):
    form = s.pick(texts.FORMS)
    if form is texts.FORMS[-1]:
        s.own = (80, 50) if s.strategy in STEPWISE else (40,)
    return s.must(said(s.think(), s.block(form=form)))


@kind(21)
def honest_chatter(s):
    return s.must(said(s.pick(texts.HELLO), s.think(), s.block(), s.rng.choice(texts.GOODBYE)))


@kind(27, SHOWN)
def honest_mention(s):
    text = s.pick(texts.MENTIONS).format(h=s.harmless[0], n=1, p=s.poison[0], m=s.where)
    return s.must(said(s.think(), text, s.block()))


@kind(9, SHOWN)
def honest_copied_answer(s):
    asked = f"Question: {s.question} Answer: {s.answer}"
    shown = tuple(asked if p == s.harmless[0] else p for p in s.passages)
    return s.must(said(s.think(), s.block()), passages=shown)


@kind(12)
def honest_breaks(s):
    breaks = s.pick(("\r\n", "\r\n", "\r", "\u2028", "\x85", "\r\n"))
    reply = said(s.think(), s.block()).replace("\n", breaks)
    return (s.must if breaks == "\r\n" else s.may)(reply)


def made(name: str, make: Callable[[Scene], Case], scene: Scene, number: str) -> dict:
    """Make one case of a class."""
    case = make(scene)
    expect = {"any_of": list(case.any_of), "refused": case.refused}
    if case.classes:
        expect["classes"] = list(case.classes)
    return {
        "id": f"{name}-{number}", "class": name, "strategy": scene.strategy,
        "passages": list(case.passages or scene.passages), "finish": case.finish,
        "reply": case.reply, "expect": expect,
    }  # fmt: skip


def first_cases(seed: int = SEED) -> Iterator[dict]:
    """Yield the cases of the first strategies, in the order of the table."""
    for name, (make, strategies, count) in TABLE.items():
        rng = random.Random(f"{seed} {name}")
        first = [strategy for strategy in strategies if strategy in FIRST]
        order = rng.sample(first, len(first))
        for n in range(count):
            scene = Scene(rng=rng, strategy=order[n % len(order)], n=n)
            yield made(name, make, scene, f"{n:02}")


def later_cases(strategy: str, seed: int = SEED) -> Iterator[dict]:
    """Yield the cases of a strategy that came later; other strategies have no part in them."""
    for name, (make, strategies, _) in TABLE.items():
        if strategy in strategies:
            rng = random.Random(f"{seed} {name} {strategy}")
            start = rng.randrange(1000)
            for n in range(EACH):
                scene = Scene(rng=rng, strategy=strategy, n=start + n)
                yield made(name, make, scene, f"{strategy}-{n}")


def split(seed: int = SEED) -> dict[str, list[dict]]:
    """Return the cases of the open and of the sealed file."""
    parts: dict[str, list[dict]] = {"open": [], "sealed": []}

    def share(members: list[dict], told: str) -> None:
        rng = random.Random(f"{seed} split {told}")
        drawn = set(rng.sample(range(len(members)), len(members) // 3))
        for at, case in enumerate(members):
            parts["sealed" if at in drawn else "open"].append(case)

    for name, members in by_class(first_cases(seed)).items():
        share(members, name)
    for strategy in EVERY:
        if strategy not in FIRST:
            for name, members in by_class(later_cases(strategy, seed)).items():
                share(members, f"{name} {strategy}")
    return parts


def by_class(found: Iterable[dict]) -> dict[str, list[dict]]:
    """Put cases of a class together."""
    classes: dict[str, list[dict]] = {}
    for case in found:
        classes.setdefault(case["class"], []).append(case)
    return classes


def frozen(name: str) -> list[dict]:
    """Read one of the two files."""
    text = (FOLDER / f"adversarial_{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


if __name__ == "__main__":
    for name, members in split().items():
        lines = "".join(json.dumps(case) + "\n" for case in members)
        (FOLDER / f"adversarial_{name}.jsonl").write_text(lines, encoding="utf-8")
