"""What models know where they state their confidence, on dev questions: more than replies show.

    python -m experiments.nova.inside BUILD NAME=MODEL [NAME=MODEL ...] [--graded] [--layers 20]

MODEL is a folder of whole weights. At the base's own greedy replies, read up to the number: the
level that is expected over the probabilities of all levels, the one that is most likely, which a
greedy reply would state, and how the expected levels of each later model differ from the second's:
95 % bootstrap intervals by question, differences paired, as the replies are the same. With
`--graded`, replies to graded training questions count too, which no number was trained on.

With `--layers`, for the first model a linear probe: ridge regression from the hidden state of a
layer to whether the answer is right, fitted on the base's sampled replies, across folds of their
questions, and once on all of them for the greedy replies. Nothing is chosen by any of it.
"""

import argparse
from collections import defaultdict
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from experiments.nova.page import shown
from experiments.nova.report import figure
from novarag import grade, open_run
from novarag.calibration.fit_calibration import score_confidences
from novarag.metrics.baselines import folds
from novarag.sft.lengths import load_ruler
from novarag.sft.levels import ConfidenceLevels, number_span
from novarag.sft.train.engine import precision
from novarag.stats.resampling import draws, interval
from novarag.strategies import STRATEGIES
from novarag.taxonomy import Grade
from tests.support.machine import described

FORM = "vanilla"
DEV, SAMPLED = f"runs/dev-warm-{FORM}-dev", "runs/sample"
GRADED = [f"runs/train-warm-{FORM}-graded-{part}" for part in ("few", "more")]
REPLICATES = 2000
PENALTY = 1.0
LEVELS = ConfidenceLevels(10)


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("models", nargs="+", help="NAME=FOLDER; the first is the base")
    parser.add_argument("--graded", action="store_true", help="graded training questions, too")
    parser.add_argument("--layers", type=int, nargs="*", default=[], help="layers to probe")
    given = parser.parse_args()
    print(f"{described()}\n\n| at the number | replies | right | AUROC | Brier | mean |")
    print("|---|---|---|---|---|---|")
    greedy = replies(given.build, [DEV, *(GRADED if given.graded else [])])
    seen = {}
    for number, named in enumerate(given.models):
        name, _, place = named.partition("=")
        layers = given.layers if number == 0 else []
        model = Model(place, layers)
        seen[name] = found = model.looked(greedy)
        say(f"{name}: level expected", found.expected, found)
        say(f"{name}: level most likely", found.likeliest, found)
        if layers:
            probed(name, layers, model.looked(replies(given.build, [SAMPLED])), found)
    say("a constant, from the same", np.full(len(found.right), found.right.mean()), found)
    compare(seen)


def replies(build, runs):
    """Gather the replies of runs by prompt: what was said before the number, question, grade."""
    rows = defaultdict(list)
    for trial in chain.from_iterable(open_run(build / run) for run in runs):
        span = number_span(trial.completion.text)
        if trial.response is not None and span is not None:
            right = grade(trial.response.answer, trial.group.question) is Grade.RIGHT
            prompt = STRATEGIES[FORM].render(trial.group).text
            said = trial.completion.text[: span[0]]
            rows[prompt].append((said, str(trial.group.question.id), right))
    return rows


class Looked:
    """What was seen at the numbers of some replies."""

    def __init__(self, rows):
        states, expected, likeliest, questions, right = zip(*rows, strict=True)
        self.states, self.expected = np.array(states, dtype=float), np.array(expected)
        self.likeliest = np.array(likeliest)
        self.questions, self.right = list(questions), np.array(right)


class Model:
    """A model with its tokenizer; what replies to one prompt share is computed once."""

    def __init__(self, place, layers):
        self._layers, self._ruler = layers, load_ruler(place)
        self._model = AutoModelForCausalLM.from_pretrained(
            place, dtype=getattr(torch, precision()), use_safetensors=True
        ).eval()
        tokens = self._ruler.tokenizer
        self._levels = tokens.convert_tokens_to_ids([digits[0] for digits in LEVELS.digits])

    @torch.no_grad()
    def looked(self, replies):
        """Look at the place of the number in every reply."""
        return Looked([row for prompt, said in replies.items() for row in self._rows(prompt, said)])

    def _rows(self, prompt, replies):
        text, _ = self._ruler.render(prompt)
        seen = self._model(**self._tokens(text), use_cache=True, logits_to_keep=1).past_key_values
        known = {}
        for said, question, right in replies:
            if said not in known:
                known[said] = self._at_number(said, seen)
            yield *known[said], question, right

    def _tokens(self, text):
        return self._ruler.tokenizer(text, add_special_tokens=False, return_tensors="pt")

    def _at_number(self, said, seen):
        tokens = self._tokens(said)["input_ids"]
        made = self._model(
            tokens, past_key_values=seen, use_cache=True, logits_to_keep=1,
            output_hidden_states=bool(self._layers),
        )  # fmt: skip
        seen.crop(-tokens.shape[1])
        chance = torch.softmax(made.logits[0, -1, self._levels].float(), -1)
        states = [made.hidden_states[layer][0, -1].float().numpy() for layer in self._layers]
        likeliest = LEVELS.values[int(chance.argmax())]
        return states, float(chance @ torch.tensor(LEVELS.values)), likeliest


def probed(name, layers, sampled, dev):
    """Fit a probe to each layer, and measure it."""
    order = sorted(set(sampled.questions))
    fold = folds(order)[np.searchsorted(order, sampled.questions)]
    for number, layer in enumerate(layers):
        states = sampled.states[:, number]
        made = np.zeros(len(states))
        for one in np.unique(fold):
            held = fold == one
            made[held] = fitted(states[~held], sampled.right[~held])(states[held])
        say(f"{name}: probe of layer {layer}, sampled replies, across folds", made, sampled)
        found = fitted(states, sampled.right)(dev.states[:, number])
        say(f"{name}: probe of layer {layer}, greedy replies", found, dev)


def fitted(states, right):
    """Fit a ridge regression to scaled states; return it as a function to probabilities."""
    middle, spread, rate = states.mean(0), states.std(0) + 1e-6, right.mean()
    scaled = (states - middle) / spread
    square = scaled.T @ scaled + PENALTY * len(right) * np.eye(scaled.shape[1])
    weights = np.linalg.solve(square, scaled.T @ (right - rate))
    return lambda new: ((new - middle) / spread @ weights + rate).clip(0, 1)


def say(what, confidence, looked):
    """Print a row."""
    right = looked.right
    cells = figures(lambda weight: scored(confidence, right, weight), looked.questions)
    print(f"| {what} | {len(right):,} | {right.mean():.2f} | {' | '.join(cells)}"
          f" | {confidence.mean():.2f} |", flush=True)  # fmt: skip


def compare(seen):
    """Print by how much the expected levels of later models differ from those of the second."""
    _, *names = seen
    if len(names) < 2:
        return
    first, *others = names
    print(f"\n| expected level, against {first} | AUROC | Brier |\n|---|---|---|")
    right = seen[first].right
    for name in others:

        def gap(weight, name=name):
            return scored(seen[name].expected, right, weight) - scored(
                seen[first].expected, right, weight
            )

        print(f"| {name} | {' | '.join(figures(gap, seen[first].questions))} |")


def scored(confidence, right, weight):
    """Return AUROC and Brier score; no AUROC where all are right or all are wrong."""
    found = score_confidences(confidence, right, weight)
    return np.array([np.nan if found.auroc is None else found.auroc, found.brier])


def figures(of, questions):
    """Write the figures of all rows, each with its interval over draws of questions."""
    names, which = np.unique(questions, return_inverse=True)
    chunks = draws(len(names), REPLICATES, seed=0, width=len(which))
    drawn = np.array([of(weight[which]) for chunk in chunks for weight in chunk])
    return [
        shown(figure(value, *interval(column)))
        for value, column in zip(of(np.ones(len(which))), drawn.T, strict=True)
    ]


if __name__ == "__main__":
    main()
