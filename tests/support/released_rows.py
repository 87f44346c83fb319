"""Rows as the released benchmark has them, for tests that have not its files."""


def released(question="Is it lit?", answers=("yes",), **more):
    return {"id": "a1", "question": question, "gt_answer": list(answers), "gt_passage": "g"} | more


CELLS = [
    {"content": "g", "type": "gt_passage"},
    {"content": "c", "type": "counterfactual", "Counterfactual Answer": "no"},
    {"content": "r", "type": "relevant", "Shared Topic/Keywords": "lamp"},
]
