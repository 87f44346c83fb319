"""The verbs and their groups in the order of the help, and the first sentence of each.

A path is what a person types after `novarag`. A group holds all paths that begin with its own, and
is never a verb itself.
"""

from __future__ import annotations

SUMMARIES: dict[str, str] = {
    "measure": "Measure how honest stated confidences are, and write a report.",
    "calibrate": "Fit a calibration on graded answers: a probability with an interval.",
    "gate": "Set a confidence threshold with a promised risk of error, or say what it would take.",
    "apply": "Apply a calibration or a gate to new answers, which need not be graded.",
    "answer": "Answer one question beside its passages: answer, confidence, evidence, decision.",
    "ask": "Ask a model every group of a file; killed at any instant, the same command goes on.",
    "demo": "Show the whole chain on a made-up log, as a page on this machine; nothing to configure.",
    "example": "Write an example: answers, questions, pools of passages, or settings.",
    "probe": "Prove over-confidence without a label: ask again beside changed passages, judge shifts.",
    "attack": "Put attacks among the passages, and count what they change beyond a repeat's noise.",
    "compare": "Hold a new result against an old one: code 3 where it is worse by more than its budgets.",
    "prompt": "Print the prompt of a strategy, or read a reply as the strategy's reader does.",
    "prompt render": "Print the prompt that a strategy makes of a question and its passages.",
    "prompt read": "Read a reply on standard input and print what was read as one JSON object.",
    "run": "Look into a run, mend it, read it again, send it on; estimates and experiments are runs, too.",
    "run show": "Show what is in a run, what failed and why, and some replies.",
    "run recover": "Check every file of a run, mend what its journals can mend, and say what is left to ask.",
    "run reread": "Read and grade every stored reply again, after the reader has changed. Nothing is asked.",
    "run estimate": "Put uncertainty methods beside each other; replies that several need are asked for once.",
    "run experiment": "Run an experiment: real retrieval on your data, or a table; run it again to go on.",
    "run send": "Send the confidences of answers to the traces they came from, each of them once.",
    "train": "Build a training set from questions, step by step or at once; train on it, and serve.",
    "train noise": "Have a model write misleading, distracting and agreeing passages, and check each of them.",
    "train group": "Draw passages into groups, shuffled, and fail if a group can be told by its looks.",
    "train audit": "Try to tell each group from the looks of its passages alone; fail where that succeeds.",
    "train filter": "Filter trials down to a training set, and count what is dropped and why.",
    "train build": "Build a training set: noise, groups, samples, filter, export; run it again to go on.",
    "train export": "Write what a filter kept as a training set, with a data card.",
    "train fit": "Train a model on an export with LoRA; run the same line again to go on after a kill.",
    "train serve": "Print the vLLM command that serves a base and its adapters as they were trained.",
    "gateway": "Serve an OpenAI-compatible gateway, and manage its keys, its audit and what it has in force.",
    "gateway serve": "Serve chat completions that carry a calibrated confidence, evidence and a decision.",
    "gateway key": "Draw, list and revoke keys of a gateway's clients; only their hashes are kept.",
    "gateway key add": "Draw a key for a tenant and print it, once; its hash goes to the gateway's database.",
    "gateway key list": "List keys by the beginning of their SHA-256: tenant, scopes, end, where they stand, note.",
    "gateway key revoke": "Delete a key from the database; gateways that run learn of it within `access.reread`.",
    "gateway audit": "Export, drop and forget what a gateway's audit keeps.",
    "gateway audit export": "Write the decisions and the feedback of one day to Parquet files; nothing is deleted.",
    "gateway audit drop": "Export all days before a day, then delete them from the database.",
    "gateway audit forget": "Delete all rows of a tenant up to now, also those that still wait in spools.",
    "gateway propose": "Propose a calibration, or with --risk a gate, from the feedback in a gateway's audit.",
    "gateway adopt": "Put a proposed calibration, gate or both in force; what was in force is kept beside.",
    "retrieval": "Index a corpus, find passages for questions, and say what each passage is.",
    "retrieval index": "Index a corpus for BM25 and, with an encoder, for vectors; run it again to go on.",
    "retrieval retrieve": "Find passages for questions, and write them as groups that `ask` and `annotate` read.",
    "retrieval annotate": "Say what each passage is, supports / states another answer / related / unrelated, and why.",
    "grading": "Pick answers for people to grade, read their grades, and measure a judge by them.",
    "grading pick": "Pick answers of a log to grade, by state and confidence, and write a sheet to grade them.",
    "grading judge": "Hold a judge's marks against people's labels: what they are worth, and the true rate.",
    "grading grades": "Read what graders saved, and write the graded table for `calibrate` and `gate`.",
    "paper": "Make the NOVA paper's tables, its benchmark, its data and its human study again.",
    "paper reproduce": "Make tables and figures of the NOVA paper again, with the models at hand.",
    "paper nova-clean": "Rebuild the NOVA benchmark without its shortcuts, from the released files.",
    "paper data": "List public data; check its files, or fetch them, and make the tables that verbs read.",
    "paper study": "Let people rate replies blindly, and say what their ratings show.",
    "paper study sheet": "Write a blind rating sheet of replies to the same questions: one page that works offline.",
    "paper study read": "Read what raters saved, take the blindfold off, and report means, agreement and tests.",
}
"""Every path with what it does, so that a list loads no verb."""

GROUPS = frozenset(path.rpartition(" ")[0] for path in SUMMARIES) - {""}
"""The paths that hold others."""

VERBS = tuple(path for path in SUMMARIES if path not in GROUPS)
"""The paths that can be called."""

PANELS: dict[str, tuple[str, ...]] = {
    "Start here": ("measure", "calibrate", "gate", "apply", "answer", "ask"),
    "Nothing at hand yet": ("demo", "example"),
    "Without labels": ("probe", "attack"),
    "Before a change is merged": ("compare",),
    "Groups of verbs": ("prompt", "run", "train", "gateway", "retrieval", "grading", "paper"),
}
"""The panels of `novarag --help`."""


def names_in(group: str) -> list[str]:
    """Name what a group holds, in the order of the help; "" is the top.

    >>> names_in("prompt")
    ['render', 'read']
    """
    parts = (path.rpartition(" ") for path in SUMMARIES)
    return [name for parent, _, name in parts if parent == group]
