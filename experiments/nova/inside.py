"""What models know where they state their confidence, on dev questions: more than replies show.

    python -m experiments.nova.inside BUILD NAME=MODEL [NAME=MODEL ...] [--layers 15 20 25]

MODEL is a folder of whole weights. Two figures for each, at the base's own greedy replies, read up
to the number: the level that is expected over the probabilities of all levels, and for the first
model a linear probe, ridge regression from the hidden state of a layer to whether the answer is
right. The probe is fitted on the base's sampled replies: across folds of their questions, and once
on all of them for the dev questions. Nothing is chosen by it; it says what a training could reach.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from novarag import grade, open_run
from novarag.calibration.scores import score
from novarag.metrics.baselines import folds
from novarag.sft.lengths import load_ruler
from novarag.sft.levels import Levels
from novarag.sft.stated import number_span
from novarag.sft.train.engine import precision
from novarag.strategies import STRATEGIES
from novarag.taxonomy import Grade
from tests.support.machine import described

FORM = "vanilla"
DEV, SAMPLED = f"runs/dev-warm-{FORM}-dev", "runs/sample"
PENALTY = 1.0
LEVELS = Levels(10)


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("models", nargs="+", help="NAME=FOLDER; the first is the base")
    parser.add_argument("--layers", type=int, nargs="*", default=[], help="layers to probe")
    given = parser.parse_args()
    print(f"{described()}\n\n| at the number | replies | right | AUROC | Brier | mean |")
    print("|---|---|---|---|---|---|")
    dev = replies(given.build / DEV)
    for number, named in enumerate(given.models):
        name, _, place = named.partition("=")
        layers = given.layers if number == 0 else []
        model = Model(place, layers)
        found = model.looked(dev)
        say(f"{name}: level expected", found.expected, found.right)
        if layers:
            probed(name, layers, model.looked(replies(given.build / SAMPLED)), found)
    say("a constant, from the same", np.full(len(found.right), found.right.mean()), found.right)


def replies(place):
    """Gather the replies of a run by prompt: what was said before the number, question, grade."""
    rows = defaultdict(list)
    for trial in open_run(place):
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
        states, expected, questions, right = zip(*rows, strict=True)
        self.states, self.expected = np.array(states, dtype=float), np.array(expected)
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
        return states, float(chance @ torch.tensor(LEVELS.values))


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
        say(f"{name}: probe of layer {layer}, sampled replies, across folds", made, sampled.right)
        found = fitted(states, sampled.right)(dev.states[:, number])
        say(f"{name}: probe of layer {layer}, dev", found, dev.right)


def fitted(states, right):
    """Fit a ridge regression to scaled states; return it as a function to probabilities."""
    middle, spread, rate = states.mean(0), states.std(0) + 1e-6, right.mean()
    scaled = (states - middle) / spread
    square = scaled.T @ scaled + PENALTY * len(right) * np.eye(scaled.shape[1])
    weights = np.linalg.solve(square, scaled.T @ (right - rate))
    return lambda new: ((new - middle) / spread @ weights + rate).clip(0, 1)


def say(what, confidence, right):
    """Print a row."""
    found = score(confidence, right, np.ones(len(right)))
    order = "–" if found.auroc is None else f"{found.auroc:.2f}"
    print(f"| {what} | {len(right):,} | {right.mean():.2f} | {order} | {found.brier:.3f}"
          f" | {confidence.mean():.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
