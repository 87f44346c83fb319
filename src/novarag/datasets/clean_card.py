"""The data card of `nova-clean`: its files, what was left out, and what an audit finds in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.formatting import hundredths, points, whole_percent

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from novarag.noise.audit import ShortcutAudit


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BenchmarkFile:
    """One file of the benchmark: what it holds, and what was left out and why.

    `unaudited` says why an audit that was wished could not be; `formerly` is the AUROC with which
    the question's words told groups without evidence in the file of this name before the rebuild.
    """

    name: str
    groups: int
    questions: int
    digest: str
    short: Counter[str]
    faults: Counter[str]
    audit: ShortcutAudit | None = None
    unaudited: str | None = None
    formerly: float | None = None

    def __repr__(self) -> str:
        said = f"{self.name:<26} {self.questions:>4} questions, {self.groups:>5} groups"
        if self.audit is None:
            return said
        worst = max(self.audit.compared, key=lambda f: f.excess)
        return f"{said}, worst cue {worst.cue} {points(worst.excess)} points"


def clean_card(files: Sequence[BenchmarkFile]) -> str:
    """Write the data card; the same inputs give the same card."""
    lines = [
        "# nova-clean",
        "",
        "The questions and passages of the released NOVA benchmark, grouped again so that the",
        "looks of passages say little about their group; how much they say is in the table of",
        "shortcuts, where there is one. Built by `novarag paper nova-clean`; nothing in it was",
        "generated anew. Every question gives three groups (counterfactual, consistent,",
        "irrelevant: no evidence) with 3, 4 and 5 passages; splits share no question.",
        "",
        "Every group without evidence holds a passage relevant to its question. Where the answer",
        "can be cut out, it is the evidence itself without the sentences that hold the answer, and",
        "the evidence loses other sentences, so that it is about as long; where it cannot (yes or",
        "no, an answer that the question names, a passage of one or two sentences), a released",
        "relevant passage stands beside passages of another question.",
        "",
        "Text from Wikipedia stays under CC BY-SA (HotpotQA 4.0, NQ 3.0); StrategyQA and Bamboogle",
        "are MIT; generated passages come with the released repository, MIT. Keep attribution.",
        "",
        "## Files",
        "",
        "| file | questions | groups | sha256 |",
        "|---|---|---|---|",
        *(f"| `{f.name}` | {f.questions:,} | {f.groups:,} | `{f.digest}` |" for f in files),
        "",
        "## Left out",
        "",
        "| file | what | how many | why |",
        "|---|---|---|---|",
    ]
    for f in files:
        if "-k3" in f.name:  # the same questions and passages at every k
            lines += [f"| `{f.name}` | passages | {n:,} | {w} |" for w, n in _most(f.faults)]
            lines += [f"| `{f.name}` | questions | {n:,} | {w} |" for w, n in _most(f.short)]
    return "\n".join(lines + _audits(files)) + "\n"


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(((str(w), n) for w, n in counts.items()), key=lambda pair: (-pair[1], pair[0]))


def _audits(files: Sequence[BenchmarkFile]) -> list[str]:
    heard = [(f.name, f.audit) for f in files if f.audit is not None]
    if not heard:
        return ["", "The files were not audited."]
    cues = list(dict.fromkeys(x.cue for _, audit in heard for x in audit.findings))
    ranked = list(dict.fromkeys(pair for _, audit in heard for pair in _ranked(audit)))
    lines = [
        "",
        "## Shortcuts",
        "",
        "By how many points each cue beats the most common group at telling any group apart (the",
        "worst of telling all three, or one from the others), with the interval that holds for all",
        "comparisons of a file at once (95 %, max-statistic bootstrap). A shortcut is beyond the",
        f"margin ({hundredths(heard[0][1].margin, decimals=None)} points) with an interval above 0;"
        " those are bold.",
        "",
        "The question's words may not tell the two kinds of evidence apart (evidence); with what",
        "AUROC they rank each kind before the others (question) is reported and does not gate, as",
        "evidence is about its question. Formerly is that AUROC of groups without evidence in the",
        "files before the rebuild. On topic is the share of groups without evidence that hold a",
        "passage relevant to their question.",
        "",
        "| file | "
        + " | ".join([*cues, *(f"{kind} by {cue}, AUROC" for cue, kind in ranked)])
        + " | formerly | on topic |",
        "|---" * (len(cues) + len(ranked) + 3) + "|",
    ]
    formerly = {f.name: f.formerly for f in files}
    for name, audit in heard:
        said = [_cell(audit, cue) if _has(audit, cue) else "" for cue in cues]
        said += [f"{_ranked(audit)[pair]:.2f}" if pair in _ranked(audit) else "" for pair in ranked]
        before = formerly[name]
        said.append("" if before is None else f"{before:.2f}")
        said.append("" if audit.topical is None else whole_percent(audit.topical))
        lines.append(f"| `{name}` | " + " | ".join(said) + " |")
    not_audited = [f"Not audited: {f.name}: {f.unaudited}" for f in files if f.unaudited]
    return [*lines, "", *not_audited]


def _has(audit: ShortcutAudit, cue: str) -> bool:
    return any(f.cue == cue for f in audit.findings)


def _cell(audit: ShortcutAudit, cue: str) -> str:
    """Write the largest excess of a cue, bold where it is a shortcut."""
    shortcuts = [f for f in audit.shortcuts if f.cue == cue]
    worst = max(shortcuts, key=lambda f: f.excess) if shortcuts else audit.worst(cue)
    said = worst.points.replace(" points", "")
    return f"**{said}**" if shortcuts else said


def _ranked(audit: ShortcutAudit) -> dict[tuple[str, str], float]:
    """Return AUROC by cue and kind, for the cues that do not gate."""
    return {
        (f.cue, f.kind): f.auroc
        for f in audit.findings
        if not f.gates and f.kind is not None and f.auroc is not None
    }
