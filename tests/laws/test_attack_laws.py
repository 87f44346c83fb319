"""Laws of attacks: they add, they never change; and what they hold is never read."""

from hypothesis import given
from hypothesis import strategies as st

from novarag.attacks import Attack, Goal, Outcome, Place, moved, poison, screen_group, screen_text
from novarag.attacks.encodings import ENCODINGS
from novarag.attacks.poisoning import filled
from novarag.records import Passage, PassageGroup, Question

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    ["{0}", "%s", "{question}", r"\1(?P<x>", "@ANSWER@", "@QUESTION@", "@STATES@", "\u202e\u200b"]
)
GROUPS = st.builds(
    PassageGroup,
    id=st.none() | TEXTS,
    question=st.builds(Question, id=TEXTS, text=TEXTS, answers=st.tuples(TEXTS)),
    passages=st.lists(st.builds(Passage, text=TEXTS), max_size=5).map(tuple),
)
ATTACKS = st.builds(
    Attack,
    name=st.just("a"),
    kind=st.just("mine"),
    goal=st.sampled_from(list(Goal)),
    texts=st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    states=st.integers(0, 100),
)
OUTCOMES = st.builds(
    Outcome,
    answer=st.sampled_from(["a", "b", "a b"]),
    confidence=st.none() | st.floats(0, 1),
    decision=st.sampled_from([None, "answer", "abstain"]),
)


@given(GROUPS, ATTACKS, st.sampled_from(Place), st.integers(0, 9))
def test_the_other_passages_stay_as_they_are_and_in_their_order(group, attack, place, seed):
    found = poison(group, attack, place, seed)
    put_in = [p for p in found.passages if p.source == "attack:a"]
    assert [p for p in found.passages if p.source != "attack:a"] == list(group.passages)
    assert len(put_in) == len(attack.texts)
    assert found.question == group.question
    assert found == poison(group, attack, place, seed)


@given(TEXTS, TEXTS, TEXTS)
def test_a_text_without_slots_is_put_in_letter_by_letter(before, value, after):
    whole = before + "@ANSWER@" + after
    if whole.count("@") == 2:
        assert filled(whole, {"@ANSWER@": value}) == before + value + after


@given(GROUPS, st.sampled_from(["remove", "mark"]))
def test_the_screen_touches_what_it_flags_and_nothing_else(group, action):
    found = screen_group(group, action)
    clean = [p for p in group.passages if not screen_text(p.text)]
    kept = found.group.passages
    if action == "remove":
        assert list(kept) == clean
    else:
        assert [p for i, p in enumerate(kept) if i not in found.flagged] == clean
        assert all(kept[i].text.endswith(group.passages[i].text) for i in found.flagged)


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)))
def test_an_encoding_writes_text(text, name):
    ENCODINGS[name](text).encode()


@given(OUTCOMES, OUTCOMES, st.floats(0, 0.5))
def test_change_is_symmetric_and_nothing_differs_from_itself(one, other, margin):
    question = Question(id="q", text="?")
    assert moved(one, other, question, margin) == moved(other, one, question, margin)
    assert not moved(one, one, question, margin)
