"""LlamaIndex with its OpenAI-like model."""

from driving import drive, extra_body
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike


def ask(address, case, seen):
    model = OpenAILike(
        api_base=address, api_key="none", model=case["mode"], is_chat_model=True, max_retries=0
    )
    asked = [ChatMessage(role="system", content=case["system"])] if case["system"] else []
    asked.append(ChatMessage(role="user", content=case["question"]))
    if not case["stream"]:
        reply = model.chat(asked, extra_body=extra_body(case))
        seen.text(reply.message.content)
        seen.novarag(_ours(reply.raw))
        return
    for chunk in model.stream_chat(asked, extra_body=extra_body(case)):
        seen.text(chunk.delta)
        seen.novarag(_ours(chunk.raw))


def _ours(raw):
    return (raw if isinstance(raw, dict) else raw.model_extra or {}).get("novarag")


drive(ask)
