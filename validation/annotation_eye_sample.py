"""Real retrieved passages for the annotator, and a blind sample of them to check by eye.

    python -m validation.annotation_eye_sample groups build/annotation/retrieved.jsonl
    novarag annotate build/annotation/retrieved.jsonl --out build/annotation/retrieved
    python -m validation.annotation_eye_sample draw build/annotation/retrieved/annotated.jsonl --seed 1 \
        --half check --out build/annotation
    python -m validation.annotation_eye_sample score docs/evidence/annotation-eye.csv \
        --now build/annotation/retrieved/annotated.jsonl

`groups` needs bm25s: k=5 by BM25 (k1=.9, b=.4) over retrieval/corpus, for the questions with known
answers. `draw` writes sheet.jsonl (question, answers, text) and key.csv (what the annotator said).
Questions fall in two halves by a hash of their words: rules were tuned on the half `tune` alone.
"""

import argparse
import csv
import json
import os
import random
import re
from collections import Counter
from hashlib import sha256
from pathlib import Path

SUPPORTS, OTHER = "gold", "counterfactual"
TITLES = {
    SUPPORTS: "supports",
    OTHER: "states another answer",
    "relevant": "related",
    "irrelevant": "unrelated",
}
DATA = Path(os.environ.get("NOVARAG_DATA", "../shared/data"))


def make_groups(out: Path) -> None:
    import bm25s
    import polars as pl

    corpus = pl.read_parquet(DATA / "retrieval/corpus.parquet")
    questions = pl.read_parquet(DATA / "retrieval/questions.parquet").filter(
        pl.col("answers").list.len() > 0
    )
    texts = [f"{t}\n{x}" for t, x in zip(corpus["title"], corpus["text"], strict=True)]
    engine = bm25s.BM25(k1=0.9, b=0.4)
    engine.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    asked = bm25s.tokenize(questions["question"].to_list(), stopwords="en", show_progress=False)
    found, _ = engine.retrieve(asked, k=5, show_progress=False)
    ids = corpus["id"].to_list()
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", encoding="utf-8") as lines:
        for row, best in zip(questions.iter_rows(named=True), found, strict=True):
            passages = [
                {"text": texts[d], "source": ids[d], "provenance": "retrieved"} for d in best
            ]
            shown = {
                "group": f"{row['qid']}/bm25-k5", "id": row["qid"], "question": row["question"],
                "answers": row["answers"], "passages": passages,
            }  # fmt: skip
            lines.write(json.dumps(shown) + "\n")
    print(f"wrote {out}: {questions.height:,} groups")


def half_of(question: str) -> str:
    words = re.sub(r"\W+", " ", question.lower()).strip()
    return "tune" if int(sha256(words.encode()).hexdigest(), 16) % 2 == 0 else "check"


def draw(annotated: Path, seed: int, half: str, out: Path, without: Path | None) -> None:
    rng = random.Random(seed)
    rows: dict[str, list[dict]] = {"supports": [], "other": [], "rest": []}
    seen, read = set(), set()
    if without is not None:
        with without.open(encoding="utf-8", newline="") as lines:
            read = {row["id"] for row in csv.DictReader(lines)}
    for line in annotated.read_text("utf-8").splitlines():
        group = json.loads(line)
        words = re.sub(r"\W+", " ", group["question"].lower()).strip()
        if half not in {"all", half_of(group["question"])} or words in seen:
            continue
        seen.add(words)  # one wording of a question is enough
        for rank, p in enumerate(group["passages"], start=1):
            kind = p.get("kind")
            if f"{group['id']}#{rank}" in read:
                continue
            name = {SUPPORTS: "supports", OTHER: "other"}.get(kind, "rest")
            rows[name].append(
                {
                    "id": f"{group['id']}#{rank}", "question": group["question"],
                    "answers": group["answers"], "text": p["text"], "source": p.get("source"),
                    "kind": kind or "undecided", "claim": p.get("claim"),
                }
            )  # fmt: skip
    picked = rng.sample(rows["supports"], min(100, len(rows["supports"])))
    picked += rng.sample(rows["other"], min(60, len(rows["other"])))
    picked += rng.sample(rows["rest"], 200 - len(picked))
    rng.shuffle(picked)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "sheet.jsonl").open("w", encoding="utf-8") as sheet:
        for row in picked:
            shown = {key: row[key] for key in ("id", "question", "answers", "text")}
            sheet.write(json.dumps(shown) + "\n")
    with (out / "key.csv").open("w", encoding="utf-8", newline="") as key:
        writer = csv.writer(key)
        writer.writerow(["id", "source", "annotator", "claim"])
        writer.writerows([r["id"], r["source"], r["kind"], r["claim"]] for r in picked)
    print({name: len(found) for name, found in rows.items()}, "drawn", len(picked))


def wilson(hits: int, n: int) -> str:
    from scipy.stats import norm

    z = float(norm.ppf(0.975))
    p, denominator = hits / n, 1 + z * z / n
    middle = (p + z * z / (2 * n)) / denominator
    spread = z * ((p * (1 - p) + z * z / (4 * n)) / n) ** 0.5 / denominator
    return (
        f"{hits} of {n}, {p:.3f} ({max(0, middle - spread):.3f} to {min(1, middle + spread):.3f})"
    )


def kinds_in(annotated: Path) -> dict[str, str]:
    """Return what the annotator says now of each passage, by the id of the sheet."""
    kinds: dict[str, str] = {}
    for line in annotated.read_text("utf-8").splitlines():
        group = json.loads(line)
        for rank, passage in enumerate(group["passages"], start=1):
            kinds[f"{group['id']}#{rank}"] = passage.get("kind") or "undecided"
    return kinds


def score(record: Path, now: Path | None) -> None:
    with record.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    if now is not None:
        kinds = kinds_in(now)
        changed = sum(row["annotator"] != kinds[row["id"]] for row in rows)
        print(f"the annotator as it is; {changed} of {len(rows)} verdicts differ from the recorded")
        counts = Counter(kinds.values())
        print(f"of all {sum(counts.values()):,} passages: {dict(sorted(counts.items()))}")
        rows = [row | {"annotator": kinds[row["id"]]} for row in rows]
    for number in sorted({row["round"] for row in rows}):
        part = [row for row in rows if row["round"] == number]
        print(f"round {number}: {len(part)} passages read blind")
        for kind, title in TITLES.items():
            said = [row for row in part if row["annotator"] == kind]
            if not said:
                print(f"  precision of {title!r}: none was annotated so")
                continue
            hits = sum(row["eye"] == kind for row in said)
            print(f"  precision of {title!r}: {wilson(hits, len(said))}")
        print("  eye, annotator: " + ", ".join(
            f"{eye}/{said} {n}"
            for (eye, said), n in sorted(Counter((r["eye"], r["annotator"]) for r in part).items())
        ))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("groups").add_argument("out", type=Path)
    drawing = verbs.add_parser("draw")
    drawing.add_argument("annotated", type=Path)
    drawing.add_argument("--seed", type=int, default=1)
    drawing.add_argument("--half", default="check", choices=["tune", "check", "all"])
    drawing.add_argument("--without", type=Path, help="record of what was read before")
    drawing.add_argument("--out", type=Path, required=True)
    scoring = verbs.add_parser("score")
    scoring.add_argument("record", type=Path)
    scoring.add_argument("--now", type=Path, help="score these verdicts instead of the recorded")
    args = parser.parse_args()
    if args.verb == "groups":
        make_groups(args.out)
    elif args.verb == "draw":
        draw(args.annotated, args.seed, args.half, args.out, args.without)
    else:
        score(args.record, args.now)


if __name__ == "__main__":
    main()
