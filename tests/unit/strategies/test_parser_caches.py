"""The reader's parsers remember short texts only, and a remembered text is read as ever."""

import pytest

from novarag.strategies import NumberScale, confidence, parse_confidence, reader
from novarag.strategies.reader import parse_classes, parse_state

TEXTS = ["90%", "9/10", "1", "0.5", "80-90%", "words", "", "1; Relevant", "Conflicting", "HR, R, I"]


def test_twice_is_as_once():
    for text in TEXTS:
        for scale in NumberScale:
            assert parse_confidence(text, scale) == confidence._parse(text, scale)
            assert parse_confidence(text, scale) == confidence._parse(text, scale)
        for k in (None, 1, 3):
            assert parse_classes(text, k) == reader._classes(text, k)
            assert parse_classes(text, k) == reader._classes(text, k)
        assert parse_state(text) == reader._state(text)
        assert parse_state(text) == reader._state(text)


@pytest.mark.parametrize(
    ("parse", "remembered"),
    [
        (lambda text: parse_confidence(text, NumberScale.PERCENT), confidence._parse_short),
        (lambda text: parse_classes(text, 3), reader._classes_short),
        (parse_state, reader._state_short),
    ],
)
def test_long_texts_are_not_held(parse, remembered):
    before = remembered.cache_info()
    assert before.maxsize <= 4096
    for word in ("90%", "Relevant", "Conflicting"):
        assert parse(f"{word}{' so' * 200}") == parse(f"{word}{' so' * 200}")
    assert remembered.cache_info() == before
