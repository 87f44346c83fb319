"""Command lines before the verbs were put in groups, and as they are now.

The base knows the old names alone, the head the new ones alone: `words_now` turns an old command
line into a new one, and `text_now` says new names in a text that a command wrote. A text that says
new names already stays as it is.
"""

from __future__ import annotations

import re

RENAMED = {
    "render": "prompt render",
    "read": "prompt read",
    "show": "run show",
    "recover": "run recover",
    "reread": "run reread",
    "estimate": "run estimate",
    "run": "run experiment",
    "send": "run send",
    "noise": "train noise",
    "group": "train group",
    "audit": "train audit",
    "filter": "train filter",
    "build": "train build",
    "export": "train export",
    "train": "train fit",
    "serve-model": "train serve",
    "gateway": "gateway serve",
    "gateway-key": "gateway key",
    "gateway-audit": "gateway audit",
    "gateway-adopt": "gateway adopt",
    "index": "retrieval index",
    "retrieve": "retrieval retrieve",
    "annotate": "retrieval annotate",
    "pick": "grading pick",
    "grades": "grading grades",
    "reproduce": "paper reproduce",
    "nova-clean": "paper nova-clean",
    "data": "paper data",
    "study": "paper study",
}
"""Old names and new ones. Besides, `calibrate --apply FILE` is `apply FILE` now, and `--from-audit`
of `calibrate` and `gate` is `gateway propose`; `words_now` knows both."""

RENAMED_OPTIONS = {
    ("answer", "--reply"): "--show-reply",
    ("attack", "--budget"): "--max-calls",
    ("probe", "--budget"): "--refuse-above",
    ("retrieve", "--with"): "--search",
    ("serve-model", "--check"): "--check-server",
    ("serve-model", "--base"): "--base-name",
    ("serve-model", "--model"): "--base",
    ("annotate", "--least"): "--min-confidence",
    ("attack", "--margin"): "--min-change",
    ("compare", "--base"): "--commit",
    ("export", "--model"): "--source",
    ("gateway-adopt", "--model"): "--served",
    ("gateway-audit", "--to"): "--out",
    ("measure", "--mix"): "--kind-shares",
    ("read", "--strategy"): "--reader",
    ("reproduce", "--label-only"): "--label-tuned",
    ("reproduce", "--profile"): "--extent",
    ("send", "--to"): "--sink",
    ("study", "--answers"): "--show-answers",
    ("train", "--model"): "--base",
    **{
        (verb, old): new
        for verb in ("apply", "calibrate", "compare", "gate", "measure", "pick")
        for old, new in (("--strategy", "--reader"), ("-s", "--reader"), ("--model", "--source"))
    },
}
"""Options that meant one thing in one verb and something else in another, by the verb's old name."""

_NEW = frozenset(tuple(new.split()) for new in RENAMED.values()) | {("gateway", "propose")}
_VERB = "|".join(sorted(map(re.escape, RENAMED), key=len, reverse=True))
# Names of file formats and of makers stand in files that stay as they are: "novarag study key 1",
# "novarag export".
_TYPED = re.compile(
    rf"(?<![\w-])(novarag +)({_VERB})(?![\w-])(?!\")(?! (?:key|ratings) 1)( [a-z-]+)?"
)


def words_now(words: list[str]) -> list[str]:
    """Say an old command line in new names.

    >>> words_now(["run", "own.toml"]), words_now(["run", "show", "a"])
    (['run', 'experiment', 'own.toml'], ['run', 'show', 'a'])
    >>> words_now(["calibrate", "new.csv", "--apply", "c.json", "--out", "o.csv"])
    ['apply', 'c.json', 'new.csv', '--out', 'o.csv']
    >>> words_now(["answer", "Who?", "--reply"])
    ['answer', 'Who?', '--show-reply']
    >>> words_now(["retrieve", "q.jsonl", "--with", "own:search"])
    ['retrieval', 'retrieve', 'q.jsonl', '--search', 'own:search']
    """
    if not words or tuple(words[:2]) in _NEW:
        return words
    verb, *rest = words
    rest = [RENAMED_OPTIONS.get((verb, word), word) for word in rest]
    for flag, new in (("--apply", ["apply"]), ("--from-audit", ["gateway", "propose"])):
        if verb in {"calibrate", "gate"} and flag in rest:
            at = rest.index(flag)
            return [*new, rest[at + 1], *rest[:at], *rest[at + 2 :]]
    return [*RENAMED.get(verb, verb).split(), *rest]


def text_now(text: str) -> str:
    """Say the commands in a text in new names.

    >>> text_now("next: novarag show run, then novarag measure run")
    'next: novarag run show run, then novarag measure run'
    >>> text_now("`novarag run show` and `novarag study key 1`")
    '`novarag run show` and `novarag study key 1`'
    """
    return _TYPED.sub(_now, text)


def _now(found: re.Match[str]) -> str:
    then = found[3] or ""
    if (found[2], then.strip()) in _NEW:
        return found[0]
    return found[1] + RENAMED[found[2]] + then
