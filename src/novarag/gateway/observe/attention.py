"""What asks for an operator's attention, of all that the status page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novarag.formatting import span, whole_percent

if TYPE_CHECKING:
    from collections.abc import Iterator

BAD, LOOK = "no", "wait"
"""Something is wrong; somebody should look."""

Matter = dict[str, str]


def find_matters(status: dict[str, Any]) -> list[Matter]:
    """Return what asks for attention, the worst first: whatever the page shows as not fine."""
    parts = (
        _find_in_process,
        _find_in_upstreams,
        _find_in_drift,
        _find_in_audit,
        _find_in_confidence,
        _find_in_requests,
    )
    found = [matter for part in parts for matter in part(status)]
    return sorted(found, key=lambda matter: matter["level"] != BAD)


def _make_matter(level: str, title: str, said: str) -> Matter:
    return {"level": level, "title": title, "said": said[:1].upper() + said[1:] + "."}


def _find_in_process(status: dict[str, Any]) -> Iterator[Matter]:
    if status["state"] == "draining":
        yield _make_matter(
            LOOK, "Draining", "no new requests are taken; those that run are finished"
        )
    elif status["state"] != "ready":
        yield _make_matter(BAD, "Not ready", status["state"])


def _find_in_upstreams(status: dict[str, Any]) -> Iterator[Matter]:
    every = status["upstreams"]
    broken = [one["name"] for one in every if one["breaker"] == "open"]
    if broken:
        said = f"{len(broken)} of {len(every)} upstreams keep failing: {', '.join(broken)}"
        yield _make_matter(BAD, "Upstream failing", said)


def _find_in_drift(status: dict[str, Any]) -> Iterator[Matter]:
    def named(state: str) -> str:
        return ", ".join(one["name"] for one in status["models"] if one["drift"]["state"] == state)

    if names := named("alarm"):
        yield _make_matter(
            BAD, "Drift",
            f"answers of {names} no longer look like those the calibration was fitted on: grade"
            " some, and fit it again",
        )  # fmt: skip
    if names := named("warning"):
        yield _make_matter(
            LOOK, "Drift", f"answers of {names} begin to look unlike the calibration's"
        )


def _find_in_audit(status: dict[str, Any]) -> Iterator[Matter]:
    audit = status["audit"]
    if audit is None:
        return
    if audit["full"]:
        yield _make_matter(BAD, "Audit", audit["said"])
    elif not audit["connected"]:
        yield _make_matter(LOOK, "Audit", audit["said"])
    for name, became in (
        ("lost", "were not kept"),
        ("rejected", "were set aside, since the database refused them"),
        ("damaged", "of the spool could not be read"),
    ):
        if audit[name]:
            what = "bytes" if name == "damaged" else "rows"
            yield _make_matter(LOOK, "Audit", f"{audit[name]:,} {what} {became}")


def _find_in_confidence(status: dict[str, Any]) -> Iterator[Matter]:
    for one in status["feedback"]["models"]:
        if one["word"] != "within the interval":
            said = (
                f"answers of {one['model']} were {whole_percent(one['share'])} right"
                f" ({span(one['low'], one['high'], whole_percent)}) where"
                f" {whole_percent(one['delivered'])} was stated,"
                f" by {one['answers']:,} that users judged"
            )
            yield _make_matter(LOOK, one["word"].capitalize(), said)


def _find_in_requests(status: dict[str, Any]) -> Iterator[Matter]:
    lately = status["load"]["lately"]
    span = _format_span(lately["seconds"])
    if lately["failed"]:
        said = f"{lately['failed']:,} of {lately['ended']:,} requests that ended got no answer"
        yield _make_matter(LOOK, "Failed requests", f"{said} {span}")
    if away := sum(lately["turned_away"].values()):
        why = ", ".join(f"{reason} {count:,}" for reason, count in lately["turned_away"].items())
        said = f"{away:,} requests or connections were turned away {span}: {why}"
        yield _make_matter(LOOK, "Turned away", said)


def _format_span(seconds: float) -> str:
    return f"in the last {max(1, round(seconds / 60))} min"
