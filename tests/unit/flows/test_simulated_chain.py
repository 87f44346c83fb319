"""What is built into a simulated respondent must come out of the chain, and nothing else."""

import numpy as np
import pytest

from novarag import ask
from novarag.flows.estimate import estimate
from novarag.llm.simulated import open_simulated
from novarag.metrics import METRICS, measure_table
from novarag.metrics.ablation import evidence_set
from novarag.rows import tabulate
from novarag.strategies import NOVA, VANILLA
from novarag.taxonomy import Rule
from novarag.uncertainty import METHODS
from tests.support.paper_sizes import SIZES, make_groups
from validation.rules import ACTS_IN, HEADLINE, PARTS, moved, moves, ranking


@pytest.mark.parametrize("name", SIZES)
def test_made_up_groups_have_the_papers_numbers(name):
    groups, size = make_groups(name), SIZES[name]
    kinds = [str(g.kind) for g in groups]
    assert len(groups) == size.rows
    assert len({g.question.id for g in groups}) == size.questions
    assert len({g.id for g in groups}) == size.rows
    assert kinds.count("counterfactual") == size.counterfactual
    assert kinds.count("irrelevant") == size.irrelevant
    assert {evidence_set(g) for g in groups} == set(PARTS)
    assert abs(len(make_groups(name, seed=1)) - size.rows) < 0.1 * size.rows


@pytest.mark.parametrize("name", ["HotpotQA", "Bamboogle"])
def test_who_obeys_ranks_above_who_breaks_by_every_headline_metric(name):
    found = ranking(make_groups(name), 1, replicates=200)
    assert set(found) == set(HEADLINE)
    for metric, difference in found.items():
        assert METRICS[metric].better * difference.figure.value > 0
        assert moved(difference)


@pytest.mark.parametrize("rule", Rule)
def test_without_a_rule_its_own_cell_moves_and_no_other(rule):
    found = moves(make_groups("HotpotQA"), rule, 1, replicates=100)
    for part, differences in found.items():
        if part == ACTS_IN[rule]:
            assert moved(differences["ece"])
            assert differences["ece"].figure.value > 0
        else:  # twelve cells, none of which may move at a level for all of them
            assert min(d.p for d in differences.values()) > 0.05 / 12


@pytest.mark.parametrize("respondent", ["tuned", "base"])
def test_intervals_hold_what_the_respondent_knows_of_itself(respondent):
    groups = make_groups("NQ")
    llm = open_simulated(respondent, groups, seed=5)
    panel = measure_table(tabulate(ask(groups, NOVA, llm)), replicates=300).overall
    prospects = [llm.prospect(g) for g in groups]
    chance = np.mean([p.chances[0] for p in prospects])
    belief = np.mean([p.beliefs[0] for p in prospects])
    accuracy, gap = panel.figures["accuracy"], panel.figures["overconfidence"]
    assert accuracy.low <= chance <= accuracy.high
    assert gap.low - 0.01 <= belief - chance <= gap.high + 0.01  # what is stated is rounded
    assert (panel.figures["ece"].value > panel.floor.line) == (respondent == "base")
    judged = panel.figures["passage_judgment"]
    assert judged.low <= llm.respondent.judging <= judged.high


def test_ensembles_are_as_often_right_as_their_shares_say():
    groups = make_groups("Bamboogle")
    hopes, found = [], []
    for seed in range(6):
        llm = open_simulated("tuned", groups, seed=seed)
        trials = estimate(groups, VANILLA, llm, methods=[METHODS["ensemble"]]).trials["ensemble"]
        found += [t.correct for t in trials]
        hopes += [_majority(llm.prospect(g).at(0.7), llm.prospect(g).right) for g in groups]
    spread = np.sqrt(np.sum([h * (1 - h) for h in hopes]))
    assert abs(sum(found) - sum(hopes)) < 4 * spread


def _majority(shares, right):
    """Return the chance that the right answer wins among three; ties go to the first."""
    p = shares[right]
    others = [s for i, s in enumerate(shares) if i != right]
    apart = sum(a * b for i, a in enumerate(others) for j, b in enumerate(others) if i != j)
    return p**3 + 3 * p**2 * (1 - p) + p * apart
