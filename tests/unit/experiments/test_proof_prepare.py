"""What the proof is made from: splits that share nothing, and replies that say what is known."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.nova import drills, prepare, splits, warmup, windows
from experiments.nova.plan import PLANS
from novarag.errors import DataError
from novarag.grading import contains, normalize
from novarag.records import AnswerForm, Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES
from novarag.taxonomy import GroupKind, PassageKind, Provenance

TEXTS = {
    "gold": Passage(
        text="The lamp was lit in 1871.", kind=PassageKind.GOLD, provenance=Provenance.ORIGINAL
    ),
    "twin": Passage(text="It burns since 1871.", kind=PassageKind.GOLD, claim="eighteen-71"),
    "false": Passage(text="Lit in 1999.", kind=PassageKind.COUNTERFACTUAL, claim='"1999".'),
    "near": Passage(text="Lamps need oil.", kind=PassageKind.RELEVANT),
    "far": Passage(text="Bread rises slowly.", kind=PassageKind.IRRELEVANT),
}
SHOWN = {
    "counterfactual": ("false", "gold", "twin"),
    "consistent": ("far", "gold", "near"),
    "irrelevant": ("far", "near", "far"),
}


def make_group(name="q0", kind="consistent", *, shown=None, answers=("1871",), form="open"):
    question = Question(
        id=name, text=f"When was {name} lit?", answers=answers, form=AnswerForm(form)
    )
    passages = tuple(TEXTS[one] for one in shown or SHOWN[kind])
    return PassageGroup(question=question, passages=passages, id=f"{name}/{kind}-k3")


def make_groups(count):
    return [make_group(f"q{i}", kind) for i in range(count) for kind in SHOWN]


# --- splits


@given(count=st.integers(5, 30), seed=st.integers(0, 9), order=st.randoms())
def test_splits_hold_every_question_once_whatever_the_order_of_the_rows(count, seed, order):
    names = [f"q{i}" for i in range(count)]
    parts = splits.split(names, {"a": 2, "b": 3, "c": None}, seed)
    assert [len(part) for part in parts.values()] == [2, 3, count - 5]
    assert set.union(*parts.values()) == set(names)
    order.shuffle(names)
    assert splits.split(names, {"a": 2, "b": 3, "c": None}, seed) == parts


def test_the_order_is_the_seeds_not_the_files():
    def names(seed):
        return [g[0].question.id for g in splits.in_hash_order(make_groups(12), seed)]

    assert names(0) != names(1)
    assert names(0) != sorted(names(0))


def test_a_split_that_cannot_be_filled_is_an_error():
    with pytest.raises(DataError, match="there are 2 questions for 'a', 3 are needed"):
        splits.split(["x", "y"], {"a": 3}, 0)


def test_questions_take_sizes_and_kinds_in_turn():
    sizes = {3: make_groups(12), 5: [replace(g, id=f"{g.id[:-1]}5") for g in make_groups(12)]}
    taken = splits.dealt(sizes, 0)
    assert len({g.question.id for g in taken}) == len(taken) == 12
    assert [g.id[-1] for g in taken] == 6 * ["3", "5"]
    counted = {(g.id[-1], g.kind): 0 for g in taken}
    assert len(counted) == 6  # every kind at every size
    every = splits.dealt(sizes, 0, each=True)
    assert len(every) == 36
    assert {g.question.id: g.id[-1] for g in every} == {g.question.id: g.id[-1] for g in taken}


def test_what_a_question_lacks_another_of_its_groups_stands_for():
    lone = [make_group(f"q{i}", "irrelevant") for i in range(4)]
    assert len(splits.dealt({3: lone, 5: []}, 0)) == 4


def question(name, text):
    return Question(id=name, text=text)


@pytest.mark.parametrize(
    ("learnt", "tests"),
    [
        ({"warm": [question("a", "Who?")]}, {"test": [question("a", "What?")]}),
        ({"warm": [question("a", "Who lit it?")]}, {"test": [question("b", "who  lit 'it'")]}),
        ({"warm": [question("a", "Who?")], "dev": [question("b", "WHO")]}, {}),
    ],
)
def test_a_question_on_two_sides_is_found_by_its_id_or_its_words(learnt, tests):
    with pytest.raises(DataError, match="share"):
        splits.check_disjoint(learnt, tests)


def test_fresh_questions_are_apart_from_those_asked_before():
    with pytest.raises(DataError, match="test-clean and test-asked share"):
        splits.check_disjoint(
            {"warm": [question("b", "When?")]},
            {"test-clean": [question("a", "Who?")], "test-asked": [question("z", "who")]},
        )
    splits.check_disjoint({"warm": [question("b", "When?")]}, {"test": [question("a", "Who?")]})


def test_the_budget_counts_questions_that_no_split_above_has():
    told = prepare.budget({"own": make_groups(4), "graded": make_groups(6)[:9]})
    assert told == [
        {"split": "own", "questions": 4, "new": 4, "groups": 12},
        {"split": "graded", "questions": 3, "new": 0, "groups": 9},
    ]


def test_graded_questions_are_training_questions_once_each():
    own = make_groups(8)
    graded = prepare._graded(own)
    assert len({g.question.id for g in graded}) == len(graded) == 8
    assert graded == prepare._graded(list(reversed(own))) or {g.question.id for g in graded} == {
        g.question.id for g in own
    }


def test_passages_that_share_eight_words_share_a_run():
    one = "a b c d e f g h"
    assert splits.runs_of(f"x {one}, y") & splits.runs_of(f"{one.upper()} z")
    assert not splits.runs_of(f"x {one[:-2]}") & splits.runs_of(f"{one[:-2]} z")
    assert splits.runs_of("Two words") == {"two words"}
    assert splits.runs_of("") == set()
    assert splits.gold_runs([make_group()]) == {"the lamp was lit in 1871"}


# --- windows

WORDS = st.lists(st.sampled_from(["lamp", "oil", "lit.", "sea", "It", "1871", "why?"]), min_size=1)


@given(words=WORDS, longest=st.integers(1, 12))
def test_a_window_is_part_of_the_text_holds_the_answer_and_is_short(words, longest):
    text = " ".join(words)
    cut = windows.windows(text, answer="1871", longest=longest)
    assert bool(cut) == ("1871" in words)
    for found in cut:
        assert found in text
        assert len(found.split()) <= longest
        assert contains(normalize(found), "1871")


def test_a_window_ends_with_a_sentence_where_it_can():
    text = "One two three. Four five six. Seven eight nine ten eleven twelve."
    assert windows.windows(text, answer="five", longest=6) == [
        "One two three. Four five six.",
        "Four five six.",
    ]
    assert windows.windows("x y z", answer="x y z", longest=2) == []


def test_the_window_with_most_of_the_questions_words_is_shown():
    cut = ["Lamps need oil.", "The oil lamp was lit in May.", "Bread."]
    assert windows.nearest(cut, "When was the oil lamp lit?") == cut[1]
    assert windows.nearest([], "When?") is None


def test_a_group_is_cut_with_its_evidence_or_not_at_all():
    long = "Salt comes by sea. " * 12
    gold = replace(TEXTS["gold"], text=f"{long}{TEXTS['gold'].text} {long}")
    false = replace(TEXTS["false"], text=f"{long}Lit in 1999. {long}", claim="1999")
    group = replace(make_group(), passages=(gold, false, TEXTS["near"]))
    cut = windows.shorten(group)
    assert all(len(p.text.split()) <= windows.WORDS for p in cut.passages)
    assert [p.kind for p in cut.passages] == [p.kind for p in group.passages]
    assert "1871" in cut.passages[0].text
    assert "1999" in cut.passages[1].text
    lost = replace(group, passages=(replace(gold, text=long), false, TEXTS["near"]))
    assert windows.shorten(lost) is None
    leak = replace(group, passages=(gold, false, replace(TEXTS["near"], text="It is of 1871.")))
    assert windows.shorten(leak) is None
    twice = replace(group, passages=(gold, TEXTS["near"], TEXTS["near"]))
    assert windows.shorten(twice) is None


def test_a_found_passage_off_the_topic_is_irrelevant_and_needs_one_on_it_beside():
    def found(text):
        return Passage(text=text, kind=PassageKind.RELEVANT, provenance=Provenance.RETRIEVED)

    asked = replace(make_group().question, text="When was the harbour lighthouse lit?")
    near, far = found("The harbour lighthouse is tall."), found("Bread rises slowly.")
    kept = windows.shorten(PassageGroup(question=asked, passages=(near, far), id="g"))
    assert [p.kind for p in kept.passages] == [PassageKind.RELEVANT, PassageKind.IRRELEVANT]
    off = PassageGroup(question=asked, passages=(far, found("Oil is dear.")), id="g")
    assert windows.shorten(off) is None


# --- replies in the strategies' forms

NOVA = """\
Step 1: Passage 1 says 1999.
Step 2: Passage 2 says 1871.
Step 3: Passage 3 says 1871.
Step 4: Two answers disagree, so rule 1.
Passage Classifications: Passage 1: Highly Relevant; Passage 2: Highly Relevant; Passage 3: \
Highly Relevant
Group Judgment: Conflicting
Answer: 1871
Confidence: 70%"""


def test_the_nova_reply_says_what_each_passage_says():
    group = make_group(kind="counterfactual")
    said = warmup.completion_for(group, "nova", 70)
    for place, passage in enumerate(group.passages, start=1):
        named = f" ({warmup.opening(passage.text)})"
        assert f"Passage {place}{named} says" in said
        said = said.replace(named, "")
    assert said == NOVA


@pytest.mark.parametrize(
    ("shown", "rule"),
    [
        (("far", "gold", "near"), "One passage answers, so rule 2."),
        (("twin", "gold", "near"), "The answers agree, so rule 2."),
        (("far", "near", "far"), "No passage answers, so rule 3."),
        (("false", "gold", "near"), "Two answers disagree, so rule 1."),
    ],
)
def test_every_rule_has_its_sentence(shown, rule):
    group = make_group(shown=shown)
    assert f"\nStep 4: {rule}\n" in warmup.completion_for(group, "nova", 70)
    assert f"{rule}\nAnswer: 1871" in warmup.completion_for(group, "noise-aware", 70)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (("far", "gold", "near"), "Passage 2 says 1871.\n"),
        (("twin", "gold", "near"), "Passage 1 says 1871, passage 2 says 1871. They agree.\n"),
        (("far", "near", "far"), "No passage gives an answer, so I use what I know.\n"),
        (
            ("far", "gold", "false"),
            "Passage 2 says 1871, passage 3 says 1999. They disagree, so I use what I know.\n",
        ),
    ],
)
def test_reasoning_is_a_sentence_or_two(shown, said):
    reply = warmup.completion_for(make_group(shown=shown), "cot", 5)
    assert reply == f"{said}Answer: 1871\nConfidence: 5%"


def test_vanilla_is_two_lines():
    reply = warmup.completion_for(make_group(answers=('"Grown Ups"',)), "vanilla", 100)
    assert reply == "Answer: Grown Ups\nConfidence: 100%"


def test_a_claim_is_what_the_text_says_first():
    false = TEXTS["false"]
    assert warmup.claim_of(false, ["1871"]) == false.claim
    assert warmup.claim_of(replace(TEXTS["gold"], claim="in 1871"), ["1871"]) == "1871"
    assert warmup.claim_of(TEXTS["twin"], ["no", "1871"]) == "1871"
    assert warmup.claim_of(TEXTS["twin"], ["no", "never"]) == "no"


@given(
    shown=st.lists(st.sampled_from(sorted(TEXTS)), min_size=1, max_size=5).filter(
        lambda names: "false" not in names or "gold" in names
    ),
    answer=st.sampled_from(["1871", "the sea, at night", "Mr. O'Hara", "yes", "$1,000.50"]),
)
def test_every_reply_is_read_back(shown, answer):
    group = make_group(shown=shown, answers=(answer,))
    names = ("nova", "label-only", *warmup.ROTATED)
    rows = [(group, name, warmup.make_row(group, name)) for name in names]
    warmup.check_rows(rows)
    assert rows[0][2].prompt == STRATEGIES["nova"].render(group).text


def test_the_answer_is_the_accepted_one_that_the_passages_give():
    row = warmup.make_row(make_group(answers=("in the year of our lord 1871", "1871")), "vanilla")
    assert row.completion.startswith("Answer: 1871\n")


def test_each_strategy_is_shown_every_kind_with_evidence_and_nova_all():
    rows = warmup.make_rows(make_groups(6))
    assert len(rows) == 18 + 12
    shown = [(name, row.kind) for _, name, row in rows]
    assert all(shown.count(("nova", kind)) == 6 for kind in GroupKind)
    for kind in GroupKind:
        wanted = 0 if kind is GroupKind.IRRELEVANT else 2
        assert all(shown.count((name, kind)) == wanted for name in warmup.ROTATED)


def test_short_replies_are_taught_without_rows_of_nova():
    rows = warmup.make_rows(make_groups(6), "vanilla")
    assert len(rows) == 12
    assert {name for _, name, _ in rows} == set(warmup.ROTATED)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (r"Confidence: \d+%", "", "is not read"),
        ("Answer: 1871", "Answer: 1872", "is read as answer '1872'"),
        (r"\d%$", "4%", "is read with confidence"),
        ("Step 2: ", "Then: ", "is not in the form"),
        ("Passage 3: Relevant", "Passage 3: Irrelevant", "is read with classes"),
        ("Consistent", "Conflicting", "is read with judgment conflicting"),
    ],
)
def test_a_reply_that_says_something_else_is_caught(old, new, fault):
    group = make_group()
    row = warmup.make_row(group, "nova")
    assert warmup.fault_of(group, "nova", row) is None
    wrong = replace(row, completion=re.sub(old, new, row.completion))
    with pytest.raises(DataError, match=fault):
        warmup.check_rows([(group, "nova", wrong)])


def test_a_reply_that_the_funnel_would_drop_is_caught(monkeypatch):
    group = make_group()
    monkeypatch.setattr(warmup, "fault_of", lambda *_: None)
    row = warmup.make_row(group, "nova")
    wrong = replace(row, completion=row.completion.replace("Consistent", "Conflicting"))
    with pytest.raises(DataError, match="the funnel drops 1 nova rows"):
        warmup.check_rows([(group, "nova", wrong)])


def test_long_answers_do_not_fit():
    assert warmup.fits(make_group(answers=("x" * 78,)))
    assert not warmup.fits(make_group(answers=("x" * 79,)))


# --- drills


def _pool(i):
    asked = Question(
        id=f"q{i}", text=f"Who built the mill of town {i}?", answers=("Nobody", f"Anna Ode{i}")
    )
    gold = Passage(
        text=f"The mill of town {i} stands by the river. It was built by Anna Ode{i} long ago."
        " Many came to see it, and it still turns in spring.",
        kind=PassageKind.GOLD,
        provenance=Provenance.RETRIEVED,
    )
    near = [
        Passage(
            text=f"A mill of town {i} was sold in spring {n}. Nothing is left of it today.",
            kind=PassageKind.RELEVANT,
            provenance=Provenance.RETRIEVED,
        )
        for n in range(4)
    ]
    return PassageGroup(question=asked, passages=(gold, *near), id=f"q{i}")


def _families(count):
    pools = [_pool(i) for i in range(count)]
    shown = [replace(p.question, answers=p.question.answers[1:]) for p in pools]
    return drills.families(pools, drills.Exchange(shown, 0))


def test_drills_are_of_every_kind_and_size_and_say_what_their_kinds_say():
    groups = list(drills.drills(_families(60), 0))
    assert len({g.id for g in groups}) == len(groups) > 50
    counted = {kind: [g for g in groups if g.kind is kind] for kind in GroupKind}
    assert 0.25 < len(counted[GroupKind.IRRELEVANT]) / len(groups) < 0.42
    assert min(map(len, counted.values())) > 8
    assert 0.4 < sum(len(g.passages) == 5 for g in groups) / len(groups) < 0.6
    for group in groups:
        for passage in group.passages:
            said = windows.stated(passage.text, group.question) is not None
            assert said == (passage.kind is PassageKind.GOLD)
            if passage.kind is PassageKind.COUNTERFACTUAL:
                assert contains(normalize(passage.text), normalize(passage.claim))
        kinds = {p.kind for p in group.passages}
        assert PassageKind.COUNTERFACTUAL not in kinds or PassageKind.GOLD in kinds


def test_drill_rows_are_in_every_form_are_read_back_and_state_one_number():
    rows = drills.drill_rows(_families(40), 0, count=96, forms=PLANS["nova"].drill_forms)
    assert len(rows) == 96
    forms = {name for _, name, _ in rows}
    assert forms == {None, "nova", "vanilla", "cot", "noise-aware", "label-only"}
    for group, name, row in rows:
        assert name is None or warmup.fault_of(group, name, row) is None
        assert name not in {"vanilla", "label-only"} or group.kind is not GroupKind.IRRELEVANT
        assert len(re.findall(r"Confidence: \d\d%", row.completion)) == 1  # to be masked
        if group.kind is not GroupKind.IRRELEVANT:
            assert f"Answer: Anna Ode{row.question[1:]}\n" in row.completion
        if name is None:
            first_lines = {s.render(group).text.split("\n")[0] for s in STRATEGIES.values()}
            assert row.prompt.split("\n")[0] not in first_lines
            assert row.completion.startswith(warmup.steps_of(group))
    assert len({(row.group, name) for _, name, row in rows}) == 96  # questions come round anew


def test_an_answer_that_stays_in_the_text_is_not_exchanged():
    assert drills.exchanged("Ode built it.", "Ode", "Lund") == "Lund built it."
    assert drills.exchanged("Nobody built it.", "Ode", "Lund") is None
