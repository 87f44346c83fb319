import pytest

from novarag import (
    AnswerForm,
    Grade,
    Passage,
    PassageGroup,
    PassageKind,
    Question,
    UnknownNameError,
    grade,
)
from novarag.grading import CRITERIA, contains, grade_in, is_refusal, normalize, polarity, tokens


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("Beyonc\u00e9", "beyonce"),
        ("U.S.A.", "usa"),
        ("O\u2019Brien's", "obriens"),
        ("1,000,000", "1000000"),
        ("1,2,3", "1 2 3"),
        ("3.5 km", "3.5 km"),
        ("AC/DC", "ac dc"),
        ("forty-two", "forty two"),
        ("The The", "the"),
        ("Vitamin A", "vitamin a"),
        ("-5 or \u22125", "-5 or -5"),
        ("1914-1918", "1914 1918"),
        ("C++ and C#", "c++ and c#"),
        ("A", "a"),
        ("\u5317\u4eac\u5e02", "\u5317 \u4eac \u5e02"),
        ("\ud55c\uad6d", "\ud55c\uad6d"),
        ("\uff21\uff22\uff23", "abc"),
        ("snake_case", "snake case"),
        ("", ""),
    ],
)
def test_normalize(text, normal):
    assert normalize(text) == normal
    assert normalize(normal) == normal
    assert " ".join(tokens(text)) == normal


def test_containment_at_token_boundaries():
    assert contains("new york city", "york")
    assert not contains("new yorkshire", "york")
    assert not contains("anything", "")


@pytest.mark.parametrize(
    ("criterion", "answer", "right"),
    [
        ("boundary", "It was Ada Lovelace", True),
        ("boundary", "Adaline Lovelace", False),
        ("containment", "Proada lovelaces", True),
        ("exact", "Ada Lovelace", True),
        ("exact", "Countess Ada Lovelace", False),
        ("f1", "Ada Byron", True),
        ("f1", "Byron", False),
    ],
)
def test_criteria(criterion, answer, right):
    q = Question(id="q", text="?", answers=("Ada Lovelace",))
    assert (grade(answer, q, criterion=criterion) is Grade.RIGHT) == right
    assert criterion in CRITERIA


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("Vitamin A", "Vitamin C", False),
        ("A", "Option A", True),
        ("-5", "5", False),
        ("5", "-5", False),
        ("C++", "C", False),
        ("The Beatles", "Beatles", True),
        ("Beatles", "It was The Beatles", True),
    ],
)
def test_small_differences_that_matter(gold, answer, right):
    assert (grade(answer, Question(id="q", text="?", answers=(gold,))) is Grade.RIGHT) == right


@pytest.mark.parametrize(
    ("criterion", "gold", "claim"),
    [
        ("f1", "John F. Kennedy", "Robert F. Kennedy"),
        ("containment", "10", "2010"),
        ("exact", "!!!", "???"),
    ],
)
def test_a_claim_is_graded_first_under_every_criterion(criterion, gold, claim):
    q = Question(id="q", text="?", answers=(gold,))
    assert grade(claim, q, claims=[claim], criterion=criterion) is Grade.WRONG


def test_unknown_criterion():
    with pytest.raises(UnknownNameError):
        grade("x", Question(id="q", text="?"), criterion="vibes")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("yes", True), ("Yes.", True), ("Yes, he did", True), ("no", False), ("NO!", False),
        ("No, never", False), ("true", True), ("False", False), ("The answer is yes", True),
        ("The answer is: no.", False), ("It is not true", False), ("Probably yes", True),
        ("Based on the passages, no, he did not", False), ("I do not know", None), ("", None),
        ("North Korea", None), ("No one knows", None), ("no doubt", None), ("maybe", None),
        ("yes and no", True), ("Possibly yes; possibly no", None), ("...", None),
        ("Not enough information", None), ("nope", None), ("I do not know, perhaps no", None),
        ("Yes. The passages do not contradict each other", True), ("It is neither yes nor no", None),
        ("No, there is no information to suggest that", False), ("No information", None),
        ("It is unclear whether the answer is yes", None),
    ],
)  # fmt: skip
def test_polarity(answer, said):
    assert polarity(answer) is said


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [
        ("I don't know", True), ("Unknown", True), ("N/A", True), ("cannot be determined", True),
        ("There is not enough information.", True), ("Unknown Pleasures", False), ("None", True),
        ("It can't be determined", True), ("I'm not sure", True), ("The answer is unknown", True),
        ("No Country for Old Men", False), ("Paris", False),
    ],
)  # fmt: skip
def test_refusals(answer, refuses):
    assert is_refusal(answer) is refuses


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [
        ("Das weiß ich nicht.", True), ("Das lässt sich nicht bestimmen", True),
        ("Je ne sais pas", True), ("Il n\u2019y a pas d\u2019informations à ce sujet.", True),
        ("No lo sé", True), ("No se puede determinar con estos textos.", True),
        ("Non lo so!", True), ("non è possibile determinare", True),
        ("Não sei", True), ("Não há informações suficientes.", True),
        ("根据提供的段落，无法确定。", True), ("不知道", True),
        ("わかりません。", True), ("情報がありません", True),
        ("No se rindió", False), ("sé", False), ("La ciudad desconocida", False),
        ("北京", False), ("知道", False), ("梨", False), ("Unbekannter Soldat", False),
        ("O Rei Desconhecido", False), ("不明騎士", False),
    ],
)  # fmt: skip
def test_refusals_in_other_languages(answer, refuses):
    assert is_refusal(answer) is refuses


def test_refusals_are_abstentions_unless_they_are_the_answer():
    q = Question(id="q", text="?", answers=("Paris",))
    assert grade("I don't know", q) is Grade.ABSTAINED
    assert grade("I don't know, Paris?", q) is Grade.RIGHT
    assert grade("unknown", Question(id="q", text="?", answers=("Unknown",))) is Grade.RIGHT
    assert grade("", q) is Grade.WRONG


def test_yes_no_questions_with_other_gold_fall_back_to_words():
    q = Question(id="q", text="?", answers=("Paris",), form=AnswerForm.YES_NO)
    assert grade("Paris", q) is Grade.RIGHT


def test_claims_come_from_the_noise_of_the_group_only():
    q = Question(id="q", text="When?", answers=("1918",))
    noise = Passage(text="x", kind=PassageKind.COUNTERFACTUAL, claim="26 October 1918")
    gold = Passage(text="x", kind=PassageKind.GOLD, claim="the year 1918")
    group = PassageGroup(question=q, passages=(noise, gold))
    assert grade_in(group, "26 October 1918") is Grade.WRONG
    assert grade_in(group, "the year 1918") is Grade.RIGHT


def test_a_claim_equal_to_the_gold_answer_hides_nothing():
    q = Question(id="q", text="When?", answers=("1918",))
    assert grade("1918", q, claims=["1918"]) is Grade.RIGHT
