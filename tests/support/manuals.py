"""Made-up manuals of made-up machines: facts with units, dates and names, some of them stale.

Every manual states four facts. Of a share of the facts an older manual is about, which says the
same in nearly the same words with another value: its unit, its month or its first name may stay.
Beside them stand what is no contradiction: paraphrases, the same value written otherwise, the same
sentence about a sister model, other passages on the machine, and passages on nothing of the kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.records import Passage, PassageGroup, Question
from novarag.seeding import rng_for
from novarag.taxonomy import PassageKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

STALE = 0.15
"""The share of facts that an older manual states otherwise."""

FACTS, ASKED = 4, 2
_SYLLABLES = [
    "bar", "cor", "dal", "fen", "gir", "hol", "jas", "kel", "lor", "mun", "nev", "pol", "quin",
    "ras", "sol", "tar", "ulm", "vek", "wol", "zan",
]  # fmt: skip
_MACHINES = [
    "pump", "compressor", "conveyor", "mixer", "dryer", "lathe", "press", "boiler", "crane",
    "chiller",
]  # fmt: skip
_FIRST = [
    "Maria", "Jonas", "Elena", "Peter", "Amira", "Victor", "Ingrid", "Samuel", "Petra", "Oskar",
    "Lidia", "Hugo",
]  # fmt: skip
_LAST = [
    "Keller", "Huber", "Brandt", "Novak", "Silva", "Petrov", "Larsen", "Okafor", "Weiss", "Moreau",
    "Castell", "Dorn", "Falk", "Grieg",
]  # fmt: skip
_TOWNS = [
    "Aldenau", "Birkfeld", "Cramlin", "Dorsten", "Elmshorn", "Farnworth", "Goslar", "Hexham",
    "Ibbenbach", "Jarrow",
]  # fmt: skip
_MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class FactKind:
    """A kind of fact: how it is asked for, said in a manual and said otherwise."""

    name: str
    value: str
    asked: str
    said: tuple[str, ...]
    otherwise: str
    unit: str = ""
    long_unit: str = ""
    about: tuple[int, int] = (0, 0)


KINDS = (
    FactKind("weight", "unit", "How much does the {m} weigh?",
        ("The {m} weighs {v} without its base frame.",
         "Without accessories the {m} weighs {v}, as measured at delivery."),
        "Lift the {m} with a crane only: it weighs {v}.", "kg", "kilograms", (40, 900)),
    FactKind("pressure", "unit", "What is the maximum operating pressure of the {m}?",
        ("The maximum operating pressure of the {m} is {v} at the outlet.",
         "Do not exceed {v}, the maximum operating pressure of the {m}."),
        "Operating pressure of the {m}: at maximum {v}.", "bar", "bar", (3, 90)),
    FactKind("service", "unit", "After how many hours must the {m} be serviced?",
        ("The {m} must be serviced after {v} of operation.",
         "Every {v} of operation the {m} must be serviced by trained staff."),
        "Have the {m} serviced: it must be after {v} of running.", "hours", "h", (200, 9000)),
    FactKind("voltage", "unit", "What supply voltage does the {m} need?",
        ("The {m} needs a supply voltage of {v} on all phases.",
         "Connect the {m} to a supply voltage of {v} only, which it needs to start."),
        "Supply: the voltage that the {m} needs is {v}.", "V", "volts", (24, 690)),
    FactKind("certified", "date", "On what date was the {m} certified?",
        ("The {m} was certified on {v} by the testing office.",
         "By the testing office the {m} was certified on {v}."),
        "The certificate: the {m} was certified on this date, {v}."),
    FactKind("released", "date", "When was the {m} first delivered to customers?",
        ("The {m} was first delivered to customers on {v} after two years of trials.",
         "On {v} the {m} was first delivered to customers in the region."),
        "To its first customers the {m} was delivered {v}."),
    FactKind("engineer", "person", "Who is the responsible engineer of the {m}?",
        ("The responsible engineer of the {m} is {v}, who answers technical questions.",
         "Technical questions go to {v}, the responsible engineer of the {m}."),
        "As responsible engineer, {v} looks after the {m}."),
    FactKind("approved", "person", "Who approved the safety concept of the {m}?",
        ("The safety concept of the {m} was approved by {v} before the series began.",
         "Before the series began, {v} approved the safety concept of the {m}."),
        "Approval: {v} approved the safety concept for the {m}."),
    FactKind("plant", "town", "In which plant is the {m} assembled?",
        ("The {m} is assembled in the plant {v} from parts of three suppliers.",
         "From parts of three suppliers the {m} is assembled in the plant {v}."),
        "{v} is the plant in which the {m} is assembled."),
)  # fmt: skip

_FILLER = (
    "Keep this sheet beside the machine.",
    "Read the chapter on safety before you open a cover.",
    "Wear gloves while you work on warm parts.",
    "Spare parts are listed in the annex.",
    "Report every fault to the shift leader.",
)
_ELSEWHERE = (
    "The market hall opens at seven and sells fruit, bread and flowers from the valley.",
    "A choir of forty voices sang in the old church on the first evening of the festival.",
    "The river froze over in that winter, and boats lay in the harbour until spring.",
    "Bees prefer the slopes in the south, where thyme and heather grow between the stones.",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a machine, with the template that its manual says it by."""

    kind: FactKind
    machine: str
    value: str
    template: int

    def said(self, value: str | None = None, machine: str | None = None) -> str:
        """Say the fact as its manual does, with another value or of another machine if told."""
        return self.kind.said[self.template].format(
            m=machine or self.machine, v=value or self.value
        )


def _value(kind: FactKind, rng: Random) -> str:
    if kind.value == "unit":
        return f"{rng.randint(*kind.about)} {kind.unit}"
    if kind.value == "date":
        return f"{rng.randint(1, 28)} {rng.choice(_MONTHS)} {rng.randint(2005, 2024)}"
    if kind.value == "person":
        return f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
    return rng.choice(_TOWNS)


def stale_value(fact: Fact, rng: Random) -> str:
    """Draw another value that keeps the unit, one or two parts of the date, or one name."""
    while True:
        other = _value(fact.kind, rng)
        if fact.kind.value in {"date", "person"}:
            old, new = fact.value.split(), other.split()
            changed = rng.sample(range(len(old)), rng.randint(1, len(old) - 1))
            other = " ".join(new[i] if i in changed else old[i] for i in range(len(old)))
            if any(new[i] == old[i] for i in changed):
                continue
        if other != fact.value:
            return other


def same_value(fact: Fact) -> str:
    """Write the value in another way."""
    if fact.kind.value == "unit":
        return f"{fact.value.split()[0]} {fact.kind.long_unit}"
    if fact.kind.value == "date":
        day, month, year = fact.value.split()
        return f"{month} {day}, {year}"
    if fact.kind.value == "person":
        first, last = fact.value.split()
        return f"{first[0]}. {last}"
    return fact.value


class Manual:
    """A machine with its facts, and what its manual says."""

    def __init__(self, number: int, seed: int) -> None:
        self.rng = rng_for(seed, "manuals", str(number))
        name = "".join(self.rng.sample(_SYLLABLES, 3)).capitalize()
        self.size = 100 + 20 * self.rng.randint(0, 40)
        self.noun = self.rng.choice(_MACHINES)
        self.machine = f"{self.noun} {name} {self.size}"
        self.sister = f"{self.noun} {name} {self.size + 20}"
        kinds = self.rng.sample(KINDS, FACTS)
        self.facts = [
            Fact(kind, self.machine, _value(kind, self.rng), self.rng.randrange(len(kind.said)))
            for kind in kinds
        ]
        self.titled = self.rng.random() < 0.5
        self.terse = self.titled and self.rng.random() < 0.4

    def page(self, edition: int, changed: dict[int, str] | None = None) -> str:
        """Write a page of the manual; `changed` has other values by the number of the fact."""
        values = changed or {}
        called = "machine" if self.terse else None  # the title names it
        said = [fact.said(values.get(i), called) for i, fact in enumerate(self.facts)]
        filler = self.rng.sample(_FILLER, 2)
        lines = [filler[0], *said, filler[1]] if self.rng.random() < 0.5 else [*said, *filler]
        title = f"{self.machine[0].upper()}{self.machine[1:]} manual"
        if self.titled:
            return f"{title}, revision {edition}\n" + " ".join(lines)
        return " ".join(lines)


def _light_edit(text: str, rng: Random) -> str:
    """Change a word or two that say nothing of the fact."""
    swaps = (("must be", "has to be"), ("only", "alone"), ("by trained staff", "by qualified staff"),
             ("at the outlet", "at the outlet port"), ("after two years", "after some years"))  # fmt: skip
    for old, new in rng.sample(swaps, 2):
        text = text.replace(old, new)
    return text


def _group(manual: Manual, at: int, others: list[Manual], *, reworded: bool) -> PassageGroup:
    """Put together what a search for one fact might return."""
    rng, fact = manual.rng, manual.facts[at]
    made = [Passage(text=manual.page(4), kind=PassageKind.GOLD)]
    if rng.random() < STALE:
        old = stale_value(fact, rng)
        text = manual.page(3, {at: old})
        if reworded:
            new = fact.kind.otherwise.format(m=fact.machine, v=old)
            text = text.replace(fact.said(old, "machine" if manual.terse else None), new)
        text = _light_edit(text, rng) if rng.random() < 0.3 else text
        made.append(Passage(text=text, kind=PassageKind.COUNTERFACTUAL, claim=old))
    if rng.random() < 0.4:
        text = f"{fact.kind.otherwise.format(m=fact.machine, v=fact.value)} {rng.choice(_FILLER)}"
        made.append(Passage(text=text, kind=PassageKind.GOLD))
    if rng.random() < 0.3:
        text = manual.page(3, {at: same_value(fact)})
        made.append(Passage(text=text, kind=PassageKind.GOLD))
    if rng.random() < 0.4:
        text = fact.said(_value(fact.kind, rng), manual.sister) + " " + rng.choice(_FILLER)
        made.append(Passage(text=text, kind=PassageKind.IRRELEVANT))
    rest = [f.said() for i, f in enumerate(manual.facts) if i != at]
    made.append(Passage(text=" ".join(rest), kind=PassageKind.RELEVANT))
    made.append(Passage(text=rng.choice(others).page(4), kind=PassageKind.IRRELEVANT))
    made.append(Passage(text=rng.choice(_ELSEWHERE), kind=PassageKind.IRRELEVANT))
    rng.shuffle(made)
    asked = fact.kind.asked.format(m=fact.machine)
    name = f"{fact.machine}: {fact.kind.name}"
    question = Question(id=name, text=asked, answers=(fact.value,))
    return PassageGroup(id=name, question=question, passages=tuple(made))


def made_up_groups(
    manuals: int = 450, *, seed: int = 0, reworded: bool = False
) -> Iterator[PassageGroup]:
    """Yield groups with the kinds of their passages: of each manual, two facts are asked for.

    `reworded` has older manuals say the fact in other words, which sentences alike do not show.
    """
    held = [Manual(number, seed) for number in range(manuals)]
    for number, manual in enumerate(held):
        others = [held[(number + step) % manuals] for step in (1, 2, 3)]
        for at in range(ASKED):
            yield _group(manual, at, others, reworded=reworded)
