"""Retrievers of the real LangChain and LlamaIndex, which need an environment of their own."""

import asyncio
import re
from pathlib import Path

import pytest

from novarag.errors import UsageError
from novarag.flows.encoders import as_retriever
from novarag.retrieval import from_langchain, from_llamaindex
from novarag.taxonomy import Provenance

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.enable_socket,  # theirs may look at their own host
    pytest.mark.filterwarnings("default"),
]
TEXTS = {
    "lamp": "The lamp of the lighthouse was lit in 1871.",
    "keeper": "The keeper wrote his diary in blue ink.",
    "ferry": "A ferry goes to the island twice a week.",
    "tax": "The island pays no tax on salt.",
    "well": "The well is nine metres deep.",
    "bell": "The bell was cast in Utrecht.",
}
QUERIES = list(TEXTS.values())


def search(retriever, queries, k):
    return asyncio.run(retriever.search(queries, k=k))


def words(text):
    """Give a vector that is one-hot over a few words, so that each text is nearest to itself."""
    return [float(name in text.lower()) for name in TEXTS]


@pytest.fixture(scope="module")
def store():
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Words(Embeddings):
        def embed_documents(self, texts):
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text):
            return [0.01 + x for x in words(text)]

    store = InMemoryVectorStore(Words())
    store.add_documents(
        [
            Document(page_content=text, metadata={"title": name.title()}, id=name)
            for name, text in TEXTS.items()
        ]
    )
    return store


def test_a_vector_store_of_langchain_is_told_k(store):
    for k in (1, 5):  # its own default is 4
        found = search(from_langchain(store.as_retriever()), QUERIES, k)
        assert [len(passages) for passages in found] == [k] * len(QUERIES)
        assert [passages[0].source for passages in found] == list(TEXTS)
        assert found[0][0].text == f"Lamp\n{TEXTS['lamp']}"
        assert found[0][0].provenance is Provenance.RETRIEVED


def test_other_searches_of_a_vector_store_are_told_k_too(store):
    own = store.as_retriever(search_type="mmr", search_kwargs={"k": 2})
    assert len(search(from_langchain(own), QUERIES[:1], 3)[0]) == 3


@pytest.mark.parametrize("sync", [True, False])
def test_any_retriever_of_langchain(sync):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Own(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [
                Document(page_content=f"{query} {i}", metadata={"source": f"f{i}"})
                for i in range(9)
            ]

    class OwnAsync(Own):
        async def _aget_relevant_documents(self, query, *, run_manager):
            return [
                Document(page_content=f"{query} {i}", metadata={"source": f"f{i}"})
                for i in range(9)
            ]

    own = Own() if sync else OwnAsync()
    found = search(from_langchain(own), ["a", "b"], 3)
    assert [[(p.text, p.source) for p in ps] for ps in found] == [
        [(f"{q} {i}", f"f{i}") for i in range(3)] for q in "ab"
    ]
    assert len(search(as_retriever(own), ["a"], 2)[0]) == 2


@pytest.fixture(scope="module")
def index():
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.schema import TextNode

    class Words(BaseEmbedding):
        def _get_text_embedding(self, text):
            return [0.01 + x for x in words(text)]

        def _get_query_embedding(self, query):
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query):
            return self._get_text_embedding(query)

    nodes = [
        TextNode(text=text, id_=name, metadata={"title": name.title()})
        for name, text in TEXTS.items()
    ]
    return VectorStoreIndex(nodes, embed_model=Words())


def test_an_index_of_llamaindex(index):
    own = index.as_retriever(similarity_top_k=5)
    for k in (1, 5):
        found = search(from_llamaindex(own), QUERIES, k)
        assert [len(passages) for passages in found] == [k] * len(QUERIES)
        assert [passages[0].source for passages in found] == list(TEXTS)
        assert found[0][0].text == f"Lamp\n{TEXTS['lamp']}"
    assert len(search(as_retriever(own), QUERIES, 2)[0]) == 2


def test_an_index_that_was_made_for_fewer_says_so(index):
    with pytest.raises(UsageError, match="similarity_top_k=5"):
        search(from_llamaindex(index.as_retriever()), QUERIES, 5)  # its own default is 2


PAGE = Path(__file__).parents[2] / "docs" / "guides" / "rag-app.md"
SAID = (
    "Passage Classifications: Passage 1: Highly Relevant; Passage 2: Irrelevant;"
    " Passage 3: Irrelevant\nGroup Judgment: Consistent\nAnswer: 1871\nConfidence: 90%"
)


def guide(heading):
    """Take the block under a heading of the guide."""
    section = PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.search(r"^```py\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1]


def test_the_guide_of_langchain(store, capsys):
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    names = {
        "retriever": store.as_retriever(search_kwargs={"k": 3}),
        "chat": FakeListChatModel(responses=[SAID]),
    }
    exec(compile(guide("LangChain"), str(PAGE), "exec"), names)
    assert capsys.readouterr().out == "1871 0.9 consistent\n"
    [found] = names["chain"].batch(["When was the lamp lit?"])
    shown = [passage.text for passage in found.trial.group.passages]
    assert len(shown) == 3
    assert TEXTS["lamp"] in shown


def test_the_guide_of_llamaindex(index, capsys):
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

    class Own(CustomLLM):
        @property
        def metadata(self):
            return LLMMetadata()

        def complete(self, prompt, formatted=False, **_):
            assert TEXTS["lamp"] in prompt
            return CompletionResponse(text=SAID)

        def stream_complete(self, prompt, formatted=False, **_):
            raise NotImplementedError

    names = {"retriever": index.as_retriever(similarity_top_k=3), "llm": Own()}
    exec(compile(guide("LlamaIndex"), str(PAGE), "exec"), names)
    assert capsys.readouterr().out == "1871 0.9 consistent\n"
