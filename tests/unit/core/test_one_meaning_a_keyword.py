"""A keyword of the public functions means one thing: what is said of it holds the same words."""

import inspect
import re
from collections import defaultdict

import novarag

MEANING = {
    "access": "^How servers are reached",
    "answers": "`Answers`",
    "app": "^An application in place of a `model`",
    "audit": "^Look for shortcuts",
    "base": "^The model that is trained",
    "by": "^A column, or several, whose groups",
    "by_state": "^Also try a threshold for answers beside consistent evidence",
    "calibration": "[Cc]alibration|it was fitted on",
    "columns": "^(Which|What the table's) columns",
    "confidence_level": "[Pp]robability (of|that) the promise",
    "data": "^The folder that holds naacl/",
    "encoder": "encoder|a model of the hub",
    "folder": "folder",
    "frame": "secret mark|a mark that no passage can know|fresh mark",
    "gate": "[Gg]ate",
    "gateway": "^One of a gateway's models",
    "gold_at": "[Pp]lace of the gold passage",
    "groups": "^(Questions|Groups) with .*passages",
    "k": "passages|^Passages",
    "keep": "^How many sound passages of a reply",
    "key_env": "^Environment variable that holds the key",
    "limit": "^Take only so many",
    "margin": "^By how much a cue may beat the most common group",
    "max_tokens": "^Longest reply, in tokens",
    "model": "^The model (to ask|that would be asked)",
    "name": "[Nn]ame",
    "nli": "^A model of entailment",
    "notes": "^Notes",
    "on_event": "^(A function that hears|Hears)",
    "other_source": "another model or prompt",
    "out": "^(A|The) (folder|file|\\.jsonl file)|^(Folder|File) for",
    "page": "^A file .*for (the|a) page|^A file for the page",
    "passages": "^The passages|^the texts it was shown",
    "path": "^The file (to read|to write|that)",
    "plan": "^What `serving_plan` returned",
    "port": "^Port to listen at",
    "question": "^The question",
    "question_count": "^How many questions",
    "questions": "^(Questions with answers|A file .*; or questions)",
    "reader": "^The strategy or preset whose reader reads",
    "revision": "^Revision of the",
    "risk": "share of the answers given that may be wrong",
    "runs": "^Finished runs",
    "sampling": "^(How the one reply is sampled|A `Sampling`)",
    "seed": "^Seed ",
    "served": "^The name by which that file serves the model",
    "settings": "settings",  # a gateway's file, and the record of a training's
    "source": "[Nn]ame of the model",
    "split": "for a (new )?calibration",
    "strategy": "strategy|prompts are written and replies are read",
    "structured": "^Have the server hold",
    "temperature": "^Temperature of the sampling",
    "tenant": "^The name of the tenant",
    "text": "[Tt]ext|^the reply",
    "trials": "trials",
    "uri": "such as `index.db`",
}
"""What all that is said of a keyword holds where functions say it in several ways."""


def described(function):
    """Return what the `Args:` of a function say of each parameter, in one line."""
    doc = inspect.getdoc(function) or ""
    part = re.search(r"^Args:\n((?:[ ]+.*\n?|\n)*)", doc, re.MULTILINE)
    rows = re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", part[1], re.MULTILINE) if part else []
    return {name: " ".join(said.split()) for name, said in rows}


def meanings(functions):
    found = defaultdict(set)
    for function in functions:
        for name, said in described(function).items():
            found[name].add(said)
    return found


def strangers(found):
    """Return the keywords of which something else is said than what they mean."""
    return {
        name
        for name, said in found.items()
        if len(said) > 1 and not all(re.search(MEANING.get(name, "$^"), one) for one in said)
    }


def test_a_keyword_means_the_same_in_every_public_function():
    public = (getattr(novarag, name) for name in novarag.__all__)
    found = meanings(value for value in public if inspect.isfunction(value))
    assert strangers(found) == set()
    assert {name for name, said in found.items() if len(said) > 1} == set(MEANING)


def test_a_second_meaning_of_a_keyword_is_found():
    def measure(seed, margin):
        """Measure.

        Args:
            seed: Seed of the bootstrap.
            margin: By how much a cue may beat the most common group.
        """

    def gate(seed, margin, model):
        """Set a gate.

        Args:
            seed: Seed of the draw,
                of one row a question.
            margin: White space around the page.
            model: The model to ask.
        """

    assert described(gate)["seed"] == "Seed of the draw, of one row a question."
    assert strangers(meanings([measure, gate])) == {"margin"}
