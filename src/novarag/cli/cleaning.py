"""The verb that rebuilds the benchmark."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.atomic import write_whole
from novarag.cli.grouping import write_groups
from novarag.cli.running import hash_of, notice
from novarag.errors import UsageError

if TYPE_CHECKING:
    from novarag.noise.audit import Audit
    from novarag.noise.training import Yield


@dataclass(slots=True)
class _Built:
    """One file of the benchmark."""

    name: str
    groups: int
    questions: int
    digest: str
    short: Counter[str]
    faults: Counter[str]
    audit: Audit | None = None


@dataclass(slots=True)
class _Benchmark:
    files: list[_Built] = field(default_factory=list)
    unaudited: list[str] = field(default_factory=list)


def nova_clean(
    out: Annotated[Path, typer.Option(help="Folder for the groups, the card and the checksums.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder that holds naacl/; default: NOVARAG_DATA."),
    ] = None,
    audited: Annotated[
        bool, typer.Option("--audit/--no-audit", help="Look for shortcuts in every file.")
    ] = True,
) -> None:
    """Rebuild the NOVA benchmark without its shortcuts, from the released files."""
    from novarag.datasets.clean import SPLITS, check_inputs, known_outputs

    for line in check_inputs(data):
        notice(line)
    made = _Benchmark()
    for name in SPLITS:
        _build(name, out, data, made, audited=audited)
    write_whole(out / "README.md", _card(made).encode("utf-8"))
    known = known_outputs()
    other = [f.name for f in made.files if known.get(f.name) != f.digest]
    for name in other:
        print(f"{name} is not the file of the recipe", file=sys.stderr)
    beyond = [f.name for f in made.files if f.audit is not None and f.audit.shortcuts]
    print(f"wrote {out}/README.md: {len(made.files)} files, {len(beyond)} with a shortcut")
    sys.exit(1 if other else 0)


def _build(name: str, out: Path, data: Path | None, made: _Benchmark, *, audited: bool) -> None:
    from novarag.datasets.clean import SIZES, clean_pools
    from novarag.noise.audit import audit
    from novarag.noise.training import training_groups

    for split, pools in clean_pools(name, root=data).items():
        for k in SIZES:
            file = f"{name}-{split}-k{k}.jsonl"
            built = training_groups(pools, k=k)
            write_groups(built, out / file)
            made.files.append(_told(file, built, hash_of(out / file)))
            if audited:
                try:
                    made.files[-1].audit = audit(built.groups)
                except UsageError as error:
                    made.unaudited.append(f"{file}: {error}")
            print(_line(made.files[-1]), flush=True)


def _told(name: str, built: Yield, digest: str) -> _Built:
    questions = len({g.question.id for g in built.groups})
    return _Built(name, len(built.groups), questions, digest, built.short, built.faults)


def _line(built: _Built) -> str:
    said = f"{built.name:<26} {built.questions:>4} questions, {built.groups:>5} groups"
    if built.audit is None:
        return said
    worst = max(built.audit.findings, key=lambda f: f.excess)
    return f"{said}, worst cue {worst.cue} {100 * worst.excess:+.1f} points"


def _card(made: _Benchmark) -> str:
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
        *(f"| `{f.name}` | {f.questions:,} | {f.groups:,} | `{f.digest}` |" for f in made.files),
        "",
        "## Left out",
        "",
        "| file | what | how many | why |",
        "|---|---|---|---|",
    ]
    for f in made.files:
        if "-k3" in f.name:  # the same questions and passages at every k
            lines += [f"| `{f.name}` | passages | {n:,} | {w} |" for w, n in _most(f.faults)]
            lines += [f"| `{f.name}` | questions | {n:,} | {w} |" for w, n in _most(f.short)]
    lines += _audits(made)
    return "\n".join(lines) + "\n"


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(((str(w), n) for w, n in counts.items()), key=lambda pair: (-pair[1], pair[0]))


def _audits(made: _Benchmark) -> list[str]:
    heard = [f for f in made.files if f.audit is not None]
    if not heard:
        return ["", "The files were not audited."]
    cues = list(dict.fromkeys(x.cue for f in heard if f.audit for x in f.audit.findings))
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
    for f in heard:
        if f.audit is not None:
            cells = [f.audit.worst(cue) for cue in cues]
            told = (
                f"{100 * w.excess:+.1f} ({100 * w.low:+.1f} to {100 * w.high:+.1f})" for w in cells
            )
            lines.append(f"| `{f.name}` | " + " | ".join(told) + " |")
    return [*lines, "", *(f"Not audited: {line}" for line in made.unaudited)]
