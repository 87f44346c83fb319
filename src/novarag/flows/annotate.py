"""Say what retrieved passages really are, beside a known answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from novarag.annotation import LEAST, PassageOrigin, combine_all, make_profile, with_kinds
from novarag.annotation import annotate as annotate_by_words
from novarag.annotation.similarity import group_closeness, passage_texts
from novarag.annotation.votes import JUDGING, entailment_votes, judge_note
from novarag.atomic import whole_folder
from novarag.defaults import ANNOTATE, DESK
from novarag.errors import DataError, StorageError, UnknownNameError, UsageError
from novarag.flows.encoders import open_encoder, open_entailment
from novarag.flows.events import FileWritten, Note, silent
from novarag.flows.judge import judge_passages
from novarag.flows.sync import synchronous
from novarag.report.profile import profile_notes
from novarag.runner.access import Access, check_keys, reach
from novarag.runner.sources import as_group
from novarag.texts import plain_text
from novarag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence

    from novarag.annotation import Annotation, PoolProfile, Vote
    from novarag.flows.events import EventListener
    from novarag.records import PassageGroup
    from novarag.retrieval.encoding import Encoder
    from novarag.runner.access import Model, ModelAccess
    from novarag.runner.sources import Groups
    from novarag.uncertainty.semantic import Weigh

LINES = "annotated.jsonl"
OURS = frozenset({LINES, "profile.json", "report.html", "report.md"})
_ATTEMPTS = 4  # of one request to a judge, whose vote is not worth more


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AnnotationResult:
    """What the passages of some groups are: a profile, and a verdict on each passage.

    `groups` have the kinds that were found, where the verdict was sure enough; `notes` say in
    sentences what was found; `files` were written, if a folder was given.
    """

    profile: PoolProfile
    verdicts: tuple[tuple[Annotation, ...], ...]
    groups: tuple[PassageGroup, ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...] = ()

    def __str__(self) -> str:
        """Say it in a few lines."""
        found = self.profile
        counts = f"{found.passages:,} passages, {found.groups:,} groups"
        notes = [f"- {plain_text(note, longest=1000)}" for note in self.notes]
        return "\n".join([f"{counts}, {found.questions:,} questions", *notes])

    __repr__ = __str__


async def annotate_async(
    groups: Groups,
    out: str | Path | None = None,
    *,
    min_confidence: float = LEAST,
    expect: str = "retrieved",
    judge: Model | None = None,
    structured: bool = True,
    nli: str | Weigh | None = None,
    encoder: str | Encoder | None = None,
    key_env: str | None = None,
    timeout: float = DESK.timeout,  # noqa: ASYNC109 - of one request
    replicates: int = ANNOTATE.replicates,
    seed: int = 0,
    on_event: EventListener = silent,
) -> AnnotationResult:
    """Say of each passage whether it supports, states another answer, is related or unrelated.

    Args:
        groups: Questions with known answers and their passages: a file (JSONL, Parquet, CSV), or
            `PassageGroup` objects.
        out: A folder for annotated.jsonl, profile.json and the report; None writes nothing. A
            judge's replies are kept beside it, and no reply is paid twice.
        min_confidence: Confidence from which a passage gets a kind.
        expect: "retrieved" for passages that a search returned; "planted" for passages written for
            their question, which often state another answer.
        judge: A model to ask, too: `URL=NAME` (or a list of them, for replicas), an `Endpoint`, an
            `LLM`, or a function that opens one.
        structured: Have the server hold the judge to the form of its reply.
        nli: A model of entailment: a folder, a model of the hub, "package.module:OBJECT", or a
            function of (premise, hypothesis) pairs.
        encoder: An encoder for embedding relevance, as `build_index` takes it.
        key_env: Environment variable that holds the key of the judge's or the encoder's server.
        timeout: Seconds to wait for a reply of the judge.
        replicates: Bootstrap replicates behind each interval.
        seed: Seed of the bootstrap.
        on_event: Hears `Note` and `FileWritten`.
    """
    _check(min_confidence, expect)
    held, source = _read(groups)
    place = _place(out)
    access = None if judge is None else _reach_judge(judge, key_env=key_env, timeout=timeout)
    check_keys(access, encoder=encoder, key_env=key_env)
    weigh = None if nli is None else await asyncio.to_thread(open_entailment, nli)
    near = None
    if encoder is not None:
        near = await _closeness(
            await open_encoder(encoder, key_env=key_env, on_event=on_event), held
        )
    by_words = partial(annotate_by_words, expect=PassageOrigin(expect), closeness=near)
    verdicts = await asyncio.to_thread(by_words, held)
    witnesses: list[Sequence[Sequence[Vote | None]]] = []
    notes: list[str] = []
    if weigh is not None:
        witnesses.append(await asyncio.to_thread(entailment_votes, held, verdicts, weigh))
    if access is not None:
        said = await _ask_judge(access, held, place, structured=structured, on_event=on_event)
        witnesses.append(said)
        notes.append(judge_note(said))
    verdicts = combine_all(verdicts, *witnesses)
    draw_up = partial(
        make_profile, min_confidence=min_confidence, expect=expect, replicates=replicates, seed=seed
    )
    profile = replace(await asyncio.to_thread(draw_up, held, verdicts), notes=tuple(notes))
    result = AnnotationResult(
        profile=profile,
        verdicts=tuple(verdicts),
        groups=tuple(
            with_kinds(g, row, min_confidence=min_confidence)
            for g, row in zip(held, verdicts, strict=True)
        ),
        notes=tuple(profile_notes(profile)),
    )
    return (
        result if place is None else _written(result, held, place, source=source, on_event=on_event)
    )


annotate = synchronous(annotate_async)


def _check(min_confidence: float, expect: str) -> None:
    if not 0 <= min_confidence <= 1:
        raise UsageError.saying(
            "`min_confidence` is a confidence from 0 to 1, not {:g}", min_confidence
        )
    if expect not in set(PassageOrigin):
        raise UnknownNameError(expect, PassageOrigin)


def _read(groups: Groups) -> tuple[list[PassageGroup], str]:
    """Return the groups, each with an answer to judge by, and the name of where they are from."""
    from novarag.datasets import iter_groups

    given: object = groups
    source = name = "groups"
    if isinstance(groups, (str, Path)):
        given, source, name = iter_groups(groups), str(groups), Path(groups).name
    held = []
    for number, group in enumerate(map(as_group, _several(given)), start=1):
        if not group.question.answers:
            raise DataError(
                "a passage is judged beside a known answer, and there is none.",
                hint='write ["Paris"] or "Paris".',
                source=source,
                row=number,
                column="answers",
            )
        held.append(group)
    if not held:
        raise DataError("there are no groups.", hint="give a file with rows.", source=source)
    return held, name


def _several(given: object) -> Iterable[object]:
    return given if isinstance(given, Iterable) else [given]


def _place(out: str | Path | None) -> Path | None:
    """Refuse a place that cannot be written to, before anything is asked or paid."""
    if out is None:
        return None
    place = Path(out)
    _check_free(place)
    try:
        place.absolute().parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=place.absolute().parent):
            pass
    except OSError as error:
        raise StorageError(
            f"cannot write {place}: {error.strerror or error}. Fix that and try again."
        ) from error
    return place


def _check_free(out: Path) -> None:
    """Refuse a place with anything but an earlier annotation in it."""
    if out.exists() and not out.is_dir():
        raise UsageError.saying("{} is a file; `out` takes a folder", out)
    strange = sorted(p.name for p in out.iterdir() if p.name not in OURS) if out.is_dir() else []
    if strange:
        raise UsageError.saying(
            "{} has other files in it, such as {!r}; give another `out`", out, strange[0]
        )


async def _closeness(encoder: Encoder, groups: Sequence[PassageGroup]) -> list[list[float]]:
    asked = await encoder.encode([g.question.text for g in groups], query=True)
    texts = passage_texts(groups)
    return group_closeness(groups, asked, texts, await encoder.encode(texts))


def _reach_judge(judge: Model, *, key_env: str | None, timeout: float) -> ModelAccess:
    access = reach(judge, Access(key_env=key_env, timeout=timeout, attempts=_ATTEMPTS))
    if access.simulated:
        raise UsageError(f"{access.name} answers questions and cannot judge: give URL=NAME")
    return access


async def _ask_judge(
    access: ModelAccess,
    groups: Sequence[PassageGroup],
    place: Path | None,
    *,
    structured: bool,
    on_event: EventListener,
) -> list[list[Vote | None]]:
    sampling = JUDGING if structured else replace(JUDGING, regex=None)
    with _replies(place, access.name, on_event) as replies:
        async with access.connector()() as llm:
            check = getattr(llm, "check", None)
            if check is not None:
                await check()
            return await judge_passages(groups, llm, sampling=sampling, replies=replies)


@contextmanager
def _replies(
    place: Path | None, model: str, on_event: EventListener
) -> Iterator[MutableMapping[str, str]]:
    """Keep a judge's replies in a file beside the folder, which is replaced as a whole."""
    from novarag.datasets.annotated import Votes

    if place is None:
        yield {}
        return
    folder = place.absolute()
    file = folder.with_name(f"{folder.name}.votes.jsonl")
    with closing(Votes(file, model=model)) as votes:
        if votes:
            on_event(Note(f"{len(votes):,} replies are in {file} already"))
        yield votes


def _written(
    result: AnnotationResult,
    held: Sequence[PassageGroup],
    out: Path,
    *,
    source: str,
    on_event: EventListener,
) -> AnnotationResult:
    """Write a folder that is there whole or not at all."""
    from novarag.datasets.annotated import annotated_line
    from novarag.report.profile import write_profile

    with whole_folder(out, _check_free) as draft:
        with (draft / LINES).open("wb") as lines:
            for group, row in zip(held, result.verdicts, strict=True):
                lines.write(
                    annotated_line(group, row, min_confidence=result.profile.min_confidence)
                )
        written = write_profile(result.profile, draft, source=source, version=__version__)
    files = tuple(out / name for name in (LINES, *(path.name for path in written)))
    for file in files:
        on_event(FileWritten(file))
    return replace(result, files=files)
