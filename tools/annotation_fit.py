"""Fit the weights of the annotator on the labelled passages of HotpotQA's training file.

    python -m tools.annotation_fit --write

No test file is read. To teach it that a mention can be chance, one in twelve of the passages that
mention an answer but belong to another question joins as "does not support". To teach it what a
search returns, the five passages of other questions that share most words with a question join as
"unrelated", for retrieved passages only.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar

from novarag.annotation.features import gather
from novarag.annotation.matching import STRONG, find_mentions
from novarag.annotation.model import KINDS, KindWeights, PassageOrigin
from novarag.annotation.tokens import cut_sentences, make_lexicon, stems_of, words_of
from novarag.datasets.benchmark import load_benchmark
from novarag.noise.validators import is_placeholder
from novarag.records import AnswerForm
from novarag.stats.logistic import fit

WEIGHTS = Path(__file__).parents[1] / "src/novarag/annotation/weights.json"
EVERY = 12
LOOKALIKES = 5
MODELS = ("support", "rival", "relevance", "nearness")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    groups = [
        group
        for k in (3, 5)
        for group in load_benchmark("hotpotqa", part="train", k=k)
        if group.question.form is AnswerForm.OPEN
    ]
    cuts = {p.text: cut_sentences(p.text) for g in groups for p in g.passages}
    lexicon = make_lexicon(cuts.values())
    own = {
        (g.question.id, p.text): (g.question, p.kind)
        for g in groups
        for p in g.passages
        if not is_placeholder(p.text)
    }
    clues = [gather(text, cuts[text], q, lexicon) for (_, text), (q, _) in own.items()]
    truth = np.array([KINDS.index(kind) for _, kind in own.values()])
    strangers = by_chance(groups, cuts, lexicon)[::EVERY]
    lookalikes = found_by_words(groups, cuts, lexicon)
    weights = fit_all(clues, truth, strangers, lookalikes)
    print(
        f"{len(clues):,} labelled passages, {len(strangers)} mentions by chance,"
        f" {len(lookalikes):,} lookalikes"
    )
    for name in MODELS:
        model = getattr(weights, name)
        print(f"{name:<10} {np.round(2 * model.slopes[1], 2).tolist()}")
    print("temperature", {e.value: round(t, 3) for e, t in weights.temperature.items()})
    if wanted.write:
        WEIGHTS.write_text(json.dumps(as_json(weights), indent=1) + "\n", encoding="utf-8")


def by_chance(groups, cuts, lexicon):
    """Hold every question against the passages of the others that mention its answer."""
    owners = {}
    for g in groups:
        for p in g.passages:
            owners.setdefault(p.text, set()).add(g.question.id)
    words = {text: [w for s in cut for w in s.words] for text, cut in cuts.items()}
    bags = {text: {w.word for w in found} for text, found in words.items()}
    asked = {g.question.id: g.question for g in groups}
    found = []
    for question in asked.values():
        heads = [words_of(a)[0].word for a in question.answers if words_of(a)]
        for text in sorted(cuts):
            if question.id in owners[text] or not bags[text].intersection(heads):
                continue
            spots = find_mentions(text, words[text], question.answers)
            if any(m.how in STRONG for m in spots):
                found.append(gather(text, cuts[text], question, lexicon))
    return found


def found_by_words(groups, cuts, lexicon):
    """Find the passages of other questions that a search by words would return."""
    owners, asked = {}, {g.question.id: g.question for g in groups}
    for g in groups:
        for p in g.passages:
            owners.setdefault(p.text, set()).add(g.question.id)
    held = {text: frozenset().union(*(s.stems for s in cut)) for text, cut in cuts.items()}
    found = []
    for question in asked.values():
        words = stems_of(words_of(question.text))
        others = [text for text in held if question.id not in owners[text]]
        others.sort(key=lambda text: (-lexicon.share(words, held[text]), text))
        found += [gather(text, cuts[text], question, lexicon) for text in others[:LOOKALIKES]]
    return found


def fit_all(clues, truth, strangers, lookalikes):
    mentioned = np.array([c.mention is not None for c in clues])
    rows = [c.support_row for c, m in zip(clues, mentioned, strict=True) if m]
    right = np.append(truth[mentioned] == 0, np.zeros(len(strangers), dtype=bool))
    support = fit(
        np.array(rows + [c.support_row for c in strangers]), right.astype(int), 2, penalty=1.0
    )
    open_ = (truth != 0) & np.array([c.rival is not None for c in clues])
    rival = fit(
        np.array([c.rival_row for c, m in zip(clues, open_, strict=True) if m]),
        (truth[open_] == 1).astype(int), 2, penalty=1.0,
    )  # fmt: skip
    rest = truth >= 2
    relevance = fit(
        np.array([c.relevance_row for c, m in zip(clues, rest, strict=True) if m]),
        (truth[rest] == 2).astype(int), 2, penalty=1.0,
    )  # fmt: skip
    near = [c.nearness_row for c, m in zip(clues, rest, strict=True) if m]
    related = np.append(truth[rest] == 2, np.zeros(len(lookalikes), dtype=bool))
    nearness = fit(
        np.array(near + [c.nearness_row for c in lookalikes]), related.astype(int), 2, penalty=1.0
    )
    weights = KindWeights(
        support=support, rival=rival, relevance=relevance, nearness=nearness,
        temperature=dict.fromkeys(PassageOrigin, 1.0),
    )  # fmt: skip
    found = {
        PassageOrigin.PLANTED: temperature(weights, clues, truth, PassageOrigin.PLANTED),
        PassageOrigin.RETRIEVED: temperature(
            weights,
            [c for c, t in zip(clues, truth, strict=True) if t != 1] + lookalikes,
            np.append(truth[truth != 1], np.full(len(lookalikes), 3)),
            PassageOrigin.RETRIEVED,
        ),
    }
    return replace(weights, temperature=found)


def temperature(weights, clues, truth, expect):
    """Find the temperature at which the confidence of verdicts has the least Brier score."""
    chances = np.array([weights.chances(c, expect) for c in clues])
    right = chances.argmax(axis=1) == truth

    def loss(t):
        soft = chances ** (1 / t)
        return ((soft.max(axis=1) / soft.sum(axis=1) - right) ** 2).mean()

    return float(minimize_scalar(loss, bounds=(0.5, 5.0), method="bounded").x)


def as_json(weights):
    def model(m):
        return {
            name: np.round(getattr(m, name), 6).tolist()
            for name in ("mean", "scale", "slopes", "offsets")
        }

    return {
        "fitted_by": "python -m tools.annotation_fit --write",
        **{name: model(getattr(weights, name)) for name in MODELS},
        "temperature": {e.value: round(t, 4) for e, t in weights.temperature.items()},
    }


if __name__ == "__main__":
    main()
