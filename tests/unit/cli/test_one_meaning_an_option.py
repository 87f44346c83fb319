"""An option means one thing: its help says the same in every verb, or holds the same words."""

import re
from collections import defaultdict

import typer

from novarag.cli import app
from novarag.cli.verbs import VERBS

MEANING = {
    "--answer": "^Column with the answer",
    "--audit": "^Look for shortcuts",
    "--base": "^Model that is trained",
    "--by": "^Column",
    "--by-state": "[Aa]lso try answers beside consistent evidence alone",
    "--calibration": "(this|The|the) calibration|`novarag calibrate`",
    "--dry-run": "^Ask nothing; print",
    "--fail-on": "^Exit code 3",
    "--gate": "gate",
    "--json": "JSON",
    "--k": "passages|Passages",
    "--levels": "^Levels of confidence",
    "--limit": "^Take only so many",
    "--max-length": "^Longest sample in tokens",
    "--max-tokens": "^Longest reply, in tokens",
    "--model": "^URL=NAME of an OpenAI-compatible server",
    "--note": "^Note on",
    "--out": "^(File|Folder)",
    "--page": "page",
    "--port": "^Port to listen at",
    "--price": "^IN:OUT, money per million tokens",
    "--questions": "^How many questions",
    "--revision": "^Revision of the",
    "--risk": "the answers given that may be wrong",
    "--seed": "^Seed of",
    "--source": "^Name of the model",
    "--split": "[Ff]it a calibration on half of the questions",
    "--strategy": "package.module:OBJECT",
    "--structured": "^Have the server hold",
    "--temperature": "^Temperature of the sampling",
    "--uri": "such as index.db",
}
"""What every help of an option holds that has several: a verb may say what it does with it."""


def helps():
    """Return what each option is said to be, by the verbs that say so."""
    found = defaultdict(lambda: defaultdict(set))
    for verb in VERBS:
        command = typer.main.get_command(app)
        for name in verb.split():
            command = command.get_command(None, name)
        for param in command.params:
            if param.param_type_name == "option":
                found[max(param.opts, key=len)][param.help].add(verb)
    return found


def strangers(found):
    """Return the options with a help of a meaning of its own."""
    return {
        option
        for option, said in found.items()
        if len(said) > 1 and not all(re.search(MEANING.get(option, "$^"), help_) for help_ in said)
    }


def test_an_option_means_the_same_in_every_verb():
    found = helps()
    assert strangers(found) == set()
    several = {option for option, said in found.items() if len(said) > 1}
    assert several == set(MEANING)


def test_a_second_meaning_of_an_option_is_found():
    planted = {
        "--seed": {"Seed of the folds.": {"measure"}, "How many grains to sow.": {"gate"}},
        "--verbose": {"Say more.": {"measure"}, "Say it in verse.": {"gate"}},
        "--out": {"Folder of the run.": {"ask"}, "File of the gate.": {"gate"}},
    }
    assert strangers(planted) == {"--seed", "--verbose"}
