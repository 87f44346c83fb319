"""Feedback as graded answers: what `calibrate` and `gate` take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.calibration.reference import DriftReference
from novarag.errors import DataError
from novarag.flows.sync import synchronous
from novarag.gateway.audit.codes import list_codes, spell_column
from novarag.gateway.audit.database import open_connection
from novarag.scoring.policy import Action

if TYPE_CHECKING:
    from datetime import datetime

    from polars import DataFrame

    from novarag.calibration.graded_answers import AnswerSource

_ONCE = list_codes("action", [a for a in Action if a.second_asking is None])
_TWICE = list_codes("action", [a for a in Action if a.second_asking is not None])
_GRADABLE = list_codes(
    "action", [a for a in Action if (p := a.second_asking) is None or p.same_passages]
)

_GRADED = f"""
select
    lpad(to_hex(d.question_digest), 16, '0') as question,
    d.stated as confidence,
    f.verdict = 1 as correct,
    {spell_column("evidence", "d.evidence")} as evidence,
    s.served as model,
    s.prompt as strategy,
    d.id::text as id
from decisions d
join sources s on s.id = d.source
join feedback f on f.id = d.id and f.day = d.day and f.tenant = d.tenant
where s.answered = $1
    and d.day between ($2::timestamptz at time zone 'UTC')::date
        and ($3::timestamptz at time zone 'UTC')::date
    and f.day between ($2::timestamptz at time zone 'UTC')::date
        and ($3::timestamptz at time zone 'UTC')::date
    and d.time >= $2 and d.time < $3
    and s.prompt <> '' and d.shown and d.stated is not null and d.action in {_GRADABLE}
order by d.time, d.id
"""  # noqa: S608 - constants


async def read_graded_async(dsn: str, model: str, since: datetime, until: datetime) -> DataFrame:
    """Return the answers of a model that users said were right or wrong, as a table.

    A row is an answer that the user saw, with the confidence as it was stated; `question` is a
    digest, `model` the name at its server, `strategy` the hash of its prompt. Answers that policies
    got with other passages, or with none, and answers that were only scored here, are left out:
    they are of another population. Whoever grades chooses what to grade, and answers that were held
    back are never graded: a calibration fitted on these rows speaks for answers like them.
    """
    import polars as pl

    if since.tzinfo is None or until.tzinfo is None:
        raise ValueError("since and until need a time zone")
    async with open_connection(dsn, command=None) as connection:
        rows = await connection.fetch(_GRADED, model, since, until)
    if not rows:
        raise DataError(
            f"no answer of {model!r} in this time has feedback.",
            hint="name the model as the settings file does, and see that /v1/feedback is called.",
        )
    text = dict.fromkeys(("question", "evidence", "model", "strategy", "id"), pl.String)
    schema = {"confidence": pl.Float64, "correct": pl.Boolean, **text}
    columns = {name: [row[name] for row in rows] for name in schema}
    return pl.DataFrame(columns, schema=schema)


read_graded = synchronous(read_graded_async)

_FIRST_ANSWERS = f"""
select coalesce({spell_column("evidence", "evidence")}, '') as state,
    floor(stated * 100 + 0.5)::int as percent, count(*) as answers
from (
    select distinct on (d.question_digest) d.evidence, d.stated
    from (
        select d.question_digest, d.evidence, d.stated
        from decisions d join sources s on s.id = d.source
        where s.model = $1 and s.answered = $1 and s.served = $2 and s.prompt = $3
            and d.day between ($4::timestamptz at time zone 'UTC')::date
                and ($5::timestamptz at time zone 'UTC')::date
            and d.time >= $4 and d.time < $5
            and d.stated is not null and d.action in {_ONCE}
        order by d.time desc limit 100000
    ) d
) one
group by 1, 2
order by 1, 2
"""  # noqa: S608 - constants
_ASKED_AGAIN = f"""
select exists (
    select from decisions d join sources s on s.id = d.source
    where s.model = $1
        and d.day between ($2::timestamptz at time zone 'UTC')::date
            and ($3::timestamptz at time zone 'UTC')::date
        and d.time >= $2 and d.time < $3 and d.action in {_TWICE}
)
"""  # noqa: S608 - constants


async def count_reference(
    dsn: str, model: str, source: AnswerSource, since: datetime, until: datetime
) -> DriftReference | None:
    """Count what all answers of a model looked like, graded or not: what drift is held against.

    Feedback is chosen, so the graded answers alone look unlike the others. None where policies had
    questions asked again in this time: the audit does not hold the first answers of those.
    """
    async with open_connection(dsn, command=None) as connection:
        if await connection.fetchval(_ASKED_AGAIN, model, since, until):
            return None
        names = (model, source.model, source.prompt)
        rows = await connection.fetch(_FIRST_ANSWERS, *names, since, until)
    counts: dict[str, dict[int, int]] = {}
    for row in rows:
        counts.setdefault(row["state"], {})[row["percent"]] = row["answers"]
    return DriftReference(counts=counts, of="answers of the audit")
