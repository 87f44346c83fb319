"""pydantic-ai."""

import asyncio

from driving import drive, extra_body
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def _ask(address, case, seen):
    async with AsyncOpenAI(base_url=address, api_key="none", max_retries=0) as client:
        model = OpenAIChatModel(case["mode"], provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, system_prompt=case["system"] or (), retries=0)
        settings = {"extra_body": extra_body(case)}
        if not case["stream"]:
            seen.text((await agent.run(case["question"], model_settings=settings)).output)
            return
        async with agent.run_stream(case["question"], model_settings=settings) as reply:
            async for piece in reply.stream_text(delta=True, debounce_by=None):
                seen.text(piece)


def ask(address, case, seen):
    asyncio.run(_ask(address, case, seen))


drive(ask)
