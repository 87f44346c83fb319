"""Compare two results of one evaluation, before and after a change, and hold budgets."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from novarag.calls import simulated_note
from novarag.defaults import MEASURE
from novarag.errors import UsageError
from novarag.flows.events import FileWritten, TableRead, silent
from novarag.flows.scores import fuse_answers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from novarag.answers.opening.answers import Answers
    from novarag.answers.opening.columns import Columns
    from novarag.flows.events import EventListener
    from novarag.metrics.budgets import BudgetCheck, PairedTables
    from novarag.probes.changes import RelationCheck
    from novarag.report.comparison import Comparison
    from novarag.report.probe_card import StoredCard
    from novarag.strategies import Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """What was given of one side: answers in any form, and the card of a probe."""

    answers: object
    card: StoredCard | None
    names: tuple[str, ...]


def compare(
    new: object,
    old: object = None,
    *,
    commit: str | None = None,
    budgets: Mapping[str, float] | None = None,
    by: str | Sequence[str] = (),
    strict: bool = False,
    columns: Columns | None = None,
    reader: str | Labels | None = None,
    out: str | Path | None = None,
    replicates: int = MEASURE.replicates,
    seed: int = MEASURE.seed,
    on_event: EventListener = silent,
) -> Comparison:
    """Compare two results of one evaluation, and say whether the new one keeps its budgets.

    A budget is broken where the whole 95 % interval of the paired difference, by question, is
    beyond it, and kept where none of it is. Relations of probes that held and break now are broken,
    too.

    Args:
        new: The new result: graded answers in any form that `measure` takes, the folder of a probe,
            or a list of both.
        old: The old result, in the same forms.
        commit: In place of `old`, a commit or branch of git that holds the same files and folders.
        budgets: By how much a figure may be worse, such as `{"brier": 0.02, "auroc": 0.03}`; None
            gives the Brier score 0.02. The share of unread replies always has a budget, "unread",
            of 0.02 unless another is given.
        by: A column, or several, whose groups are held to the same budgets, too.
        strict: Fail also where there are too few questions to tell.
        columns: Which columns hold what, where their names do not say it. With `scores` among them
            each side gets a confidence of its own, cross-fitted.
        reader: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column; None takes `nova`.
        out: A folder for comment.md, junit.xml and compare.json; None writes nothing.
        replicates: Bootstrap replicates behind each interval.
        seed: Seed of the bootstrap.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.metrics.budgets import check_limits
    from novarag.report.comparison import Comparison

    by = (by,) if isinstance(by, str) else tuple(by)
    limits = check_limits(budgets)
    if (old is None) == (commit is None):
        raise UsageError.saying(
            "give the old results as `old`, or the commit that has them as `commit`"
        )
    with _sides(new, old, commit) as (after, before):
        relations, notes = _relations(after, before, commit)
        tables = [_answers(side, columns, reader, seed, on_event) for side in (after, before)]
    held, paired = _held(tables, limits, commit, by=by, replicates=replicates, seed=seed)
    if not held and not relations:
        raise UsageError("there is nothing to compare: give answers, or the folders of probes")
    found = Comparison(
        budgets=held, relations=relations, paired=paired, strict=strict, new=after.names,
        old=before.names, notes=_notes(notes, tables), replicates=replicates, seed=seed,
    )  # fmt: skip
    if out is not None:
        _write(found, Path(out), on_event)
    return found


@contextmanager
def _sides(new: object, old: object, commit: str | None) -> Iterator[tuple[_Side, _Side]]:
    """Sort what was given; files of a commit are there as long as they are read."""
    after = _side(new)
    if commit is None:
        yield after, _side(old)
        return
    places = _places(new)
    if places is None:
        raise UsageError.saying("`commit` is for files and folders, which a commit can hold")
    with TemporaryDirectory(prefix="novarag-") as folder:
        before = _side(list(_committed(places, commit, Path(folder))))
        yield after, replace(before, names=tuple(f"{commit}:{name}" for name in before.names))


def _places(given: object) -> list[Path] | None:
    """Return files and folders as such; None where something else is among them."""
    several = given if isinstance(given, (list, tuple)) else [given]
    named = [Path(one) for one in several if isinstance(one, (str, Path))]
    return named if len(named) == len(several) else None


def _committed(places: Sequence[Path], commit: str, folder: Path) -> Iterator[Path]:
    """Lay out the places as a commit has them; of a probe its card is enough."""
    from novarag.flows.committed import checkout

    for number, place in enumerate(places):
        if not place.exists():
            raise UsageError(f"there is no {place}")
        found = checkout(_card_file(place) or place, commit, folder / str(number))
        if found is not None:
            yield found


def _side(given: object) -> _Side:
    """Tell the card of a probe from answers."""
    from novarag.report.probe_card import read_card

    several = [given] if isinstance(given, (str, Path)) else given
    if not isinstance(several, (list, tuple)) or not any(map(_is_named, several)):
        if isinstance(several, list) and not several:  # a commit that has none of the places
            return _Side(answers=None, card=None, names=())
        return _Side(answers=given, card=None, names=("a table",))
    files = [_card_file(Path(one)) if _is_named(one) else None for one in several]
    cards = [read_card(file) for file in files if file is not None]
    if len(cards) > 1:
        raise UsageError("give one probe of each side")
    rest = [one for one, file in zip(several, files, strict=True) if file is None]
    names = tuple(Path(one).name if _is_named(one) else "a table" for one in several)
    return _Side(answers=rest or None, card=cards[0] if cards else None, names=names)


def _is_named(one: object) -> bool:
    return isinstance(one, (str, Path))


def _card_file(place: Path) -> Path | None:
    """Return the card of a probe, if that is what a place holds."""
    from novarag.report.probe_card import FILE

    file = place / FILE if place.is_dir() else place
    return file if file.name == FILE and file.is_file() else None


def _answers(
    side: _Side,
    columns: Columns | None,
    reader: str | Labels | None,
    seed: int,
    on_event: EventListener,
) -> Answers | None:
    """Read the answers of one side, which must name their questions."""
    from novarag.answers.opening.answers import read_answers

    if side.answers is None:
        return None
    taken = read_answers(side.answers, columns=columns, reader=reader)
    on_event(TableRead(taken.taken))
    taken = fuse_answers(taken, seed=seed)
    if taken.rows_stand_alone:
        raise UsageError.saying(
            "answers are paired by their question, and these name none: give the column as"
            " `question`"
        )
    return taken


def _held(
    tables: Sequence[Answers | None],
    limits: Mapping[str, float],
    commit: str | None,
    *,
    by: Sequence[str],
    replicates: int,
    seed: int,
) -> tuple[tuple[BudgetCheck, ...], PairedTables | None]:
    """Hold the budgets of graded answers, if there are any."""
    from novarag.metrics.budgets import cannot_tell, check_budgets

    new, old = tables
    if new is None and old is None:
        return (), None
    if new is not None and old is None and commit is not None:
        return cannot_tell(limits, "there are no answers before the change"), None
    if new is None or old is None:
        raise UsageError("give graded answers of both sides, or of none")
    return check_budgets(new.table, old.table, limits, by=by, replicates=replicates, seed=seed)


def _relations(
    after: _Side, before: _Side, commit: str | None
) -> tuple[tuple[RelationCheck, ...], list[str]]:
    """Compare the cards of two probes, if there are any, and say where they differ."""
    from novarag.probes.changes import compare_verdicts

    new, old = after.card, before.card
    if new is None and old is None:
        return (), []
    if new is None or (old is None and commit is None):
        raise UsageError("give a probe of both sides, or of none")
    if old is None:
        return compare_verdicts(new.verdicts, {}), ["There is no probe before the change."]
    other = [name for name, value in new.settings.items() if old.settings[name] != value]
    notes = [f"The probes differ in {', '.join(other)}, not in the system alone."] if other else []
    for card in (old, new):
        notes += [note for note in simulated_note(card.system) if note not in notes]
    return compare_verdicts(new.verdicts, old.verdicts), notes


def _notes(said: list[str], tables: Sequence[Answers | None]) -> tuple[str, ...]:
    """Gather what is to be said of the answers, each once."""
    every = [*said, *(note for table in tables if table is not None for note in table.notes)]
    return tuple(dict.fromkeys(every))


def _write(found: Comparison, folder: Path, on_event: EventListener) -> None:
    from novarag.atomic import write_whole
    from novarag.report.comparison import comparison_json, comparison_markdown
    from novarag.report.junit import comparison_junit

    files = {
        "comment.md": comparison_markdown(found).encode(),
        "junit.xml": comparison_junit(found),
        "compare.json": comparison_json(found).encode(),
    }
    for name, content in files.items():
        write_whole(folder / name, content)
        on_event(FileWritten(folder / name))
