"""Print the plan of hours, from what the stages took so far.

python -m experiments.nova_qwen.hours
"""

from __future__ import annotations

from experiments.nova_qwen.plan import FEW, askings, left_to_ask, left_to_train, table
from experiments.nova_qwen.questions import FACTS
from experiments.nova_qwen.store import Store


def plan_of(store: Store) -> str:
    """Lay out what is left; the questions must have been made once."""
    facts = store.read_json(FACTS)
    if facts is None:
        return "the questions are not made yet: `make proof MODEL=qwen` makes them first"
    sizes = {name: made["groups"] for name, made in facts["groups"].items()} | {"few": FEW}
    asked = left_to_ask(askings(), sizes, store.rows())
    trained = left_to_train(store.rows())
    first = [row for row in asked if row.stage.startswith(("look", "float32", "sample"))]
    return table([*first, *trained, *(row for row in asked if row not in first)])


if __name__ == "__main__":
    print(plan_of(Store()))
