"""There is one place where a reply becomes a decision, and every door says what it says."""

import ast
import asyncio
from pathlib import Path

import pytest

import novarag
from novarag import Answerer, ScriptedLLM
from novarag.calibration.graded_answers import AnswerSource
from novarag.flows.answerer import make_group
from novarag.flows.attack.judge import judge_of
from novarag.flows.calibrate import save_calibration
from novarag.flows.gate import save_gate
from novarag.integrations.core import ReplyScorer
from novarag.records import Completion
from novarag.scoring import Exchange, Policy, Scorer
from novarag.strategies import STRATEGIES
from novarag.trials import make_trial
from tests.support.gateways import gateway_at, settings
from tests.support.live_parts import calibration, gate
from tests.support.reader_classes import cases

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

SOURCE_FOLDER = Path(novarag.__file__).parent
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
    source = AnswerSource(model=MODEL, prompt=strategy.template.hash)
    made, place = calibration(source), folder / f"{strategy.name}-{which}"
    place.mkdir()
    calibrated, gated = which in {"calibration", "both"}, which in {"both", "stated"}
    given = {"calibration": made if calibrated else None}
    given["gate"] = gate(0.6, made if calibrated else None, source=source) if gated else None
    if calibrated:
        save_calibration(made, place / "calibration.json")
    if gated:
        save_gate(given["gate"], place / "gate.json")
    return given, place


def settings_of(given, place):
    lines = [f'strategy = "{place.name.rpartition("-")[0]}"', "frame = false"]
    lines += [f'{name} = "{place}/{name}.json"' for name, part in given.items() if part is not None]
    return "\n".join(lines)


class Named(ScriptedLLM):
    model = MODEL


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
        async with gateway_at(path) as client:
            for reply in own:
                said = Exchange(group=group, completion=Completion(text=reply, model=MODEL))
                answer, expected = scorer.score(said), scorer.score(said).to_dict()
                assert adapter(QUESTION, PASSAGES, reply) == expected
                answerer = Answerer(
                    Named({"": reply}), strategy=strategy, structured=False, **given
                )
                assert (await answerer.answer_async(QUESTION, PASSAGES)).to_dict() == expected
                outcome = judge(make_trial(group, strategy, 0, said.completion))
                assert (outcome.answer, outcome.confidence) == (answer.answer, answer.confidence)
                if which in {"both", "stated"}:
                    assert outcome.decision == answer.decision
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


def calls_in(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            yield function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


ONLY_IN_SCORING = {"Answer", "token_signal"}
"""What makes an answer, and what gets the signal of its tokens."""

ELSEWHERE = {
    "answers/opening/beside.py": {
        "token_signal"
    },  # of past replies, on which calibrations are fitted
    "flows/teacher_targets.py": {"token_signal"},
}


def test_no_second_place_turns_a_reply_into_an_answer():
    found = {}
    for path in SOURCE_FOLDER.rglob("*.py"):
        name = path.relative_to(SOURCE_FOLDER).as_posix()
        made = ONLY_IN_SCORING.intersection(calls_in(path)) - ELSEWHERE.get(name, set())
        if made and not name.startswith("scoring/"):
            found[name] = made
    assert found == {}


def test_gates_decide_in_one_place():
    """A gate's `decide` takes a score and a state; the gateway's own `decide` takes neither."""
    found = [
        path.relative_to(SOURCE_FOLDER).as_posix()
        for path in SOURCE_FOLDER.rglob("*.py")
        if "gate.decide(" in path.read_text("utf-8")
    ]
    assert found == ["scoring/scorer.py"]
