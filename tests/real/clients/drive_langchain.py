"""langchain-openai with the class that is shipped."""

from driving import drive
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, SystemMessage

from novarag.integrations.langchain import ChatNovarag, passages


def ask(address, case, seen):
    chat = ChatNovarag(
        base_url=address,
        api_key="none",
        model=case["mode"],
        max_retries=0,
        include_response_headers=True,
    )
    asked = [SystemMessage(case["system"])] if case["system"] else []
    asked.append(HumanMessage(case["question"]))
    found = [Document(text, metadata={"source": "wiki"}) for text in case["passages"] or ()]
    more = {"extra_body": passages(found)} if found else {}
    if case["stream"]:
        whole = None
        for chunk in chat.stream(asked, **more):
            seen.text(chunk.content)
            whole = chunk if whole is None else whole + chunk
        reply = whole
    else:
        reply = chat.invoke(asked, **more)
        seen.text(reply.content)
    seen.novarag(reply.response_metadata.get("novarag"))
    seen.headers(reply.response_metadata.get("headers", {}))


drive(ask)
