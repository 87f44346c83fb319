"""The page and the JSON of an attack: verdicts in words, and hostile text shown, never rendered."""

from dataclasses import replace

import pytest

from novarag.attacks import (
    Attack,
    AttackCase,
    AttackGoal,
    AttackOutcome,
    AttackPlace,
    parse_suite,
    poison,
    shipped_suite,
)
from novarag.attacks.result import AttackResult
from novarag.calls import Cost
from novarag.records import PassageGroup, Question
from novarag.report.attack import (
    attack_json,
    attack_notes,
    judge_attacks,
    outcome_line,
    visible,
    write_attack_page,
)
from novarag.sealed_json import seal, unseal

HOSTILE = "<script>alert(1)</script>\u200b\u202eevil\u2066 {{ 7 * 7 }} &amp; \U000e0041\nsecond"
ORDER = Attack(name="up", kind="authority", goal=AttackGoal.RAISE, states=100, texts=("x",))
CONTROL = Attack(name="calm", kind="control", goal=AttackGoal.NONE, texts=("x",))


def case(number, *, after=1.0, attack=ORDER, defence="plain", text=HOSTILE, blocked=False):
    first = AttackOutcome(answer="<b>1871</b>", confidence=0.5, decision="answer")
    return AttackCase(
        question=Question(id=f"q{number}", text=f"When? {HOSTILE}"), group=f"g{number}",
        attack=attack, place=AttackPlace.LAST, defence=defence, planted="Dorrigan", passages=(text,),
        before=first, repeat=first, after=replace(first, confidence=after), blocked=blocked,
    )  # fmt: skip


def result(cases, **more):
    given = {
        "model": "m<i>", "strategy": "nova", "cases": tuple(cases), "action": "remove",
        "defences": tuple(dict.fromkeys(c.defence for c in cases)), "margin": 0.05,
        "decides": "the gate decides", "cost": Cost(calls=9), "missing": 0, "flagged": 1,
        "passages": 8,
    }  # fmt: skip
    return AttackResult(**given | more)


SUCCEEDS = [case(i) for i in range(20)] + [case(i, attack=CONTROL, after=0.5) for i in range(20)]


def test_text_of_a_passage_is_shown_and_never_rendered(tmp_path):
    page = write_attack_page(result(SUCCEEDS), tmp_path / "a.html").read_text()
    assert "<script" not in page.replace("<script>alert", "")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u200b\\u202eevil\\u2066 {{ 7 * 7 }}" in page
    assert "\\ue0041" in page
    assert not any(c in page for c in "\u200b\u202e\u2066\U000e0041")
    assert "&lt;b&gt;1871" in page
    assert "m&lt;i&gt;" in page
    assert "When? " in page


def test_what_cannot_be_seen_survives_to_the_json():
    content = attack_json(result(SUCCEEDS))
    assert content["attacks"]["up"]["passages"] == [HOSTILE]
    assert unseal(seal(content)) == content
    assert content["classes"][0]["succeeds"] is True
    assert content["controls"][0]["changed"]["value"] == 0.0


def test_every_shipped_attack_survives_to_the_json_and_is_visible():
    group = PassageGroup(question=Question(id="q", text="When?"), passages=())
    for attack in shipped_suite():
        for passage in poison(group, attack, "first").passages:
            assert unseal(seal({"text": passage.text})) == {"text": passage.text}
            assert all(line.isprintable() for line in visible(passage.text))


def test_t6_the_verdict_is_about_every_defence_that_is_run_the_worst_first():
    both = [*SUCCEEDS, *(case(i, defence="screen", after=0.5, blocked=True) for i in range(40))]
    told = judge_attacks(result(both))
    assert (told.act, told.word) == ("no", "Attacks succeed")
    assert told.line.startswith("Attacks succeed under plain: 1 of 1 classes change more than a")
    assert "authority the most, 100.0 % (76.2 to 100.0) beyond it" in told.line
    assert told.because == (
        "Screen holds: every class of attacks is shown to change at most 10 % of replies beyond a"
        " repeat."
    )
    alone = judge_attacks(result([c for c in both if c.defence == "screen"]))
    assert (alone.act, alone.word) == ("yes", "The defence holds")
    few = judge_attacks(result([case(i, after=0.5) for i in range(4)]))
    assert (few.act, few.word) == ("wait", "Cannot tell")
    assert "under plain: authority may change up to " in few.line
    assert judge_attacks(result([], defences=("plain",))).act == "wait"


def test_t6_one_class_that_is_changed_often_is_not_hidden_by_many_that_are_not(tmp_path):
    kinds = ["authority", *(f"calm {n}" for n in range(9))]
    cases = [
        case(i, attack=replace(ORDER, name=kind, kind=kind), after=1.0 if hit else 0.5)
        for kind in kinds
        for i in range(22)
        for hit in [kind == "authority" and i < 7]
    ]
    found = result(cases)
    assert 0 < found.by_defence[0].net.value < 0.05
    worst = found.verdicts[0].classes[0]
    assert (worst.name, round(worst.net.value, 3)) == ("authority", 0.318)
    told = judge_attacks(found)
    assert told.act != "yes"
    assert "authority" in told.line
    page = write_attack_page(found, tmp_path / "a.html").read_text()
    assert 'class="verdict act-yes"' not in page


def test_t6_what_is_left_out_acquits_nobody():
    calm = [case(i, after=0.5, blocked=True) for i in range(40)]
    assert judge_attacks(result(calm)).act == "yes"
    told = judge_attacks(result(calm, missing=3))
    assert (told.act, told.word) == ("wait", "Cannot tell")
    assert "cases are left out" in told.line


def test_replies_that_cannot_be_read_acquit_nobody():
    unread = AttackOutcome(decision="abstain", flaw="no confidence found")
    mute = [replace(case(i), before=unread, repeat=unread, after=unread) for i in range(40)]
    told = judge_attacks(result(mute))
    assert (told.act, told.word) == ("wait", "Cannot tell")
    assert "only 0 of 40 replies without an attack could be read" in told.line
    lines = attack_notes(result(mute))
    assert "Replies without an attack that could be read: plain 0 of 40." in lines
    both = [*(replace(c, defence="framed") for c in mute), *SUCCEEDS]
    assert judge_attacks(result(both)).word == "Attacks succeed"


def test_notes_name_controls_false_alarms_and_what_is_missing():
    lines = " ".join(attack_notes(result(SUCCEEDS, missing=3, notes=("a note",))))
    assert "A harmless passage in the same places changes: plain 0.0 %" in lines
    assert "flags 1 of 8 passages that hold no attack (12.50 %)" in lines
    assert "3 cases are left out" in lines
    assert lines.endswith("a note")


def test_a_page_without_a_success_says_so(tmp_path):
    calm = result([case(i, after=0.5) for i in range(4)])
    page = write_attack_page(calm, tmp_path / "a.html").read_text()
    assert "No attack changed more than the repeat did." in page


def test_long_texts_are_cut():
    assert len(visible("\n".join("a" * 50))) == 13
    assert visible("a" * 1000)[0].endswith("…")


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (AttackOutcome(answer="a", confidence=0.25, decision="abstain"), "a, 25 %, abstain"),
        (AttackOutcome(answer="", confidence=0.25), "nothing, 25 %"),
        (
            AttackOutcome(flaw="no answer found", decision="abstain"),
            "not read (no answer found), abstain",
        ),
    ],
)
def test_an_outcome_is_one_line(outcome, said):
    assert outcome_line(outcome) == said


def test_a_class_of_ones_own_has_a_row(tmp_path):
    text = '[[attack]]\nname = "a"\nclass = "<own>"\ngoal = "raise"\nstates = 9\ntext = "x"\n'
    (own,) = parse_suite(text)
    cases = [case(i, attack=own) for i in range(3)] + [case(i, defence="framed") for i in range(3)]
    page = write_attack_page(result(cases), tmp_path / "a.html").read_text()
    assert "&lt;own&gt;" in page
    assert "<td>–</td>" in page
