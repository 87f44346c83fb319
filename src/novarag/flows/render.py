"""From groups to the prompts that a strategy makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.flows.inputs import iter_given

if TYPE_CHECKING:
    from novarag.flows.inputs import GroupsInput
    from novarag.records import Prompt
    from novarag.strategies import Strategy


def render(groups: GroupsInput | None = None, strategy: str | Strategy = "nova") -> list[Prompt]:
    """Render the prompt of every group.

    Args:
        groups: Questions with their passages: a file (JSON, JSONL, Parquet, CSV), a `PassageGroup`,
            or several; None renders an example.
        strategy: The strategy that makes the prompts: its name, the object, or
            "package.module:OBJECT".

    >>> prompt, = render(strategy="vanilla")
    >>> prompt.text.count("Passage 1:")
    1
    """
    from novarag.examples import EXAMPLE_GROUP
    from novarag.strategies.finding import find_strategy

    chosen = find_strategy(strategy)
    return [chosen.render(one) for one in iter_given(EXAMPLE_GROUP if groups is None else groups)]
