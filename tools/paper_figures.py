"""Make src/novarag/presets/paper.json from the paper's source, checking every number.

Usage: python -m tools.paper_figures [--write]

Reads `paper/tables.json` and `paper/nova.tex` beside the benchmark data. The columns of each LaTeX
table are spelled out below and compared with its header, the model of each row with the heading
above it, each value with the cell it stands in, and each average with the columns it is of.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.machine import described, shared_data
from tools.paper_labels import check
from tools.paper_text import TEXT

PAPER = shared_data().resolve().parent / "paper"
TARGET = Path(__file__).parents[1] / "src/novarag/presets/paper.json"

LLAMA, QWEN = "Llama-3.1-8B-Instruct", "Qwen2.5-7B-Instruct"
DS_LLAMA, DS_QWEN = "DeepSeek-R1-Distill-Llama-8B", "DeepSeek-R1-Distill-Qwen-7B"
FRONT = ("strategyqa", "hotpotqa", "nq", "bamboogle", "average")
BACK = ("bamboogle", "hotpotqa", "nq", "strategyqa", "average")
STAGES = ("sampled", "format", "judgment", "rules", "alignment", "common", "balance")

METHODS = {
    "Vanilla": "vanilla", "CoT": "cot", "Multi-Step": "multi-step", "Noise-aware": "noise-aware",
    "Ensemble": "ensemble", "Ensemble(3)": "ensemble", "Label-only SFT": "label-only",
    "P(True)": "p-true", "NOVA": "nova", "Self-freq": "self-frequency",
    "LexicSim": "lexical-similarity", "EigValLap": "eigen-laplacian",
    "Vanilla QA": "closed-book",
}  # fmt: skip
SHORT = {"DS-R1-Llama": DS_LLAMA, "DS-R1-Qwen": DS_QWEN, "Llama-3.1": LLAMA, "Qwen-2.5": QWEN}
K_UNSAID = (
    "L217 says that all experiments retrieve 5 passages, L1925 that table rag-test-cot-simplified"
    " has 3; the paper does not say which holds here."
)
AS_SIMPLIFIED = (
    "Its CoT lines are those of table rag-test-cot-simplified, for which L1925 says k=3; L217 says"
    " 5 for all experiments."
)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """How to read one LaTeX table: what its columns are, and what its row labels mean.

    `datasets` are the columns of one half, an ECE and an AUROC each; with `halves` two models
    stand side by side. `labels` says how to read the cells before the numbers: see `OF`.
    """

    datasets: tuple[str, ...] = FRONT
    halves: int = 1
    labels: str = "method"
    all: dict = field(default_factory=dict)
    note: str | None = None
    model: str | None = None


SPECS = {
    "train-statistics": Spec(datasets=("hotpotqa",), labels="funnel", all={"k": 3}),
    "rag-test-comparison": Spec(labels="retriever and prompt", note=K_UNSAID),
    "q4-k4-results": Spec(datasets=("hotpotqa", "nq"), halves=2, all={"k": 4}),
    "model_Llama_3.1_8B_Instruct_cot": Spec(
        datasets=BACK, labels="mix and position", all={"method": "cot"}, model=LLAMA
    ),
    "model_DeepSeek_R1_Distill_Llama_8B_cot": Spec(
        datasets=BACK, labels="mix and position", all={"method": "cot"}, model=DS_LLAMA
    ),
    "llama_noise_only": Spec(
        datasets=BACK, labels="noise only", all={"method": "cot"}, model=LLAMA,
        note="The table names no prompt; L1918 says CoT unless otherwise specified.",
    ),
    "naacl-transfer-comparison": Spec(labels="swap", all={"k": 3}),
    "real_rag_bm25_facts": Spec(all={"retriever": "bm25"}, note=AS_SIMPLIFIED),
    "sampling-based-uq-comparison": Spec(
        labels="base or tuned", all={"k": 3},
        note="Its base Ensemble(3) lines are those of table main_results.",
    ),
    "real_rag_Contriever_facts": Spec(all={"retriever": "contriever"}, note=AS_SIMPLIFIED),
    "real_rag_versus_non_real_rag": Spec(labels="closed or open book", note=AS_SIMPLIFIED),
    "rag-test-cot-simplified": Spec(
        labels="retriever and cot", all={"k": 3, "method": "cot"},
        note="L1925 says k=3 for this table; L217 says 5 for all experiments.",
    ),
    "main_results": Spec(all={"k": 3}),
    "ood_results": Spec(datasets=("nq", "bamboogle", "average"), halves=2, all={"k": 5}),
    "real_rag_contriever_facts_nq_bamboogle": Spec(
        datasets=("average",), halves=2, all={"retriever": "contriever"},
        note="The average of all four datasets, whatever the label says: table"
        " real_rag_Contriever_facts prints the same figures.",
    ),
}  # fmt: skip
LEFT_OUT = {"rag_hyperparameters": "settings, not results"}


class MismatchError(Exception):
    """A number does not stand where it should."""


def cells(line):
    """Return what stands between the ampersands of one LaTeX row, without its dress."""
    line = line.replace("\\approach{}", "NOVA").replace("\\approach", "NOVA")
    line = line.replace("$\\rightarrow$", "->").replace("\\allowbreak", "").replace("\\_", "_")
    line = re.sub(r"\\multirow\{\d\}\{\*\}", "", line).replace("\\raggedright", "")
    line = re.sub(r"\\(textbf|underline|textsc|textit)\b", "", line)
    bare = re.sub(r"[{}]", "", line.split("\\\\")[0])
    return [" ".join(cell.split()) for cell in bare.split("&")]


def halves_of(row, count):
    """Split a LaTeX row in its halves: the labels, and the numbers, of each."""
    found, labels, numbers = [], [], []
    for cell in row:
        if re.fullmatch(r"\d+(\.\d+)?", cell):
            numbers.append(float(cell))
        elif cell:
            if numbers:
                found.append((labels, numbers))
                labels, numbers = [], []
            labels.append(cell)
    found.append((labels, numbers))
    if len(found) != count:
        raise MismatchError(f"{len(found)} halves, not {count}: {row}")
    return found


def heading(tex, begin):
    """Return the lines of a table before its first row of numbers."""
    until = begin
    while not re.search(r"&\s*(\\(textbf|underline)\{)?\d+(\.\d+)?\}?\s*&", tex[until]):
        until += 1
    return tex[begin:until]


def check_columns(tex, begin, spec, label):
    """Compare the columns spelled out here with the header of the table."""
    top = " ".join(heading(tex, begin))
    if spec.labels == "funnel":
        stages = re.findall(r"\((\d)\) (\w+)", top)
        stages = [(n, word.lower()) for n, word in stages]
        short = ["format", "passage", "rule", "alignment", "common", "balance"]
        if stages != [(str(i), name) for i, name in enumerate(short, 1)]:
            raise MismatchError(f"{label}: stages are {stages}")
        return
    names = re.findall(r"\\multicolumn\{2\}\{c\}\{(?:\\textbf\{)?(\w+)\}", top)
    if [name.lower() for name in names] != list(spec.datasets) * spec.halves:
        raise MismatchError(f"{label}: columns are {names}")
    kinds = re.findall(r"\b(ECE|AUROC)\b(?= *\$|[ &\\])", top.split("caption")[0])
    if kinds != ["ECE", "AUROC"] * len(spec.datasets) * spec.halves:
        raise MismatchError(f"{label}: metrics are {kinds}")


def models_above(tex, line, begin, count):
    """Return the models named by the nearest heading above a row, left to right."""
    names = "|".join(map(re.escape, (LLAMA, QWEN, DS_LLAMA, DS_QWEN)))
    found = []
    for text in reversed(tex[begin : line - 1]):
        here = re.findall(rf"\\textit\{{({names})\}}", text)
        found = here + found
        if len(found) >= count:
            return found
    raise MismatchError(f"L{line}: no heading names its {count} models")


def mix_and_position(head, last):
    if last == "N/A":
        return {"k": 1, "setting": "gold-only"}
    kind, place = head.split("/")[1].strip(), int(last.removeprefix("pos"))
    return {"k": 3, "setting": f"gold+{kind}", "position": place}


def swap(_, last):
    if "->" in last:
        return {"method": "swap", "setting": last[0]}
    return {"method": METHODS[last]}


def closed_or_open_book(_, last):
    if last == "Vanilla QA":
        return {"method": METHODS[last]}
    prompt, retriever = re.fullmatch(r"RAG\+(\w+) \((\w+)\)", last).groups()
    return {"method": METHODS[prompt], "retriever": retriever.lower()}


TUNED = {"Base": "base", "NOVA": "tuned"}
OF = {  # what the cells before the numbers mean: the one that spans rows, and the row's own
    "method": lambda _, last: {"method": METHODS[last]},
    "funnel": lambda _, last: {"model": SHORT[last]},
    "retriever and prompt": lambda head, last: {
        "retriever": head.lower(), "method": METHODS[last]
    },
    "mix and position": mix_and_position,
    "noise only": lambda _, last: {"setting": f"{last.split('/')[1].strip()}-only"},
    "swap": swap,
    "base or tuned": lambda head, last: {"setting": TUNED[head], "method": METHODS[last]},
    "closed or open book": closed_or_open_book,
    "retriever and cot": lambda _, last: {"retriever": last.removesuffix(" (CoT)").lower()},
}  # fmt: skip


def note_average(values, datasets):
    """Compare the printed averages with those of the columns; rounding explains a thousandth."""
    notes = {}
    if datasets[-1] != "average" or len(datasets) == 1:
        return notes
    for metric in (0, 1):
        columns = values[metric:-2:2]
        mean = sum(columns) / len(columns)
        if abs(mean - values[metric - 2]) > 0.00101:
            at = len(values) - 2 + metric
            notes[str(at)] = f"Misprint: the line's own columns average {mean:.3f}."
    return notes


def read_table(table, tex):
    """Turn one table of tables.json into lines of figures, each checked against the LaTeX."""
    label = table["label"].rpartition(":")[2]
    spec = SPECS[label]
    begin = table["begin"]
    check_columns(tex, begin, spec, label)
    if spec.labels == "funnel":
        columns = [["hotpotqa", f"kept_{stage}"] for stage in STAGES]
    else:
        columns = [[d, m] for d in spec.datasets for m in ("ece", "auroc")]
    lines, head = [], None
    for row in table["rows"]:
        halves = halves_of(cells(tex[row["line"] - 1]), spec.halves)
        if [x for _, numbers in halves for x in numbers] != row["values"]:
            raise MismatchError(f"{label} L{row['line']}: {row['values']} are not in the LaTeX")
        head = spanning(tex, row["line"], halves[0][0]) or head
        for model, (labels, numbers) in zip(models_of(spec, row, tex, begin), halves, strict=True):
            of = {"model": model} | OF[spec.labels](head, labels[-1])
            notes = note_average(numbers, spec.datasets)
            found = {"line": row["line"], "of": of, "values": numbers}
            lines.append(found | ({"notes": notes} if notes else {}))
    said = {"note": spec.note} if spec.note else {}
    return {"table": label, "all": spec.all, **said, "columns": columns, "lines": lines}


def models_of(spec, row, tex, begin):
    """Return the model of each half: said by the table as a whole, by a label, or by a heading."""
    if spec.labels == "funnel":
        return [SHORT[row["labels"][0]]]
    return [spec.model] if spec.model else models_above(tex, row["line"], begin, spec.halves)


def spanning(tex, line, labels):
    """Return the cell that spans several rows, where it begins on this line or on that above."""
    if len(labels) > 1:
        return labels[0]
    found = re.match(r"\\multirow\{\d\}\{\*\}\{(\w+)\}\s*$", tex[line - 2].strip())
    return found and found.group(1)


def check_text(tex):
    """See that each figure of the prose stands on its line, and return the rows."""
    rows = []
    for printed, row in TEXT:
        if printed not in tex[row["line"] - 1]:
            raise MismatchError(f"L{row['line']} does not say {printed!r}")
        rows.append(row)
    return rows


def dump(paper):
    """Write one line of the file per line of the paper, so that a diff can be read."""
    out = ['{"source": ' + json.dumps(paper["source"]) + ',\n "tables": [']
    for i, table in enumerate(paper["tables"]):
        lines = table.pop("lines")
        head = json.dumps(table, ensure_ascii=False)[:-1]
        body = ",\n  ".join(json.dumps(line, ensure_ascii=False) for line in lines)
        out.append(("," if i else "") + head + ', "lines": [\n  ' + body + "]}")
    rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in paper["text"])
    return "\n".join(out) + '],\n "text": [\n  ' + rows + "]}\n"


def made():
    """Make the file's text, and say what was found on the way."""
    tex = (PAPER / "nova.tex").read_text("utf-8").splitlines()
    source = json.loads((PAPER / "tables.json").read_text("utf-8"))
    labels = [t["label"].rpartition(":")[2] for t in source["tables"]]
    if set(labels) != set(SPECS) | set(LEFT_OUT):
        raise MismatchError(f"tables differ: {set(labels) ^ (set(SPECS) | set(LEFT_OUT))}")
    tables = [
        read_table(t, tex)
        for t, label in zip(source["tables"], labels, strict=True)
        if label in SPECS
    ]
    text = check_text(tex)
    counts = [
        (t["table"], len(t["lines"]), sum(len(x["values"]) for x in t["lines"])) for t in tables
    ]
    misprints = [
        f"{t['table']} L{x['line']} {x['of']} {t['columns'][int(i)]}: prints"
        f" {x['values'][int(i)]}. {note}"
        for t in tables for x in t["lines"] for i, note in x.get("notes", {}).items()
    ]  # fmt: skip
    paper = {
        "source": "NOVA: NOise-aware Verbal Confidence CAlibration; lines count in its LaTeX source",
        "tables": tables, "text": text,
    }  # fmt: skip
    return dump(paper), counts, misprints


def main():
    text, counts, misprints = made()
    print(described())
    for name, lines, values in counts:
        print(f"  {name}: {lines} lines, {values} figures, each in its cell of the LaTeX")
    print(f"  text: {len(TEXT)} figures, each on its line")
    for line in misprints:
        print(f"  misprint: {line}")
    if "--write" in sys.argv[1:]:
        TARGET.write_text(text, "utf-8")
    elif text != TARGET.read_text("utf-8"):
        raise SystemExit("paper.json is not what the paper says: run with --write")
    check((PAPER / "nova.tex").read_text("utf-8"))
    print(f"paper.json: {sum(v for *_, v in counts) + len(TEXT)} figures, {len(text)} bytes")


if __name__ == "__main__":
    main()
