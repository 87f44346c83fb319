"""Foreign JSON and TOML: what is none, or too deep, is a ValueError and nothing else."""

import pytest

from novarag.texts import DEEPEST, parse_json, parse_toml


def nested(depth, opening="[", inside="1", closing="]"):
    return opening * depth + inside + closing * depth


@pytest.mark.parametrize("depth", [DEEPEST + 1, 300, 2000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_json_that_is_nested_too_deeply(depth, opening, closing):
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        parse_json(nested(depth, opening, closing=closing))


def test_json_that_is_long_and_flat_or_just_deep_enough():
    assert len(parse_json("[" + "[[]]," * 500 + "1]")) == 501
    assert parse_json(nested(DEEPEST)) is not None
    assert parse_json(b"\xef\xbb\xbf7") == 7


@pytest.mark.parametrize("raw", [b"\xff", b"", b"{", b'{"a": ' + b"9" * 5000 + b"}"])
def test_what_is_not_json(raw):
    with pytest.raises(ValueError, match=r"."):
        parse_json(raw)


@pytest.mark.parametrize(
    "text", [".".join("a" * 3000) + " = 1", f"a = {nested(200)}", f"a = {nested(5000)}"]
)
def test_toml_that_is_nested_too_deeply(text):
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        parse_toml(text)
    assert parse_toml("\ufeffa = [1]") == {"a": [1]}
