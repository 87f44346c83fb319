"""Odd calls by seed: a good call of each verb, with one to three things wrong in it."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from random import Random
from shutil import copytree, rmtree
from types import NoneType
from typing import Any, get_args, get_type_hints

import typer

from novarag.cli import app
from novarag.cli.verbs import VERBS
from novarag.config.experiment import Experiment
from novarag.config.grid import TableGrid
from novarag.config.pipeline import Pipeline
from novarag.sealed_json import seal, unseal
from tests.support.odd.files import (
    CONTENTS,
    ENDINGS,
    EXPERIMENT,
    GRID,
    OUTS,
    PIPELINE,
    PLACES,
    Raw,
    toml_of,
)

_MODEL = ["--model", "simulated:base"]
_CLOSED = "http://127.0.0.1:9/v1=m"
_QUICK = ["--attempts", "1", "--timeout", "0.5"]
GOOD: dict[str, list[str]] = {
    "answer": ["When?", "--model", _CLOSED, "--passages", "text.txt", "--timeout", "0.5"],
    "ask": ["groups.jsonl", *_MODEL, *_QUICK, "--out", "OUT"],
    "attack": ["groups.jsonl", *_MODEL, *_QUICK, "--max-calls", "30", "--defences", "plain,screen",
               "--out", "OUT"],
    "run show": ["good/run"],
    "run recover": ["good/run"],
    "run reread": ["good/run", "--workers", "1"],
    "measure": ["answers.csv", "--replicates", "100"],
    "compare": ["answers.csv", "--with", "answers.csv", "--replicates", "100", "--out", "OUT"],
    "calibrate": ["answers.csv", "--out", "OUT.json"],
    "gate": ["answers.csv", "--risk", "30%", "--out", "OUT.json"],
    "apply": ["good/calibration.json", "answers.csv", "--out", "OUT.csv"],
    "grading pick": ["answers.csv", "--answer", "system", "--n", "20", "--out", "OUT"],
    "grading judge": ["answers.csv", "--mark", "correct", "--page", "OUT.html"],
    "grading grades": ["good/picked", "graded.json", "--out", "OUT.csv"],
    "run estimate": ["groups.jsonl", *_MODEL, *_QUICK, "--replicates", "100", "--method", "verbal",
                 "--out", "OUT"],
    "probe": ["groups.jsonl", *_MODEL, *_QUICK, "--profile", "quick", "--out", "OUT"],
    "retrieval index": ["corpus.jsonl", "--uri", "http://127.0.0.1:9", "--limit", "2"],
    "retrieval retrieve": ["pool.jsonl", "--search", "searching:search", "--out", "OUT.jsonl"],
    "retrieval annotate": ["groups.jsonl", "--replicates", "100", "--out", "OUT"],
    "run experiment": ["experiment.toml"],
    "paper reproduce": ["main-k3", *_MODEL, *_QUICK, "--extent", "smoke", "--data", "data",
                  "--out", "OUT"],
    "gateway serve": ["gateway.toml", "--check"],
    "gateway propose": ["gateway.toml", "--served", "support"],
    "gateway adopt": ["gateway.toml", "--served", "support"],
    "gateway audit export": ["gateway.toml", "2026-11-16", "--out", "days"],
    "gateway audit drop": ["gateway.toml", "2026-11-16", "--out", "days", "--yes"],
    "gateway audit forget": ["gateway.toml", "acme", "--yes"],
    "gateway key add": ["acme", "--hash-only"],
    "gateway key list": ["--settings", "gateway.toml"],
    "gateway key revoke": ["0123456789ab", "--settings", "gateway.toml"],
    "run send": ["answers.csv", "--sink", "phoenix", "--span", "system", "--server",
             "http://127.0.0.1:9", "--sent", "OUT"],
    "train build": ["pipeline.toml"],
    "train noise": ["pool.jsonl", *_MODEL, *_QUICK, "--out", "OUT"],
    "train group": ["pool.jsonl", "--no-audit", "--out", "OUT.jsonl"],
    "train audit": ["audited.jsonl"],
    "train filter": ["good/run", "--out", "OUT"],
    "train export": ["good/filtered", "--out", "OUT"],
    "train fit": ["good/export", "--base", "folder", "--out", "OUT"],
    "train serve": ["good/trained"],
    "paper nova-clean": ["--data", "data", "--out", "OUT"],
    "paper data": ["retrieval", "text.txt", "--out", "OUT"],
    "prompt render": ["groups.jsonl"],
    "prompt read": [],
    "demo": [],
    "example": ["OUT.csv"],
    "paper study sheet": ["good/run", "good/other", "--questions", "2", "--out", "OUT"],
    "paper study read": ["good/sheet", "ann.json", "ben.json", "--replicates", "100", "--out", "OUT"],
}  # fmt: skip
"""A good call of each verb; OUT is a new place each time."""

INTEGERS = ("-1", "0", "1", "2", "-0", "1e3", "1.5", "nan", "", "٣", "0x10", "1_000", "²", "9" * 25,
            "9" * 5000, "-" + "9" * 30, "4611686018427387905", "one")  # fmt: skip
NUMBERS = (*INTEGERS, "inf", "-inf", "1e400", "1e-400", "-1e-9", "0.5", ".5", "5.", "٠.٥", "1,5")
TEXTS = (
    "", " ", "x", "-", "--", "a=b", "☃", "a\nb", "\udcff", "x" * 70_000, "🦉" * 300, "%s%n{0}", "`",
    "novarag.nope:X", ":", "a:b:c", "json:loads", "sys:maxsize", "broken:x", "..:x", "os:", "1:2",
    "nan", "true", "null", "[1]", "{}", "../..", "confidence", "verbal", "nova", "cot", "training",
    "PATH", "=", "0:0", "-1:2", "1e9:1e9", "\x1b[31m", "\u202e",
)  # fmt: skip
MODELS = (
    _CLOSED, "http://" + "a" * 64 + ".invalid/v1=m", "http://127.0.0.1:9=\udcff", "http://[::1=m",
    "http://127.0.0.1:99999/v1=m", "http://a..b=m", "http://é" + "é" * 80 + "/=m", "ftp://x=m",
    "http://127.0.0.1:9/v1=", "=m", "m", "http://user:pass@127.0.0.1:9=m", "simulated:",
    "simulated:nobody", "simulated:base=x", "http://127.0.0.1:9/v1?x=m", "http:///v1=m",
    "http://127.0.0.1:9/\u00e9=m", "http://١٢٧.٠.٠.١:9/v1=m", "http://127.0.0.1:9/v1=" + "m" * 5000,
    "https://127.0.0.1:9/v1=m", "http://%zz/v1=m", "http://\u2024/v1=m", "http://xn--/v1=m",
)  # fmt: skip
URLS = ("http://127.0.0.1:9", "http://127.0.0.1:9/x", "127.0.0.1:9", "http://", "x.db", "folder",
        "loop", "answers.csv", "", "index.db/inside", "http://127.0.0.1:port", "a\nb.db",
        "http://" + "a" * 70 + ":9/x")  # fmt: skip
_SPECIAL = {"model": MODELS, "writer": MODELS, "tuned": MODELS, "label_tuned": MODELS, "uri": URLS,
            "http": URLS, "app": URLS, "check_server": URLS, "index": URLS, "mirror": URLS,
            "server": URLS}  # fmt: skip
_LEFT_OUT = {"help", "driver", "ray_address", "run", "workers"}
"""Options that would start clusters, servers or many processes."""

VALUES: tuple[object, ...] = (
    None, True, -1, 0, 1.5, 10**30, "", "x", "\0", "loop", [], [[]], {}, {"a": 1}, ["x", 1],
    Raw("nan"), Raw("1e400"), Raw("1979-05-27"), [[["x"]]], "☃" * 100,
)  # fmt: skip
"""Odd values of a key, in TOML or JSON."""


@dataclass(frozen=True)
class Call:
    """One call: its verb, its words, what it is fed, and when Ctrl-C comes if not at the limit."""

    verb: str
    words: tuple[str, ...]
    stdin: bytes = b""
    interrupt: float | None = None


@dataclass
class Maker:
    """Makes calls in a folder that `make_files` filled; equal seeds make equal calls."""

    home: Path
    seed: int
    _number: int = 0
    _rng: Random = field(init=False)

    def __post_init__(self) -> None:
        self._rng = Random(self.seed)
        self._params = {verb: list(_params(verb)) for verb in GOOD}

    def settings_calls(self) -> Iterator[Call]:
        """Give every key of every TOML file each odd value; and none, where it is left out."""
        for verb, kind, good in (
            ("train build", Pipeline, PIPELINE), ("run experiment", Experiment, EXPERIMENT),
            ("run experiment", TableGrid, GRID),
        ):  # fmt: skip
            for place in _keys(kind):
                for value in VALUES:
                    self._number += 1
                    own = {**good, "out": f"out/{self._number}"}
                    told = _replaced(own, place, value)
                    if told is not None:
                        yield Call(verb, (*verb.split(), self._write(toml_of(told), ".toml")))

    def random_calls(self) -> Iterator[Call]:
        """Make calls of all verbs in turn, without end."""
        ways = (
            (self._odd_words, 10), (self._odd_record, 4), (self._odd_run, 2), (self._early, 1),
            (self._no_sense, 1),
        )  # fmt: skip
        while True:
            for verb in GOOD:
                way = self._rng.choices([w for w, _ in ways], [n for _, n in ways])[0]
                yield way(verb)

    # — ways to be odd —

    def _odd_words(self, verb: str) -> Call:
        words = self._good(verb)
        for _ in range(self._rng.choice((1, 1, 1, 2, 3))):
            words = self._changed(verb, words)
        return Call(verb, (*verb.split(), *words), self._stdin(verb))

    def _odd_record(self, verb: str) -> Call:
        """Change one value somewhere in a JSON file that a verb reads."""
        source = self._rng.choice(_RECORDS.get(verb, ["groups.jsonl"]))
        path = self.home / source
        lines = path.read_text("utf-8").splitlines() if source.endswith("l") else [path.read_text()]
        at = self._rng.randrange(min(len(lines), 3))
        lines[at] = json.dumps(self._broken(json.loads(lines[at])))
        if self._rng.random() < 0.1:
            lines[0] = "\ufeff" + lines[0]
        if source.startswith("good/"):
            folder = self._copy(path.parent)
            (folder / path.name).write_text("\n".join(lines))
            words = [str(folder) if w == str(Path(source).parent) else w for w in self._good(verb)]
        else:
            odd = self._write("\n".join(lines), path.suffix)
            words = [odd if w == source else w for w in self._good(verb)]
            option = _OPTION_OF.get(source)
            words += [option, odd] if option in self._options(verb) else []
        return Call(verb, (*verb.split(), *words), self._stdin(verb))

    def _odd_run(self, verb: str) -> Call:
        """Change one value of a run's manifest, or add a setting, and seal it again."""
        folder = self._copy(self.home / "good/run")
        manifest = folder / "manifest.json"
        content = unseal(manifest.read_bytes())
        if content is None:
            raise AssertionError("the good run is damaged")
        newer = self._rng.random() < 0.4
        content = self._newer(content) if newer else self._broken(content)
        told = json.dumps(content).replace(str(10**30), str(2**63))  # what a seal can hold
        manifest.write_bytes(seal(json.loads(told)))
        words = [str(folder) if w in {"good/run", "OUT"} else w for w in self._good(verb)]
        if str(folder) not in words and "--out" in words:
            words[words.index("--out") + 1] = str(folder)
        return Call(verb, (*verb.split(), *words), self._stdin(verb))

    def _early(self, verb: str) -> Call:
        """Interrupt a good call within its first moments."""
        words = (*verb.split(), *self._good(verb))
        return Call(verb, words, self._stdin(verb), interrupt=self._rng.uniform(0.0005, 0.06))

    def _no_sense(self, verb: str) -> Call:
        """Drop, double or shuffle words, or add some that nobody knows."""
        words = [*verb.split(), *self._good(verb)]
        match self._rng.randrange(4):
            case 0:
                del words[self._rng.randrange(len(words))]
            case 1:
                words.insert(self._rng.randrange(len(words) + 1), self._rng.choice(TEXTS))
            case 2:
                self._rng.shuffle(words)
            case _:
                words += ["--" + self._rng.choice(("nonsense", "", "out", "help", "ou\udcff"))]
        return Call(verb, tuple(words), self._stdin(verb))

    # — parts —

    def _good(self, verb: str) -> list[str]:
        self._number += 1
        return [w.replace("OUT", f"out/{self._number}") for w in GOOD[verb]]

    def _options(self, verb: str) -> list[str]:
        return [opt for param in self._params[verb] for opt in param.opts]

    def _changed(self, verb: str, words: list[str]) -> list[str]:
        plain = [i for i, word in enumerate(words) if _is_place(words, i, word)]
        options = [p for p in self._params[verb] if p.param_type_name == "option"]
        if plain and (self._rng.random() < 0.45 or not options):
            at = self._rng.choice(plain)
            odd = self._out() if at and words[at - 1] == "--out" else self._place(words[at])
            return [*words[:at], odd, *words[at + 1 :]]
        if not options:
            return [*words, self._rng.choice(TEXTS)]
        param = self._rng.choice(options)
        flag = self._rng.choice(param.opts)
        return [*words, flag] if param.is_flag else [*words, flag, self._value_of(param)]

    def _value_of(self, param: Any) -> str:
        if param.name in _SPECIAL:
            return self._rng.choice(_SPECIAL[param.name])
        if param.name == "out":
            return self._out()
        kind = param.type.name
        if "int" in kind:
            return self._rng.choice(INTEGERS)
        if "float" in kind:
            return self._rng.choice(NUMBERS)
        if "path" in kind or self._rng.random() < 0.15:
            return self._place("x.json")
        return self._rng.choice(TEXTS)

    def _place(self, good: str) -> str:
        if self._rng.random() < 0.35:
            return self._rng.choice(PLACES)
        ending = "".join(Path(good).suffixes) if self._rng.random() < 0.6 else None
        ending = ending if ending in ENDINGS else self._rng.choice(ENDINGS)
        return f"odd/{self._rng.choice(list(CONTENTS))}{ending}"

    def _out(self) -> str:
        return self._rng.choice(OUTS)

    def _stdin(self, verb: str) -> bytes:
        if verb != "read":
            return b""
        replies = (b"", b"Answer: x\nConfidence: 5%", b'{"answer": "x", "confidence": ',
                   b"Confidence: " + b"9" * 9999 + b"%")  # fmt: skip
        return self._rng.choice((*replies, *CONTENTS.values()))

    def _write(self, text: str, ending: str) -> str:
        self._number += 1
        path = self.home / "made" / f"{self._number}{ending}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8", "replace")
        return str(path)

    def _copy(self, folder: Path) -> Path:
        self._number += 1
        place = self.home / "copies" / str(self._number)
        rmtree(self.home / "copies" / str(self._number - 50), ignore_errors=True)
        return Path(copytree(folder, place))

    def _broken(self, told: Any) -> Any:
        """Put an odd value at a random place of a record, or take a key away."""
        told = deepcopy(told)
        at = told
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                return told
            key = self._rng.choice(keys)
            if isinstance(at[key], (dict, list)) and at[key] and self._rng.random() < 0.7:
                at = at[key]
                continue
            if self._rng.random() < 0.2:
                del at[key]
            else:
                plain = [v for v in VALUES if not isinstance(v, Raw)]
                at[key] = self._rng.choice(plain)
            return told

    def _newer(self, content: dict[str, Any]) -> dict[str, Any]:
        told = deepcopy(content)
        settings = told["settings"]
        place = self._rng.choice((settings, settings["sampling"], told["parts"][0], told))
        place["of_a_later_day"] = self._rng.choice((True, None, "x", {"a": [1]}))
        told["versions"]["novarag"] = "99.0"
        return told


_RECORDS = {
    "answer": ["corpus.jsonl"],
    "train audit": ["audited.jsonl"],
    "ask": ["groups.jsonl", "schema.json"],
    "measure": ["mix.json", "groups.jsonl"],
    "retrieval index": ["corpus.jsonl"],
    "retrieval retrieve": ["pool.jsonl"],
    "train noise": ["pool.jsonl"],
    "train group": ["pool.jsonl"],
    "train export": ["good/filtered/seal.json"],
    "train fit": ["good/export/train.jsonl", "good/export/card.json"],
    "train serve": ["good/trained/training.json"],
    "paper study sheet": ["criteria.json"],
    "paper study read": ["ann.json", "good/sheet/key.json"],
}
"""JSON files that verbs read, to be changed; others are given odd groups."""

_OPTION_OF = {"schema.json": "--schema", "mix.json": "--kind-shares", "criteria.json": "--criteria",
              "corpus.jsonl": "--passages"}  # fmt: skip


def _is_place(words: list[str], at: int, word: str) -> bool:
    before = words[at - 1] if at else ""
    return not word.startswith("-") and (not before.startswith("-") or before == "--out")


def _params(verb: str) -> Iterator[Any]:
    group: Any = typer.main.get_group(app)
    command = group
    for word in verb.split():
        command = command.get_command(typer.Context(command), word)
    yield from (p for p in command.params if p.name not in _LEFT_OUT)


def _keys(kind: type, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Name every key of a class of settings, tables in it included."""
    hints = get_type_hints(kind)
    for one in fields(kind):
        place = (*before, one.name)
        yield place
        for inner in _inside(hints[one.name]):
            yield from _keys(inner, place)


def _inside(hint: Any) -> list[type]:
    found = [h for h in (hint, *get_args(hint)) if h not in {NoneType, Ellipsis}]
    return [h for h in found if isinstance(h, type) and is_dataclass(h)][:1]


def _replaced(good: dict[str, Any], place: tuple[str, ...], value: object) -> dict | None:
    told: Any = deepcopy(good)
    at = told
    for key in place[:-1]:
        at = at.setdefault(key, {})
        at = at[0] if isinstance(at, list) else at
    if value is None:
        if place[-1] not in at:
            return None
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return told


assert set(GOOD) == set(VERBS)
