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


def test_a_key_that_stands_twice_is_refused_where_its_values_differ():
    with pytest.raises(ValueError, match="the key 'confidence' stands twice"):
        parse_json('[{"x": {"confidence": 0.2, "y": 1, "confidence": 1.0}}]')
    with pytest.raises(ValueError, match="'a' stands twice"):
        parse_json('{"a": 1, "a": true}')
    assert parse_json('{"a": [1], "b": 2, "a": [1]}') == {"a": [1], "b": 2}


PARTS = ["a", '"a b"', r'"\""', "'a.b'", "a ", '""', "-"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("frame", ["{} = 1", "[{}]", "[[{}]]", "x = {{{} = 1}}", "y = 1\n {} = 2"])
def test_m8_a_key_of_many_parts_is_refused_before_it_is_parsed(part, frame, monkeypatch):
    long = ".".join([part] * (DEEPEST + 1))
    short = frame.format(".".join(f'"{n}"' for n in range(DEEPEST // 2)))
    assert parse_toml(short)
    monkeypatch.setattr("tomllib.loads", None)
    with pytest.raises(ValueError, match="a key of more than 100 parts"):
        parse_toml(frame.format(long))


def test_m8_prose_in_toml_is_no_key():
    text = "One. Two, three. " * 2000 + "." * 5000 + " 1.2.3 a.b"
    assert parse_toml(f'a = """{text}"""') == {"a": text}
    with pytest.raises(ValueError, match="over 250,000 characters"):
        parse_toml("#" * 250_001)


@pytest.mark.parametrize("text", [f"a = {nested(200)}", f"a = {nested(5000)}"])
def test_toml_that_is_nested_too_deeply(text):
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        parse_toml(text)
    assert parse_toml("\ufeffa = [1]") == {"a": [1]}
