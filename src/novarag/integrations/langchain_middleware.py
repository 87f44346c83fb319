"""LangChain: middleware of an agent that tells what its last answer is worth, or withholds it.

`create_agent(model, tools, middleware=[Confidence(gate="gate.json")])`. The passages are what tools
have returned since the question: documents in their artifacts, else their texts.
"""

from __future__ import annotations

from typing import Any

from novarag.integrations.core import ReplyScorer, missing

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
except ImportError as error:
    raise missing("langchain") from error


class ConfidenceMiddleware(AgentMiddleware):  # type: ignore[misc]
    """Puts the object into `response_metadata["novarag"]` of the agent's last message.

    `settings` are those of `Scorer`. Where `withheld` is given, it stands in the place of every
    answer that the gate does not let through, and of every reply that could not be read.
    """

    def __init__(self, *, withheld: str | None = None, **settings: Any) -> None:  # noqa: ANN401
        super().__init__()
        self._score, self._withheld = ReplyScorer(**settings), withheld

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401, ARG002
        """Score the last message, unless it calls a tool."""
        messages = state["messages"]
        last = messages[-1]
        if not isinstance(last, AIMessage) or last.tool_calls:
            return None
        asked = max(i for i, one in enumerate(messages) if isinstance(one, HumanMessage))
        found = [p for one in messages[asked:] for p in _passages(one)]
        verdict = self._score(messages[asked].text, found, last.text)
        kept = verdict["decision"] != "abstain" or self._withheld is None
        changed = {
            "content": last.content if kept else self._withheld,
            "response_metadata": {**last.response_metadata, "novarag": dict(verdict)},
        }
        return {"messages": [last.model_copy(update=changed)]}


def _passages(message: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    if not isinstance(message, ToolMessage):
        return []
    found = message.artifact if isinstance(message.artifact, list) else []
    documents = [one for one in found if isinstance(one, Document)]
    if not documents:
        return [{"text": message.text}]
    return [
        {"text": d.page_content, "source": d.metadata.get("source"), "id": d.id} for d in documents
    ]
