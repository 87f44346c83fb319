"""The verbs in the order of the help, and the first sentence of what each says of itself."""

from __future__ import annotations

PANELS: dict[str, dict[str, str]] = {
    "Start here": {
        "measure": "Measure how honest stated confidences are, and write a report.",
        "calibrate": "Fit a calibration on graded answers, or apply one: a probability with an interval.",
        "gate": "Set a confidence threshold with a promised risk of error, or say what it would take.",
        "answer": "Answer one question beside its passages: answer, confidence, evidence, decision.",
        "ask": "Ask a model every group of a file; killed at any instant, the same command goes on.",
        "estimate": "Put uncertainty methods beside each other; replies that several need are asked for once.",
        "example": "Write an example: answers, pools of passages, a pipeline, or settings of a gateway.",
    },
    "Without labels": {
        "probe": "Prove over-confidence without a label: ask again beside changed passages, judge shifts.",
        "attack": "Put attacks among the passages, and count what they change beyond a repeat's noise.",
    },
    "Before a change is merged": {
        "compare": "Hold a new result against an old one: code 3 where it is worse by more than its budgets.",
    },
    "In production": {
        "gateway": "Serve chat completions that carry a calibrated confidence, evidence and a decision.",
        "gateway-adopt": "Put a proposed calibration, gate or both in force; what was in force is kept beside.",
        "gateway-audit": "Export, drop and forget what a gateway's audit keeps.",
        "gateway-key": "Draw, list and revoke keys of a gateway's clients; only their hashes are kept.",
        "send": "Send the confidences of answers to the traces they came from, each of them once.",
    },
    "Grades by people": {
        "pick": "Pick answers of a log to grade, by state and confidence, and write a sheet to grade them.",
        "grades": "Read what graders saved, and write the graded table for `calibrate` and `gate`.",
        "study": "Let people rate replies blindly, and say what their ratings show.",
    },
    "Runs": {
        "show": "Show what is in a run, what failed and why, and some replies.",
        "recover": "Check every file of a run, mend what its journals can mend, and say what is left to ask.",
        "reread": "Read and grade every stored reply again, after the reader has changed. Nothing is asked.",
        "render": "Print the prompt that a strategy makes of a question and its passages.",
        "read": "Read a reply on standard input and print what was read as one JSON object.",
    },
    "Retrieval": {
        "index": "Index a corpus for BM25 and, with an encoder, for vectors; run it again to go on.",
        "retrieve": "Find passages for questions, and write them as groups that `ask` and `annotate` read.",
        "annotate": "Say what each passage is, supports / states another answer / related / unrelated, and why.",
        "run": "Run an experiment: real retrieval on your data, or a table; run it again to go on.",
    },
    "The paper": {
        "reproduce": "Make tables and figures of the NOVA paper again, with the models at hand.",
        "nova-clean": "Rebuild the NOVA benchmark without its shortcuts, from the released files.",
        "data": "List public data; check its files, or fetch them, and make the tables that verbs read.",
    },
    "Training sets": {
        "build": "Build a training set: noise, groups, samples, filter, export; run it again to go on.",
        "noise": "Have a model write misleading, distracting and agreeing passages, and check each of them.",
        "group": "Draw passages into groups, shuffled, and fail if a group can be told by its looks.",
        "audit": "Try to tell each group from the looks of its passages alone; fail where that succeeds.",
        "filter": "Filter trials down to a training set, and count what is dropped and why.",
        "export": "Write what a filter kept as a training set, with a data card.",
        "train": "Train a model on an export with LoRA; run the same line again to go on after a kill.",
        "serve-model": "Print the vLLM command that serves a base and its adapters as they were trained.",
    },
}
"""The panels of the help, and in each the verbs with their summaries, so that a list loads none."""

VERBS = {verb: panel for panel, verbs in PANELS.items() for verb in verbs}
"""Each verb, and the panel that it stands in. Its module has its name."""
