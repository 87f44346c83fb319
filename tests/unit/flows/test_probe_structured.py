"""Probes that have the server hold replies to their form."""

import re

import pytest

from novarag import ScriptedLLM, UsageError, probe
from novarag.strategies import STRATEGIES
from tests.support.probed import modest, rows

REPLY = "Answer: Ada\nConfidence: 90%"


class Listening(ScriptedLLM):
    """A scripted model that keeps the forms it was asked for."""

    forms: list[str | None]

    async def complete(self, prompt, sampling, **more):
        self.forms.append(sampling.regex)
        return await super().complete(prompt, sampling, **more)


def listening(reply=REPLY):
    llm = Listening({"bridge": reply})
    object.__setattr__(llm, "forms", [])
    return llm


def test_every_variant_is_held_to_one_form():
    llm = listening()
    result = probe(rows(5), llm, profile="quick", strategy="vanilla", structured=True)
    [form] = set(llm.forms)
    assert re.fullmatch(form, REPLY)
    assert result.card.unread == 0
    plain = listening()
    probe(rows(5), plain, profile="quick", strategy="vanilla")
    assert set(plain.forms) == {None}, "a model of one's own is asked freely unless it is said"


def test_a_form_that_names_passages_is_that_of_each_variant():
    steps = "".join(f"Step {i}: a\n" for i in range(1, 20))
    llm = listening(steps)  # of no form, so that one request finds out
    with pytest.raises(UsageError, match="no form"):
        probe(rows(2), llm, structured=True, strategy="nova-paper")
    assert llm.forms == []


def test_a_framed_form_carries_the_frame_of_its_prompt():
    llm = listening()
    probe(rows(2), llm, structured=True, strategy="vanilla", profile="quick")
    framed = listening()
    with pytest.raises(Exception, match="none of"):  # it knows no frame
        probe(rows(2), framed, structured=True, strategy="vanilla", frame=True, profile="quick")
    [form, *free] = framed.forms
    assert re.match(r"Answer\\\[[0-9a-f]{6}\\\]:", form)
    assert set(free) == {None}
    assert re.sub(r"\\\[[0-9a-f]{6}\\\]", "", form) == STRATEGIES["vanilla"].pattern(3)


def test_an_application_writes_its_own_form():
    with pytest.raises(UsageError, match="takes no `structured`"):
        probe(rows(2), app=modest, structured=True)
