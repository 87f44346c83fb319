"""The default of every setting that more than one place names, once.

The command line, the TOML files and the library take their defaults from here; nothing but the
standard library is imported, so that `--help` stays quick.
"""

from __future__ import annotations

from dataclasses import dataclass

LARGEST = 2**62
"""The largest whole number that any setting may be: what JSON, Parquet and NumPy hold, and more."""

_MAX_LENGTH = 2048  # tokens of a sample, prompt and completion together (the paper's figure)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDefaults:
    """How a server is asked: requests in flight per endpoint, seconds a reply, attempts."""

    concurrency: int = 64
    timeout: float = 600.0
    attempts: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class AskDefaults:
    """How groups are asked: questions a shard, what runs the shards, lines of a held reply."""

    shard_size: int = 1000
    driver: str = "local"
    step_length: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureDefaults:
    """How intervals are made: bootstrap replicates, their seed."""

    replicates: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareDefaults:
    """How much worse answers may have become: Brier score, share of replies that are unread."""

    brier: float = 0.02
    unread: float = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateDefaults:
    """From what confidence on a passage gets a kind, and the intervals of the profile."""

    min_confidence: float = 0.6
    replicates: int = 1000
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateDefaults:
    """The prompt behind uncertainty methods: the paper asks by CoT unless it says otherwise."""

    strategy: str = "cot"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeDefaults:
    """How a system is probed: how many calls a question, and the prompt behind them."""

    profile: str = "standard"
    strategy: str = "nova"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefaults:
    """How the cells of a table are asked for and measured, and from how many rows on.

    `reply_tokens` is the longest reply at test (the paper's figure), `method_strategy` the prompt
    behind the methods that ask more than once.
    """

    replicates: int = 1000
    min_rows: int = 50
    seed: int = 0
    reply_tokens: int = 2048
    method_strategy: str = "cot"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseDefaults:
    """How noise is written: candidates in a reply, how many of them are kept, temperature."""

    kinds: tuple[str, ...] = ("counterfactual", "relevant", "irrelevant", "consistent")
    candidates: int = 5
    keep: int = 3
    temperature: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDefaults:
    """How passages are drawn into groups, and by how much a shortcut must beat the majority."""

    k: int = 3
    margin: float = 0.05
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefaults:
    """How a corpus is cut and indexed."""

    words: int = 100
    collection: str = "passages"
    analyzer: str = "english"
    k1: float = 0.9
    b: float = 0.4
    vectors: str = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveDefaults:
    """How passages are found; a graph of vectors is walked for `candidates` of them."""

    mode: str = "bm25"
    k: int = 5
    candidates: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterDefaults:
    """The variants of the funnel's stages, and the seed of ties and draws."""

    rules: str = "stated"
    alignment: str = "brier"
    balance: str = "uniform"
    drop_longest: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportDefaults:
    """The share of questions in a dev split, the longest sample in tokens, levels to write."""

    dev: float = 0.1
    max_length: int = _MAX_LENGTH
    seed: int = 0
    levels: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainDefaults:
    """How a model is trained; where each is from stands in `sft/train/settings.py`."""

    learning_rate: float = 5e-5
    epochs: float = 2.0
    rank: int = 16
    upper_layers: int = 0
    warmup: float = 0.1
    batch: int = 256
    at_once: int = 8
    max_length: int = _MAX_LENGTH
    seed: int = 42
    gradient_checkpointing: bool = True
    save_every: int = 0
    loss: str = "text"
    levels: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PickDefaults:
    """How many answers are picked, and what part of them goes to the evidence states alike."""

    rows: int = 100
    spread: float = 0.3
    seed: int = 0


ACCESS = AccessDefaults()
DESK = AccessDefaults(timeout=120.0, attempts=4)
"""For one question at a desk, where somebody waits for the reply."""
ASK = AskDefaults()
MEASURE = MeasureDefaults()
COMPARE = CompareDefaults()
ANNOTATE = AnnotateDefaults()
ESTIMATE = EstimateDefaults()
PROBE = ProbeDefaults()
TABLE = TableDefaults()
NOISE = NoiseDefaults()
GROUP = GroupDefaults()
INDEX = IndexDefaults()
RETRIEVE = RetrieveDefaults()
FILTER = FilterDefaults()
EXPORT = ExportDefaults()
TRAIN = TrainDefaults()
PICK = PickDefaults()
