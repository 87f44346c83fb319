"""The chat model for LangChain, as far as it can be seen without LangChain."""

import sys
from importlib import import_module

import pytest

from novarag import UsageError

MODULE = "novarag.integrations.langchain"


def test_without_langchain_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    with pytest.raises(UsageError, match="pip install langchain-openai"):
        import_module(MODULE)
