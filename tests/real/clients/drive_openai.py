"""openai-py."""

from driving import drive, extra_body, messages
from openai import OpenAI


def ask(address, case, seen):
    client = OpenAI(base_url=address, api_key="none", max_retries=0)
    raw = client.chat.completions.with_raw_response.create(
        model=case["mode"],
        messages=messages(case),
        stream=case["stream"],
        extra_body=extra_body(case),
    )
    seen.headers(raw.headers)
    reply = raw.parse()
    if not case["stream"]:
        seen.text(reply.choices[0].message.content)
        seen.novarag((reply.model_extra or {}).get("novarag"))
        return
    for chunk in reply:
        for choice in chunk.choices:
            seen.text(choice.delta.content)
        seen.novarag((chunk.model_extra or {}).get("novarag"))


drive(ask)
