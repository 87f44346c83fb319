"""Hours, money, memory and disk of the paper's four models on GPUs: arithmetic, nothing is run.

    python -m tools.gpu_budget [--write] [--price-a100 1.5] ...
    python -m tools.gpu_budget --count FOLDER     (a finished `make prove NAME=paper`)

Sizes come from the paper, from the models' configurations and from what `novarag paper reproduce all` was
counted to ask (docs/evidence/gpu-inputs.json). Speeds and prices are assumed and said to be.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from novarag.defaults import TRAIN

ROOT = Path(__file__).parents[1]
PAGE, INPUTS = ROOT / "docs" / "gpu-budget.md", ROOT / "docs" / "evidence" / "gpu-inputs.json"
BEGIN, END = "<!-- python -m tools.gpu_budget -->", "<!-- end -->"
RANK, LENGTH, AT_ONCE = TRAIN.rank, TRAIN.max_length, (TRAIN.at_once, 2)
GB = 1e9
Asked = dict[str, dict[str, int]]  # requests and replies by model and strategy


@dataclass(frozen=True)
class Model:
    """A decoder with gated layers and grouped heads, as its config.json states it."""

    name: str
    layers: int
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    vocabulary: int
    biased: bool = False
    reasons: bool = False
    head: int = 128

    def shapes(self) -> list[tuple[int, int]]:
        """Return in and out of each linear part of a layer."""
        q, kv = self.heads * self.head, self.kv_heads * self.head
        h, i = self.hidden, self.inner
        return [(h, q), (h, kv), (h, kv), (q, h), (h, i), (h, i), (i, h)]

    @property
    def parameters(self) -> int:
        """Count all weights.

        >>> [m.parameters for m in MODELS[:2]]
        [7615616512, 8030261248]
        """
        layer = sum(a * b for a, b in self.shapes()) + 2 * self.hidden
        layer += sum(b for _, b in self.shapes()[:3]) if self.biased else 0
        return self.layers * layer + 2 * self.vocabulary * self.hidden + self.hidden

    @property
    def adapter(self) -> int:
        """Count the weights of an adapter on every linear part.

        >>> [m.adapter for m in MODELS[:2]]
        [40370176, 41943040]
        """
        return self.layers * sum(RANK * (a + b) for a, b in self.shapes())

    @property
    def kv_bytes(self) -> int:
        """Return bytes that a token leaves in the cache of a server."""
        return 2 * 2 * self.layers * self.kv_heads * self.head


QWEN = {
    "layers": 28, "hidden": 3584, "inner": 18944, "heads": 28, "kv_heads": 4,
    "vocabulary": 152064, "biased": True,
}  # fmt: skip
LLAMA = {
    "layers": 32, "hidden": 4096, "inner": 14336, "heads": 32, "kv_heads": 8,
    "vocabulary": 128256,
}  # fmt: skip
MODELS = (
    Model("Qwen2.5-7B-Instruct", **QWEN),
    Model("Llama-3.1-8B-Instruct", **LLAMA),
    Model("DeepSeek-R1-Distill-Qwen-7B", **QWEN, reasons=True),
    Model("DeepSeek-R1-Distill-Llama-8B", **LLAMA, reasons=True),
)


@dataclass(frozen=True)
class Gpu:
    """A GPU: what its data sheet says, and what we assume of it."""

    name: str
    memory: float
    peak: float
    slow: float
    fast: float
    price: float


GPUS = (
    Gpu("L20", 48, 119.5, 700, 1_500, 1.0),
    Gpu("A100", 80, 312, 2_000, 4_000, 2.0),
    Gpu("H100", 80, 989, 4_000, 8_000, 3.0),
)
PAPER = {
    "questions": (2_000, "96,000 responses are 16 of 3 groups of each (L278)"),
    "samples": (16, "L382"),
    "prompt tokens": (646, "L383"),
    "reply tokens": (370, "L383"),
    "training examples": (1_945, "L278"),
    "epochs": (2, "L302"),
}
ASSUMED = {
    "thinking": (400, "tokens that a reasoning model thinks before each reply"),
    "cot": (200, "tokens of a reply by cot"),
    "multi-step": (300, "by multi-step"),
    "noise-aware": (200, "by noise-aware"),
    "vanilla": (25, "by vanilla"),
    "closed-book": (25, "by closed-book"),
    "label-only": (25, "by label-only"),
    "p-true": (1, "by the question for P(True)"),
    "noise-calls": (4, "requests for noise a question, one a kind, by one model for all four"),
    "noise-prompt": (500, "tokens of such a request"),
    "noise-reply": (700, "tokens of five candidates"),
    "prefill-use": (0.4, "share of a GPU's peak while it reads prompts"),
    "train-slow": (0.2, "share of its peak while it trains, at worst"),
    "train-fast": (0.4, "the same at best"),
    "padding": (1.1, "tokens trained on for each that counts"),
    "serving-four": (0.95, "how well four servers share the work"),
    "training-four": (0.85, "how well four GPUs share a training"),
    "start": (0.1, "hours until a server is up; two starts a model, and one load to train"),
    "download": (0.1, "GB a second from the hub"),
    "workspace": (2.0, "GB of CUDA context, buffers and what is left between tensors"),
    "server-share": (0.9, "share of its memory that a server takes"),
}


def count(folder: Path) -> Asked:
    """Count requests and replies of a finished `novarag paper reproduce all`, by model and strategy."""
    replies: Counter[str] = Counter()
    requests: Counter[str] = Counter()
    for file in sorted(folder.glob("draws/**/manifest.json")):
        manifest = json.loads(file.read_bytes())["content"]
        role = file.relative_to(folder / "draws").parts[1]
        name = f"{role}/{manifest['settings']['strategy']}"
        replies[name] += manifest["counts"]["trials"]
        requests[name] += manifest["counts"]["requests"]
    return {name: {"requests": requests[name], "replies": replies[name]} for name in replies}


@dataclass(frozen=True)
class Work:
    """Tokens that one stage reads and writes, or trains on."""

    read: float = 0
    written: float = 0
    trained: float = 0


def stages(model: Model, asked: Asked, a: dict[str, float]) -> dict[str, Work]:
    """Return the work that one model takes."""
    p = {name: value for name, (value, _) in PAPER.items()}
    thought = a["thinking"] if model.reasons else 0
    groups = p["questions"] * 3
    reply = p["reply tokens"] + thought
    lengths = {**a, "nova": p["reply tokens"]}
    written = sum(
        n["replies"] * (lengths[name.partition("/")[2]] + thought) for name, n in asked.items()
    )
    seen = p["training examples"] * p["epochs"] * a["padding"]
    nova, short = p["prompt tokens"] + reply, p["prompt tokens"] + a["label-only"]
    return {
        "sampling": Work(groups * p["prompt tokens"], groups * p["samples"] * reply),
        "training": Work(trained=seen * (nova + short)),
        "evaluation": Work(
            sum(n["requests"] for n in asked.values()) * p["prompt tokens"], written
        ),
    }


def hours(
    work: Work, model: Model, gpu: Gpu, a: dict[str, float], *, fast: bool, gpus: int
) -> float:
    """Return the hours of one stage."""
    peak = gpu.peak * 1e12
    reading = 2 * model.parameters * work.read / (peak * a["prefill-use"])
    writing = work.written / (gpu.fast if fast else gpu.slow)
    use = a["train-fast"] if fast else a["train-slow"]
    # Forward, forward again for checkpointing, and back through frozen weights: 2 flops each.
    training = 6 * model.parameters * work.trained / (peak * use)
    serving, teaching = (
        (1, 1) if gpus == 1 else (gpus * a["serving-four"], gpus * a["training-four"])
    )
    return ((reading + writing) / serving + training / teaching) / 3600


def fixed(model: Model, a: dict[str, float]) -> float:
    """Return the hours that no GPU shortens: download and starts."""
    return 2 * model.parameters / GB / a["download"] / 3600 + 3 * a["start"]


def memory(model: Model, a: dict[str, float], at_once: int) -> dict[str, float]:
    """Return the GB of a LoRA training in bfloat16 with gradient checkpointing, at its largest."""
    tokens = at_once * LENGTH
    widest = sum(2 * (a_ + b) for a_, b in model.shapes())
    return {
        "weights, bfloat16": 2 * model.parameters / GB,
        "adapter, its gradient and Adam, float32": 16 * model.adapter / GB,
        "a checkpoint a layer": 2 * tokens * model.layers * model.hidden / GB,
        "one layer, computed again": tokens * widest / GB,
        "logits, in bfloat16, float32 and their gradient": 10 * tokens * model.vocabulary / GB,
        "workspace": a["workspace"],
    }


def span(low: float, high: float) -> str:
    """Write a range to two digits.

    >>> span(0.523, 1.26), span(14.2, 120.7), span(2.0, 2.01)
    ('0.52 to 1.3', '14 to 121', '2')
    """

    def two(x: float) -> str:
        return f"{x:,.0f}" if x >= 10 else f"{x:.2g}"

    return two(low) if two(low) == two(high) else f"{two(low)} to {two(high)}"


def rows(head: list[str], body: list[list[str]]) -> list[str]:
    """Lay out a table; a column with a name is one of figures."""
    cut = "|---|" + "".join("---:|" if name else "---|" for name in head[1:])
    return [f"| {' | '.join(head)} |", cut, *(f"| {' | '.join(row)} |" for row in body), ""]


def whole(model: Model, gpu: Gpu, asked: Asked, a: dict[str, float], *, gpus: int) -> list[float]:
    """Return the hours of all stages of one model, at best and at worst."""
    work = stages(model, asked, a).values()
    return [
        fixed(model, a) + sum(hours(w, model, gpu, a, fast=fast, gpus=gpus) for w in work)
        for fast in (True, False)
    ]


def inputs(asked: Asked, gpus: tuple[Gpu, ...], a: dict[str, float]) -> list[str]:
    """Say what the arithmetic stands on, each line with where it is from."""
    stated = [[k, f"{v:,}", f"paper: {why}"] for k, (v, why) in PAPER.items()]
    replies = sum(n["replies"] for n in asked.values())
    requests = sum(n["requests"] for n in asked.values())
    stated += [["replies of `reproduce all`", f"{replies:,}", f"counted; {requests:,} requests"]]
    stated += [[k, f"{a[k]:g}", f"assumed: {why}"] for k, (_, why) in ASSUMED.items()]
    head = ["GPU", "memory, GB", "peak, bf16 TFLOPS", "reply tokens a second", "money an hour"]
    sheets = [
        [g.name, f"{g.memory:g}", f"{g.peak:g}", span(g.slow, g.fast), f"{g.price:g}"] for g in gpus
    ]
    return [*rows(["input", "value", ""], stated), *rows(head, sheets)]


def by_stage(asked: Asked, gpu: Gpu, a: dict[str, float]) -> list[str]:
    """Return the hours of each stage on one GPU."""

    def both(work: Work, model: Model) -> str:
        return span(*(hours(work, model, gpu, a, fast=fast, gpus=1) for fast in (True, False)))

    body = [[m.name, *(both(w, m) for w in stages(m, asked, a).values())] for m in MODELS]
    calls = PAPER["questions"][0] * a["noise-calls"]
    noise = both(Work(calls * a["noise-prompt"], calls * a["noise-reply"]), MODELS[1])
    return [
        f"**Hours of each stage on one {gpu.name}**, without download and starts. Writing the noise,"
        f" once for all four models, by one of them: {noise} h.",
        "",
        *rows(["model", "sampling", "training", "evaluation"], body),
    ]


def in_all(asked: Asked, gpus: tuple[Gpu, ...], a: dict[str, float]) -> list[str]:
    """Return hours and money of everything, on one and on four."""
    places = [(g, n) for g in gpus for n in (1, 4)]
    head = [f"{n} x {g.name}" for g, n in places]
    lines = ["**All of it**: hours by the clock, and money; all stages, starts and download.", ""]
    for unit in ("hours", "money"):
        found = [
            [
                [x * (n * g.price if unit == "money" else 1) for x in whole(m, g, asked, a, gpus=n)]
                for g, n in places
            ]
            for m in MODELS
        ]
        sums = [
            [sum(ends) for ends in zip(*column, strict=True)] for column in zip(*found, strict=True)
        ]
        named = zip([*(m.name for m in MODELS), "all four"], [*found, sums], strict=True)
        lines += rows([unit, *head], [[name, *(span(*c) for c in cells)] for name, cells in named])
    return lines


def memories(gpus: tuple[Gpu, ...], a: dict[str, float]) -> list[str]:
    """Return what training, serving and keeping take."""
    pair = MODELS[:2]
    kinds = [(n, m) for n in AT_ONCE for m in pair]
    parts = [memory(m, a, n) for n, m in kinds]
    body = [[name, *(f"{p[name]:.1f}" for p in parts)] for name in parts[0]]
    body.append(["in all", *(f"{sum(p.values()):.0f}" for p in parts)])
    head = ["7B (Qwen)", "8B (Llama)"]
    seats = [[g.name, *(f"{seats_of(m, g, a):,}" for m in pair)] for g in gpus]
    weights = sum(2 * m.parameters for m in MODELS) / GB
    adapters = span(*sorted(4 * m.adapter / 1e6 for m in pair))
    return [
        f"**Memory of training**, GB: rank {RANK}, samples of {LENGTH:,} tokens.",
        "",
        *rows(["part", *(f"{name}, {n} at once" for n in AT_ONCE for name in head)], body),
        "**Memory of serving**: requests of sixteen samples that fit at once with the weights.",
        "",
        *rows(["GPU", *head], seats),
        f"**Disk**: weights of all four {weights:.0f} GB, and merged ones as much again for each"
        f" variant that is merged; an adapter {adapters} MB, a checkpoint of it three times that.",
    ]


def seats_of(model: Model, gpu: Gpu, a: dict[str, float]) -> int:
    """Return how many requests of sixteen samples a server's cache holds."""
    request = PAPER["prompt tokens"][0] + PAPER["samples"][0] * PAPER["reply tokens"][0]
    free = gpu.memory * a["server-share"] - 2 * model.parameters / GB - a["workspace"]
    return math.floor(free * GB / model.kv_bytes / request)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/gpu-budget.md"
    )
    parser.add_argument("--count", type=Path, help="count what a finished folder asked")
    for gpu in GPUS:
        flag = f"--price-{gpu.name.lower()}"
        parser.add_argument(flag, type=float, default=gpu.price, help="money for an hour")
    for name, (value, why) in ASSUMED.items():
        parser.add_argument(f"--{name}", type=float, default=value, help=why)
    given = vars(parser.parse_args())
    if given["count"]:
        print(json.dumps(count(given["count"]), indent=1, sort_keys=True))
        return
    prices = [given[f"price_{g.name.lower()}"] for g in GPUS]
    gpus = tuple(
        Gpu(g.name, g.memory, g.peak, g.slow, g.fast, price)
        for g, price in zip(GPUS, prices, strict=True)
    )
    a = {name: given[name.replace("-", "_")] for name in ASSUMED}
    asked = json.loads(INPUTS.read_bytes())
    lines = inputs(asked, gpus, a) + by_stage(asked, gpus[1], a) + in_all(asked, gpus, a)
    lines += memories(gpus, a)
    if not given["write"]:
        print("\n".join(lines))
        return
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END + after]), "utf-8")


if __name__ == "__main__":
    main()
