"""Options that say which model to ask, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from novarag.llm.chat import ChatLLM
    from novarag.web.sending import Patience

SIMULATED = "simulated:"

Models = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        help="URL=NAME of an OpenAI-compatible server, such as http://localhost:8000/v1=llama;"
        " repeat it for replicas of one model. simulated:base needs no server.",
    ),
]
KeyEnv = Annotated[
    str | None,
    typer.Option(
        help="Environment variable that holds the key; default NOVARAG_API_KEY, and OPENAI_API_KEY"
        " for api.openai.com."
    ),
]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Longest reply, in tokens.")]
Temperature = Annotated[
    float | None,
    typer.Option(min=0, help="Default 0 for one sample, 1 for several."),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, max=2**62, help="Seed of the sampling, for servers that take one."),
]
Timeout = Annotated[float, typer.Option(min=0.01, max=86_400, help="Seconds to wait for a reply.")]
Concurrency = Annotated[
    int, typer.Option(min=1, help="Most requests in flight per endpoint and worker.")
]
Attempts = Annotated[int, typer.Option(min=1, help="Attempts before giving up.")]
PerMillion = Annotated[
    str | None, typer.Option(help="IN:OUT, money per million tokens, for estimates.")
]
DriverName = Annotated[
    Literal["local", "ray"], typer.Option(help="What runs the shards: this process, or Ray.")
]
RayAddress = Annotated[
    str | None, typer.Option(help="Address of the Ray cluster; default: start one here.")
]
ShardSize = Annotated[int, typer.Option(min=1, help="Questions in a shard.")]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Ask again what was given up before.")
]


def is_simulated(models: Sequence[str]) -> bool:
    """Say whether the model is a simulated respondent, which needs no server."""
    return models[0].startswith(SIMULATED)


def simulated_note(models: Sequence[str]) -> list[str]:
    """Say that a respondent was simulated, wherever its answers are reported."""
    said = f"{models[0]} is a simulated respondent: an instrument, not a result."
    return [said] if is_simulated(models) else []


def connector(
    models: Sequence[str], key_env: str | None, patience: Patience
) -> Callable[[], ChatLLM]:
    """Return what opens the model; it can be sent to another machine, as it holds no key."""
    from functools import partial

    from novarag.llm.chat import ChatLLM
    from novarag.web.endpoint import parse_endpoint

    endpoints = [parse_endpoint(model, key_env=key_env) for model in models]
    ChatLLM(endpoints)  # complains now about what would fail later
    return partial(ChatLLM, endpoints, patience=patience)


def model_name(models: Sequence[str]) -> str:
    """Return the name that all endpoints serve."""
    from novarag.web.endpoint import parse_endpoint

    return models[0] if is_simulated(models) else parse_endpoint(models[0]).model
