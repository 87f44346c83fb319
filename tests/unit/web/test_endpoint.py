"""Which key goes to which host."""

import pytest

from novarag import ChatLLM, UsageError, parse_endpoint
from novarag.runner.access import check_keys, reach
from novarag.web.endpoint import parse_address

SECRET, OTHER = "sk-0123456789abcdef", "sk-fedcba9876543210"
ONE, TWO = "http://gpu-1.lan:8000=m", "https://api.example.com/v1=m"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    monkeypatch.delenv("NOVARAG_API_KEY", raising=False)


def keys(*texts, **options):
    return [parse_endpoint(text, **options).key() for text in texts]


def test_one_key_does_not_go_to_two_hosts(monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", SECRET)
    with pytest.raises(UsageError) as caught:
        ChatLLM([parse_endpoint(ONE), parse_endpoint(TWO)])
    assert str(caught.value) == (
        "the key in NOVARAG_API_KEY would go to 2 hosts (gpu-1.lan, api.example.com); set"
        " NOVARAG_API_KEY_GPU_1_LAN, NOVARAG_API_KEY_API_EXAMPLE_COM instead, empty where a host"
        " needs no key"
    )
    assert SECRET not in str(caught.value)


def test_a_host_has_a_variable_of_its_own(monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", SECRET)
    monkeypatch.setenv("NOVARAG_API_KEY_API_EXAMPLE_COM", OTHER)
    assert keys(ONE, TWO) == [SECRET, OTHER]
    ChatLLM([parse_endpoint(ONE), parse_endpoint(TWO)])
    monkeypatch.setenv("NOVARAG_API_KEY_API_EXAMPLE_COM", "")
    assert keys(ONE, TWO) == [SECRET, None]
    ChatLLM([parse_endpoint(ONE), parse_endpoint(TWO)])


def test_a_named_variable_has_hosts_too(monkeypatch):
    monkeypatch.setenv("MINE", SECRET)
    with pytest.raises(UsageError, match="MINE_GPU_1_LAN, MINE_API_EXAMPLE_COM"):
        ChatLLM([parse_endpoint(ONE, key_env="MINE"), parse_endpoint(TWO, key_env="MINE")])
    monkeypatch.setenv("MINE_GPU_1_LAN", OTHER)
    assert keys(ONE, TWO, key_env="MINE") == [OTHER, SECRET]


def test_ports_of_one_host_and_other_hosts_of_no_secret_share(monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", SECRET)
    ChatLLM([parse_endpoint(f"http://127.0.0.1:{port}=m") for port in (1, 2)])
    monkeypatch.setenv("NOVARAG_API_KEY", "EMPTY")
    ChatLLM([parse_endpoint(ONE), parse_endpoint(TWO)])
    assert keys(ONE, TWO) == ["EMPTY", "EMPTY"]


def test_hosts_that_share_a_variable_by_their_names_are_refused(monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY_A_B", SECRET)
    with pytest.raises(UsageError, match=r"a-b, a\.b have one variable"):
        ChatLLM([parse_endpoint("http://a-b=m"), parse_endpoint("http://a.b=m")])


def test_the_hosts_of_a_run_are_checked_together(monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", SECRET)
    model, same = reach(ONE), "http://gpu-1.lan:9000=e"
    check_keys(model, None, encoder=same)
    check_keys(model, encoder="a/local/folder")
    for models, encoder in (((model, reach(TWO)), None), ((model,), f"tei+{TWO}")):
        with pytest.raises(UsageError, match="2 hosts"):
            check_keys(*models, encoder=encoder)
    check_keys(reach(ONE), reach("https://api.openai.com/v1=m"))


def test_a_search_gets_no_key_that_was_not_named_for_it(monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", SECRET)
    monkeypatch.setenv("_X", SECRET)
    assert parse_address("http://x/search").key() is None
