"""Every door says the same of a reply, as all of them ask one scorer: a thousand replies."""

import asyncio

import polars as pl
import pytest

from novarag import Answerer, ScriptedLLM, adopt_proposal, apply_gate
from novarag.attacks import AttackOutcome
from novarag.calibration.graded_answers import AnswerSource
from novarag.flows.answerer import make_group
from novarag.flows.attack.judge import judge_of
from novarag.flows.calibrate import save_calibration
from novarag.flows.gate import save_gate
from novarag.integrations.core import ReplyScorer
from novarag.integrations.promptfoo import UnreadReply, get_assert
from novarag.records import Completion
from novarag.scoring import Exchange, Policy, Scorer
from novarag.scoring.decisions import decide_by_threshold
from novarag.strategies import STRATEGIES
from novarag.trials import make_trial
from tests.support.gateways import gateway_at, settings
from tests.support.live_parts import calibration, gate
from tests.support.reader_classes import cases

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

QUESTION, PASSAGES = "When was it lit?", ["It was lit in 1871.", "Bread is baked.", "In 1893."]
NAMES = ("nova", "vanilla", "cot", "noise-aware")
MODEL = "llama"
PARTS = ("none", "calibration", "both", "stated")


def replies(which):
    """Draw 250 replies for each set of parts, a thousand in all."""
    seed, drawn = PARTS.index(which), []
    while len(drawn) < 1000 / len(PARTS):
        drawn += [c for c in cases("open", seed=seed) if c.strategy in NAMES and not c.framed]
        seed += len(PARTS)
    return drawn[:: len(drawn) // 250][:250]


def parts_of(strategy, which, folder):
    """Make the parts of a scorer, and propose their files in place of those of another model."""
    source = AnswerSource(model=MODEL, prompt=strategy.template.hash)
    made, place = calibration(source), folder / f"{strategy.name}-{which}"
    place.mkdir()
    calibrated, gated = which in {"calibration", "both"}, which in {"both", "stated"}
    given = {"calibration": made if calibrated else None}
    given["gate"] = gate(0.6, made if calibrated else None, source=source) if gated else None
    earlier = AnswerSource(model="an earlier one", prompt=strategy.template.hash)
    for kind, source_of_it in (("", earlier), (".proposed", source)):
        fitted = calibration(source_of_it)
        if calibrated:
            save_calibration(fitted, place / f"calibration{kind}.json")
        if gated:
            found = gate(0.6, fitted if calibrated else None, source=source_of_it)
            save_gate(found, place / f"gate{kind}.json")
    return given, place


def settings_of(given, place):
    lines = [f'strategy = "{place.name.rpartition("-")[0]}"', "frame = false"]
    lines += [f'{name} = "{place}/{name}.json"' for name, part in given.items() if part is not None]
    return "\n".join(lines)


class Named(ScriptedLLM):
    model = MODEL


def outcome_of(answer, which):
    """Lay an answer out as an attack does, which has a threshold where there are no parts."""
    if which == "none":
        answer = decide_by_threshold(answer, 0.5)
    flaw = None if answer.flaw is None else str(answer.flaw)
    return AttackOutcome(
        answer=answer.answer, confidence=answer.confidence, decision=answer.decision, flaw=flaw
    )


@pytest.mark.parametrize("which", PARTS)
def test_every_door_gives_the_same_object(tmp_path, which):
    asyncio.run(_every_door(tmp_path, which))


async def _every_door(folder, which):
    drawn = replies(which)
    assert len(drawn) == 250
    for name in NAMES:
        strategy, own = STRATEGIES[name], [c.reply for c in drawn if c.strategy == name]
        given, place = parts_of(strategy, which, folder)
        scorer = Scorer(strategy, **given, source=MODEL)
        ruled = Scorer(strategy, **given, policy=Policy(), source=MODEL)
        adapter = ReplyScorer(strategy=name, model=MODEL, **given)
        judge, _ = judge_of(strategy, MODEL, threshold=None, other_source=False, **given)
        group = make_group(QUESTION, PASSAGES)
        path = place / "gateway.toml"
        path.write_text(settings("http://127.0.0.1:9/v1", model=settings_of(given, place)))
        if which != "none":
            assert len(adopt_proposal(path, served="support").files) == 1 + (which == "both")
        answers = []
        async with gateway_at(path) as client:
            for reply in own:
                said = Exchange(group=group, completion=Completion(text=reply, model=MODEL))
                answer, expected = scorer.score(said), scorer.score(said).to_dict()
                answers.append(answer)
                assert adapter(QUESTION, PASSAGES, reply) == expected
                answerer = Answerer(
                    Named({"": reply}), strategy=strategy, structured=False, **given
                )
                assert (await answerer.answer_async(QUESTION, PASSAGES)).to_dict() == expected
                outcome = judge(make_trial(group, strategy, 0, said.completion))
                assert outcome == outcome_of(answer, which)
                about = {"config": {"strategy": name, "model": MODEL, **given}}
                about["vars"] = {"question": QUESTION, "passages": PASSAGES}
                if answer.flaw is None:
                    assert get_assert(reply, about)["metadata"]["novarag"] == expected
                else:
                    with pytest.raises(UnreadReply):
                        get_assert(reply, about)
                body = {
                    "model": "support",
                    "question": QUESTION,
                    "passages": PASSAGES,
                    "reply": reply,
                }
                async with client.post("/v1/score", json=body) as response:
                    told = await response.json()
                assert told.pop("id")
                assert told.pop("settings")
                wanted = ruled.score(said)
                shown = wanted.answer if wanted.decision == "answer" else None
                assert told == {**wanted.to_dict(), "answer": shown}
                changed = {k for k, v in wanted.to_dict().items() if v != expected[k]}
                assert changed <= {"action", "decision", "reason"}
        if given["gate"] is not None:
            assert decisions_of_a_table(answers, **given) == [one.decision for one in answers]


def decisions_of_a_table(answers, *, gate, calibration):
    """Decide by the rows of a table, which has what was read of each reply."""
    rows = {"confidence": [one.stated for one in answers]}
    rows["evidence"] = [one.evidence and str(one.evidence) for one in answers]
    table = pl.DataFrame(rows, schema={"confidence": pl.Float64, "evidence": pl.String})
    decided = apply_gate(table, gate, calibration=calibration, source=gate.source)
    return decided["decision"].to_list()
