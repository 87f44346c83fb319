"""What the annotator reads: values, words, mentions of an answer, rivals."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import Question
from novarag.annotation.competing_answers import AnswerType, find_rival, wanted_type
from novarag.annotation.matching import MentionKind, find_mentions
from novarag.annotation.tokens import (
    cut_sentences,
    make_lexicon,
    stem,
    stems_of,
    words_of,
)
from novarag.annotation.values import find_values, whole_value

FILLER = tuple(
    f"{name}\n{name} is a town in the north, known for its market and its river {i}."
    for i, name in enumerate(("Aldby", "Borsk", "Cleeve", "Dunmore", "Esk", "Farn"))
)


def ask(text, *answers):
    return Question(id=text, text=text, answers=answers)


def hows(text, *answers):
    return [m.how for m in find_mentions(text, words_of(text), answers)]


class TestValues:
    @pytest.mark.parametrize("text", ["1,000", "1000", "one thousand", "1 thousand", "1000.0"])
    def test_a_number_has_one_value(self, text):
        assert [v.number for v in find_values(text)] == [1000.0]

    @pytest.mark.parametrize(
        "text",
        [
            "26 October 1918",
            "October 26, 1918",
            "26th of October 1918",
            "Oct. 26 1918",
            "1918-10-26",
        ],
    )
    def test_a_date_has_one_value(self, text):
        assert [v.day for v in find_values(text)] == [(1918, 10, 26)]

    def test_partial_dates(self):
        assert find_values("October 1918")[0].day == (1918, 10, None)
        assert find_values("October 26")[0].day == (None, 10, 26)
        assert find_values("40 May 1918")[0].day != (1918, 5, 40)
        assert find_values("1918-19-26") != []

    @pytest.mark.parametrize(
        ("text", "number"),
        [("two hundred and five", 205), ("twenty-one", 21), ("three million", 3e6), ("2.5", 2.5)],
    )
    def test_number_words(self, text, number):
        assert find_values(text)[0].number == number

    def test_a_year_is_supported_by_its_date_and_not_the_reverse(self):
        year, date, other = (find_values(t)[0] for t in ("1918", "26 October 1918", "27 May 1918"))
        assert year.agrees(date)
        assert not date.agrees(year)
        assert date.fits(year)
        assert not date.fits(other)
        assert not date.fits(find_values("26")[0])
        assert find_values("12")[0].fits(find_values("twelve")[0])
        assert not year.agrees(find_values("12")[0])

    def test_four_digits_may_be_a_count(self):
        count, year = find_values("1,918")[0], find_values("1918")[0]
        assert count.agrees(year)
        assert not count.agrees(find_values("October 1918")[0])

    def test_a_whole_value_stands_nearly_alone(self):
        assert whole_value("25 laps").number == 25
        assert whole_value("1999 and 2001") is None
        assert whole_value("Area 51") is None
        assert whole_value("about three or more of these") is None

    @given(st.text(max_size=300))
    def test_any_text_can_be_searched(self, text):
        for value in find_values(text):
            assert 0 <= value.start < value.end <= len(text)

    def test_values_do_not_overlap(self):
        values = find_values("On 3 May 1911 and 1912, forty men and 40 thousand; 7 May")
        assert [v.number for v in values] == [1911, 1912, 40, 40000, 0]
        assert all(a.end <= b.start for a, b in pairwise(values))


class TestWording:
    def test_words_remember_their_place(self):
        text = "The Côte-d'Or's U.S. 1,000"
        assert [text[w.start : w.end] for w in words_of(text)] == [
            "Côte",
            "d'Or's",
            "U.S.",
            "1,000",
        ]

    def test_sentences_do_not_break_at_initials(self):
        text = "A. A. Milne met Mr. Shepard in St. Ives. They walked! Then? Home"
        parts = [text[s.start : s.end] for s in cut_sentences(text)]
        assert parts == [
            "A. A. Milne met Mr. Shepard in St. Ives.",
            "They walked!",
            "Then?",
            "Home",
        ]

    def test_forms_of_a_word_are_one(self):
        assert len({stem(w) for w in ("directed", "director", "directs", "directing")}) == 1
        assert stem("1990s") != stem("1990")
        assert stem("was") == "was"

    @given(st.text(max_size=400))
    def test_sentences_cover_every_word(self, text):
        inside = [w for s in cut_sentences(text) for w in s.words]
        assert all(text[w.start : w.end].strip() for w in inside)
        assert len(inside) >= 0

    @given(st.lists(st.text("abc ", max_size=20), max_size=8))
    def test_a_share_is_a_share(self, texts):
        lexicon = make_lexicon(cut_sentences(t) for t in texts)
        wanted = stems_of(words_of("aaa bbb ccc"))
        assert 0 <= lexicon.share(wanted, frozenset({"aaa"})) <= 1
        assert lexicon.share((), frozenset()) == 0

    def test_a_rare_word_weighs_more(self):
        lexicon = make_lexicon([cut_sentences("red cat"), cut_sentences("red dog")])
        assert lexicon.weight("cat") > lexicon.weight("red")


class TestMentions:
    @pytest.mark.parametrize(
        ("text", "answer", "how"),
        [
            ("The Eiffel Tower's height", "Eiffel Tower", MentionKind.WORDS),
            ("It began in the U.S. long ago", "United States", MentionKind.ALIAS),
            ("during the Second World War", "World War II", MentionKind.ALIAS),
            ("the FBI came", "Federal Bureau of Investigation", MentionKind.ALIAS),
            ("the Federal Bureau of Investigation came", "FBI", MentionKind.ALIAS),
            ("on October 26, 1918.", "26 October 1918", MentionKind.VALUE),
            ("a thousand? no: one thousand", "1,000", MentionKind.VALUE),
            ("born 26 October 1918", "October 1918", MentionKind.WORDS),
            ("William Samoei Ruto spoke", "William Ruto", MentionKind.ALIAS),
            ("Then Ruto spoke", "William Ruto", MentionKind.SURNAME),
            (
                "He lived in Greenwich Village then",
                "Greenwich Village, New York City",
                MentionKind.PART,
            ),
            (
                "a ratio of net income to the capital invested",
                "the net income of the capital",
                MentionKind.MOST,
            ),
        ],
    )
    def test_ways_to_mention(self, text, answer, how):
        assert hows(text, answer)[:1] == [how]

    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            ("in 2010", "10"),
            ("1918 was hard", "26 October 1918"),
            ("he was an orphan", "Fan Or"),
            ("the fbi came", "Federal Bureau of Investigation"),
            ("Lee spoke", "Bruce Lee"),
            ("two of them", "2"),
            ("Fast boats in Italy", "FBI"),
            ("nothing", "!!"),
            ("some words", "with four other small things"),
            ("a Big thing of 1999", "the big thing of the year 1918"),
            ("North", "North Korea of"),
            ("Alpha is X9", "Alpha X9"),
        ],
    )
    def test_what_is_no_mention(self, text, answer):
        assert [h for h in hows(text, answer) if h is not MentionKind.SURNAME] == []

    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            ("It told us nothing", "United States"),
            ("Let us go", "US"),
            ("un homme", "United Nations"),
            ("il a eu tort", "European Union"),
        ],
    )
    def test_short_names_stand_in_capitals(self, text, answer):
        assert hows(text, answer) == []

    @pytest.mark.parametrize("answer", ["Kent County", "Red River", "Yale University"])
    def test_a_place_is_no_person(self, answer):
        assert hows(f"The {answer.split()[1]} is wide.", answer) == []

    def test_short_names_in_capitals_are_names(self):
        assert (
            hows("the US and the UN", "United States", "United Nations") == [MentionKind.ALIAS] * 2
        )
        assert hows("the US's coast", "US") == [MentionKind.WORDS]
        assert hows("the united states", "US") == [MentionKind.ALIAS]

    def test_a_long_prose_answer_is_not_known_by_its_first_clause(self):
        prose = (
            "Mass number, also called nucleon number, is the total number of protons in a nucleus"
        )
        assert hows("The mass number is known.", prose) == []


class TestRivals:
    def test_types(self):
        assert wanted_type(ask("When?", "11 November 1918")) is AnswerType.DATE
        assert wanted_type(ask("How many?", "1918")) is AnswerType.NUMBER
        assert wanted_type(ask("Which?", "775 rooms", "775")) is AnswerType.NUMBER
        assert wanted_type(ask("Who?", "Jack Kirby")) is AnswerType.NAME
        assert wanted_type(ask("What?", "grey matter")) is None
        assert wanted_type(ask("What?", "1918", "grey stone")) is None
        assert wanted_type(ask("What?", "the")) is None

    def rival(self, question, text):
        sentences = cut_sentences(text)
        lexicon = make_lexicon([sentences, *(cut_sentences(f) for f in FILLER)])
        return find_rival(text, sentences, question, stems_of(words_of(question.text)), lexicon)

    def test_the_value_nearest_to_the_question_is_the_rival(self):
        question = ask("When was the Borsk bridge opened?", "1901")
        text = "Borsk\nThe town of Borsk dates from 1705. The Borsk bridge was opened on 3 May 1911, and 40 men built it."
        assert self.rival(question, text).text == "3 May 1911"
        assert self.rival(question, "The Borsk bridge was opened in June 1901.") is None
        first = "The Borsk bridge was opened in 1911. Some came in 1920."
        assert self.rival(question, first).text == "1911"
        assert self.rival(ask("When?", "3 May 1911"), "It was opened on 4 June.") is None
        assert self.rival(ask("What?", "grey"), text) is None
        assert self.rival(ask("How many men built the bridge?", "41"), text).text == "40"

    def test_names_of_the_question_are_no_rivals(self):
        question = ask("Who directed the film Kiss and Tell?", "Richard Wallace")
        assert (
            self.rival(question, "Kiss and Tell is a film. It was directed by Orson Hale.").text
            == "Orson Hale"
        )
        assert self.rival(question, "Kiss and Tell was a film of Wallace.") is None
