"""The data card: what is in an export and where it comes from, for programs and for people.

It names no date and no machine, so that the same export is the same bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from novarag.calls import simulated_note
from novarag.taxonomy import GroupKind
from novarag.texts import escape_markdown as md

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from novarag.sft.examples import TrainingExample
    from novarag.sft.export_folder import WrittenFile
    from novarag.sft.export_split import RejectedExample
    from novarag.sft.lengths import TokenRuler

_ORDER = {kind.value: place for place, kind in enumerate(GroupKind)}
Facts = dict[str, Any]
_WRITTEN = {
    "share": " The number of the confidence was written anew: the share of the group's samples that"
    " were right, as the nearest of {} levels.",
    "teacher": " The number of the confidence was written anew: the probability that a calibration"
    " gives the reply, fitted on the grades of other questions, as the nearest of {} levels.",
}


class TrustedMarkdown(str):
    """Markdown of our own making, shown as it is; every other text in a table is foreign."""

    __slots__ = ()


def count_examples(splits: Mapping[str, Sequence[TrainingExample]]) -> list[Facts]:
    """Count examples and questions of each split, in all (kind null and `all` true) and by kind."""
    counted: list[Facts] = []
    for name, examples in splits.items():
        counted.append(_count(name, examples) | {"all": True})
        kinds = sorted({e.kind for e in examples}, key=_rank)
        counted += [
            _count(name, [e for e in examples if e.kind == kind], kind) | {"all": False}
            for kind in kinds
        ]
    return counted


def _count(split: str, examples: Sequence[TrainingExample], kind: str | None = None) -> Facts:
    questions = len({example.question for example in examples})
    return {"split": split, "kind": kind, "examples": len(examples), "questions": questions}


def _rank(kind: str | None) -> tuple[int, str]:
    return _ORDER.get(kind or "", len(_ORDER)), kind or ""


def count_reasons(rejected: Iterable[RejectedExample]) -> list[Facts]:
    """Count the rejected by reason, the most frequent first."""
    counts = Counter(r.reason for r in rejected)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [{"reason": reason, "count": count} for reason, count in ranked]


def describe_lengths(examples: Iterable[TrainingExample], ruler: TokenRuler | None) -> Facts | None:
    """Sum up the lengths in tokens, or say None when nobody measured them."""
    if ruler is None:
        return None
    tokens = sorted(e.tokens for e in examples if e.tokens is not None)
    shares = {"least": 0.0, "median": 0.5, "p95": 0.95, "most": 1.0}
    return {
        "tokenizer": ruler.name,
        "sha256": ruler.fingerprint,
        "max_length": ruler.longest,
        **{name: tokens[round(share * (len(tokens) - 1))] for name, share in shares.items()},
    }


def funnel_of(tally: Mapping[str, Any], model: str) -> Facts:
    """Take from the tally what concerns one model."""
    return {
        "stages": tally.get("stages", []),
        "settings": tally.get("settings", {}),
        "runs": [run for run in tally.get("runs", []) if run.get("model") == model],
        "counts": [row for row in tally["counts"] if row.get("model") == model],
        "reasons": [row for row in tally.get("reasons", []) if row.get("model") == model],
    }


def card_json(facts: Facts) -> bytes:
    """Write the facts for programs."""
    return (json.dumps(facts, indent=1, ensure_ascii=True) + "\n").encode()


def card_markdown(facts: Facts) -> bytes:
    """Write the facts for people; no foreign text can change the page."""
    parts = [
        _front(facts),
        "# Training examples of calibrated confidence",
        *(f"**{md(note)}**" for note in simulated_note(facts["model"])),
        _about(facts),
        "## Examples",
        table(
            ("split", "kind of group", "examples", "questions"),
            [
                (r["split"], "all" if r["all"] else _kind(r["kind"]), r["examples"], r["questions"])
                for r in facts["examples"]
            ],
        ),
        _split_words(facts),
        "## Lengths",
        _lengths(facts["lengths"]),
        "## Rejected here",
        table(("reason", "examples"), [(r["reason"], r["count"]) for r in facts["rejected"]])
        or "None.",
        "## The funnel before",
        funnel_text(facts["funnel"]),
        "## Runs",
        table(
            ("run", "fingerprint", "strategy", "trials", "held to a format by the server"),
            [
                [r.get(key) for key in ("name", "run", "strategy", "trials", "structured")]
                for r in facts["funnel"]["runs"]
            ],
        )
        or "The tally names none.",
        "## Settings",
        table(("setting", "value"), sorted(_settings(facts).items())),
        _training(facts["formats"]),
        "## Files",
        table(
            ("file", "bytes", "SHA-256"),
            [(f["name"], f["bytes"], f["sha256"]) for f in facts["files"]],
        ),
        "## Licence",
        "To be filled in by whoever shares this: the licence of the questions and passages, and"
        " what the licence of the model says of training on its replies.",
    ]  # fmt: skip
    return ("\n\n".join(part for part in parts if part) + "\n").encode()


def _front(facts: Facts) -> str:
    """Lead with the table of splits that dataset loaders look for at the top of a README."""
    files = {file["name"] for file in facts["files"]}
    splits = [s for s in ("train", "dev") if f"{s}.jsonl" in files]
    if not splits:
        return ""
    listed = "\n".join(f"  - split: {s}\n    path: {s}.jsonl" for s in splits)
    return f"---\nconfigs:\n- config_name: default\n  data_files:\n{listed}\n---"


def _about(facts: Facts) -> str:
    asked = ", ".join(md(name) for name in facts["strategies"])
    said = (
        "Each prompt is that of the strategy label-only on the same groups, and each completion"
        " the answer and the confidence of the kept reply, in two lines."
        if facts["label_only"]
        else "Each prompt is the one that was asked, checked by its hash, and each completion the"
        " reply as it came; reasoning that the server kept apart leads it between think tags."
    )
    if "levels" in facts:
        said += _WRITTEN[facts["funnel"]["settings"]["alignment"]].format(facts["levels"])
    return (
        f"Replies of the model {md(facts['model'])} to questions with retrieved passages (strategy:"
        f" {asked}), kept by `novarag train filter` and written by `novarag train export`"
        f" {facts['version']}."
        f" {said}"
    )


def _training(formats: Sequence[str]) -> str:
    """Say how LLaMA-Factory takes the folder, and what its install needs where there is no GPU."""
    if "llama-factory" not in formats:
        return ""
    return (
        "## Training with LLaMA-Factory\n\nFrom `llama-factory/`: `llamafactory-cli train"
        " train.yaml`, then `llamafactory-cli export merge.yaml`. This was run with LLaMA-Factory"
        " 0.9.5 on a tiny model.\n\nWithout a GPU, add `use_cpu=true` to the first line. Install it"
        " with a CPU build of torch named in the same line (`pip install torch==2.13.0"
        " llamafactory==0.9.5`); then, if your torchvision and torchaudio are builds for CUDA, as"
        " they are unless you chose others, uninstall torchvision and delete `lib/*.so` of"
        " torchaudio: either keeps LLaMA-Factory from starting."
    )


def _split_words(facts: Facts) -> str:
    if not facts["dev_share"]:
        return ""
    return (
        f"The dev split holds whole questions, chosen by a hash of question and seed"
        f" ({facts['seed']}) for a share of about {facts['dev_share']:g}."
    )


def _lengths(lengths: Facts | None) -> str:
    if lengths is None:
        return (
            "**Lengths were not checked**: no tokenizer was given. A trainer may cut long samples,"
            " and with them the confidence at their end. Export again with `--tokenizer`."
        )
    least, median, p95, most = (lengths[name] for name in ("least", "median", "p95", "most"))
    return (
        f"Measured with the tokenizer {md(lengths['tokenizer'])} in its chat template, prompt and"
        f" completion together: from {least:,} to {most:,} tokens, median {median:,}, 95th"
        f" percentile {p95:,}. Longer than {lengths['max_length']:,} is rejected, never cut."
    )


def funnel_text(funnel: Facts) -> str:
    """Write what was kept after each stage, and why the rest was dropped."""
    counts: dict[str, dict[str | None, int]] = {}
    for row in funnel["counts"]:
        counts.setdefault(row["stage"], {})[row.get("kind")] = row["kept"]
    kinds = sorted({k for row in counts.values() for k in row if k is not None}, key=_rank)
    stages = table(
        ("kept after", "all", *kinds),
        [(stage, *(row.get(kind) for kind in (None, *kinds))) for stage, row in counts.items()],
    )
    drops = table(("stage", "dropped because", "trials"), _drops(funnel["reasons"]))
    return "\n\n".join(part for part in (stages, drops) if part)


def _drops(reasons: Sequence[Facts]) -> list[tuple[str, str, int]]:
    """Count drops over all kinds; a row without a kind is that sum already."""
    found: dict[tuple[str, str], dict[str | None, int]] = {}
    for row in reasons:
        found.setdefault((row["stage"], row["reason"]), {})[row.get("kind")] = row["count"]
    return [(*names, by.get(None, sum(by.values()))) for names, by in found.items()]


def _settings(facts: Facts) -> dict[str, Any]:
    names = ("formats", "label_only", "dev_share", "seed", "levels")
    mine = {name: facts[name] for name in names if name in facts}
    filtered = facts["funnel"]["settings"]
    return {f"export: {k}": _shown(v) for k, v in mine.items()} | {
        f"filter: {k}": _shown(v) for k, v in filtered.items()
    }


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _kind(kind: str | None) -> str:
    return "not known" if kind is None else kind


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lay rows out as Markdown; an empty table is an empty text."""
    body = ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    if not body:
        return ""
    top = "| " + " | ".join(_cell(name) for name in head) + " |"
    return "\n".join([top, "|---" * len(head) + "|", *body])


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, TrustedMarkdown):
        return str(value)
    return "" if value is None else md(str(value))


def file_facts(files: Iterable[WrittenFile]) -> list[Facts]:
    """List files with their size and hash."""
    return [{"name": f.name, "bytes": f.size, "sha256": f.sha256} for f in files]
