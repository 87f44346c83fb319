"""LangChain: a chat model that keeps what the gateway says of its answers.

`ChatOpenAI` drops fields it does not know. `ChatNovarag` is the same class, and keeps ours in
`message.response_metadata["novarag"]`, whole or streamed.
"""

from __future__ import annotations

from typing import Any

from novarag.errors import UsageError

try:
    from langchain_openai import ChatOpenAI
except ImportError as error:
    raise UsageError(
        "ChatNovarag needs LangChain's package for OpenAI: pip install langchain-openai"
    ) from error

OURS = "novarag"


class ChatNovarag(ChatOpenAI):  # type: ignore[misc]
    """A `ChatOpenAI` of a gateway: `ChatNovarag(base_url="http://HOST:8080/v1", model="support")`.

    Passages go with a call, `chat.invoke(question, extra_body=passages(texts))`; the confidence,
    the decision and the evidence come back in `response_metadata["novarag"]`. What the gateway
    passed on without deciding has no such key.
    """

    use_responses_api: bool | None = False

    def _create_chat_result(
        self,
        response: Any,  # noqa: ANN401 - a dict or a model of OpenAI's
        generation_info: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - a ChatResult
        result = super()._create_chat_result(response, generation_info)
        content = response if isinstance(response, dict) else response.model_extra or {}
        if OURS in content:
            for generation in result.generations:
                generation.message.response_metadata[OURS] = content[OURS]
        return result

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,
        base_generation_info: dict[str, Any] | None,
    ) -> Any:  # noqa: ANN401 - a ChatGenerationChunk, or None
        made = super()._convert_chunk_to_generation_chunk(
            chunk, default_chunk_class, base_generation_info
        )
        if made is not None and OURS in chunk:
            made.message.response_metadata[OURS] = chunk[OURS]
        return made


def passages(found: list[Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Write `extra_body` for a call: texts, dicts with `text`, or documents of LangChain.

    Of a document its `source`, `date` and `id` go along. `more` may have `question`, where the
    question is not the whole message.
    """
    return {OURS: {"passages": [_passage(one) for one in found], **more}}


def _passage(found: Any) -> Any:  # noqa: ANN401
    if isinstance(found, str | dict):
        return found
    known = {"id": getattr(found, "id", None), **found.metadata}
    said = {name: str(known[name]) for name in ("source", "date", "id") if known.get(name)}
    return {"text": found.page_content, **said}
