import asyncio
import math
import pickle
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag import Flaw, Grade, ServiceError, UsageError, ask, measure
from novarag.annotation.votes import render_judge
from novarag.attacks import Attack, AttackGoal, poison
from novarag.calls import Sampling
from novarag.errors import UnknownNameError
from novarag.examples import EXAMPLE_GROUP, simulated_pools
from novarag.grading import grade_in
from novarag.grouping import MIXES, evidence_state
from novarag.llm.simulated import (
    RESPONDENTS,
    SimulatedLLM,
    SimulatedRespondent,
    SimulatedWorld,
    governing,
    open_simulated,
)
from novarag.llm.simulated.respondent import TUNED, heated
from novarag.llm.simulated.world import look, right_answer, wrong_answers
from novarag.records import AnswerForm, Passage, PassageGroup, Question
from novarag.strategies import NOVA, STRATEGIES, VANILLA, Strategy, Template
from novarag.strategies.follow_up import P_TRUE, propose
from novarag.taxonomy import PassageKind, Rule

POOLS = simulated_pools()
GROUPS = [
    replace(make(3).draw(pool.question, _pool), id=f"{pool.question.id}/{name}")
    for pool in POOLS[:40]
    for name, make in MIXES.items()
    if name not in {"counterfactual-only", "relevant-only"}  # the pools hold two of each
    for _pool in [pool.passages]
]
WARM = Sampling(n=5, temperature=1.0)


def said(llm, prompt, sampling=None, **more):
    return asyncio.run(llm.complete(prompt, sampling or Sampling(), **more)).completions


def yes_no(answer, *passages):
    question = Question(
        id="yn", text="Was it so?\nReally?", answers=(answer,), form=AnswerForm.YES_NO
    )
    return PassageGroup(question=question, passages=passages)


@pytest.mark.parametrize("name", RESPONDENTS)
@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=lambda s: s.name)
def test_replies_are_read_in_every_form_and_graded_as_the_truth_says(name, strategy):
    llm = open_simulated(name, GROUPS, seed=3)
    trials = ask(GROUPS, strategy, llm)
    assert {t.flaw for t in trials} == {None}
    assert {t.completion.model for t in trials} == {f"simulated:{name}"}
    for trial in trials:
        shown = trial.group
        if strategy.name == "closed-book":
            shown = replace(trial.group, passages=())
        prospect = llm.prospect(shown)
        assert trial.response.answer == prospect.answers[0]
        assert trial.correct == (prospect.right == 0)
        if strategy.name == "nova":
            assert len(trial.response.judgment.passages) == len(shown.passages)
            assert trial.response.judgment.group is not None
            assert trial.response.rule_step


@pytest.mark.parametrize("name", [n for n, s in STRATEGIES.items() if s.form])
def test_replies_have_the_form_that_a_server_could_be_held_to(name):
    llm, group = open_simulated("tuned", GROUPS), GROUPS[1]
    reply = said(llm, STRATEGIES[name].render(group).text)[0].text
    assert re.fullmatch(STRATEGIES[name].pattern(len(group.passages)), reply)


def test_every_form_states_the_same_confidence():
    llm = SimulatedLLM(replace(TUNED, step=1), SimulatedWorld.of(GROUPS))
    for group in GROUPS[:60]:
        stated = [
            strategy.read(said(llm, strategy.render(group).text)[0].text, k=3).confidence
            for name, strategy in STRATEGIES.items()
            if name != "closed-book"
        ]
        assert max(stated) - min(stated) < 1e-9
    top = said(llm, STRATEGIES["top-k"].render(GROUPS[1]).text)[0].text
    prospect = llm.prospect(GROUPS[1])
    for place, answer in enumerate(prospect.answers):
        assert f"Guess {place + 1}: {answer} ({round(100 * prospect.chances[place])}%)\n" in top


def test_made_up_names_are_as_long_as_the_answer():
    long = replace(EXAMPLE_GROUP.question, answers=("the old town hall",))
    wrong = wrong_answers(replace(EXAMPLE_GROUP, question=long))
    assert wrong[0] == "1884"
    assert [len(w.split()) for w in wrong[1:]] == [4, 4]


def test_every_answer_is_graded_as_its_place_says():
    llm = open_simulated("tuned", GROUPS)
    for group in GROUPS:
        prospect = llm.prospect(group)
        grades = [grade_in(group, answer) is Grade.RIGHT for answer in prospect.answers]
        assert grades == [place == prospect.right for place in range(4)]
        assert math.isclose(math.fsum(prospect.weights), 1)
        assert math.isclose(math.fsum(prospect.chances), 1)
        assert prospect.weights[0] == max(prospect.weights)


def test_an_obeying_respondent_is_right_as_often_as_it_believes():
    questions = [
        replace(g, question=replace(g.question, id=f"{g.id}-{i}", text=f"{g.id}-{i}?"))
        for i in range(60)
        for g in GROUPS[:50]
    ]
    llm = open_simulated("tuned", questions)
    prospects = [llm.prospect(group) for group in questions]
    for place in range(4):
        hoped = math.fsum(p.chances[place] for p in prospects)
        spread = math.sqrt(math.fsum(p.chances[place] * (1 - p.chances[place]) for p in prospects))
        found = sum(p.right == place for p in prospects)
        assert abs(found - hoped) < 4 * spread
    assert all(p.beliefs == p.chances for p in prospects)


def test_samples_are_drawn_from_the_shares_and_cold_ones_are_the_likeliest():
    llm, group = open_simulated("tuned", GROUPS), GROUPS[1]
    prompt, prospect = VANILLA.render(group).text, llm.prospect(group)
    for temperature in (1.0, 0.7):
        drawn = said(llm, prompt, Sampling(n=4000, temperature=temperature))
        counts = Counter(VANILLA.read(c.text).answer for c in drawn)
        raised = [weight ** (1 / temperature) for weight in prospect.weights]
        for answer, weight in zip(prospect.answers, raised, strict=True):
            share = weight / sum(raised)
            assert abs(counts[answer] / 4000 - share) < 4 * math.sqrt(share / 4000) + 0.001
    right = sum(
        VANILLA.read(c.text).answer == prospect.answers[prospect.right]
        for c in said(llm, prompt, Sampling(n=4000, temperature=1.0))
    )
    assert abs(right / 4000 - prospect.accuracy(1.0)) < 0.04
    cold = said(llm, prompt, Sampling(n=3))
    assert len(set(cold)) == 1
    assert VANILLA.read(cold[0].text).answer == prospect.answers[0]
    assert prospect.accuracy(0) == float(prospect.right == 0)


@given(
    st.lists(st.floats(0.01, 1), min_size=1, max_size=5),
    st.floats(0.05, 3),
)
def test_heat_keeps_the_order_and_cold_sharpens(weights, temperature):
    shares = heated(weights, temperature)
    assert math.isclose(math.fsum(shares), 1)
    assert [shares.index(s) for s in sorted(shares)] == [
        weights.index(w) for w in sorted(weights)
    ] or len(set(weights)) < len(weights)
    assert max(heated(weights, temperature / 2)) >= max(shares) - 1e-12
    assert math.fsum(heated(weights, 0)) == 1


def test_the_same_seed_says_the_same_and_another_key_something_else():
    prompt = NOVA.render(GROUPS[1]).text
    one, two = (
        open_simulated("tuned", GROUPS),
        pickle.loads(pickle.dumps(open_simulated("tuned", GROUPS))),
    )
    said(two, NOVA.render(GROUPS[2]).text, WARM)  # the order of requests does not count
    assert said(one, prompt, WARM) == said(two, prompt, WARM)
    assert said(one, prompt, key="a") == said(one, prompt, key="b")
    many = Sampling(n=40, temperature=1.0)
    assert said(one, prompt, many, key="a") != said(one, prompt, many, key="b")
    assert said(one, prompt, many) != said(one, prompt, replace(many, seed=7))
    other = open_simulated("tuned", GROUPS, seed=1)
    assert any(one.prospect(g).chances != other.prospect(g).chances for g in GROUPS)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=lambda s: s.name)
def test_tokens_make_up_the_text_and_the_answer_has_its_probability(strategy):
    llm, group = open_simulated("tuned", GROUPS), GROUPS[1]
    how = replace(WARM, logprobs=True, alternatives=2)
    for completion in said(llm, strategy.render(group).text, how):
        assert "".join(completion.tokens) == completion.text
        assert len(completion.tokens) == len(completion.logprobs) == len(completion.text.split())
        assert completion.alternatives[0][0] == completion.tokens[0]
        assert len(completion.alternatives) == 2
        shown = replace(group, passages=()) if strategy.name == "closed-book" else group
        prospect = llm.prospect(shown)
        answer = strategy.read(completion.text).answer
        weight = prospect.weights[prospect.answers.index(answer)]
        at = max(i for i, token in enumerate(completion.tokens) if token == f" {answer}")
        assert math.isclose(math.exp(completion.logprobs[at]), weight)
    plain = said(llm, strategy.render(group).text)[0]
    assert (plain.tokens, plain.logprobs, plain.alternatives) == ((), (), ())


def test_a_follow_up_is_answered_by_what_it_believes():
    llm, group = open_simulated("tuned", GROUPS), GROUPS[1]
    prospect = llm.prospect(group)
    how = Sampling(logprobs=True, alternatives=20, max_tokens=8)
    for answer, belief in zip(
        (*prospect.answers, "something else"), (*prospect.beliefs, 0.05), strict=True
    ):
        prompt = P_TRUE.render(propose(group, f" {answer}. ")).text
        (completion,) = said(llm, prompt, how)
        chances = {"true": 0.0, "false": 0.0, "the": 0.0}
        for token, logprob in completion.alternatives:
            chances[token.strip().lower()] += math.exp(logprob)
        assert math.isclose(chances["true"] / (chances["true"] + chances["false"]), belief)
        assert math.isclose(sum(chances.values()), 1)
        assert completion.text == ("True" if belief >= 0.5 else "False")
        assert completion.tokens == (completion.text,)
        assert list(completion.alternatives) == sorted(completion.alternatives, key=lambda a: -a[1])
        drawn = said(llm, prompt, Sampling(n=2000, temperature=1.0))
        assert abs(sum(c.text == "True" for c in drawn) / 2000 - belief) < 0.05


def test_the_rule_that_governs_follows_from_the_evidence():
    by_mix = {g.id.split("/")[1]: governing(g) for g in GROUPS}
    assert by_mix == {
        "gold-only": None,
        "gold+counterfactual": Rule.CONFLICT_INDEPENDENCE,
        "gold+relevant": Rule.NOISE_INVARIANCE,
        "gold+irrelevant": Rule.NOISE_INVARIANCE,
        "irrelevant-only": Rule.PARAMETRIC_FALLBACK,
    }
    false = Passage(text="x", kind=PassageKind.COUNTERFACTUAL)
    unsaid = replace(EXAMPLE_GROUP, passages=(false, replace(false, text="y")))
    assert evidence_state(unsaid) is None
    assert governing(unsaid) is Rule.CONFLICT_INDEPENDENCE
    assert governing(replace(EXAMPLE_GROUP, passages=())) is Rule.PARAMETRIC_FALLBACK


@pytest.mark.parametrize("rule", Rule)
def test_who_breaks_a_rule_is_sure_where_it_governs_and_nowhere_else(rule):
    breaking = f"tuned-without-{rule.replace(' ', '-')}"
    tuned, other = open_simulated("tuned", GROUPS), open_simulated(breaking, GROUPS)
    stated = [ask(GROUPS, NOVA, llm) for llm in (tuned, other)]
    for group, honest, bold in zip(GROUPS, *stated, strict=True):
        if governing(group) is rule:
            assert bold.response.confidence >= 0.85
        else:
            assert bold.response.confidence == honest.response.confidence
        assert bold.response.answer == honest.response.answer
    assert RESPONDENTS["base"].obeys == frozenset()
    assert RESPONDENTS["tuned"].obeys == frozenset(Rule)


def test_bias_and_sharpness_move_what_is_stated_not_what_is_answered():
    alone = [g for g in GROUPS if governing(g) is None]

    def stated(**how):
        llm = SimulatedLLM(SimulatedRespondent(name="x", step=1, **how), SimulatedWorld.of(alone))
        return [t.response.confidence for t in ask(alone, VANILLA, llm)]

    plain, bold, shy, flat = stated(), stated(bias=2), stated(bias=-2), stated(sharpness=0)
    assert all(s < p < b for s, p, b in zip(shy, plain, bold, strict=True))
    assert set(flat) == {0.5}
    sure = SimulatedLLM(
        SimulatedRespondent(name="x", knowledge=1.0, reading=1.0), SimulatedWorld.of(alone)
    )
    assert sure.prospect(alone[0]).chances[0] > 0.99


def test_yes_or_no():
    for answer in ("yes", "no"):
        group = yes_no(answer, Passage(text="It was.", kind=PassageKind.GOLD))
        llm = open_simulated("tuned", [group])
        prospect = llm.prospect(group)
        assert sorted(prospect.answers) == ["no", "yes"]
        assert prospect.answers[prospect.right] == answer
        drawn = said(llm, VANILLA.render(group).text, Sampling(n=20, temperature=1.0))
        assert {VANILLA.read(c.text).flaw for c in drawn} == {None}
    unsettled = yes_no("perhaps")
    assert len(wrong_answers(unsettled)) == 3
    assert open_simulated("tuned", [unsettled]).prospect(unsettled).right in {0, 1}
    nobody = SimulatedRespondent(name="x", knowledge=0.0)
    guess = yes_no("yes")
    assert SimulatedLLM(nobody, SimulatedWorld.of([guess])).prospect(guess).chances[0] == 0.5


def test_wrong_answers_are_claims_first_and_never_right():
    false = Passage(text="x", kind=PassageKind.COUNTERFACTUAL)
    claims = ["the 1871", "in\n1871", "1900", "1884", "1884!", "unknown"]
    passages = [replace(false, text=str(i), claim=c) for i, c in enumerate(claims)]
    group = replace(EXAMPLE_GROUP, passages=tuple(passages))
    wrong = wrong_answers(group)
    assert wrong[:2] == ("1884", "in 1871")
    assert {grade_in(group, w) for w in wrong} == {Grade.WRONG}
    assert right_answer(group) == "1871"
    two = replace(group, question=replace(group.question, answers=("in 1871", "1871")))
    assert right_answer(two) == "in 1871"
    nothing = replace(group, question=replace(group.question, answers=("?",)))
    assert right_answer(nothing) == "?"


def test_retrieved_passages_are_gold_where_they_hold_an_answer():
    texts = ("Lit in 1871.", "Lit in 11871.", "Built.")
    group = replace(EXAMPLE_GROUP, passages=tuple(Passage(text=t) for t in texts))
    world = SimulatedWorld.of([group, group])
    kinds = world.find(look(NOVA.render(group).text)).kinds
    assert [str(k) for k in kinds] == ["gold", "irrelevant", "irrelevant"]
    relevant = replace(group.passages[0], kind=PassageKind.RELEVANT)
    labelled = SimulatedWorld.of([group, replace(group, passages=(relevant,))])
    assert labelled.find(look(NOVA.render(group).text)).kinds[0] is PassageKind.RELEVANT
    polar = yes_no("no", Passage(text="There is no doubt."))
    assert SimulatedWorld.of([polar]).find(look(NOVA.render(polar).text)).kinds == (
        PassageKind.IRRELEVANT,
    )


line = st.text(alphabet=" \tab:\nQ[]", max_size=12)


@settings(max_examples=200)
@given(st.builds(lambda a, b: a + "Question: " + b, line, line), st.lists(line, max_size=3), line)
def test_a_prompt_is_seen_as_it_was_rendered(question, passages, answer):
    group = PassageGroup(
        question=Question(id="q", text=question), passages=tuple(Passage(text=p) for p in passages)
    )
    for strategy in STRATEGIES.values():
        seen = look(strategy.render(group).text)
        shown = () if strategy.name == "closed-book" else tuple(passages)
        assert (seen.question, seen.passages, seen.proposed) == (question, shown, None)
    asked = look(P_TRUE.render(propose(group, answer)).text)
    assert (asked.question, asked.passages) == (question, tuple(passages))
    assert asked.proposed == " ".join(answer.split())


def test_what_it_does_not_know_is_a_failed_call_and_never_an_answer():
    llm = open_simulated("tuned", [EXAMPLE_GROUP])
    stranger = replace(EXAMPLE_GROUP, question=replace(EXAMPLE_GROUP.question, text="Who?"))
    added = replace(EXAMPLE_GROUP, passages=(*EXAMPLE_GROUP.passages, Passage(text="New.")))
    odd = Strategy(name="odd", template=Template("Question: {question}\nSing.\n"))
    judge = render_judge(EXAMPLE_GROUP.question, EXAMPLE_GROUP.passages[0]).text
    for prompt, why in (
        ("Sing.", "no line"),
        (VANILLA.render(stranger).text, "its question is not"),
        (VANILLA.render(added).text, "a passage that is not"),
        (odd.render(EXAMPLE_GROUP).text, "asks for no answer"),
        (judge, "can only answer|no line"),
    ):
        with pytest.raises(ServiceError, match=why) as caught:
            said(llm, prompt)
        assert not caught.value.retryable
    mute = replace(EXAMPLE_GROUP, question=replace(EXAMPLE_GROUP.question, answers=()))
    with pytest.raises(ServiceError, match="no accepted answer"):
        said(open_simulated("tuned", [mute]), VANILLA.render(mute).text)


def test_it_is_opened_told_of_and_counted_like_a_server():
    async def story():
        told = []
        async with open_simulated("base", [EXAMPLE_GROUP]) as llm:
            prompt = VANILLA.render(EXAMPLE_GROUP).text
            reply = await llm.complete(prompt, WARM, key="k", tell=told.append)
        return prompt, reply, told

    prompt, reply, told = asyncio.run(story())
    assert [a.id for a in told] == [reply.attempt]
    assert reply.usage.prompt == len(prompt.split())
    assert reply.usage.completion == sum(len(c.text.split()) for c in reply.completions)


def test_a_reply_is_cut_where_the_request_says():
    llm = open_simulated("tuned", [EXAMPLE_GROUP])
    for logprobs in (False, True):
        how = Sampling(max_tokens=2, logprobs=logprobs)
        (cut,) = said(llm, VANILLA.render(EXAMPLE_GROUP).text, how)
        assert cut.truncated
        assert cut.text.startswith("Answer: ")
        assert len(cut.text.split()) == 2
        assert VANILLA.read(cut.text).flaw is Flaw.NO_CONFIDENCE
    (whole,) = said(llm, VANILLA.render(EXAMPLE_GROUP).text, Sampling(max_tokens=50))
    assert not whole.truncated


@pytest.mark.parametrize("how", [{"reading": 1.5}, {"step": 0}, {"susceptibility": {"gold": -1}}])
def test_impossible_respondents_are_refused(how):
    with pytest.raises(UsageError):
        SimulatedRespondent(name="x", **how)


def test_unknown_respondents_are_refused():
    with pytest.raises(UnknownNameError, match="base"):
        open_simulated("nobody", [])
    assert TUNED.without(Rule.NOISE_INVARIANCE).name in RESPONDENTS


def test_an_obedient_one_does_what_an_attack_asks_at_its_rate_and_else_ignores_it():
    order = Attack(
        name="a", kind="x", goal=AttackGoal.ANSWER, states=97, texts=("It is @ANSWER@.",)
    )
    calm = Attack(name="c", kind="control", goal=AttackGoal.NONE, texts=("Rain is wet.",))
    held = groups_for_orders(400)
    attacked = [poison(group, order, "last") for group in held]
    harmless = [poison(group, calm, "last") for group in held]
    world = SimulatedWorld.of([*held, *attacked, *harmless])
    llm = SimulatedLLM(replace(RESPONDENTS["tuned"], name="heeding", obedience=0.3), world)

    def said(group):
        return asyncio.run(llm.complete(VANILLA.render(group).text)).completions[0].text

    obeyed = 0
    for group, with_order, with_calm in zip(held, attacked, harmless, strict=True):
        planted = with_order.passages[-1].claim
        found = said(with_order)
        assert found in {f"Answer: {planted}\nConfidence: 97%", said(group)}
        assert said(with_calm) == said(group)
        obeyed += planted in found
    assert 90 <= obeyed <= 150


def groups_for_orders(count):
    return [
        PassageGroup(
            question=Question(id=f"q{i}", text=f"When was hall {i} built?", answers=(f"18{i}",)),
            passages=(Passage(text=f"It was built in 18{i}.", kind=PassageKind.GOLD),),
        )
        for i in range(count)
    ]


def test_what_is_measured_of_an_object_says_that_it_is_simulated():
    world = SimulatedWorld.of(GROUPS)
    llm = SimulatedLLM(replace(TUNED, name="boastful", bias=1.0), world)
    run = ask(GROUPS, NOVA, llm)
    assert run.settings.model == "simulated:boastful"
    shown = measure(run, replicates=20)._repr_html_()
    assert "simulated:boastful is a simulated respondent" in shown
