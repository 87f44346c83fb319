"""The data card of `nova-clean`: its files, what was left out, and what an audit finds in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from novarag.noise.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BenchmarkFile:
    """One file of the benchmark: what it holds, and what was left out and why.

    `unaudited` says why an audit that was wished could not be.
    """

    name: str
    groups: int
    questions: int
    digest: str
    short: Counter[str]
    faults: Counter[str]
    audit: Audit | None = None
    unaudited: str | None = None

    def __repr__(self) -> str:
        said = f"{self.name:<26} {self.questions:>4} questions, {self.groups:>5} groups"
        if self.audit is None:
            return said
        worst = max(self.audit.findings, key=lambda f: f.excess)
        return f"{said}, worst cue {worst.cue} {100 * worst.excess:+.1f} points"


def clean_card(files: Sequence[BenchmarkFile]) -> str:
    """Write the data card; the same inputs give the same card."""
    lines = [
        "# nova-clean",
        "",
        "The questions and passages of the released NOVA benchmark, grouped again so that a group",
        "cannot be told from the looks of its passages. Built by `novarag nova-clean`; nothing in",
        "it was generated anew. Every question gives three groups (counterfactual, consistent,",
        "irrelevant) with 3, 4 and 5 passages; splits share no question.",
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
    lines = [
        "",
        "## Shortcuts",
        "",
        "By how many points each cue beats the most common group at telling any group apart (the",
        "worst of telling all three, or one from the others), with the 95 % interval.",
        "",
        "| file | " + " | ".join(cues) + " |",
        "|---" * (len(cues) + 1) + "|",
    ]
    for name, audit in heard:
        cells = (audit.worst(cue) for cue in cues)
        said = (f"{100 * w.excess:+.1f} ({100 * w.low:+.1f} to {100 * w.high:+.1f})" for w in cells)
        lines.append(f"| `{name}` | " + " | ".join(said) + " |")
    not_audited = [f"Not audited: {f.name}: {f.unaudited}" for f in files if f.unaudited]
    return [*lines, "", *not_audited]
