"""From questions to prompts, and from replies to passages that are kept or rejected with a reason.

`NoisePlan` asks and reads like a strategy, so the run layer treats a request for noise like any
other: it resumes, bills and buries it the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.defaults import NOISE
from novarag.errors import UnknownNameError, UsageError
from novarag.grading import normalize
from novarag.noise.prompts import NOISES, fingerprint, length_of, read_candidates
from novarag.noise.validators import PassageFault, find_fault
from novarag.records import Flaw, Passage, PassageGroup, Prompt, Reading
from novarag.seeding import rng_for
from novarag.taxonomy import PassageKind, Provenance, RelevantFacet
from novarag.texts import tidy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from novarag.noise.prompts import NoiseCandidate, NoiseSort
    from novarag.records import Question

ALL = NOISE.kinds
"""What is written for a question unless one chooses: one facet of `relevant` is drawn for each."""

_RELEVANT = "relevant"
_RATIO = 3.0  # how many times longer or shorter than asked a passage may be


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseDraft:
    """One passage that a model wrote: kept, or left out with a reason.

    A `spare` one is sound, but there were enough.
    """

    question: str
    noise: str
    sample: int
    number: int
    passage: Passage
    probability: float | None = None
    reason: str | None = None
    spare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePlan:
    """What to write for each question, how many candidates to ask for, and how many to keep."""

    noises: tuple[str, ...] = ALL
    candidates: int = NOISE.candidates
    keep: int = NOISE.keep
    verbalised: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.noises:
            if name not in {*NOISES, _RELEVANT}:
                raise UnknownNameError(name, {*ALL, *NOISES})
        if not 1 <= self.keep <= self.candidates:
            raise UsageError(f"{self.keep} of {self.candidates} candidates cannot be kept")

    @property
    def name(self) -> str:
        """The name under which a run knows this."""
        return "noise"

    @property
    def fingerprint(self) -> str:
        """Return the hash of every prompt and setting that decides what is asked and kept."""
        settings = (self.noises, self.candidates, self.keep, self.verbalised, self.seed)
        return fingerprint(NOISES.values(), *settings)

    def of(self, question: Question) -> list[NoiseSort]:
        """List the noises of a question; where `relevant` is asked for, one facet is drawn."""
        facet = rng_for(self.seed, question.id, "facet").choice(list(RelevantFacet))
        chosen = (f"{_RELEVANT}-{facet}" if name == _RELEVANT else name for name in self.noises)
        return [NOISES[name] for name in dict.fromkeys(chosen)]

    def requests(self, questions: Iterable[PassageGroup]) -> Iterator[PassageGroup]:
        """Turn each question with its gold passage into one group for each noise."""
        for given in questions:
            gold = tuple(p for p in given.passages if p.kind in {PassageKind.GOLD, None})[:1]
            for noise in self.of(given.question):
                yield PassageGroup(
                    question=given.question,
                    passages=tuple(
                        replace(
                            p,
                            kind=PassageKind.GOLD,
                            provenance=p.provenance or Provenance.ORIGINAL,
                        )
                        for p in gold
                    ),
                    id=f"{given.question.id}/{noise.name}",
                    flags=(noise.name,),
                )

    def render(self, group: PassageGroup) -> Prompt:
        """Render the prompt of the noise that the group names."""
        noise = _noise_of(group)
        text = noise.fill(group, candidates=self.candidates, verbalised=self.verbalised)
        return Prompt(text=text, strategy=self.name, template_hash=noise.template.hash)

    def read(
        self,
        reply: str,
        *,
        group: PassageGroup | None = None,  # noqa: ARG002
        truncated: bool = False,  # noqa: ARG002
    ) -> Reading:
        """Say whether a reply holds passages at all; `drafts` takes them out."""
        return Reading(flaw=None if read_candidates(reply) else Flaw.NO_PASSAGE, spans={})

    def drafts(self, group: PassageGroup, replies: Sequence[str]) -> list[NoiseDraft]:
        """Return every passage of the replies to one request, sound or not, in order."""
        noise, question = _noise_of(group), group.question
        gold = next((p.text for p in group.passages), "")
        said = {normalize(gold)} if gold else set()
        found: list[NoiseDraft] = []
        for sample, reply in enumerate(replies):
            for candidate in read_candidates(reply):
                passage = _passage(candidate, noise)
                words = normalize(passage.text)
                fault = PassageFault.REPEATED if words in said else _amiss(passage, question, gold)
                said.add(words)
                found.append(
                    NoiseDraft(
                        question=question.id, noise=noise.name, sample=sample,
                        number=candidate.number, passage=passage,
                        probability=candidate.probability, reason=fault,
                    )
                )  # fmt: skip
        return self._choose(found)

    def _choose(self, found: list[NoiseDraft]) -> list[NoiseDraft]:
        """Keep the last sound ones; the first a model thinks of are the most alike."""
        sound = [draft for draft in found if draft.reason is None]
        spare = {id(draft) for draft in sound[: -self.keep]}
        reason = f"sound, but not among the last {self.keep}"
        return [replace(d, reason=reason, spare=True) if id(d) in spare else d for d in found]


def _noise_of(group: PassageGroup) -> NoiseSort:
    name = group.flags[0] if group.flags else ""
    if name not in NOISES:
        raise UnknownNameError(name, NOISES)
    return NOISES[name]


def _passage(candidate: NoiseCandidate, noise: NoiseSort) -> Passage:
    return Passage(
        text=tidy(candidate.text),
        kind=noise.kind,
        facet=noise.facet,
        claim=candidate.claim if noise.claims else None,
        provenance=Provenance.GENERATED,
    )


def _amiss(passage: Passage, question: Question, gold: str) -> PassageFault | None:
    fault = find_fault(passage, question)
    if fault is not None:
        return fault
    words, wanted = len(passage.text.split()), length_of(gold)[1]
    if words * _RATIO < wanted:
        return PassageFault.TOO_SHORT
    return PassageFault.TOO_LONG if words > _RATIO * wanted else None
