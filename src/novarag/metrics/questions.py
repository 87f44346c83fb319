"""Which rows are of one question: by its text without what makes no other question of it.

Rows of one question stand or fall together, so every interval and every promise goes by questions.
A log that repeats a question with another case, spaces, punctuation or numbering repeats it all
the same. Names without two words (ids, numbers, hashes) say themselves which question they mean,
and stay as they are. Signs that change the meaning (`C#`, `-5`, `2 - 3`, `50%`) are kept. All
patterns are run by an engine without backtracking: questions are text that others wrote.
"""

from __future__ import annotations

import polars as pl

_WORDS = (
    r"\p{L}[\p{L}\p{M}]+\S*\s+\S*\p{L}"
    r"|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]{3}"
)
"""What makes a text of a name: two words, or three signs of a script that has no spaces."""

_OWN_ROW = r", row \d+$"  # a row without a question, named by where it stands
_EDGE = r"[\p{P}--[#%&*/@\-]]+"

_STEPS = (
    (r"\p{Cf}", ""),
    (r"[\s\u{0085}]+", " "),
    (r"^[ #*_~`>]+|[ *_~`]+$", ""),
    # numbering: "12. ", "(3) ", "1) ", "Q7: ", "Question 12 ", "4 - "; a word must follow
    (r"^[\[(]?(?:(?:q|question|frage|no|nr)?[ .#]*\d{1,6}(?:\.\d{1,4}){0,3} ?(?:[.:)\]}]+ ?"
     r"|\p{Pd}+ )|(?:q|question|frage|#) ?[.#]*\d{1,6} )[\p{P}]*(\p{L}.*)$", "$1"),
    # a number alone, before three words or more, and none of them with a number
    (r"^\d{1,6} ((?:[^\d ]*\p{L}[^\d ]* ){2,}[^\d]*)$", "$1"),
    (r"(\p{L})['\u{2019}.\p{Pd}](\p{L})", "$1$2"),
    (r"(\p{L})['\u{2019}.\p{Pd}](\p{L})", "$1$2"),  # u.s.a, of which the first pass took one
    (rf"(^| ){_EDGE}", "$1"),
    (rf"{_EDGE}( |$)", "$1"),
    (r"(\p{L}\S*) \p{Pd}+( |$)", "$1$2"),
    (r"^\p{Pd}+ ", ""),
    (r" +", " "),
)  # fmt: skip


def question_keys(questions: pl.Series) -> pl.Series:
    """Return what rows of one question have in common: the text without spelling, or the name.

    >>> question_keys(pl.Series(["1. What is  X?", "what is x", "Q-1", "Q-1 "])).to_list()
    ['what is x', 'what is x', 'Q-1', 'Q-1']
    """
    names = questions.cast(pl.String).alias("name")
    bare = names.str.strip_chars().alias(questions.name)
    is_text = names.str.contains(_WORDS) & ~names.str.contains(_OWN_ROW)
    if not is_text.any():
        return bare
    text = pl.when(is_text).then(pl.col("name")).str.normalize("NFKC").str.to_lowercase()
    for pattern, kept in _STEPS:
        text = text.str.replace_all(pattern, kept)
    found = names.to_frame().select(text.str.strip_chars()).to_series()
    return bare.zip_with(found.is_null() | (found == ""), found.alias(questions.name))
