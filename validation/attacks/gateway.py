"""The same attacks through a gateway, before a respondent that obeys at a known rate."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from novarag.attacks import AttackPlace
from novarag.flows.attack.attack import attack_async
from novarag.flows.attack.plan import plan_attacks
from novarag.llm.simulated import RESPONDENTS, SimulatedLLM, SimulatedWorld
from tests.support.gateways import Upstream, fronted
from tests.support.machine import described
from validation.attacks.asked import some_groups
from validation.attacks.rates import room

_LINES = 'strategy = "nova"\nmode = "enforce"'


def through_gateway(questions: int = 12) -> bool:
    """Attack a gateway on a real port; the rate of the respondent behind it is found."""
    respondent = RESPONDENTS["obedient"]
    groups = some_groups(questions)
    plan = plan_attacks(groups, defences=["plain"])
    shown = [one.group for one in plan.attacked(plan.defences[0])]
    llm = SimulatedLLM(respondent, SimulatedWorld.of([*groups, *shown]))

    def reply(body: dict[str, Any]) -> str:
        asking = llm.complete(body["messages"][-1]["content"])
        try:
            asking.send(None)  # it waits for nothing
        except StopIteration as done:
            return str(done.value.completions[0].text)
        raise RuntimeError("the respondent waited")

    async def story(place: Path) -> tuple[Any, int]:
        upstream = Upstream(reply)
        async with fronted(place, upstream, model=_LINES) as client:
            address = f"http://127.0.0.1:{client.port}/v1=support"
            return await attack_async(groups, gateway=address), len(upstream.seen)

    with tempfile.TemporaryDirectory(prefix="novarag-") as place:
        result, asked = asyncio.run(story(Path(place)))
    (row,) = result.by_defence
    known = respondent.obedience * room(list(result.cases), decides=False)
    print(described())
    print(
        f"{asked:,} calls through the gateway, {len(plan.attacks)} attacks and controls x"
        f" {len(AttackPlace)} places: known {known:.1%}, found {row.changed.value:.1%}"
        f" ({row.changed.low:.1%} to {row.changed.high:.1%}); harmless passages"
        f" {result.controls[0].changed.value:.1%}; {result.missing} missing"
    )
    return row.changed.low <= known <= row.changed.high and asked == result.cost.calls
