"""Probes that have the server hold replies to their form."""

import re

import pytest

from novarag import ScriptedLLM, UsageError, probe
from tests.support.probed import modest, rows

REPLY = "Answer: Ada\nConfidence: 90%"


class Listening(ScriptedLLM):
    """A scripted model that keeps the forms it was asked for."""

    forms: list[str | None]

    async def complete(self, prompt, sampling, **more):
        self.forms.append(sampling.regex)
        return await super().complete(prompt, sampling, **more)


def listening():
    llm = Listening({"bridge": REPLY})
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
    assert set(plain.forms) == {None}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"strategy": "nova"}, "names? every passage"),
        ({"strategy": "vanilla", "frame": True}, "without `frame`"),
    ],
)
def test_forms_that_cannot_be_one(more, said):
    with pytest.raises(UsageError, match=said):
        probe(rows(2), listening(), structured=True, **more)


def test_an_application_writes_its_own_form():
    with pytest.raises(UsageError, match="for a `model`"):
        probe(rows(2), app=modest, structured=True)
