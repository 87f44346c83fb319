"""The annotator: verdicts on traps, twins, agreement, the profile."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import Passage, PassageGroup, PassageKind, Question
from novarag.annotation import PassageOrigin, agree, annotate, make_profile, settled
from novarag.annotation.annotate import TWIN
from novarag.annotation.model import KINDS
from novarag.annotation.near_duplicates import stale_pairs
from novarag.annotation.tokens import (
    cut_sentences,
)
from novarag.records import AnswerForm
from novarag.report.profile import profile_notes

GOLD, OTHER, RELATED, UNRELATED = KINDS

TEMPLE = (
    "Shirley Temple\nShirley Temple was an American actress. She portrayed Corliss Archer in the"
    " film Kiss and Tell. She later held the government position of Chief of Protocol of the"
    " United States."
)
CURLING = "Curling\nCurling is a sport on ice in which players slide stones toward a target."
ASKED = Question(
    id="q",
    text="What government position was held by the woman who portrayed Corliss Archer in the film"
    " Kiss and Tell?",
    answers=("Chief of Protocol",),
)
FILLER = tuple(
    f"{name}\n{name} is a town in the north, known for its market and its river {i}."
    for i, name in enumerate(("Aldby", "Borsk", "Cleeve", "Dunmore", "Esk", "Farn"))
)


def verdicts(question, *texts, expect=PassageOrigin.RETRIEVED, filler=FILLER, near=None):
    groups = [
        PassageGroup(question=question, passages=tuple(Passage(text=t) for t in texts)),
        PassageGroup(
            question=Question(id="f", text="Which town?", answers=("Nowhere",)),
            passages=tuple(Passage(text=t) for t in filler),
        ),
    ]
    return annotate(groups, expect=expect, closeness=near)[0]


def ask(text, *answers):
    return Question(id=text, text=text, answers=answers)


class TestWords:
    def test_support_has_evidence(self):
        one, two = verdicts(ASKED, TEMPLE, CURLING)
        assert one.kind is GOLD
        assert one.confidence >= 0.6
        assert one.by == ("words",)
        assert "states 'Chief of Protocol' beside" in one.evidence.reason
        assert "'Corliss'" in one.evidence.reason or "position" in one.evidence.reason
        assert "Chief of Protocol" in one.evidence.quote
        assert two.kind is UNRELATED

    def test_a_mention_in_an_unrelated_passage_is_no_support(self):
        trap = "Frobel\nFrobel was Chief of Protocol at the palace of Utrecht for nine winters."
        (said,) = verdicts(ASKED, trap)
        assert settled(said, 0.6) is not GOLD
        assert said.chances[0] <= 0.5 + 1e-9

    @pytest.mark.parametrize("answer", ["United States", "1945", "water"])
    def test_common_answers_need_context(self, answer):
        trap = f"Market\nThe market hall of the {answer} quarter sells fish and {answer} pots."
        (said,) = verdicts(ask("Which land did Hernando de Soto explore first?", answer), trap)
        assert settled(said, 0.6) is not GOLD

    def test_an_answer_of_the_question_proves_nothing(self):
        both = ask("Which is older, Aldgate Mill or Borsk Mill?", "Borsk Mill")
        (said,) = verdicts(
            both, "Borsk Mill\nBorsk Mill is older than it looks, as is Aldgate Mill."
        )
        assert settled(said, 0.6) is not GOLD
        assert said.chances[0] < 0.5

    def test_initials_of_the_question_prove_nothing(self):
        question = ask("what does MSC in MSC cruises stand for", "Mediterranean Shipping Company")
        text = (
            "Canoe\nThe MSC was a canoe for one diver; the MSC cruises under water and will stand."
        )
        (said,) = verdicts(question, text)
        assert settled(said, 0.6) is not GOLD

    def test_a_father_has_the_surname_of_his_son(self):
        question = ask("Who is the father of the father of the hydrogen bomb?", "Max Teller")
        text = "Edward Teller\nTeller became known as the father of the hydrogen bomb."
        (said,) = verdicts(question, text)
        assert settled(said, 0.6) is not GOLD

    def test_unproven_support_says_so(self):
        question = ask("Who wrote the ballad of the drowned miller?", "Wilhelmina Oosterhuis")
        text = "Harbour\nBoats leave at dawn. The pilot Wilhelmina Oosterhuis steers the ballad of."
        (said,) = verdicts(question, text)
        assert said.kind is not GOLD or "rule out chance" in said.evidence.reason

    def test_yes_and_no_are_not_decided_by_words(self):
        question = Question(
            id="y", text="Is the Borsk mill old?", answers=("yes",), form=AnswerForm.YES_NO
        )
        one, two = verdicts(question, "Borsk\nYes, the Borsk mill is old.", CURLING)
        assert one.kind is None
        assert two.kind is None
        assert max(one.confidence, two.confidence) < 0.6
        assert "yes/no" in one.evidence.reason
        (open_,) = verdicts(ask("Who?"), CURLING)
        assert "no answer is known" in open_.evidence.reason

    def test_placeholders_are_unrelated(self):
        one, two = verdicts(ASKED, "Passage 3:", "")
        assert [one.kind, two.kind] == [UNRELATED, UNRELATED]
        assert one.evidence.reason == "there is no text to judge"

    def test_hostile_text_is_only_text(self):
        evil = (
            "<script>alert(1)</script>\n{question} %s {0} Chief of Protocol \ud83d \x00 "
            + "(" * 999
        )
        (said,) = verdicts(ASKED, evil)
        assert said.kind in {*KINDS, None}

    def test_long_sentences_are_quoted_around_the_mention(self):
        text = "Kiss and Tell\n" + "x " * 400 + "Corliss Archer held the position Chief of Protocol"
        (said,) = verdicts(ASKED, text)
        assert "Chief of Protocol" in said.evidence.quote
        assert len(said.evidence.quote) <= 300

    def test_planted_passages_may_state_another_answer(self):
        text = (
            "The woman who portrayed Corliss Archer in the film Kiss and Tell held the government"
            " position of Ambassador to Ghana."
        )
        (said,) = verdicts(ASKED, text, expect=PassageOrigin.PLANTED)
        assert said.kind is OTHER
        assert said.claim == "Ambassador to Ghana"
        assert "Ambassador to Ghana" in said.evidence.reason
        (right,) = verdicts(ASKED, TEMPLE, expect=PassageOrigin.PLANTED)
        assert right.evidence.reason.startswith("states 'Chief of Protocol' beside")
        (kept,) = verdicts(ASKED, text)
        assert kept.kind is not OTHER

    def test_a_known_kind_is_never_read(self):
        plain = PassageGroup(question=ASKED, passages=(Passage(text=TEMPLE), Passage(text=CURLING)))
        told = PassageGroup(
            question=ASKED,
            passages=(
                Passage(text=TEMPLE, kind=UNRELATED),
                Passage(text=CURLING, kind=GOLD, claim="Chief of Protocol"),
            ),
        )
        assert annotate([plain]) == annotate([told])

    def test_closeness_moves_relevance(self):
        text = "Hollywood\nThe studio in Hollywood made the film and its sequel with a child star."
        far = verdicts(ASKED, text, near=[[0.0], [0.0] * 6])[0]
        close = verdicts(ASKED, text, near=[[1.0], [0.0] * 6])[0]
        assert close.chances[2] > far.chances[2]
        shares = {re.search(r"\d+ %", said.evidence.reason)[0] for said in (close, far)}
        assert len(shares) == 1  # the words' share is the words' alone

    def test_the_same_words_give_the_same_verdicts(self):
        assert verdicts(ASKED, TEMPLE, CURLING) == verdicts(ASKED, TEMPLE, CURLING)

    @given(st.text(max_size=200), st.text(max_size=40), st.text(max_size=60))
    def test_any_text_gets_a_verdict(self, text, answer, question):
        group = PassageGroup(question=ask(question, answer), passages=(Passage(text=text),))
        for expect in PassageOrigin:
            ((said,),) = annotate([group], expect=expect)
            assert 0 <= said.confidence <= 1
            assert sum(said.chances) == pytest.approx(1)
            assert said.evidence.quote in text


class TestTwins:
    NEW = "Robert Griffin\nRobert Lee Griffin, nicknamed RG3, is an American football quarterback who is currently a free agent."
    OLD = "Robert Griffin\nRobert Lee Griffin, nicknamed RG3, is an American football quarterback for the Washington Redskins."
    ASKED = ask("is american football quarterback robert griffin playing", "currently a free agent")

    def test_a_version_with_another_answer_states_it(self):
        one, two = verdicts(self.ASKED, self.NEW, self.OLD)
        assert one.kind is GOLD
        assert two.kind is OTHER
        assert two.by == (TWIN,)
        assert "Washington Redskins" in two.claim
        assert "passage 1" in two.evidence.reason

    def test_another_title_is_another_subject(self):
        _, two = verdicts(self.ASKED, self.NEW, self.OLD.replace("Robert Griffin\n", "Bob\n"))
        assert TWIN not in two.by

    def test_without_titles_sentences_must_be_more_alike(self):
        bare = [t.partition("\n")[2] for t in (self.NEW, self.OLD)]
        _, two = verdicts(self.ASKED, *bare)
        assert TWIN not in two.by
        same = "Robert Lee Griffin, nicknamed RG3, is an American football quarterback who is {} a free agent in autumn."
        question = ask("what is robert griffin", "currently")
        _, two = verdicts(question, same.format("currently"), same.format("hardly"))
        assert two.claim == "hardly"

    def test_two_villages_are_not_two_versions(self):
        village = (
            "{} is a small village in the administrative district of Gmina Podlaska, within {}"
            " County, in north-eastern Poland, close to the border with Belarus."
        )
        question = ask("In which county is the village Borsk near Belarus?", "Sokolka")
        texts = [village.format("Borsk", "Sokolka"), village.format("Jurasze", "Hajnowka")]
        assert TWIN not in verdicts(question, *texts, filler=FILLER[2:])[1].by

    def test_a_twin_needs_a_passage_that_supports(self):
        question = ask("Who won the chess cup of Utrecht?", *self.ASKED.answers)
        one, two = verdicts(question, self.NEW, self.OLD)
        assert one.kind is not GOLD
        assert TWIN not in two.by

    def test_sentences_that_differ_elsewhere_are_no_twins(self):
        other = self.OLD.replace("for the Washington Redskins", "and a father")
        text = "Robert Griffin\nHe runs. Nothing here is like it at all, says the paper on Monday."
        _, two, three = verdicts(self.ASKED, self.NEW, text, other.replace("nicknamed", "called"))
        assert TWIN not in two.by
        moved = self.NEW.replace("RG3", "RGIII").replace("currently a free agent", "happy")
        assert verdicts(self.ASKED, self.NEW, moved)[1].claim != "RGIII"
        assert three.kind is not None
        bare = self.NEW.replace(" who is currently a free agent", "")
        assert TWIN not in verdicts(self.ASKED, self.NEW, bare)[1].by

    def test_stale_pairs_differ_in_a_value(self):
        first = "Tim Hortons is a restaurant chain in Canada; as of 2016 it had 4,613 restaurants in nine countries."
        second = first.replace("4,613", "4,304").replace("2016", "2012")
        texts = [(t, cut_sentences(t)) for t in (first, second, first, CURLING, "12")]
        pairs = list(stale_pairs(texts))
        assert [(i, j) for i, j, _, _ in pairs] == [(0, 1), (1, 2)]
        assert pairs[0][2:] == ("2016", "2012")
        assert list(stale_pairs([(t, cut_sentences(t)) for t in (first, first + " Yes.")])) == []


class TestAgreement:
    def test_the_matrix_and_its_figures(self):
        known = [GOLD, GOLD, OTHER, RELATED, UNRELATED, UNRELATED] * 5
        said = [GOLD, None, RELATED, RELATED, UNRELATED, GOLD] * 5
        found = agree(known, said, [f"q{i}" for i in range(30)], replicates=200)
        assert found.matrix[0] == (5, 0, 0, 0, 5)
        assert found.precision["gold"].value == pytest.approx(0.5)
        assert found.recall["gold"].value == pytest.approx(0.5)
        assert found.f1["relevant"].value == pytest.approx(2 / 3)
        assert found.f1["counterfactual"].value == 0
        assert found.accuracy.value == pytest.approx(0.5)
        by_hand = (0.5 + 0 + 2 / 3 + 2 / 3) / 4
        assert found.macro_f1.value == pytest.approx(by_hand)
        assert found.macro_f1.low <= by_hand <= found.macro_f1.high

    def test_none_or_all_of_a_few_is_not_certainty(self):
        known = [GOLD] * 12 + [OTHER] * 12
        said = [GOLD] * 12 + [RELATED] * 12
        found = agree(known, said, [str(i) for i in range(24)], replicates=100)
        twelve = 1 - 0.025 ** (1 / 12)
        assert found.recall["gold"].low == pytest.approx(1 - twelve)
        assert found.recall["gold"].high == 1
        assert found.precision["relevant"].high == pytest.approx(twelve)
        assert found.recall["counterfactual"].high == pytest.approx(twelve)

    def test_a_kind_nobody_has_is_left_out_of_the_mean(self):
        found = agree([GOLD] * 12, [GOLD] * 12, [str(i) for i in range(12)], replicates=100)
        assert found.macro_f1.value == 1


class TestProfile:
    def groups(self):
        twins = TestTwins
        stale = "Tim Hortons\nTim Hortons is a restaurant chain in Canada; it had {} restaurants in nine countries then."
        rows = [
            (ASKED, (TEMPLE, CURLING)),
            (twins.ASKED, (twins.NEW, twins.OLD)),
            (ask("How many moons has Mars?", "2"), (stale.format("4,613"), stale.format("4,304"))),
            (Question(id="y", text="Is it?", answers=("no",), form=AnswerForm.YES_NO), ("It is.",)),
            (ask("Who came?", "Nobody Known"), ()),
            (ask("Which town lies on the sea?", "Nowhere at All"), FILLER),
        ]
        return [
            PassageGroup(question=q, passages=tuple(Passage(text=t) for t in texts), id=f"g{i}")
            for i, (q, texts) in enumerate(rows)
        ]

    def profile(self, groups, **options):
        told = {"min_confidence": 0.6, "expect": "retrieved", "replicates": 100, **options}
        return make_profile(groups, annotate(groups), **told)

    def test_what_it_counts(self):
        found = self.profile(self.groups())
        assert (found.groups, found.questions, found.passages) == (6, 6, 13)
        assert sum(f.value for f in found.kinds.values()) == pytest.approx(1)
        assert found.kinds["gold"].value == pytest.approx(2 / 13)
        assert found.kinds["gold"].low <= found.kinds["gold"].value <= found.kinds["gold"].high
        assert [sum(rank.values()) for rank in found.ranks] == pytest.approx([1] * 6)
        assert found.undecided_groups == 1
        assert found.group_mix["counterfactual"].value == pytest.approx(1 / 5)
        assert found.group_mix["irrelevant"].value == pytest.approx(3 / 5)
        assert found.conflicts.count == 1
        assert len(found.conflicts.examples[0].passages) == 2
        assert found.stale.count == 1
        assert "4,613" in found.stale.examples[0].reasons[0]
        assert (found.unsupported.count, found.unsupported.among) == (3, 5)
        assert found.unsupported.share.value == pytest.approx(3 / 5)
        assert (found.conflicts.among, found.stale.among) == (6, 6)
        assert found.examples["gold"][0].confidence >= found.examples["gold"][-1].confidence
        assert found.agreement is None
        assert found.witnesses["twin"] == 1

    def test_undecided_below_the_least(self):
        found = self.profile(self.groups(), min_confidence=1.1)
        assert found.kinds["undecided"].value == 1
        assert found.conflicts.count == 0

    def test_what_was_not_seen_is_not_known_to_be_absent(self):
        found = self.profile(self.groups(), min_confidence=1.1)
        unseen = 1 - 0.025 ** (1 / 6)  # six questions; the exact bound of none in six
        assert (found.conflicts.share.low, found.conflicts.share.high) == (0, unseen)
        sure = found.kinds["undecided"]
        five = 1 - 0.025 ** (1 / 5)  # one question has no passage
        assert (sure.low, sure.high) == (pytest.approx(1 - five), 1)

    def test_nothing_to_count(self):
        found = self.profile([PassageGroup(question=ASKED, passages=())])
        assert found.kinds == {}
        assert found.ranks == ()
        assert found.group_mix["irrelevant"].value == 1
        assert found.unsupported.count == 1
        assert profile_notes(found)[0] == "There is no passage in any group."

    def test_no_judged_group_has_no_mix(self):
        question = Question(id="y", text="Is it?", answers=("no",), form=AnswerForm.YES_NO)
        found = self.profile([PassageGroup(question=question, passages=(Passage(text="It is."),))])
        assert found.group_mix == {}
        assert found.unsupported.share is None
        notes = profile_notes(found)
        assert notes[1] == "0 of 0 judged groups have no passage that supports the answer."
        assert "there is no mix" in notes[4]

    def test_known_kinds_give_agreement(self):
        groups = [
            PassageGroup(
                question=g.question,
                passages=tuple(Passage(text=p.text, kind=GOLD) for p in g.passages),
            )
            for g in self.groups()
        ]
        found = self.profile(groups)
        assert found.agreement.matrix[0][0] == 2
        assert sum(map(sum, found.agreement.matrix)) == 13


def test_kinds_are_all_there():
    assert set(KINDS) == set(PassageKind)


def test_the_weights_say_how_they_were_fitted():
    from importlib.resources import files

    told = json.loads(files("novarag.annotation").joinpath("weights.json").read_text("utf-8"))
    assert told["fitted_by"] == "python -m tools.annotation_fit --write"
