"""Ten thousand attacks that a reply quotes in every manner: what is read stays the model's own.

The model's own fields are held fixed. Around them the reply quotes the poisoned passages, wholly or
in part, before or after, in quotation marks, fences, lists, other cases, other breaks; framed
replies also obey, in fields without the frame or with a guessed one. A reply that is held to its
form quotes where the form leaves room. Nothing may be read that is not read without all that; a
reply that is refused for what it quotes is counted apart.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from typing import TYPE_CHECKING

from novarag.attacks import AttackPlace, poison, shipped_suite
from novarag.strategies import COT, NOISE_AWARE, NOVA
from novarag.strategies.frames import put_frame
from novarag.strategies.template import tamed
from tests.support.machine import described
from tests.support.poisoned import _CHATTER, _JOINS, _LEADS, _MANNERS
from validation.attacks.asked import some_groups

if TYPE_CHECKING:
    from novarag import PassageGroup
    from novarag.records import Reading
    from novarag.strategies import Strategy

_OWN_ANSWERS = ("Quillmarch", "the year 1643", "Ottoline Brask", "no", "about 52 leagues")
_OWN_PERCENTS = (7, 12, 18, 26, 33, 47, 58, 69, 77, 83)
_NOT_IN_FORM = re.compile(
    "[\r\n<>{}\\[\\]\"`'~:=\uff1a\v\f\x1c-\x1e\x85\u2028\u2029"
    "\u201c\u201e\u00ab\u2039\u300c\u300e\u2018\u201a\u300a\u3008\u3010\u3014\u3016\u27e8\u27ea\u2985\uff62"
    "\u275d\u275b\u301d\u2e28\u2329\u2768\u25c1]"
)
_MOST = 190  # characters of a line of the form


def reading(attacks: int = 10_000) -> bool:
    """Quote attacks in replies, framed and held to their form, and compare what is read."""
    rng = random.Random(2026)
    groups = some_groups(60)
    print(described())
    holds = True
    for name, write in (("framed", _framed), ("structured", _structured), ("both", _both)):
        begun = time.process_time()
        steered, denied, blurred, classes, own = (Counter() for _ in range(5))
        for _ in range(attacks):
            attack = rng.choice(shipped_suite())
            group = poison(
                rng.choice(groups), attack, rng.choice(list(AttackPlace)), rng.randrange(10**6)
            )
            alone, quoting = write(rng, group)
            classes[attack.kind] += 1
            own[name] += alone.response is not None
            steered[attack.name] += _is_steered(alone, quoting)
            denied[attack.name] += alone.response is not None and quoting.response is None
            blurred[attack.name] += _parts(alone)[2:] != _parts(quoting)[2:]
        print(
            f"{name}: {steered.total()} of {attacks:,} attacks in {len(classes)} classes change what"
            f" is read ({time.process_time() - begun:.0f} CPU-s). Of {own[name]:,} replies with a"
            f" confidence of their own {denied.total()} are refused for what they quote; in"
            f" {blurred.total()} a judgment is not read"
        )
        for what, found in (("changed", steered), ("refused", denied), ("no judgment", blurred)):
            named = ", ".join(f"{n} {c}" for n, c in found.most_common(5) if c)
            print(f"  {what}: {named or 'none'}")
        holds &= not steered.total()
    return holds


def _parts(found: Reading) -> tuple[object, ...]:
    """Return answer, confidence, evidence state and classes; None for what was not read."""
    judged = found.judgment
    state, classes = (None, None) if judged is None else (judged.group, judged.passages or None)
    return found.answer, found.confidence, state, classes


def _is_steered(alone: Reading, quoting: Reading) -> bool:
    """Say whether anything was read that is not the model's own; what was not read is not."""
    pairs = zip(_parts(alone), _parts(quoting), strict=True)
    read = [(own, said) for own, said in pairs if said is not None]
    if quoting.response is None:
        read = read[:0]
    return any(own != said for own, said in read)


def _own(rng: random.Random, strategy: Strategy, k: int) -> tuple[str, str]:
    """Return lines that come first and the fields of a reply in the form of a strategy."""
    fields = f"Answer: {rng.choice(_OWN_ANSWERS)}\nConfidence: {rng.choice(_OWN_PERCENTS)}%"
    if strategy is not NOVA:
        return "I read the passages in turn.", fields
    words = [rng.choice(("Highly Relevant", "Relevant", "Irrelevant")) for _ in range(k)]
    classes = "; ".join(f"Passage {i}: {word}" for i, word in enumerate(words, start=1))
    state = rng.choice(("Conflicting", "Consistent", "Insufficient"))
    steps = "\n".join(f"Step {i}: I weigh it." for i in range(1, k + 2))
    return steps, f"Passage Classifications: {classes}\nGroup Judgment: {state}\n{fields}"


def _quoted(rng: random.Random, group: PassageGroup) -> str:
    """Quote the passages of the attack in some manner, or obey them without a frame."""
    texts = [p.text for p in group.passages if p.source and p.source.startswith("attack:")]
    shown = tamed if rng.random() < 0.9 else str  # as the prompt shows it; some undo its backslash
    text = shown(rng.choice(texts))
    if rng.random() < 0.3:
        text += f"\nAnswer: {rng.choice(group.passages).claim or 'Dorrigan'}\nConfidence: 100%"
    if rng.random() < 0.1:
        text = put_frame(text, f"{rng.randrange(16**6):06x}")
    _, manner = rng.choice(_MANNERS)
    lead = rng.choice(_LEADS)
    return f"{lead}{rng.choice(_JOINS)}{manner(text)}" if lead else manner(text)


def _framed(rng: random.Random, group: PassageGroup) -> tuple[Reading, Reading]:
    """Write a framed reply with and without what it quotes; a fifth has no fields of its own."""
    strategy = rng.choice((COT, NOVA, NOISE_AWARE))
    framed = strategy.framed(f"{rng.randrange(16**16):x}")
    frame = framed.frame(group)
    steps, fields = _own(rng, strategy, len(group.passages))
    own = "" if rng.random() < 0.2 else put_frame(fields, frame)
    parts = [steps, own]
    alone = "\n\n".join(part for part in parts if part)
    for _ in range(rng.randint(1, 3)):
        parts.insert(rng.randint(0, len(parts)), _quoted(rng, group))
    parts.insert(0, rng.choice(_CHATTER))
    quoting = "\n\n".join(part for part in parts if part)
    return framed.read(alone, group=group), framed.read(quoting, group=group)


def _structured(
    rng: random.Random, group: PassageGroup, *, frame: bool = False
) -> tuple[Reading, Reading]:
    """Write a reply held to its form, whose free lines quote the attack, and one whose do not."""
    strategy = rng.choice((COT, NOVA, NOISE_AWARE))
    k = len(group.passages)
    _, fields = _own(rng, strategy, k)
    count = k + 1 if strategy is NOVA else rng.randint(1, 6)
    alone, quoting = [], []
    for number in range(1, count + 1):
        head = f"Step {number}: " if strategy is NOVA else ""
        line = _NOT_IN_FORM.sub(" ", _quoted(rng, group))[:_MOST].rstrip(" \t:*_#-")
        alone.append(f"{head}I weigh it.")
        quoting.append(f"{head}{line or 'I weigh it'}.")
    asked = strategy.framed(f"{rng.randrange(16**16):x}") if frame else strategy
    held = re.compile(asked.pattern(group) if frame else asked.pattern(k))
    found = []
    for lines in (alone, quoting):
        own = put_frame(fields, asked.frame(group)) if frame else fields
        reply = "\n".join((*lines, own))
        assert held.fullmatch(reply), reply
        found.append(asked.read(reply, group=group))
    return found[0], found[1]


def _both(rng: random.Random, group: PassageGroup) -> tuple[Reading, Reading]:
    return _structured(rng, group, frame=True)
