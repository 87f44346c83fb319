"""One live answer: what comes back, calibrated and decided; what is refused, and what is said."""

import asyncio
import subprocess
import sys
import threading
from math import exp

import pytest

from novarag import Answer, Answerer, Flaw, ScriptedLLM, ServiceError, UsageError, answer
from novarag.calibration.graded_answers import AnswerSource
from novarag.calls import CallError, Outcome, Reply, Sampling
from novarag.flows.answer import answer_async
from novarag.flows.calibrate import save_calibration
from novarag.flows.gate import save_gate
from novarag.formatting import fixed_percent
from novarag.records import Completion, Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES
from novarag.taxonomy import PassageKind
from novarag.uncertainty.token_likelihood import token_signal
from tests.support.live_parts import calibration, gate
from tests.support.waiting import PATIENCE, until

QUESTION, PASSAGES = "When was the lamp lit?", ["It was lit in 1871.", "Bread is baked."]
NOVA = (
    "Passage Classifications: highly relevant, irrelevant\n"
    "Group Judgment: {}\nAnswer: 1871\nConfidence: {}%"
)
PROMPT = STRATEGIES["nova"].template.hash


LABELLED = PassageGroup(
    question=Question(id="q", text=QUESTION, answers=("1871",)),
    passages=(Passage(text=PASSAGES[0], kind=PassageKind.GOLD),),
)


def reply(state="consistent", percent=90):
    return NOVA.format(state, percent)


FITTED = calibration(source=AnswerSource(model="lamp", prompt=PROMPT))


def lamp(text=None):
    """A function from prompt to reply that names its model."""

    def call(prompt):
        return text or reply()

    call.model = "lamp"
    return call


class TestWhatComesBack:
    def test_without_calibration_and_gate(self):
        found = answer(QUESTION, PASSAGES, lambda prompt: reply())
        assert (found.answer, found.stated, found.confidence) == ("1871", 0.9, 0.9)
        assert (found.calibrated, found.interval, found.decision) == (False, None, None)
        assert (found.evidence, found.flaw, found.notes) == ("consistent", None, ())
        assert found.judgments == ("highly relevant", "irrelevant")
        assert "no gate" in found.reason
        assert found.question == QUESTION
        assert found.trial.completion.text == reply()

    @pytest.mark.parametrize("state", ["consistent", "conflicting", "insufficient"])
    def test_the_confidence_is_what_the_calibration_says_for_its_state(self, state):
        found = answer(QUESTION, PASSAGES, lamp(reply(state)), calibration=FITTED)
        made = FITTED.one(0.9, state)
        assert (found.confidence, found.interval) == (made.probability, (made.low, made.high))
        assert (found.calibrated, found.stated, found.notes) == (True, 0.9, ())

    def test_the_gate_decides_by_the_calibrated_confidence(self):
        parts = {"calibration": FITTED, "gate": gate(0.6, FITTED)}
        kept = answer(QUESTION, PASSAGES, lamp(), **parts)
        assert kept.decision == "answer"
        promised = (
            "the threshold of 60.0 % on the calibrated confidence: at or above it, at most 10 % of"
            " answers are wrong, with 90 % probability"
        )
        assert kept.reason == f"{fixed_percent(kept.confidence)} is at or above {promised}"
        held = answer(QUESTION, PASSAGES, lamp(reply("conflicting")), **parts)
        assert (held.decision, held.notes) == ("abstain", ())
        assert held.reason == f"{fixed_percent(held.confidence)} is below {promised}"
        assert held.answer == "1871"  # what was not to be given is there to be looked at

    def test_a_gate_alone_decides_by_what_is_stated(self):
        assert answer(QUESTION, PASSAGES, lamp(), gate=gate(0.9)).decision == "answer"
        assert answer(QUESTION, PASSAGES, lamp(), gate=gate(0.91)).decision == "abstain"
        both = answer(QUESTION, PASSAGES, lamp(), calibration=FITTED, gate=gate(0.9))
        assert (both.decision, both.confidence < 0.9) == ("answer", True)
        assert both.notes[-1] == "the gate was set on stated confidences, and decides by them"

    def test_a_gate_sees_the_evidence_state(self):
        only = gate(0.0, state="consistent")
        assert answer(QUESTION, PASSAGES, lamp(), gate=only).decision == "answer"
        held = answer(QUESTION, PASSAGES, lamp(reply("conflicting")), gate=only)
        assert held.decision == "abstain"
        assert held.reason == "evidence is conflicting; the gate answers consistent only"

    def test_a_gate_that_certified_nothing_never_answers(self):
        found = answer(QUESTION, PASSAGES, lamp(reply(percent=100)), gate=gate(None))
        assert found.decision == "abstain"
        assert found.reason.startswith("the gate certified no threshold: for 10 % ")

    @pytest.mark.parametrize("parts", [{}, {"calibration": FITTED, "gate": gate(0.0, FITTED)}])
    def test_a_reply_that_cannot_be_read_never_answers(self, parts):
        found = answer(QUESTION, PASSAGES, lamp("I would say 1871, surely."), **parts)
        assert (found.answer, found.stated, found.confidence) == (None, None, None)
        assert (found.decision, found.flaw) == ("abstain", found.trial.flaw)
        assert isinstance(found.flaw, Flaw)
        assert str(found.flaw) in found.reason
        assert not found.calibrated

    def test_what_the_calibration_has_to_say_is_a_note(self):
        found = answer(QUESTION, PASSAGES, lamp(reply(percent=3)), calibration=FITTED)
        assert "3 % is outside" in found.notes[0]

    def test_it_shows_itself_in_a_few_lines(self):
        told = answer(QUESTION, PASSAGES, lamp(), calibration=FITTED, gate=gate(0.6, FITTED))
        shown = repr(told).splitlines()
        assert shown[0] == "Answer('1871'"
        assert "stated 90 %" in shown[1]
        assert shown[2:] == ["  evidence consistent", f"  answer: {told.reason})"]
        assert "as stated, not calibrated" in repr(answer(QUESTION, PASSAGES, lamp()))
        unread = repr(answer(QUESTION, PASSAGES, lamp("\x1b[31m?")))
        assert unread.startswith("Answer(unread\n  abstain: the reply could not be read")

    def test_a_simulated_respondent_is_said_to_be_one(self):
        found = asyncio.run(Answerer("simulated:base").answer_group_async(LABELLED))
        assert isinstance(found, Answer)
        assert "simulated" in found.notes[0]

    def test_frames_are_fresh_for_each_question(self):
        prompts = []

        def keep(prompt):
            prompts.append(prompt)
            return reply()

        answerer = Answerer(keep, frame=True)
        found = [answerer.answer(QUESTION, PASSAGES) for _ in range(2)]
        assert prompts[0] != prompts[1]
        assert [one.answer for one in found] == [None, None]  # the labels have no frame
        with pytest.raises(UsageError, match="frame"):
            Answerer(keep, strategy="nova-paper", frame=True)


class TestWhoIsAsked:
    def test_any_llm(self):
        llm = ScriptedLLM({"lamp": reply()})
        assert answer(QUESTION, PASSAGES, llm).trial.completion.model == "scripted"

    def test_an_async_function(self):
        async def call(prompt):
            await asyncio.sleep(0)
            return reply()

        class Callable:
            async def __call__(self, prompt):
                return reply()

        assert answer(QUESTION, PASSAGES, call).answer == "1871"
        assert answer(QUESTION, PASSAGES, Callable()).answer == "1871"
        assert answer(QUESTION, PASSAGES, lambda prompt: call(prompt)).answer == "1871"

    def test_a_plain_function_does_not_hold_up_the_loop(self):
        called, release = threading.Event(), threading.Event()

        def slow(prompt):
            called.set()
            assert release.wait(PATIENCE), "the event loop was held up"
            return reply()

        async def other():
            task = asyncio.create_task(answer_async(QUESTION, PASSAGES, slow))
            await until(called.is_set)
            release.set()
            return await task

        assert asyncio.run(other()).answer == "1871"

    @pytest.mark.parametrize("error", [KeyError("x"), StopIteration(), ValueError("\x1b[31m")])
    def test_what_a_function_raises_is_a_service_error(self, error):
        def fail(prompt):
            raise error

        async def fail_later(prompt):
            raise error

        for call in (fail, fail_later):
            with pytest.raises(
                ServiceError, match="the function given as `model` raised"
            ) as caught:
                answer(QUESTION, PASSAGES, call)
            assert not caught.value.retryable
            assert str(caught.value).isprintable()
        with pytest.raises(ServiceError) as caught:
            answer(QUESTION, PASSAGES, fail)
        assert caught.value.__cause__ is error

    def test_a_function_that_knows_that_it_may_be_tried_again_says_so(self):
        def busy(prompt):
            raise ServiceError("busy", retryable=True)

        with pytest.raises(ServiceError, match="busy") as caught:
            answer(QUESTION, PASSAGES, busy)
        assert caught.value.retryable

    def test_a_function_must_return_text(self):
        with pytest.raises(ServiceError, match="returned bytes, not text"):
            answer(QUESTION, PASSAGES, lambda prompt: b"Answer: x")

    def test_a_function_takes_no_sampling(self):
        with pytest.raises(UsageError, match="`sampling`"):
            answer(QUESTION, PASSAGES, lamp(), sampling=Sampling(temperature=1))

    def test_one_sample_is_read(self):
        with pytest.raises(UsageError, match="one sample, not from 3"):
            Answerer(ScriptedLLM({"": reply()}), sampling=Sampling(n=3))

    @pytest.mark.parametrize("wrong", [3, None, [], [3]])
    def test_another_type_says_what_was_expected(self, wrong):
        with pytest.raises(TypeError, match="a function from prompt to reply"):
            answer(QUESTION, PASSAGES, wrong)

    def test_questions_and_passages_that_are_none(self):
        with pytest.raises(UsageError, match="empty"):
            answer(" ", PASSAGES, lamp())
        with pytest.raises(TypeError, match="must be a list"):
            answer(QUESTION, PASSAGES[0], lamp())
        with pytest.raises(TypeError, match="text, a Passage or a Path"):
            answer(QUESTION, [3], lamp())
        with pytest.raises(TypeError, match="question must be text"):
            answer(3, PASSAGES, lamp())


class TestWhoseCalibration:
    @pytest.mark.parametrize(
        ("source", "said"),
        [
            (AnswerSource(model="other", prompt=PROMPT), r"another model \(other, not lamp\)"),
            (AnswerSource(model="lamp", prompt="f" * 64), r"another prompt \(ffffffffffff, not "),
        ],
    )
    def test_one_of_another_source_is_refused_unless_it_is_meant(self, source, said):
        other = calibration(source=source)
        with pytest.raises(UsageError, match=said) as caught:
            Answerer(lamp(), calibration=other)
        assert "`other_source=True`" in str(caught.value)
        found = answer(QUESTION, PASSAGES, lamp(), calibration=other, other_source=True)
        assert found.calibrated
        assert "another" in found.notes[0]

    def test_a_strategy_of_another_name_is_another_prompt(self):
        with pytest.raises(UsageError, match="another prompt"):
            Answerer(lamp(), strategy="vanilla", calibration=FITTED)

    @pytest.mark.parametrize(
        ("source", "unknown"),
        [
            (AnswerSource(), "model and prompt"),
            (AnswerSource(model="lamp"), "prompt"),
            (AnswerSource(prompt=PROMPT), "model"),
        ],
    )
    def test_what_the_parts_do_not_name_is_said_once(self, source, unknown):
        made = calibration(source=source)
        found = answer(QUESTION, PASSAGES, lamp(), calibration=made)
        said = f"made from answers of an unknown {unknown}"
        assert (found.calibrated, found.notes) == (True, (f"the calibration was {said}",))
        both = answer(QUESTION, PASSAGES, lamp(), calibration=made, gate=gate(0.6, made))
        assert both.notes == (f"the calibration and the gate were {said}",)

    def test_a_model_without_a_name_is_said_to_have_none(self):
        found = answer(QUESTION, PASSAGES, lambda prompt: reply(), calibration=FITTED)
        assert found.notes == (
            "the calibration was made from answers of lamp; this model has no name",
        )

    def test_a_gate_of_another_source_is_refused_unless_it_is_meant(self):
        other = gate(0.5, source=AnswerSource(model="other", prompt=PROMPT))
        with pytest.raises(UsageError, match=r"the gate was .* another model \(other, not lamp\)"):
            Answerer(lamp(), gate=other)
        found = answer(QUESTION, PASSAGES, lamp(), gate=other, other_source=True)
        assert (found.decision, len(found.notes)) == ("answer", 1)

    @pytest.mark.parametrize("given", [None, calibration()])
    def test_a_gate_set_with_one_calibration_takes_no_other(self, given):
        with pytest.raises(UsageError, match="`calibration`"):
            Answerer(lamp(), calibration=given, gate=gate(0.5, FITTED), other_source=True)

    def test_the_parts_may_be_files(self, tmp_path):
        save_calibration(FITTED, tmp_path / "calibration.json")
        save_gate(gate(0.6, FITTED), tmp_path / "gate.json")
        found = answer(
            QUESTION,
            PASSAGES,
            lamp(),
            calibration=tmp_path / "calibration.json",
            gate=str(tmp_path / "gate.json"),
        )
        assert found == answer(
            QUESTION, PASSAGES, lamp(), calibration=FITTED, gate=gate(0.6, FITTED)
        )
        with pytest.raises(TypeError, match="gate must be"):
            Answerer(lamp(), gate=3)
        with pytest.raises(TypeError, match="calibration must be"):
            Answerer(lamp(), calibration=3)

    def test_a_model_that_is_named_by_its_reply_alone_is_still_compared(self):
        class Late(Plain):
            name = "other"

        with pytest.raises(UsageError, match=r"another model \(lamp, not other\)"):
            answer(QUESTION, PASSAGES, Late(), calibration=FITTED)
        Late.name = "lamp"
        assert answer(QUESTION, PASSAGES, Late(), calibration=FITTED).notes == ()


class Plain:
    """An LLM that keeps how it was asked, and may give log-probabilities."""

    name = "lamp"
    tokens, logprobs = (), ()

    def __init__(self, fails=None):
        self.asked, self.fails = [], fails

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        self.asked.append(sampling)
        if self.fails is not None and (sampling.logprobs or self.fails is Outcome.DENIED):
            raise CallError(self.fails, "no log-probabilities")
        tokens, logprobs = (self.tokens, self.logprobs) if sampling.logprobs else ((), ())
        made = Completion(text=reply(), model=self.name, tokens=tokens, logprobs=logprobs)
        return Reply(completions=(made,), attempt="1")


class Tokens(Plain):
    tokens = (reply()[: reply().index("1871")], "18", "71", "\nConfidence: 90%")
    logprobs = (-0.01, -0.5, -0.25, -3.0)


class TestSignals:
    likely = calibration(source=AnswerSource(model="lamp", prompt=PROMPT), signal="likelihood")

    def test_the_likelihood_of_the_answer_is_asked_for_and_counts(self):
        llm = Tokens()
        found = answer(QUESTION, PASSAGES, llm, calibration=self.likely)
        assert [sampling.logprobs for sampling in llm.asked] == [True]
        assert token_signal("likelihood", found.trial) == pytest.approx(exp(-0.75))
        assert found.confidence == self.likely.one(0.9, "consistent", exp(-0.75))[0]
        assert found.confidence != self.likely.one(0.9, "consistent")[0]
        assert found.notes == ()

    def test_log_probabilities_are_not_asked_for_without_need(self):
        llm = Tokens()
        answer(QUESTION, PASSAGES, llm, calibration=FITTED)
        assert [sampling.logprobs for sampling in llm.asked] == [False]

    @pytest.mark.parametrize("outcome", [Outcome.INCOMPLETE, Outcome.REFUSED])
    def test_a_server_that_has_none_is_asked_without_from_then_on(self, outcome):
        llm = Tokens(fails=outcome)
        answerer = Answerer(llm, calibration=self.likely)
        found = [answerer.answer(QUESTION, PASSAGES) for _ in range(2)]
        assert [sampling.logprobs for sampling in llm.asked] == [True, False, False]
        for one in found:
            assert one.confidence == self.likely.one(0.9, "consistent")[0]
            assert "calibrated without its likelihood" in one.notes[0]

    def test_what_fails_for_another_reason_is_not_asked_again(self):
        llm = Tokens(fails=Outcome.DENIED)
        with pytest.raises(CallError, match="denied"):
            answer(QUESTION, PASSAGES, llm, calibration=self.likely)
        assert len(llm.asked) == 1

    def test_tokens_that_do_not_hold_the_answer_are_said_to_be_missing(self):
        found = answer(QUESTION, PASSAGES, Plain(), calibration=self.likely)
        assert found.notes[0].endswith("calibrated without its likelihood")
        for_it, other = gate(0.5, self.likely), gate(0.5, source=self.likely.source)
        gated = answer(QUESTION, PASSAGES, Plain(), calibration=self.likely, gate=for_it)
        assert gated.notes[0].endswith("likelihood, which the gate's promise does not cover")
        stated = answer(QUESTION, PASSAGES, Plain(), calibration=self.likely, gate=other)
        assert stated.notes[-1] == found.notes[0]

    def test_another_signal_is_given(self):
        scored = calibration(source=AnswerSource(model="lamp", prompt=PROMPT), signal="bm25")
        llm = Tokens()
        found = answer(QUESTION, PASSAGES, llm, calibration=scored, signal=0.7)
        assert found.confidence == scored.one(0.9, "consistent", 0.7)[0]
        assert (found.notes, llm.asked[0].logprobs) == ((), False)
        missing = answer(QUESTION, PASSAGES, llm, calibration=scored)
        assert missing.notes == ("no `signal` was given: calibrated without its bm25",)
        assert missing.confidence == scored.one(0.9, "consistent")[0]

    def test_a_signal_that_nothing_uses_is_said(self):
        found = answer(QUESTION, PASSAGES, lamp(), calibration=FITTED, signal=0.7)
        assert found.notes == ("the calibration uses no `signal`",)


class Counted(Plain):
    """Counts how often it is opened, and in which loops it is asked."""

    def __init__(self):
        super().__init__()
        self.opened, self.open, self.loops = 0, 0, set()

    async def __aenter__(self):
        self.opened, self.open = self.opened + 1, self.open + 1
        return self

    async def __aexit__(self, *error):
        self.open -= 1

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        self.loops.add(id(asyncio.get_running_loop()))
        await asyncio.sleep(0)
        return await super().complete(prompt, sampling, key=key, tell=tell)


class TestLoops:
    def test_one_connection_serves_all_questions_and_threads(self):
        llm = Counted()
        with Answerer(llm) as answerer:
            found = [answerer.answer(QUESTION, PASSAGES)]
            threads = [
                threading.Thread(target=lambda: found.append(answerer.answer(QUESTION, PASSAGES)))
                for _ in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert (llm.opened, llm.open, len(llm.loops)) == (1, 1, 1)
        assert llm.open == 0
        assert [one.answer for one in found] == ["1871"] * 9
        answerer.answer(QUESTION, PASSAGES)  # closed, it opens for each
        assert (llm.opened, llm.open) == (2, 0)
        with answerer:
            assert (llm.opened, llm.open) == (3, 1)

    def test_it_is_opened_in_a_running_loop(self):
        llm = Counted()

        async def awaited():
            async with Answerer(llm) as answerer:
                found = await asyncio.gather(
                    *(answerer.answer_async(QUESTION, PASSAGES) for _ in range(5))
                )
                found.append(await asyncio.to_thread(answerer.answer, QUESTION, PASSAGES))
                with pytest.raises(UsageError, match="await `answer_async"):
                    answerer.answer(QUESTION, PASSAGES)
                return found

        assert len(asyncio.run(awaited())) == 6
        assert (llm.opened, llm.open, len(llm.loops)) == (1, 0, 1)

    def test_a_notebook_may_use_it_with_and_without_await(self):
        llm = Counted()

        async def notebook():
            with Answerer(llm) as answerer:
                first = answerer.answer(QUESTION, PASSAGES)
                second = await answerer.answer_async(QUESTION, PASSAGES)
                return [first, second, Answerer(llm).answer(QUESTION, PASSAGES)]

        assert len(asyncio.run(notebook())) == 3
        assert (llm.opened, llm.open) == (2, 0)

    def test_it_is_open_once(self):
        with Answerer(Counted()) as answerer:
            with pytest.raises(UsageError, match="open already"):
                answerer.__enter__()
            assert answerer.answer(QUESTION, PASSAGES).answer == "1871"

    def test_what_cannot_be_opened_leaves_nothing_behind(self):
        class Shut(Counted):
            async def __aenter__(self):
                raise ServiceError("shut", retryable=False)

        before = threading.active_count()
        answerer = Answerer(Shut())
        for _ in range(2):
            with pytest.raises(ServiceError, match="shut"):
                answerer.__enter__()
        assert threading.active_count() == before

    def test_a_simulated_respondent_is_told_each_group(self):
        with Answerer("simulated:base") as answerer:
            found = asyncio.run(answerer.answer_group_async(LABELLED))
        assert found.answer is not None

    def test_an_error_comes_out_where_it_was_asked(self):
        with Answerer(lambda prompt: 1 / 0) as answerer:
            for _ in range(2):
                with pytest.raises(ServiceError, match="ZeroDivisionError"):
                    answerer.answer(QUESTION, PASSAGES)


LIGHT = """
import sys
from novarag import answer
from pathlib import Path
found = answer("When?", ["In 1871.", Path({text!r})], lambda p: "Answer: 1871\\nConfidence: 90%", calibration={path!r}, gate={gate!r})
assert found.calibrated
print(sorted({{"polars", "pandas", "scipy.stats", "pyarrow", "jinja2"}} & set(sys.modules)))
"""


def test_nothing_heavy_is_loaded_on_the_way_to_an_answer(tmp_path):
    save_calibration(calibration(), tmp_path / "calibration.json")
    save_gate(gate(0.6, calibration()), tmp_path / "gate.json")
    (tmp_path / "a.txt").write_text("It was lit in 1871.")
    names = {"path": "calibration.json", "gate": "gate.json", "text": "a.txt"}
    code = LIGHT.format(**{key: str(tmp_path / name) for key, name in names.items()})
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
