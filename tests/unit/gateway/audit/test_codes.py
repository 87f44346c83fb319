"""Words of the database: each stands in one enumeration, and every view spells all of them."""

import re

import pytest

from novarag.gateway.audit import graded, retention, schema
from novarag.gateway.audit.codes import CODES, list_codes, spell_column

VIEW = re.compile(r"\(array\[([^\]]*)\]\)\[(?:d\.)?(\w+)\]")
COLUMNS = {"route", "mode", "decision", "action", "evidence", "flaw", "judgment"}


def spelled(migrations):
    """Return the words that the last view of some migrations spells, by enumeration."""
    (*_, view) = re.findall(r"view audited as.*?;", "".join(migrations.values()), re.DOTALL)
    found = {}
    for words, column in VIEW.findall(view):
        listed = [word.replace("''", "'") for word in re.findall(r"'((?:[^']|'')*)'", words)]
        found["judgment" if column == "j" else column] = listed
    return found


def test_the_migrations_spell_every_word_of_every_enumeration():
    found = spelled(schema.read_migrations())
    assert set(found) == COLUMNS
    assert found == {name: list(CODES[name]) for name in COLUMNS}


def test_as_long_as_no_word_was_added_there_is_no_more_than_the_numbered_migrations():
    assert list(schema.read_migrations()) == [1]


@pytest.mark.parametrize(
    ("name", "word"), [("action", "prefer-short"), ("flaw", "it's odd"), ("judgment", "x")]
)
def test_a_word_that_is_added_is_spelled_by_a_migration_of_its_own(monkeypatch, name, word):
    before = schema.read_migrations()
    monkeypatch.setitem(CODES, name, CODES[name] | {word: len(CODES[name]) + 1})
    after = schema.read_migrations()
    assert {n: after[n] for n in before} == before
    (added,) = set(after) - set(before)
    assert after[added].startswith("create or replace view audited as")
    assert spelled(after) == {one: list(CODES[one]) for one in COLUMNS}
    monkeypatch.setitem(CODES, "mode", CODES["mode"] | {"later": 3})
    (later,) = set(schema.read_migrations()) - set(before)
    assert later > added


def test_an_older_gateway_leaves_the_view_of_a_newer_one():
    known = {1: "a", 1044: "b"}
    assert schema.list_missing(known, {}) == [1, 1044]
    assert schema.list_missing(known, {1: ""}) == [1044]
    assert schema.list_missing(known, {1: "", 1045: ""}) == []
    assert schema.list_missing({1: "a", 2: "c", 2044: "d"}, {1: "", 1045: ""}) == [2, 2044]


def test_queries_spell_and_count_by_the_same_numbers():
    assert spell_column("verdict", "f.verdict") == "(array['right', 'wrong'])[f.verdict]"
    assert spell_column("verdict", "f.verdict") in retention._DAY["feedback"]
    state = "(array['conflicting', 'consistent', 'insufficient'])[d.evidence] as evidence"
    assert state in graded._GRADED
    assert "d.action in (1, 2, 3, 4)\n" in graded._GRADED
    assert "d.action in (1, 2, 3)\n" in graded._FIRST_ANSWERS
    assert "d.action in (4, 5, 6, 7)\n" in graded._ASKED_AGAIN
    assert list_codes("decision", ["none", "answer"]) == "(1, 4)"
