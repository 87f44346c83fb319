"""What asks for an operator's attention, of all that the status page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

BAD, LOOK = "no", "wait"
"""Something is wrong; somebody should look."""

Matter = dict[str, str]


def find_matters(status: dict[str, Any]) -> list[Matter]:
    """Return what asks for attention, the worst first: whatever the page shows as not fine."""
    parts = (_process, _upstreams, _drift, _audit, _confidence, _requests)
    found = [matter for part in parts for matter in part(status)]
    return sorted(found, key=lambda matter: matter["level"] != BAD)


def _matter(level: str, title: str, said: str) -> Matter:
    return {"level": level, "title": title, "said": said[:1].upper() + said[1:] + "."}


def _process(status: dict[str, Any]) -> Iterator[Matter]:
    if status["state"] == "draining":
        yield _matter(LOOK, "Draining", "no new requests are taken; those that run are finished")
    elif status["state"] != "ready":
        yield _matter(BAD, "Not ready", status["state"])


def _upstreams(status: dict[str, Any]) -> Iterator[Matter]:
    every = status["upstreams"]
    broken = [one["name"] for one in every if one["breaker"] == "open"]
    if broken:
        said = f"{len(broken)} of {len(every)} upstreams keep failing: {', '.join(broken)}"
        yield _matter(BAD, "Upstream failing", said)


def _drift(status: dict[str, Any]) -> Iterator[Matter]:
    def named(state: str) -> str:
        return ", ".join(one["name"] for one in status["models"] if one["drift"]["state"] == state)

    if names := named("alarm"):
        yield _matter(
            BAD, "Drift",
            f"answers of {names} no longer look like those the calibration was fitted on: grade"
            " some, and fit it again",
        )  # fmt: skip
    if names := named("warning"):
        yield _matter(LOOK, "Drift", f"answers of {names} begin to look unlike the calibration's")


def _audit(status: dict[str, Any]) -> Iterator[Matter]:
    audit = status["audit"]
    if audit is None:
        return
    if audit["full"]:
        yield _matter(BAD, "Audit", audit["said"])
    elif not audit["connected"]:
        yield _matter(LOOK, "Audit", audit["said"])
    for name, became in (
        ("lost", "were not kept"),
        ("rejected", "were set aside, since the database refused them"),
        ("damaged", "of the spool could not be read"),
    ):
        if audit[name]:
            what = "bytes" if name == "damaged" else "rows"
            yield _matter(LOOK, "Audit", f"{audit[name]:,} {what} {became}")


def _confidence(status: dict[str, Any]) -> Iterator[Matter]:
    for one in status["feedback"]["models"]:
        if one["word"] != "within the interval":
            said = (
                f"answers of {one['model']} were {one['share']:.0%} right ({one['low']:.0%} to"
                f" {one['high']:.0%}) where {one['delivered']:.0%} was stated,"
                f" by {one['answers']:,} that users judged"
            )
            yield _matter(LOOK, one["word"].capitalize(), said)


def _requests(status: dict[str, Any]) -> Iterator[Matter]:
    lately = status["load"]["lately"]
    if lately["failed"]:
        said = f"{lately['failed']:,} of {lately['ended']:,} requests that ended got no answer"
        yield _matter(LOOK, "Failed requests", f"{said} {_over(lately['seconds'])}")
    if away := sum(lately["turned_away"].values()):
        why = ", ".join(f"{reason} {count:,}" for reason, count in lately["turned_away"].items())
        said = (
            f"{away:,} requests or connections were turned away {_over(lately['seconds'])}: {why}"
        )
        yield _matter(LOOK, "Turned away", said)


def _over(seconds: float) -> str:
    return f"in the last {max(1, round(seconds / 60))} min"
