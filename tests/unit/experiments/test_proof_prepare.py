"""What the proof is made from: splits that share nothing, and replies that say what is known."""

import json
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.nova import drills, reading, splits, warmup
from novarag.datasets import load_groups
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
def test_splits_hold_whole_questions_once_whatever_the_order_of_the_rows(count, seed, order):
    groups = make_groups(count)
    parts = splits.split(groups, {"a": 2, "b": 3, "c": None}, seed)
    ids = {name: {g.question.id for g in part} for name, part in parts.items()}
    assert [len(i) for i in ids.values()] == [2, 3, count - 5]
    assert len(set.union(*ids.values())) == count
    assert all(len(part) == 3 * len(ids[name]) for name, part in parts.items())
    order.shuffle(groups)
    again = splits.split(groups, {"a": 2, "b": 3, "c": None}, seed)
    assert {name: {g.question.id for g in part} for name, part in again.items()} == ids


def test_the_order_is_the_seeds_not_the_files():
    def names(seed):
        return [g[0].question.id for g in splits.in_hash_order(make_groups(12), seed)]

    assert names(0) != names(1)
    assert names(0) != sorted(names(0))


def test_a_split_that_cannot_be_filled_is_an_error():
    with pytest.raises(DataError, match="there are 2 questions for 'a', 3 are needed"):
        splits.split(make_groups(2), {"a": 3}, 0)


def test_a_test_question_gives_one_group_and_the_kinds_are_even():
    groups = [*make_groups(9), make_group("closed", form="yes/no")]
    taken = splits.one_each(groups, 6, 0)
    assert [g.kind for g in taken] == 2 * list(GroupKind)
    assert len({g.question.id for g in taken}) == 6
    every = splits.one_each(groups, 99, 0)
    assert len(every) == 9  # the yes/no question is not asked


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


def test_tests_may_share_questions_with_each_other():
    both = [question("a", "Who?")]
    splits.check_disjoint({"warm": [question("b", "When?")]}, {"k3": both, "k5": both})


def test_passages_that_share_eight_words_share_a_run():
    one = "a b c d e f g h"
    assert splits.runs_of(f"x {one}, y") & splits.runs_of(f"{one.upper()} z")
    assert not splits.runs_of(f"x {one[:-2]}") & splits.runs_of(f"{one[:-2]} z")
    assert splits.runs_of("Two words") == {"two words"}
    assert splits.runs_of("") == set()
    assert splits.gold_runs([make_group()]) == {"the lamp was lit in 1871"}


def test_a_reading_group_has_its_gold_and_two_texts_that_do_not_answer():
    golds = [
        (
            Question(id=f"q{i}", text="When?", answers=(f"18{i}",)),
            Passage(text=f"In 18{i}.", kind=PassageKind.GOLD),
        )
        for i in range(10, 16)
    ]
    spoiler = Passage(text="In 1810 or 1811 and 1812.", kind=PassageKind.GOLD)
    golds.append((Question(id="s", text="?", answers=("1811",)), spoiler))
    groups = splits.reading_groups(golds, 0, asked=3)
    assert [g.question.id for g in groups] == ["q10", "q11", "q12"]
    for group in groups:
        assert sorted(group.kinds) == ["gold", "irrelevant", "irrelevant"]
        stating = [p.kind for p in group.passages if splits.states(p.text, group.question)]
        assert stating == [PassageKind.GOLD]
    with pytest.raises(DataError, match="fewer than 2"):
        splits.reading_groups(golds[:2], 0)


def test_gold_is_original_and_states_the_answer():
    groups = [make_group(), make_group("yes", form="yes/no"), make_group("b", answers=("1900",))]
    groups.append(make_group("c", shown=("twin", "far", "far")))
    found = splits.gold_of([*groups, groups[0]])
    assert [(q.id, p.text) for q, p in found] == [("q0", TEXTS["gold"].text)]


# --- reading rows

WORDS = st.lists(st.sampled_from(["lamp", "oil", "lit.", "sea", "It", "1871", "why?"]), min_size=1)


@given(words=WORDS, longest=st.integers(1, 12), seed=st.integers(0, 5))
def test_a_window_is_part_of_the_text_holds_the_answer_and_is_short(words, longest, seed):
    text = " ".join(words)
    found = reading.window(text, random.Random(seed), answer="1871", longest=longest)
    assert (found is None) == ("1871" not in words)
    if found is not None:
        assert found in text
        assert len(found.split()) <= longest
        assert contains(normalize(found), "1871")
        if len(words) <= longest:
            assert 2 * len(found.split()) >= min(longest, len(words))


def test_a_window_ends_with_a_sentence_where_it_can():
    text = "One two three. Four five six. Seven eight nine ten eleven twelve."
    cuts = {reading.window(text, random.Random(i), answer="five", longest=6) for i in range(20)}
    assert cuts == {"One two three. Four five six.", "Four five six."}
    assert reading.window("a b c d e f", random.Random(0), answer="f", longest=4) in {
        "c d e f",
        "d e f",
        "e f",
    }
    assert reading.window("x y z", random.Random(0), answer="x y z", longest=2) is None


def row(**changes):
    return {
        "qid": "n1", "dataset": "nq-open-oracle", "question": "When?", "gold_ids": ["a"],
        "answers": ["in the year of our lord 1871", "1871"], "same_as": [],
    } | changes  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "clapnq-dev"},
        {"same_as": ["naacl-nq-test-46"]},
        {"gold_ids": ["a", "b"]},
        {"gold_ids": ["c"]},
        {"answers": ["yes"]},
        {"answers": ["it was lit in 1871 there"]},
    ],
)
def test_a_question_without_one_short_answer_in_one_text_is_not_taken(changes):
    texts = {"a": "yes: it was lit in 1871 there", "b": "1871 again", "c": "nothing"}
    assert reading.answered([row(**changes)], texts) == []


def test_the_answer_that_the_text_holds_comes_first_and_a_text_serves_once():
    pairs = reading.answered([row(), row(qid="n2")], {"a": "lit\nin 1871"})
    [(question, passage)] = pairs
    assert question.answers == ("1871", "in the year of our lord 1871")
    assert passage.text == "lit in 1871"


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
    assert warmup.claim_of(replace(TEXTS["gold"], claim="in 1871"), ["x"]) == "in 1871"
    assert warmup.claim_of(TEXTS["twin"], ["no", "1871"]) == "1871"
    assert warmup.claim_of(TEXTS["twin"], ["no", "never"]) == "no"


@given(
    shown=st.lists(st.sampled_from(sorted(TEXTS)), min_size=1, max_size=5).filter(
        lambda names: "false" not in names or "gold" in names
    ),
    percent=st.integers(0, 100),
    answer=st.sampled_from(["1871", "the sea, at night", "Mr. O'Hara", "yes", "$1,000.50"]),
)
def test_every_reply_is_read_back(shown, percent, answer):
    group = make_group(shown=shown, answers=(answer,))
    rows = [
        (group, name, warmup.make_row(group, name, [percent / 100], 0))
        for name in ("nova", *warmup.ROTATED)
    ]
    warmup.check_rows(rows)
    assert rows[0][2].prompt == STRATEGIES["nova"].render(group).text
    assert {r.confidence for _, _, r in rows} == {percent / 100}


def test_each_strategy_is_shown_every_kind_with_evidence_and_nova_all():
    rows = warmup.make_rows(make_groups(6), [0.5, 0.9], 0)
    assert len(rows) == 18 + 12
    shown = [(name, row.kind) for _, name, row in rows]
    assert all(shown.count(("nova", kind)) == 6 for kind in GroupKind)
    for kind in GroupKind:
        wanted = 0 if kind is GroupKind.IRRELEVANT else 2
        assert all(shown.count((name, kind)) == wanted for name in warmup.ROTATED)
    assert {row.confidence for _, _, row in rows} == {0.5, 0.9}


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("Confidence: 70%", "", "is not read"),
        ("Answer: 1871", "Answer: 1872", "is read as answer '1872'"),
        ("70%", "71%", "is read with confidence 0.71"),
        ("Step 2: ", "Then: ", "is not in the form"),
        ("Passage 3: Relevant", "Passage 3: Irrelevant", "is read with classes"),
        ("Consistent", "Conflicting", "is read with judgment conflicting"),
    ],
)
def test_a_reply_that_says_something_else_is_caught(old, new, fault):
    group = make_group()
    row = warmup.make_row(group, "nova", [0.7], 0)
    assert warmup.fault_of(group, "nova", row) is None
    wrong = replace(row, completion=row.completion.replace(old, new))
    with pytest.raises(DataError, match=fault):
        warmup.check_rows([(group, "nova", wrong)])


def test_a_reply_that_the_funnel_would_drop_is_caught(monkeypatch):
    group = make_group()
    monkeypatch.setattr(warmup, "fault_of", lambda *_: None)
    row = warmup.make_row(group, "nova", [0.7], 0)
    wrong = replace(row, completion=row.completion.replace("Consistent", "Conflicting"))
    with pytest.raises(DataError, match="the funnel drops 1 nova rows"):
        warmup.check_rows([(group, "nova", wrong)])


def test_long_answers_do_not_fit():
    assert warmup.fits(make_group(answers=("x" * 78,)))
    assert not warmup.fits(make_group(answers=("x" * 79,)))


# --- the whole


@pytest.mark.data
def test_the_proof_is_prepared_without_a_question_on_two_sides(root, data, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "experiments.nova.prepare", tmp_path, "--data", data], cwd=root,
        check=True, capture_output=True,
    )  # fmt: skip
    files = {p.stem: load_groups(p) for p in (tmp_path / "groups").glob("*.jsonl")}
    sizes = {name: len({g.question.id for g in groups}) for name, groups in files.items()}
    assert sizes == {
        "warm-k3": 100, "sample-k3": 70, "dev-k3": 84, "reader-dev-k3": 100, "reader-test-k3": 150,
        "test-hotpotqa-k3": 120, "test-hotpotqa-k5": 120, "test-nq-k3": 120, "test-nq-k5": 120,
        "test-bamboogle-k3": 80, "test-bamboogle-k5": 80,
    }  # fmt: skip
    for name in ("hotpotqa", "nq", "bamboogle"):
        asked = [[(g.question.id, g.kind) for g in files[f"test-{name}-k{k}"]] for k in (3, 5)]
        assert asked[0] == asked[1]
        assert {len(g.passages) for g in files[f"test-{name}-k5"]} == {5}
    tested = {"reader-test-k3", *(name for name in files if name.startswith("test-"))}
    known = {splits.plain(g.question.text) for name in tested for g in files[name]}
    rows = [
        json.loads(line) for line in (tmp_path / "warmup/train.jsonl").read_bytes().splitlines()
    ]
    texts = [r["prompt"][0]["content"] for r in rows]
    asked = {splits.plain(t.split("Question: ")[1].split("\n")[0]) for t in texts}
    asked |= {splits.plain(g.question.text) for n in set(files) - tested for g in files[n]}
    assert len(asked) == 100 + 70 + 84 + 100 + 1000
    assert asked.isdisjoint(known)
    drills = [r for r in rows if r["group"].endswith("/drill")]
    assert (len(drills), len(rows)) == (1000, 1000 + 3 * 100 + 2 * 100)
    assert all((r["confidence"] is None) == ("Confidence:" not in str(r)) for r in rows)
    assert {r["question"] for r in rows if r not in drills} == {
        g.question.id for g in files["warm-k3"]
    }
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert facts["warmup"]["rows"] == len(rows)
    assert str(tmp_path) not in json.dumps(facts)


# --- drills ----------------------------------------------------------------------------------


def _pairs(count):
    return [
        (
            Question(
                id=f"q{i}", text=f"Who built the mill of town {i}?", answers=(f"Anna Ode{i}",)
            ),
            Passage(
                text=f"The mill of town {i} stands by the river. It was built by Anna Ode{i} long ago."
                " Many came to see it, and it still turns in spring.",
                kind=PassageKind.GOLD,
            ),
        )
        for i in range(count)
    ]


def test_drills_are_of_every_kind_and_say_what_their_kinds_say():
    groups = list(drills.drills(_pairs(30), 0))
    assert {g.kind for g in groups} == set(GroupKind)
    assert len({g.id for g in groups}) == len(groups)
    for group in groups:
        answer = normalize(group.question.answers[0])
        for passage in group.passages:
            said = contains(normalize(passage.text), answer)
            assert said == (passage.kind is PassageKind.GOLD)
            if passage.kind is PassageKind.COUNTERFACTUAL:
                assert contains(normalize(passage.text), normalize(passage.claim))


def test_drills_ask_in_words_of_no_strategy_and_answer_where_a_passage_does():
    rows = drills.drill_rows(_pairs(60), [0.9], 0, count=50)
    assert len(rows) == 50
    assert {len(group.passages) for group, _, _ in rows} == {3, 5}
    for group, name, row in rows:
        if name is None:
            first_lines = {s.render(group).text.split("\n")[0] for s in STRATEGIES.values()}
            assert row.prompt.split("\n")[0] not in first_lines
            assert ("\nAnswer: Anna" in row.completion) == (group.kind is not GroupKind.IRRELEVANT)
            assert row.completion.startswith(warmup.steps_of(group).strip())
            assert "Confidence" not in row.completion
    vanilla = [(group, row) for group, name, row in rows if name == "vanilla"]
    assert len(vanilla) == 4
    for group, row in vanilla:
        assert group.kind is not GroupKind.IRRELEVANT
        assert warmup.fault_of(group, "vanilla", row) is None


def test_noise_in_a_drill_is_what_answers_another_question():
    noise = [
        (f"mill of town {group.question.id[1:]} ", passage.text)
        for group in drills.drills(_pairs(12), 0)
        for passage in group.passages
        if passage.kind is PassageKind.IRRELEVANT
    ]
    assert noise
    assert not any(own in text for own, text in noise)


def test_an_answer_that_stays_in_the_text_is_not_exchanged():
    assert drills.exchanged("Ode built it.", "Ode", "Lund") == "Lund built it."
    assert drills.exchanged("Nobody built it.", "Ode", "Lund") is None


def test_a_tossed_passage_tells_nothing_of_the_others():
    groups = list(drills.tossed(_pairs(400), 0))
    first = [[p.kind is not PassageKind.IRRELEVANT for p in g.passages[:2]] for g in groups]
    after = {said: [two for one, two in first if one is said] for said in (True, False)}
    shares = {said: sum(found) / len(found) for said, found in after.items()}
    assert abs(shares[True] - shares[False]) < 0.15
    assert all(0.35 < share < 0.65 for share in shares.values())
    for group in groups:
        kinds = {p.kind for p in group.passages}
        assert PassageKind.COUNTERFACTUAL not in kinds or PassageKind.GOLD in kinds
        own = f"mill of town {group.question.id[1:]} "
        noise = [p for p in group.passages if p.kind is PassageKind.IRRELEVANT]
        assert not any(own in p.text for p in noise)


def test_tossed_rows_are_in_every_form_and_are_read_back():
    rows = drills.toss_rows(_pairs(80), [0.9], 0, count=64)
    assert len(rows) == 64
    assert {name for _, name, _ in rows} == {None, "nova", "vanilla", "cot", "noise-aware"}
    for group, name, row in rows:
        assert name is None or warmup.fault_of(group, name, row) is None
        assert name in {None, "nova"} or group.kind is not GroupKind.IRRELEVANT
