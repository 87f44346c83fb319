"""What each method makes of replies: whose answer, which confidence, which flaw."""

from functools import partial
from itertools import accumulate
from math import exp, inf, log, nan
from random import Random

import pytest

from novarag import (
    METHODS,
    Completion,
    Flaw,
    Need,
    PassageGroup,
    Question,
    Reply,
    Response,
    Sampling,
    Trial,
    UsageError,
    estimate,
)  # fmt: skip
from novarag.examples import EXAMPLE_GROUP
from novarag.strategies import STRATEGIES, VANILLA
from novarag.strategies.follow_up import FOLLOW_UPS, proposed
from novarag.trials import make_trial
from novarag.uncertainty import (
    GREEDY,
    by_entailment,
    eigen_laplacian,
    ensemble,
    lexical_similarity,
    likelihood,
    p_true,
    perplexity,
    self_frequency,
    semantic_entropy,
    serving,
    union,
)  # fmt: skip
from novarag.uncertainty.sample_agreement import meanings, rouge_l
from novarag.uncertainty.semantic import same_words
from novarag.uncertainty.token_likelihood import _held, token_signal

COMPARING = (lexical_similarity, eigen_laplacian, semantic_entropy)


def said(answer, confidence=0.5, **completion):
    """Make a trial that states an answer; None is one that could not be read."""
    read = isinstance(answer, str)
    return Trial(
        group=PassageGroup(question=Question(id="q", text="Where?"), passages=()),
        strategy="vanilla", sample=0, completion=Completion(text="", model="m", **completion),
        response=Response(answer=answer, confidence=confidence) if read else None,
        flaw=None if read else Flaw.NO_ANSWER,
    )  # fmt: skip


def all_say(*answers):
    return [said(answer) for answer in answers]


def test_the_table_is_in_the_order_of_the_reports():
    assert list(METHODS) == [
        "verbal", "ensemble", "self-frequency", "lexical-similarity", "eigen-laplacian", "p-true",
        "multi-step", "likelihood", "perplexity", "semantic-entropy", "top-k",
    ]  # fmt: skip
    assert all(name == m.name and m.title and m.means.endswith(".") for name, m in METHODS.items())


def test_what_is_needed_has_a_prompt():
    needs = [need for method in METHODS.values() for need in method.needs]
    assert {n.strategy for n in needs} - {None} == {"multi-step", "top-k"} <= set(STRATEGIES)
    assert {n.follow_up for n in needs} - {None} <= set(FOLLOW_UPS)


def test_all_methods_share_six_draws():
    every = union(need for method in METHODS.values() for need in method.needs)
    assert every == (
        Need(logprobs=True), Need(samples=3, temperature=0.7), Need(samples=10, temperature=1.0),
        Need(follow_up="p-true", logprobs=True, alternatives=20),
        Need(strategy="multi-step"), Need(strategy="top-k"),
    )  # fmt: skip
    assert serving(GREEDY, every) == Need(logprobs=True)


@pytest.mark.parametrize("more", [
    Need(samples=2), Need(temperature=0.1), Need(logprobs=True), Need(alternatives=1),
    Need(strategy="cot"), Need(follow_up="p-true"),
])  # fmt: skip
def test_replies_serve_no_need_that_asks_for_more(more):
    assert not GREEDY.covers(more)
    assert more.covers(more)


def test_self_frequency_is_a_share_of_all_samples():
    found = self_frequency(all_say("Paris", None, "the paris", "Lyon"))
    assert (found.answer, found.confidence) == ("Paris", 0.5)
    assert self_frequency(all_say("Lyon", "Paris")).answer == "Lyon"


@pytest.mark.parametrize("method", [ensemble, self_frequency])
def test_where_no_sample_was_read_there_is_its_flaw(method):
    assert method(all_say(None, None)) is Flaw.NO_ANSWER


@pytest.mark.parametrize("method", COMPARING)
def test_what_compares_speaks_of_the_greedy_answer(method):
    found = method(all_say("Rome"), all_say("Paris", "Paris"))
    assert (found.answer, found.confidence) == ("Rome", 1.0)
    assert method(all_say("Rome"), all_say("Paris", None, None)).confidence == 0.0
    assert method(all_say(None), all_say("Paris", "Paris")) is Flaw.NO_ANSWER
    assert method(all_say("Rome"), all_say(None, None)) is Flaw.NO_ANSWER
    with pytest.raises(UsageError, match="two or more"):
        method(all_say("Rome"), all_say("Paris"))


def test_a_trial_without_response_and_flaw_is_empty():
    silent = [Trial(
        group=EXAMPLE_GROUP, strategy="s", sample=0, completion=Completion(text="", model="m"),
        response=None,
    )] * 2  # fmt: skip
    for method in COMPARING:
        assert method(silent, all_say("x", "y")) is Flaw.EMPTY
        assert method(all_say("x"), silent) is Flaw.EMPTY
    assert {m(silent) for m in (ensemble, self_frequency, likelihood, perplexity)} == {Flaw.EMPTY}
    assert METHODS["verbal"].of(silent) is p_true(silent, silent) is Flaw.EMPTY


def test_lexical_similarity_is_the_mean_of_pairs():
    found = lexical_similarity(all_say("x"), all_say("New York City", "new york", "Boston"))
    assert found.confidence == pytest.approx((0.8 + 0 + 0) / 3)
    stems = partial(lexical_similarity, words=lambda text: [w.rstrip("s") for w in text.split()])
    assert stems(all_say("x"), all_say("big dogs", "big dog")).confidence == 1.0


@pytest.mark.parametrize(
    ("one", "two", "value"),
    [("abcd", "bd", 4 / 6), ("ab", "ba", 0.5), ("aab", "ab", 0.8), ("", "", 1.0), ("", "a", 0.0)],
)
def test_rouge_l(one, two, value):
    assert rouge_l(one, two) == rouge_l(two, one) == pytest.approx(value)


def test_long_answers_are_compared_in_no_time():
    assert rouge_l(["a", "b"] * 8000, ["b", "a"] * 8000) == pytest.approx(1, abs=1e-3)


def test_meanings_are_counted_by_words():
    assert meanings(["a b", "B  a", "c", None]) == pytest.approx(3)
    # two of three words shared: each answer's degree is 1 + 1/3, and so its part in the count
    assert meanings(["a b", "b c"]) == pytest.approx(2 / (1 + 1 / 3))
    found = eigen_laplacian(all_say("x"), all_say("a b", "b c"))
    assert found.confidence == pytest.approx(2 - 1.5)


def test_semantic_entropy_is_scaled_by_its_most():
    half = semantic_entropy(all_say("x"), all_say("Paris", "paris!", "Lyon", "Lyon"))
    assert half.confidence == pytest.approx(1 - log(2) / log(4))
    unread = semantic_entropy(all_say("x"), all_say("Paris", "Paris", None, None))
    assert unread.confidence == pytest.approx(1 - 1.5 * log(2) / log(4))


def test_what_means_the_same_can_be_said_otherwise():
    asked = []

    def first_letter(question, answers):
        asked.append((question, list(answers)))
        return [ord(answer[0]) for answer in answers]

    method = partial(semantic_entropy, equivalence=first_letter)
    assert method(all_say("x"), all_say("Paris", "Pau", None, "Pisa", "Po")).confidence < 1
    assert asked == [("Where?", ["Paris", "Pau", "Pisa", "Po"])]
    assert method(all_say("x"), all_say("Paris", "Pau")).confidence == 1.0
    short = partial(semantic_entropy, equivalence=lambda question, answers: [1])
    with pytest.raises(UsageError, match="2 answers"):
        short(all_say("x"), all_say("Paris", "Pau"))


def weigh(pairs):
    """A premise entails its own words, and "Paris" entails "France", which entails nothing back."""

    def entails(premise, hypothesis):
        one, two = (text.removeprefix("Where? ").lower() for text in (premise, hypothesis))
        return one == two or (one, two) == ("paris", "france")

    return [(0.8, 0.1, 0.1) if entails(*pair) else (0.3, 0.4, 0.3) for pair in pairs]


def test_entailment_must_go_both_ways():
    same = by_entailment(weigh)
    assert same("Where?", ["Paris", "France", "PARIS", "france", "Lyon"]) == [0, 1, 0, 1, 2]
    assert same("Where?", []) == []
    with pytest.raises(UsageError, match=r"2 pairs .* rows of three"):
        by_entailment(lambda pairs: [(1.0, 0.0)] * len(pairs))("Where?", ["a", "b"])
    assert same_words("Where?", ["Paris", "France", "PARIS"]) == [0, 1, 0]


def verdict(**chances):
    return [said(None, alternatives=tuple((w, log(p) if p else -inf) for w, p in chances.items()))]


def test_p_true_is_a_share_of_both_words_in_any_spelling():
    spelt = {"True": 0.3, " true": 0.1, "**TRUE**": 0.1, "False": 0.1, "untrue": 0.2, "The": 0.2}
    found = p_true(all_say("Rome"), verdict(**spelt))
    assert (found.answer, found.confidence) == ("Rome", pytest.approx(0.5 / 0.6))
    assert p_true(all_say("Rome"), verdict(true=0.2)).confidence == 1.0
    assert p_true(all_say("Rome"), verdict(false=0.2, true=0.0)).confidence == 0.0


def test_p_true_without_a_verdict():
    assert p_true(all_say("Rome"), verdict(Maybe=0.9, Yes=0.1)) is Flaw.NO_VERDICT
    assert p_true(all_say("Rome"), verdict()) is Flaw.NO_VERDICT
    assert p_true(all_say(None), verdict(true=1.0)) is Flaw.NO_ANSWER


def test_p_true_of_chances_that_vanish():
    tiny = [said(None, alternatives=(("True", -9000.0), ("False", -9000.0)))]
    assert p_true(all_say("Rome"), tiny).confidence == 0.5


def replied(*tokens, text=None, strategy=VANILLA, logprobs=None):
    """Read a reply of given tokens; the chance of each is one over two to its place."""
    chances = tuple(-log(2) * i for i in range(len(tokens))) if logprobs is None else logprobs
    completion = Completion(
        text="".join(tokens) if text is None else text, model="m", tokens=tokens, logprobs=chances
    )
    return [make_trial(EXAMPLE_GROUP, strategy, 0, completion)]


def places(trials):
    """Say the sum of the places of the tokens that count."""
    return -log(likelihood(trials).confidence) / log(2)


def test_only_the_tokens_of_the_answer_count():
    reply = replied("Answer", ":", " New", " York", "\n", "Confidence", ":", " 9", "%")
    assert places(reply) == pytest.approx(2 + 3)
    assert likelihood(reply).answer == perplexity(reply).answer == "New York"
    assert perplexity(reply).confidence == pytest.approx(exp(-log(2) * (2 + 3) / 2))


def test_an_answer_that_is_said_elsewhere_too_counts_where_it_is_the_answer():
    thrice = replied("100%?", "\n", "Answer:", " 100%", "\n", "Confidence:", " 100%", "<|end|>",
                     text="100%?\nAnswer: 100%\nConfidence: 100%")  # fmt: skip
    assert places(thrice) == pytest.approx(3)
    twice = replied("Answer:", " Rome", "\nConfidence: 5%", "\nAnswer:", " Rome", "\nI stop")
    assert places(twice) == pytest.approx(1)


def test_a_token_that_holds_a_part_of_the_answer_counts():
    assert places(replied("Answer", ": **Ro", "me**\nCon", "fidence: 9%")) == pytest.approx(1 + 2)


def test_thoughts_that_the_server_kept_apart_do_not_count():
    reply = replied("Answer: Rome?", "</think>", "Answer:", " Rome", "\nConfidence: 90%",
                    text="Answer: Rome\nConfidence: 90%")  # fmt: skip
    assert places(reply) == pytest.approx(3)


def test_a_strategy_of_the_users_own_is_read_by_the_usual_labels_or_by_its_last_place():
    reply = replied("Answer:", " Rome", "\nConfidence: 90%")[0]
    own = Trial(group=reply.group, strategy="mine", sample=0, completion=reply.completion,
                response=Response(answer="Rome", confidence=0.9))  # fmt: skip
    assert places([own]) == pytest.approx(1)
    text = "Rome or", " not: guess", " Rome"
    completion = Completion(text="".join(text), model="m", tokens=text, logprobs=(-1.0, -2.0, -3.0))
    guess = Trial(group=reply.group, strategy="mine", sample=0, completion=completion,
                  response=Response(answer="Rome", confidence=0.9))  # fmt: skip
    assert likelihood([guess]).confidence == pytest.approx(exp(-3))


@pytest.mark.parametrize("method", [likelihood, perplexity])
def test_no_likelihood_without_the_answers_tokens(method):
    tokens = ("Answer:", " R\ufffd", "\ufffdme", "\nConfidence: 90%")
    torn = replied(*tokens, text="Answer: R\u00f4me\nConfidence: 90%")
    assert method(torn) is Flaw.UNPLACED
    assert method([said("Rome", tokens=("x",), logprobs=(-1.0,))]) is Flaw.UNPLACED
    assert method([said("", tokens=("x",), logprobs=(-1.0,))]) is Flaw.UNPLACED
    good = ("Answer:", " Rome", "\nConfidence: 90%")
    assert method(replied(*good, logprobs=())) is Flaw.NO_LOGPROBS
    assert method(replied(*good, logprobs=(-1.0,))) is Flaw.NO_LOGPROBS
    assert method(replied(*good, logprobs=(-1.0, nan, -1.0))) is Flaw.NO_LOGPROBS
    assert method(replied("Dunno")) is Flaw.NO_CONFIDENCE
    assert method(replied(*good, logprobs=(0.0, 1e-9, 0.0))).confidence == 1.0
    assert method(replied(*good, logprobs=(0.0, -inf, 0.0))).confidence == 0.0


class Counted:
    """A model that replies by what it is asked, and counts."""

    def __init__(self):
        self.asked = []

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        self.asked.append((prompt, sampling))
        tokens = ("Answer:", " 1871", "\nConfidence: 80%")
        if "True or" in prompt or "True if" in prompt:
            tokens = ("True",)
        elif "Step 1 Confidence" in prompt:
            tokens = ("Step 1 Confidence: 50%\nStep 2 Confidence: 50%\nAnswer: 1871",)
        completion = Completion(
            text="".join(tokens), model="m", tokens=tokens, logprobs=(-0.5,) * len(tokens),
            alternatives=(("True", log(0.6)), ("False", log(0.2))),
        )  # fmt: skip
        return Reply(completions=(completion,) * sampling.n)


def test_every_method_on_one_question_costs_six_calls():
    llm = Counted()
    found = estimate([EXAMPLE_GROUP], VANILLA, llm, max_tokens=90)
    assert {name: rows[0].response.confidence for name, rows in found.trials.items()} == {
        "verbal": 0.8, "ensemble": pytest.approx(0.8), "self-frequency": 1.0,
        "lexical-similarity": 1.0, "eigen-laplacian": pytest.approx(1.0),
        "p-true": pytest.approx(0.75), "multi-step": 0.25, "likelihood": pytest.approx(exp(-0.5)),
        "perplexity": pytest.approx(exp(-0.5)), "semantic-entropy": 1.0, "top-k": 0.8,
    }  # fmt: skip
    assert {rows[0].response.answer for rows in found.trials.values()} == {"1871"}
    assert (len(llm.asked), found.paid.calls) == (6, 6)
    assert {name: cost.calls for name, cost in found.costs.items()} == {
        **dict.fromkeys(METHODS, 1), "lexical-similarity": 2, "eigen-laplacian": 2, "p-true": 2,
        "semantic-entropy": 2,
    }  # fmt: skip
    follow_up = next(sampling for prompt, sampling in llm.asked if "True if" in prompt)
    assert follow_up == Sampling(temperature=0.0, max_tokens=1, logprobs=True, alternatives=20)


def test_an_unread_reply_leaves_its_flaw_with_every_method():
    class Mute:
        async def complete(self, prompt, sampling, *, key=None, tell=None):
            return Reply(completions=(Completion(text="Dunno", model="m"),) * sampling.n)

    found = estimate([EXAMPLE_GROUP], VANILLA, Mute())
    assert {rows[0].flaw for rows in found.trials.values()} == {Flaw.NO_CONFIDENCE}
    assert found.paid.calls == 5  # there is nothing to follow up on


def test_a_follow_up_puts_the_answer_beside_the_question():
    llm = Counted()
    estimate([EXAMPLE_GROUP], VANILLA, llm, methods=[METHODS["p-true"]])
    prompt = next(prompt for prompt, _ in llm.asked if "True if" in prompt)
    assert "\n  Proposed answer: 1871\n" in prompt
    assert proposed("Who?") == ("Who?", None)


def test_the_tokens_of_an_answer_are_those_that_hold_a_part_of_it():
    rng = Random(1)
    for _ in range(2000):
        tokens = ["x" * rng.choice([0, 1, 1, 2, 3]) for _ in range(rng.randint(0, 7))]
        ends = list(accumulate(map(len, tokens)))
        starts = [0, *ends]
        first = rng.randint(0, starts[-1])
        last = rng.randint(first, starts[-1])
        meant = [i for i, end in enumerate(ends) if starts[i] < last and end > first]
        assert list(range(len(tokens)))[_held(tokens, starts[-1], first, last)] == meant


def test_a_reply_that_could_not_be_read_has_no_signal():
    unread = make_trial(EXAMPLE_GROUP, VANILLA, 0, Completion(text="I cannot say.", model="m"))
    assert token_signal("likelihood", unread) is None
