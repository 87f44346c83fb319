"""The word-overlap baseline: how many of the question's words the passages hold."""

import numpy as np
import polars as pl
import pytest

from novarag import Passage, PassageGroup, Question, measure
from novarag.answers.opening.beside import overlap_table, with_overlap
from novarag.metrics.baselines import FOLDS, WORD_OVERLAP, folds, word_overlap
from novarag.metrics.views import OVERLAP
from novarag.overlap import OVERLAPS, overlap_rows
from novarag.records import Completion
from novarag.strategies import NOVA
from novarag.trials import make_trial

ON, OFF = "The reef of Alder was lit by Mara.", "Bread rises slowly in the cold."


def answers(n=300, *, telling=True):
    """Answers that are right where the passage is on the subject, or as luck has it."""
    rng = np.random.default_rng(0)
    on = rng.random(n) < 0.5
    lucky = rng.random(n)
    right = lucky < (np.where(on, 0.9, 0.2) if telling else 0.5)
    return pl.DataFrame({
        "question": [f"Who lit reef number {i} of Alder?" for i in range(n)],
        "passages": [[ON if hit else OFF, OFF] for hit in on],
        "confidence": rng.integers(0, 11, n) / 10,
        "correct": right,
    })  # fmt: skip


def test_the_five_numbers_are_shares_of_the_words_of_the_question():
    groups = [("Who lit the reef?", ["They lit the reef.", "None.", "Who?"]), ("Who?", [])]
    first, second = overlap_rows(groups)
    # "who" is in both questions and weighs half of what "lit" and "reef" do
    assert first == pytest.approx([2 / 2.5, 0.5 / 2.5, (2 + 0.5) / 2.5 / 3, 0, 1])
    assert second == [0.0] * len(OVERLAPS)


def test_it_knows_what_counting_words_tells_and_no_more():
    telling = measure(answers(), replicates=100).overall
    figures = telling.baselines[WORD_OVERLAP]
    assert figures["auroc"].value > 0.8
    assert figures["brier"].value < telling.baselines["constant"]["brier"].value - 0.05
    assert figures["brier"].low < figures["brier"].value < figures["brier"].high
    blind = measure(answers(telling=False), replicates=100).overall.baselines[WORD_OVERLAP]
    assert 0.35 < blind["auroc"].value < 0.62


def test_a_row_is_never_fitted_on_its_own_question():
    """Swapping the grades of one fold changes what is stated in the others, not in itself."""
    rng = np.random.default_rng(1)
    overlap, correct = rng.random((200, 5)), rng.random(200) < 0.5
    question, fold = np.arange(200), folds([f"q{i}" for i in range(200)])
    before = word_overlap(overlap, correct, question, fold)
    after = word_overlap(overlap, correct ^ (fold == 0), question, fold)
    assert np.array_equal(before[fold == 0], after[fold == 0])
    assert all(not np.array_equal(before[fold == f], after[fold == f]) for f in range(1, FOLDS))


def test_one_fold_alone_is_told_the_share_of_right_answers():
    right = np.array([True, False, True, True])
    at = np.zeros(4, dtype=np.intp)
    assert word_overlap(np.zeros((4, 5)), right, at, at[:1]).tolist() == [0.75] * 4


def test_it_stands_only_where_passages_are_known_and_differ():
    table = answers()
    assert WORD_OVERLAP not in measure(table.drop("passages"), replicates=50).overall.baselines
    bare = table.with_columns(passages=pl.lit([], dtype=pl.List(pl.String)))
    assert WORD_OVERLAP not in measure(bare, replicates=50).overall.baselines
    some = table.with_columns(
        passages=pl.when(pl.int_range(pl.len()) > 99).then("passages"),
        part=pl.when(pl.int_range(pl.len()) > 99).then(pl.lit("known")).otherwise(pl.lit("not")),
    )
    found = measure(some, by="part", replicates=50)
    assert WORD_OVERLAP not in found.overall.baselines
    assert [WORD_OVERLAP in panel.baselines for panel in found.groups] == [True, False]


def test_trials_and_tables_with_groups_bring_their_passages():
    trials, groups = [], []
    for i, (text, shown, confidence, correct) in enumerate(answers(120).iter_rows()):
        question = Question(id=f"q{i}", text=text, answers=("Mara",))
        passages = tuple(Passage(text=p) for p in shown)
        groups.append(PassageGroup(question=question, passages=passages, id=f"g{i}"))
        said = f"Answer: {'Mara' if correct else 'Otto'}\nConfidence: {confidence:.0%}"
        trials.append(make_trial(groups[-1], NOVA, 0, Completion(text=said, model="m")))
    of_trials = measure(iter(trials), replicates=50).overall.baselines
    of_table = measure(answers(120), replicates=50).overall.baselines
    # the words are the same; the folds go by the names of the questions
    assert of_trials[WORD_OVERLAP]["auroc"].value > 0.75 < of_table[WORD_OVERLAP]["auroc"].value
    table = pl.DataFrame({"group": ["g1", "g0", "gone"]})
    joined = with_overlap(table, overlap_table(groups))
    assert joined["group"].to_list() == ["g1", "g0", "gone"]
    wanted = overlap_rows((g.question.text, [p.text for p in g.passages]) for g in groups)
    assert joined[OVERLAP].to_list() == [wanted[1], wanted[0], None]
