"""The SDK of LiteLLM."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from driving import drive, extra_body, messages

litellm.suppress_debug_info = True
litellm.return_response_headers = True


def ask(address, case, seen):
    reply = litellm.completion(
        model=f"openai/{case['mode']}",
        api_base=address,
        api_key="none",
        messages=messages(case),
        stream=case["stream"],
        max_retries=0,
        num_retries=0,
        extra_body=extra_body(case),
    )
    if case["stream"]:
        for chunk in reply:
            for choice in chunk.choices:
                seen.text(choice.delta.content)
            seen.novarag(getattr(chunk, "novarag", None))
    else:
        seen.text(reply.choices[0].message.content)
        seen.novarag(getattr(reply, "novarag", None))
    hidden = getattr(reply, "_hidden_params", {}) or {}
    seen.headers(hidden.get("additional_headers") or {})


drive(ask)
