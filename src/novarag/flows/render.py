"""From groups to the prompts that a strategy makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.flows.given import iter_given

if TYPE_CHECKING:
    from novarag.flows.given import Given
    from novarag.records import Prompt
    from novarag.strategies import Strategy


def render(groups: Given | None = None, strategy: str | Strategy = "nova") -> list[Prompt]:
    """Render the prompt of every group: of a file, of groups, or of an example if left out.

    >>> prompt, = render(strategy="vanilla")
    >>> prompt.text.count("Passage 1:")
    1
    """
    from novarag.examples import EXAMPLE_GROUP
    from novarag.strategies.finding import find_strategy

    chosen = find_strategy(strategy)
    return [chosen.render(one) for one in iter_given(EXAMPLE_GROUP if groups is None else groups)]
