"""Options that mean the same in every verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.shares import parse_share
from novarag.defaults import LARGEST
from novarag.errors import UsageError
from novarag.records import NumberScale

if TYPE_CHECKING:
    from novarag.calls import Price


OURS = "vanilla, cot, multi-step, noise-aware, nova, label-only, closed-book, top-k"
PAPERS = "vanilla-paper, cot-paper, multi-step-paper, noise-aware-paper, nova-paper"
PRESETS = "guess-probability, answer-tags, probability-yes"
StrategyName = Annotated[
    str,
    typer.Option("--strategy", "-s", help=f"{OURS}; {PAPERS}; or package.module:OBJECT."),
]
ReaderName = Annotated[
    str,
    typer.Option(
        "--reader",
        help=f"How the reply is laid out: {OURS}; other formats: {PRESETS};"
        " or package.module:OBJECT.",
    ),
]
ScaleName = Annotated[
    NumberScale | None,
    typer.Option(help="What a bare number in a reply means: 0%-100%, 0-100 or 0-1."),
]
ForeignStrategy = Annotated[
    str | None, typer.Option(help="The strategy of the run, if it is package.module:OBJECT.")
]
RunArgument = Annotated[str, typer.Argument(help="Folder of a run, or s3://….")]
_SERVER = (
    "URL=NAME of an OpenAI-compatible server, such as http://localhost:8000/v1=llama; repeat it for"
    " replicas of one model."
)
Models = Annotated[
    list[str], typer.Option("--model", "-m", help=f"{_SERVER} simulated:base needs no server.")
]
Servers = Annotated[list[str], typer.Option("--model", "-m", help=_SERVER)]
"""A model for a question of one's own, which no simulated respondent knows an answer to."""
KeyEnv = Annotated[
    str | None,
    typer.Option(
        help="Environment variable that holds the key; default NOVARAG_API_KEY, and OPENAI_API_KEY"
        " for api.openai.com. With _HOST behind its name it holds the key of that host alone."
    ),
]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Longest reply, in tokens.")]
Temperature = Annotated[
    float | None,
    typer.Option(
        min=0, help="Temperature of the sampling; default 0 for one sample, 1 for several."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, max=LARGEST, help="Seed of the sampling, for servers that take one."),
]
Timeout = Annotated[float, typer.Option(min=0.01, max=86_400, help="Seconds to wait for a reply.")]
TokenPrice = Annotated[
    str | None, typer.Option(help="IN:OUT, money per million tokens, for estimates.")
]
LabelFrame = Annotated[
    bool,
    typer.Option(
        "--frame",
        help="Ask for labels with a secret mark, as in Answer[7f3a2c], which no passage can forge.",
    ),
]
_HELD = "Have the server hold replies to the strategy's form; default: where it can"
StructuredReplies = Annotated[
    bool | None,
    typer.Option("--structured/--no-structured", help=f"{_HELD}, found by the first request."),
]
StructuredSamples = Annotated[
    bool | None,
    typer.Option(
        "--structured/--no-structured",
        help=f"{_HELD}, for one sample a group; several are free.",
    ),
]
StructuredReply = Annotated[
    bool,
    typer.Option(
        "--structured/--no-structured",
        help="Have the server hold the reply to the strategy's form, where it can.",
    ),
]
ShardSize = Annotated[int, typer.Option(min=1, help="Questions in a shard.")]
EncoderSpec = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="A folder, a model of the hub such as facebook/contriever, package:NAME/FOLDER; or"
        " URL=NAME of a server with /v1/embeddings, tei+URL=NAME, tei-raw+URL=NAME.",
    ),
]
EntailmentSpec = Annotated[
    str | None,
    typer.Option(
        "--nli",
        help="A cross-encoder of entailment, a folder or a model of the hub; or"
        " package.module:OBJECT, called with (premise, hypothesis) pairs; returns chances of"
        " entailment, neutral and contradiction for each.",
    ),
]
SearchObject = Annotated[
    str | None,
    typer.Option(
        "--search",
        help="package.module:OBJECT that searches: a function of (query, k), a Retriever, or a"
        " retriever of LangChain or LlamaIndex.",
    ),
]
SearchUrl = Annotated[
    str | None,
    typer.Option("--http", help="URL of a search server that takes queries and k as JSON."),
]
CollectionName = Annotated[str, typer.Option(help="Name of the collection.")]
Margin = Annotated[
    float,
    typer.Option(min=0, max=1, help="By how much a cue may beat the most common group."),
]
TokenEnv = Annotated[
    str, typer.Option(help="Environment variable that holds the token of the Milvus server.")
]


def parse_price(text: str | None) -> Price | None:
    """Read `IN:OUT`.

    >>> parse_price("0.15:0.6")
    Price(prompt=0.15, completion=0.6)
    """
    from novarag.calls import Price

    if text is None:
        return None
    before, found, after = text.partition(":")
    try:
        price = Price(float(before), float(after if found else before))
    except ValueError:
        raise UsageError(f"{text!r} is not a price: write IN:OUT per million tokens") from None
    if not (0 <= price.prompt < 1e6 and 0 <= price.completion < 1e6):
        raise UsageError(f"{text!r} is not a price: write IN:OUT per million tokens")
    return price


ConfidenceLevel = Annotated[
    float,
    typer.Option(
        parser=parse_share,
        metavar="<share>",
        help="The probability of the promise over the graded rows: 90% or 0.9.",
    ),
]
SourceName = Annotated[
    str | None,
    typer.Option(help="Name of the model whose answers they are, where no column 'model' says so."),
]
PromptName = Annotated[
    str | None,
    typer.Option(help="The prompt they were asked with, where no column 'strategy' says so."),
]
OtherSource = Annotated[
    bool,
    typer.Option(
        "--other-source", help="Take a calibration or gate of another model or prompt all the same."
    ),
]
