"""What changed between two results, as a comment for a review: the verdict first, then tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.formatting import hundredths, points, signed
from novarag.report.page import plain
from novarag.report.words import in_points, number, title_of
from novarag.stats.budgets import BudgetStanding
from novarag.texts import as_code, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from novarag.metrics.budgets import BudgetCheck, PairedTables
    from novarag.probes.changes import RelationCheck
    from novarag.report.plots import Axes

MARK = "<!-- novarag compare -->"
"""First line of a comment, by which the next one finds it to take its place."""

SHOWN = 40
"""Rows of a table that a comment shows; those that matter stand first."""

NAMED = 3
"""Broken budgets that the verdict names."""

_ORDER = (BudgetStanding.BROKEN, BudgetStanding.CANNOT_TELL, BudgetStanding.KEPT)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """Two results of one evaluation, before and after a change, held against budgets.

    `budgets` are those of graded answers, `relations` those of probes; `paired` says what the two
    tables share. With `strict` what cannot be told fails, too.
    """

    budgets: tuple[BudgetCheck, ...]
    relations: tuple[RelationCheck, ...]
    paired: PairedTables | None
    strict: bool
    new: tuple[str, ...]
    old: tuple[str, ...]
    notes: tuple[str, ...]
    replicates: int
    seed: int

    @property
    def broken(self) -> tuple[str, ...]:
        """What the change broke: budgets with their group, if any, and relations."""
        return self._that_are(BudgetStanding.BROKEN)

    @property
    def undecided(self) -> tuple[str, ...]:
        """What cannot be told: budgets with their group, if any, and relations."""
        return self._that_are(BudgetStanding.CANNOT_TELL)

    @property
    def fails(self) -> bool:
        """Say whether a build should fail."""
        return bool(self.broken or (self.strict and self.undecided))

    def _that_are(self, held: BudgetStanding) -> tuple[str, ...]:
        return (
            *(budget_name(one) for one in self.budgets if one.held is held),
            *(one.name for one in self.relations if one.held is held),
        )

    def __repr__(self) -> str:
        """Show the verdict, and what it rests on."""
        return "\n  ".join(["Comparison:", *comparison_lines(self)])

    def _repr_html_(self) -> str:
        from novarag.report.fragments import show_comparison

        return show_comparison(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the paired differences with intervals and what is allowed; needs novarag[plot].

        Args:
            ax: The Axes to draw into; None makes new ones.
        """
        from novarag.report.plots import draw_comparison

        return draw_comparison(self, ax)

    def to_latex(self) -> str:
        """Lay the budgets out as a LaTeX tabular in the style of booktabs."""
        from novarag.report.latex import write_tabular
        from novarag.report.shown_tables import tabulate_comparison

        return write_tabular(tabulate_comparison(self))


def budget_name(one: BudgetCheck) -> str:
    """Name a budget as it was given, with its group if it is of one."""
    return one.metric if one.group is None else f"{one.metric} of {one.group}"


def verdict_line(found: Comparison, quote: Callable[[str], str] = plain_text) -> str:
    """Say in one line whether the budgets are kept; `quote` shows names that are not ours."""
    count = len(found.budgets) + len(found.relations)
    broken = list(_broken_words(found, quote))
    if broken:
        more = f"; and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
        what = "; ".join(broken[:NAMED])
        return f"Broken, {len(broken)} of {_many(count, 'budget')}: {what}{more}."
    if not found.undecided:
        return f"Kept: {_many(count, 'budget')}, and nothing is broken."
    tail = "This fails, as it was asked to." if found.strict else "Nothing is shown to be broken."
    undecided = f"{len(found.undecided)} of {_many(count, 'budget')}"
    return f"{_undecided_words(found)} for {undecided}. {tail}"


def _broken_words(found: Comparison, quote: Callable[[str], str]) -> Iterator[str]:
    for one in found.budgets:
        if one.held is BudgetStanding.BROKEN:
            title = budget_title(one, quote)
            yield f"{title} is worse by {worse_by(one)}, allowed are {allowed(one)}"
    for relation in found.relations:
        if relation.held is BudgetStanding.BROKEN:
            yield f"the relation {relation.name} held before and breaks now"


def _undecided_words(found: Comparison) -> str:
    """Say whether more questions would tell."""
    budgets = [one for one in found.budgets if one.held is BudgetStanding.CANNOT_TELL]
    relations = any(one.held is BudgetStanding.CANNOT_TELL for one in found.relations)
    few = all(one.why is None for one in budgets) and not relations
    return "Not enough questions to tell" if few else "Cannot tell"


def budget_title(one: BudgetCheck, quote: Callable[[str], str] = plain_text) -> str:
    """Say what a budget is of: its figure's title, and the group, shown by `quote`."""
    title = title_of(one.metric)
    return title if one.group is None else f"{title} of {quote(one.group)}"


def allowed(one: BudgetCheck) -> str:
    """Format the most by which a figure may be worse."""
    if in_points(one.metric):
        return f"{hundredths(one.limit, decimals=None)} points"
    return f"{one.limit:g}"


def worse_by(one: BudgetCheck) -> str:
    """Format by how much a figure is worse, with its interval, or say why that is not known."""
    if one.why is not None:
        return one.why
    value, low, high = (_amount(one.metric, end) for end in _ends(one))
    unit = " points" if in_points(one.metric) else ""
    return f"{value}{unit} ({low} to {high})"


def _ends(one: BudgetCheck) -> tuple[float | None, float | None, float | None]:
    worse = one.worse
    return (None, None, None) if worse is None else (worse.value, worse.low, worse.high)


def _amount(metric: str, value: float | None) -> str:
    """Format a difference with its sign; what rounds to nothing has none."""
    if value is None:
        return "\u2013"
    return points(value) if in_points(metric) else signed(value)


def verdict_word(one: BudgetCheck) -> str:
    """Say what is known of a budget, and how many questions it would take to know more."""
    if one.held is not BudgetStanding.CANNOT_TELL or one.why is not None:
        return str(one.held)
    if one.needed is None:
        return "not enough questions to tell"
    return f"not enough questions to tell: {one.questions:,}, about {one.needed:,} would be"


def changed(one: RelationCheck) -> str:
    """Say what two cards found of a relation."""
    old, new = ("not asked" if verdict is None else str(verdict) for verdict in (one.old, one.new))
    return f"{old} before, {new} now"


def paired_line(found: Comparison) -> list[str]:
    """Say which questions count."""
    if found.paired is None:
        return []
    p = found.paired
    left = [
        f"{count:,} only {where}"
        for count, where in ((p.only_new, "after the change"), (p.only_old, "before it"))
        if count
    ]
    rest = f"; left out: {', '.join(left)}" if left else ""
    return [
        f"{_many(p.shared, 'question')} on both sides, {p.read:,} of them read and graded on"
        f" both{rest}. Intervals are at 95 %, by question, of paired differences."
    ]


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def comparison_lines(found: Comparison) -> list[str]:
    """Say in plain sentences what was found, the verdict first, for a terminal."""
    lines = [verdict_line(found), *map(_budget_line, sorted(found.budgets, key=rank_standing))]
    lines += [
        f"{r.held}: {r.title}: {changed(r)}" for r in sorted(found.relations, key=rank_standing)
    ]
    return [plain_text(line, longest=500) for line in [*lines, *paired_line(found), *found.notes]]


def _budget_line(one: BudgetCheck) -> str:
    title = budget_title(one)
    if one.why is not None:
        return f"{one.held}: {title}: {one.why}"
    return f"{verdict_word(one)}: {title}: worse by {worse_by(one)}, allowed are {allowed(one)}"


def rank_standing(one: BudgetCheck | RelationCheck) -> int:
    """Say where a budget or a relation stands in a list: broken ones first, kept ones last."""
    return _ORDER.index(one.held)


def comparison_markdown(found: Comparison) -> str:
    """Return a short comment; what others wrote stands in it as code, and so does nothing."""
    parts = [MARK, f"**{verdict_line(found, as_code)}**", *_budget_table(found.budgets)]
    parts += _relation_table(found.relations)
    parts += paired_line(found)
    parts.append(f"Before: {_listed(found.old)}; now: {_listed(found.new)}.")
    parts += [f"- {as_code(note, longest=500)}" for note in found.notes]
    return "\n\n".join(parts) + "\n"


def _listed(names: Sequence[str]) -> str:
    """Name some places, as code."""
    shown = [as_code(name, longest=80) for name in names[:NAMED]]
    more = len(names) - NAMED
    return ", ".join([*shown, *([f"{more:,} more"] if more > 0 else [])]) or "nothing"


def _budget_table(budgets: Sequence[BudgetCheck]) -> list[str]:
    if not budgets:
        return []
    rows = [
        "| | before | now | worse by (95 % interval) | allowed | |",
        "|---|---|---|---|---|---|",
    ]
    for one in sorted(budgets, key=rank_standing)[:SHOWN]:
        old, new = (number(one.metric, value) for value in (one.old, one.new))
        cells = [
            budget_title(one, as_code),
            old,
            new,
            worse_by(one),
            allowed(one),
            _sign(one.held, verdict_word(one)),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return ["\n".join(rows), *_more(len(budgets))]


def _relation_table(relations: Sequence[RelationCheck]) -> list[str]:
    """Show the relations that are not simply kept, and count the others."""
    if not relations:
        return []
    shown = [
        one for one in sorted(relations, key=rank_standing) if one.held is not BudgetStanding.KEPT
    ]
    kept = len(relations) - len(shown)
    said = f"{_many(kept, 'relation')} of probes not broken by the change."
    if not shown:
        return [said]
    rows = ["| relation | before | now | |", "|---|---|---|---|"]
    for one in shown:
        old, new = ("not asked" if v is None else str(v) for v in (one.old, one.new))
        rows.append(f"| {one.title} | {old} | {new} | {_sign(one.held, str(one.held))} |")
    return ["\n".join(rows), said]


def _sign(held: BudgetStanding, said: str) -> str:
    return f"**{said}**" if held is BudgetStanding.BROKEN else said


def _more(count: int) -> list[str]:
    return [f"{count - SHOWN:,} more rows stand in compare.json."] if count > SHOWN else []


def comparison_json(found: Comparison) -> str:
    """Return all of it as JSON, the verdict first."""
    whole = {
        "verdict": verdict_line(found),
        "fails": found.fails,
        "broken": list(found.broken),
        "cannot_tell": list(found.undecided),
        **plain(found),
        "relations": [
            {**plain(one), "title": one.title, "held": one.held} for one in found.relations
        ],
    }
    return json.dumps(whole, indent=1, allow_nan=False)
