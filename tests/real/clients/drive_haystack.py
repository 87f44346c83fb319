"""Haystack's generator for OpenAI."""

from driving import drive, extra_body
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret


def ask(address, case, seen):
    shown = []
    generator = OpenAIChatGenerator(
        api_key=Secret.from_token("none"),
        model=case["mode"],
        api_base_url=address,
        max_retries=0,
        generation_kwargs={"extra_body": extra_body(case)},
        streaming_callback=(lambda chunk: shown.append(chunk.content)) if case["stream"] else None,
    )
    asked = [ChatMessage.from_system(case["system"])] if case["system"] else []
    asked.append(ChatMessage.from_user(case["question"]))
    try:
        reply = generator.run(messages=asked)["replies"][0]
    finally:
        seen.text("".join(shown))
    if not case["stream"]:
        seen.text(reply.text)
    elif reply.text != "".join(shown):
        seen.text(f" [and whole: {reply.text}]")
    seen.novarag(reply.meta.get("novarag"))


drive(ask)
