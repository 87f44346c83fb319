"""What a scorer works out, and that it does so once."""

from novarag.calibration.calibration import Calibration
from novarag.calibration.graded_answers import AnswerSource
from novarag.flows.answerer import make_group
from novarag.records import Completion
from novarag.scoring import Exchange, Scorer, scorer
from novarag.strategies import NOVA
from tests.support.live_parts import calibration, gate

GROUP = make_group("When was it lit?", ["It was lit in 1871."])
REPLY = "Passage Classifications: highly relevant\nGroup Judgment: consistent\nAnswer: 1871\nConfidence: 90%"


def test_what_was_worked_out_is_not_worked_out_again(monkeypatch):
    asked, one = [], Calibration.one
    monkeypatch.setattr(Calibration, "one", lambda *a: asked.append(a[1:]) or one(*a))
    monkeypatch.setattr(scorer, "_MOST_KNOWN", 3)
    made = calibration(AnswerSource(model="m", prompt=NOVA.template.hash))
    kept = Scorer(NOVA, made, gate(0.5, made), source="m")

    def answers(percent):
        text = REPLY.replace("90%", f"{percent}%")
        exchange = Exchange(group=GROUP, completion=Completion(text=text, model="m"))
        fresh = Scorer(NOVA, made, gate(0.5, made), source="m")
        return kept.score(exchange), fresh.score(exchange)

    for percent in (90, 70, 90, 10, 90, 55, 90, 40):
        again, first = answers(percent)
        assert again == first
    before = len(asked)
    answers(40)
    assert len(asked) == before + 1  # of the fresh one alone
    assert len(kept._known) <= 3
