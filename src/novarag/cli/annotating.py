"""The verb that says what retrieved passages really are."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from novarag import __version__
from novarag.atomic import whole_folder
from novarag.cli.models import KeyEnv, Timeout, connector, model_name
from novarag.cli.options import EntailmentSpec, import_from_here
from novarag.errors import DataError, StorageError, UsageError
from novarag.flows.encoders import open_encoder, open_entailment
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.annotation import Annotation, Profile, Vote
    from novarag.records import PassageGroup
    from novarag.uncertainty.semantic import Weigh

_BATCH = 256  # pairs an entailment model is handed at once
LINES = "annotated.jsonl"
OURS = frozenset({LINES, "profile.json", "report.html", "report.md"})


def annotate(
    groups: Annotated[
        Path,
        typer.Argument(
            help="Questions with known answers and their passages: JSONL, Parquet or CSV."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for annotated.jsonl, profile.json and the report.")
    ],
    least: Annotated[
        float,
        typer.Option(min=0, max=1, help="Confidence from which a passage gets a kind."),
    ] = 0.6,
    expect: Annotated[
        Literal["retrieved", "planted"],
        typer.Option(
            help="What to expect: passages a search returned, or passages written for their"
            " question, which often state another answer."
        ),
    ] = "retrieved",
    judge: Annotated[
        list[str] | None,
        typer.Option(help="URL=NAME of a model to ask too; repeat it for replicas."),
    ] = None,
    structured: Annotated[
        bool,
        typer.Option(help="Have the server hold the judge to the form of its reply."),
    ] = True,
    nli: EntailmentSpec = None,
    encoder: Annotated[
        str | None, typer.Option(help="Encoder for embedding relevance, as for `novarag index`.")
    ] = None,
    key_env: KeyEnv = None,
    timeout: Timeout = 120.0,
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """Say what each passage is, supports / states another answer / related / unrelated, and why."""
    from novarag.annotation import Expect, make_profile
    from novarag.annotation import annotate as annotated
    from novarag.datasets.annotated import annotated_line
    from novarag.report.profile import profile_notes, write_profile

    import_from_here()
    held = _read(groups)
    _check_place(out)
    asker = _judge(judge, key_env, timeout, structured=structured) if judge else None
    weigh = open_entailment(nli) if nli else None
    near = asyncio.run(_closeness(encoder, held, key_env=key_env)) if encoder else None
    verdicts = annotated(held, expect=Expect(expect), closeness=near)
    notes: list[str] = []
    votes: list[list[list[Vote]]] = [[[] for _ in g.passages] for g in held]
    if weigh is not None:
        _add_entailment(held, verdicts, weigh, votes)
    if asker is not None:
        notes.append(_add_judge(asyncio.run(asker(held, _votes_beside(out))), votes))
    verdicts = _combined(verdicts, votes)
    profile = make_profile(
        held, verdicts, least=least, expect=expect, replicates=replicates, seed=seed
    )
    profile = replace(profile, notes=tuple(notes))
    with whole_folder(out, _check_free) as draft:
        with (draft / LINES).open("wb") as lines:
            for group, row in zip(held, verdicts, strict=True):
                lines.write(annotated_line(group, row, least=least))
        written = write_profile(profile, draft, source=groups.name, version=__version__)
    for name in (LINES, *(path.name for path in written)):
        print(f"wrote {out / name}", file=sys.stderr)
    _tell(profile, profile_notes(profile))


def _read(path: Path) -> list[PassageGroup]:
    from novarag.datasets import iter_groups

    held = []
    for number, group in enumerate(iter_groups(path), start=1):
        if not group.question.answers:
            raise DataError(
                "a passage is judged beside a known answer, and there is none.",
                mend='write ["Paris"] or "Paris".',
                source=str(path),
                row=number,
                column="answers",
            )
        held.append(group)
    if not held:
        raise DataError("there are no groups.", mend="give a file with rows.", source=str(path))
    return held


def _check_place(out: Path) -> None:
    """Refuse a place that cannot be written to, before anything is asked or paid."""
    _check_free(out)
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out.absolute().parent):
            pass
    except OSError as error:
        raise StorageError(
            f"cannot write {out}: {error.strerror or error}. Mend that and try again."
        ) from error


def _check_free(out: Path) -> None:
    """Refuse a place with anything but an earlier annotation in it."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out takes a folder")
    strange = sorted(p.name for p in out.iterdir() if p.name not in OURS) if out.is_dir() else []
    if strange:
        raise UsageError(f"{out} has other files in it, such as {strange[0]!r}; give another --out")


def _votes_beside(out: Path) -> Path:
    """Name the file of a judge's replies: beside the folder, which is replaced as a whole."""
    place = out.absolute()
    return place.with_name(f"{place.name}.votes.jsonl")


def _tell(profile: Profile, notes: Sequence[str]) -> None:
    print(
        f"{profile.passages:,} passages, {profile.groups:,} groups, {profile.questions:,} questions"
    )
    for line in notes:
        print(f"- {plain_text(line, longest=1000)}")


def _combined(
    verdicts: Sequence[Sequence[Annotation]], votes: Sequence[Sequence[list[Vote]]]
) -> list[tuple[Annotation, ...]]:
    from novarag.annotation import combine

    return [
        tuple(combine(a, v) for a, v in zip(row, cast, strict=True))
        for row, cast in zip(verdicts, votes, strict=True)
    ]


def _judge(models: list[str], key_env: str | None, timeout: float, *, structured: bool) -> Any:  # noqa: ANN401 - an async function
    from novarag.datasets.votes import Votes
    from novarag.flows.in_memory import JUDGING
    from novarag.flows.in_memory import judge as judged
    from novarag.llm import Patience

    connect = connector(models, key_env, Patience(timeout=timeout, attempts=4))
    sampling = JUDGING if structured else replace(JUDGING, regex=None)

    async def ask(groups: list[PassageGroup], place: Path) -> list[list[Vote | None]]:
        with closing(Votes(place, model=model_name(models))) as replies:
            if replies:
                print(f"{len(replies):,} replies are in {place} already", file=sys.stderr)
            async with connect() as llm:
                await llm.check()
                return await judged(groups, llm, sampling=sampling, replies=replies)

    return ask


def _add_judge(said: list[list[Vote | None]], votes: list[list[list[Vote]]]) -> str:
    unread = 0
    for row, cast in zip(said, votes, strict=True):
        for vote, places in zip(row, cast, strict=True):
            if vote is None:
                unread += 1
            else:
                places.append(vote)
    total = sum(len(row) for row in said)
    return (
        f"A judge was asked about {total:,} passages; {unread:,} replies failed or could not be"
        " read, and the words' verdict stands there."
    )


def _add_entailment(
    groups: Sequence[PassageGroup],
    verdicts: Sequence[Sequence[Annotation]],
    weigh: Weigh,
    votes: list[list[list[Vote]]],
) -> None:
    from novarag.annotation.judging import hypothesis, nli_vote
    from novarag.uncertainty.semantic import weighed

    places = [(n, i) for n, g in enumerate(groups) for i in range(len(g.passages))]
    for start in range(0, len(places), _BATCH):
        part = places[start : start + _BATCH]
        pairs = [(groups[n].passages[i].text, hypothesis(groups[n].question)) for n, i in part]
        for (n, i), row in zip(part, weighed(weigh, pairs), strict=True):
            votes[n][i].append(nli_vote(row, verdicts[n][i].chances))


async def _closeness(
    spec: str, groups: Sequence[PassageGroup], *, key_env: str | None
) -> list[list[float]]:
    from novarag.annotation.nearness import closeness

    found = await open_encoder(spec, key_env=key_env)
    asked = await found.encode([g.question.text for g in groups], query=True)
    texts = list(dict.fromkeys(p.text for g in groups for p in g.passages))
    vectors = await found.encode(texts)
    at = {text: i for i, text in enumerate(texts)}
    return closeness(
        asked,
        [vectors[[at[p.text] for p in g.passages]] for g in groups],
        names=[g.question.id for g in groups],
    )
