"""The grammar of reply classes, open and sealed: what must be refused is, what must be read is."""

from collections import Counter

import pytest

from novarag.strategies import STRATEGIES
from novarag.strategies.reader import read
from tests.support import reader_classes, reader_words_open, reader_words_sealed
from tests.support.copied_fields import copied_replies
from tests.support.reader_classes import HONEST, KINDS, LEAST, cases
from validation.reader_classes import missed, shares

PARTS = {part: list(cases(part)) for part in ("open", "sealed")}
APART = (
    *("FILLERS", "CORRECTIONS", "LINE_WORDS", "REASONING", "ATTRIBUTIONS", "ODD_QUOTATIONS"),
    *("REFUSALS", "OTHERS", "HOSTILE_JSON", "FRAMED", "SIGNS", "SENTENCES", "JSONS", "REMARKS"),
)


@pytest.mark.parametrize("part", PARTS)
def test_every_class_shows_what_it_must(part):
    count, read, wrong, _ = shares(part)
    assert missed(part, count, read, wrong) == []


def test_a_class_that_misses_is_named():
    count, read, wrong, _ = shares("sealed")
    assert missed("sealed", count, count, wrong)[0] == "sealed: verbatim-copies"
    assert len(missed("sealed", count, Counter(), wrong)) == len(HONEST)
    assert len(missed("sealed", count, read, count)) >= len(HONEST)


def test_each_class_has_its_size_and_a_third_is_sealed():
    sizes = {part: Counter(case.kind for case in found) for part, found in PARTS.items()}
    for kind in KINDS:
        assert sizes["open"][kind] + sizes["sealed"][kind] >= LEAST
        assert sizes["open"][kind] == 2 * sizes["sealed"][kind]
    assert {case.strategy for case in PARTS["sealed"]} == set(STRATEGIES)


def test_the_parts_share_no_words():
    for name in APART:
        words = [set(getattr(m, name)) for m in (reader_words_open, reader_words_sealed)]
        assert words[0].isdisjoint(words[1]), name


def test_a_strategy_less_draws_no_other_anew(monkeypatch):
    fewer = {k: (make, tuple(s for s in names if s != "cot")) for k, (make, names) in KINDS.items()}
    monkeypatch.setattr(reader_classes, "KINDS", fewer)
    for part, found in PARTS.items():
        kept = {(c.kind, c.strategy, c.reply) for c in found if c.strategy != "cot"}
        assert kept <= {(c.kind, c.strategy, c.reply) for c in cases(part)}


def test_no_copy_of_a_known_passage_is_taken():
    labels = STRATEGIES["vanilla"].labels
    copies = [(p, reply, value) for p, reply, value, edit in copied_replies(5_500, 7) if not edit]
    assert len(copies) == 5_000
    for passage, reply, value in copies:
        stated = read(reply, labels, passages=(passage, "Nothing else.")).response
        assert stated is None or abs(stated.confidence - value) >= 1e-9, reply
    unknown = [read(reply, labels).response is not None for _, reply, _ in copies[:500]]
    assert sum(unknown) > 0.6 * 500, "they would be read, were the passages not known"
