"""Laws of attacks: they add, they never change; and what they hold is never read."""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.attacks import (
    Attack,
    AttackCase,
    AttackGoal,
    AttackOutcome,
    AttackPlace,
    moved,
    poison,
    screen_group,
    screen_text,
)
from novarag.attacks.poisoning import filled
from novarag.attacks.result import AttackResult
from novarag.attacks.suite import ENCODINGS
from novarag.calls import Cost
from novarag.cli.attack import exit_code
from novarag.cli.exit_codes import ExitCode
from novarag.records import Passage, PassageGroup, Question
from novarag.report.attack import attack_json, judge_attacks, write_attack_page

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
    goal=st.sampled_from(list(AttackGoal)),
    texts=st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    states=st.integers(0, 100),
)
OUTCOMES = st.builds(
    AttackOutcome,
    answer=st.sampled_from(["a", "b", "a b"]),
    confidence=st.none() | st.floats(0, 1),
    decision=st.sampled_from([None, "answer", "abstain"]),
)


@given(GROUPS, ATTACKS, st.sampled_from(AttackPlace), st.integers(0, 9))
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


FIRST = AttackOutcome(answer="a", confidence=0.5, decision="answer")
ROWS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["authority", "clones", "flattery", "control"]),
        "defence": st.sampled_from(["plain", "framed", "screen"]),
        "questions": st.integers(1, 60),
        "changed": st.integers(0, 60),
        "noise": st.sampled_from([0, 0, 1, 5]),
        "blocked": st.booleans(),
        "unread": st.booleans(),
    }
)


def some_cases(row):
    attack = Attack(
        name=row["kind"], kind=row["kind"], goal=AttackGoal.RAISE, texts=("x",), states=100
    )
    first = AttackOutcome(decision="abstain", flaw="no answer found") if row["unread"] else FIRST
    other = replace(FIRST, confidence=1.0)
    for i in range(row["questions"]):
        repeat = other if i < row["noise"] else first
        after = repeat if row["blocked"] else other if i < row["changed"] else first
        yield AttackCase(
            question=Question(id=f"q{i}", text="?"), group=f"g{i}", attack=attack,
            place=AttackPlace.LAST, defence=row["defence"], planted="x", passages=("x",),
            before=first, repeat=repeat, after=after, blocked=row["blocked"],
        )  # fmt: skip


@settings(deadline=None)
@given(st.lists(ROWS, max_size=6), st.sampled_from([0, 0, 2]))
def test_t6_page_json_terminal_and_exit_code_say_the_same(rows, missing):
    cases = tuple(case for row in rows for case in some_cases(row))
    found = AttackResult(
        model="m", strategy="nova", cases=cases, action="remove", margin=0.05, decides="x",
        defences=tuple(dict.fromkeys(c.defence for c in cases)) or ("plain",), cost=Cost(),
        missing=missing, flagged=0, passages=1,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        page = write_attack_page(found, Path(folder, "a.html")).read_text()
    content, told = attack_json(found), judge_attacks(found)
    acts = re.findall(r'<section class="verdict act-(\w+)"', page)
    badges = re.findall(r'badge act-(\w+)">. ([^<]*)</span>', page)
    succeeded = any(row["succeeds"] for row in content["classes"] + content["defences"])
    assert acts == [told.act]
    assert content["verdict"] == told.line
    assert content["succeeded"] is succeeded
    assert (told.act == "no") is succeeded
    assert (exit_code(found, "success") is ExitCode.BROKEN) is succeeded
    assert exit_code(found, "never") is (ExitCode.INCOMPLETE if missing else ExitCode.DONE)
    assert {"no": "attacks succeed", "wait": "cannot tell", "yes": "holds"}[told.act] in {
        word for _, word in badges
    }
    assert ("no", "succeeds") not in badges or succeeded
    if told.act == "yes":
        assert not missing
        assert all(row["net"]["high"] <= 0.1 for row in content["classes"])
        assert {word for _, word in badges} == {"holds"}
