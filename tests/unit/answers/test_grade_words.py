"""Words for right, wrong and not graded in eight languages: each means one thing in all of them."""

import itertools

import pytest

from novarag.answers.cells.cell import MISSING, key_of
from novarag.answers.cells.grades import GradeSettings, settle_grades
from novarag.answers.cells.unsettled import ColumnValue
from novarag.answers.cells.words import RIGHT, UNGRADED, WORDS, WRONG


def grades(*cells):
    column = [ColumnValue(cell, 1, row, "a.csv") for row, cell in enumerate(cells, start=1)]
    taken = settle_grades("grade", column, GradeSettings())
    return taken, [taken.value(cell) for cell in cells]


@pytest.mark.parametrize("language", WORDS)
def test_each_word_is_read_as_its_table_says(language):
    words = WORDS[language]
    cells = [*words.right, *words.wrong, *words.ungraded]
    taken, values = grades(*cells)
    assert not taken.unsettled
    assert values == (
        [True] * len(words.right) + [False] * len(words.wrong) + [None] * len(words.ungraded)
    )


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Richtig", "FALSCH"), ("ja", "nein"), ("Vrai", "Faux"), ("oui", "non"), ("S\u00ed", "No"),
        ("correcto", "incorrecto"), ("vero", "falso"), ("Giusto", "sbagliato"), ("sim", "n\u00e3o"),
        ("certo", "errado"), ("\u6b63\u786e", "\u9519\u8bef"), ("\u662f", "\u5426"),
        ("\u6b63\u89e3", "\u4e0d\u6b63\u89e3"), ("\u306f\u3044", "\u3044\u3044\u3048"),
        ("Daumen_hoch", "daumen-runter"),
    ],
)  # fmt: skip
def test_people_write_their_own_words_in_any_case(right, wrong):
    _, values = grades(right, wrong, right.upper(), wrong.title(), "", None)
    assert values == [True, False, True, False, None, None]


def test_no_word_means_two_things():
    for one, other in itertools.combinations((RIGHT, WRONG, UNGRADED, MISSING), 2):
        assert not one & other
    assert all(key_of(word) == word for word in RIGHT | WRONG | UNGRADED)
    assert not any(word.lstrip("+-").isdigit() for word in RIGHT | WRONG | UNGRADED)


@pytest.mark.parametrize("word", ["error", "Fehler", "teilweise", "partial", "\u25cb", "maybe"])
def test_what_may_mean_either_is_asked_for(word):
    taken, _ = grades("richtig", "falsch", word)
    assert [value.value for one in taken.unsettled for value in one.found] == [word]
