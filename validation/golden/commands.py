"""The commands that both installs run, in an order in which later ones use what earlier ones left.

Each is a line as a user types it. `{server}` is the chaos server, `{faulty}` one that fails on
purpose, the same faults for both installs.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from validation.golden.inputs import after, copying, first_lines, losing, rated, spoiling

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERBS = (
    "answer", "ask", "show", "recover", "reread", "measure", "estimate", "index", "retrieve",
    "annotate", "run", "reproduce", "build", "noise", "group", "audit", "filter", "export",
    "train", "serve-model", "nova-clean", "study", "study sheet", "study read", "render", "read",
    "example",
)  # fmt: skip
"""All verbs."""


@dataclass(frozen=True)
class Command:
    """One command line; `first` changes the work folder before it runs.

    `code` is the exit code that both must have, so that a command which fails for another reason
    than the one it is here for is noticed. What `loose` ones print is compared with `--strict`
    only: a help may change on purpose. `wants` names what must be at hand: `data`, or a package.
    """

    name: str
    line: str
    needs: tuple[str, ...] = ()
    code: int = 0
    stdin: str = ""
    first: Callable[[Path], None] | None = None
    wants: tuple[str, ...] = ()
    loose: bool = False

    def words(self, **addresses: str) -> list[str]:
        """Return the words of the line, with addresses filled in."""
        return shlex.split(self.line.format(**addresses))


def chosen(pattern: str, *, strict: bool) -> list[Command]:
    """Return the commands of a pattern and all that they need, in order."""
    every = (*COMMANDS, *HELP) if strict else COMMANDS
    wanted = {command.name for command in every if fnmatch(command.name, pattern)}
    for command in reversed(every):
        if command.name in wanted:
            wanted.update(command.needs)
    return [command for command in every if command.name in wanted]


_C = Command
_SIM = "--model simulated:base"

_UGLY = {
    "nova": "Step 1: a\n**Passage Classifications:** Passage 1: Relevant; Passage 2: Irrelevant\n"
    "Group Judgment: Consistent\n*Final Answer*: Paris, of course\nConfidence: 85 %\n",
    "vanilla": "Answer: Lyon? No.\n\nFinal Answer: `Paris`\nConfidence: about 0.9\n",
    "cot": "<think>Answer: no\nConfidence: 3%</think>\nAnswer: ÉCOLE\r\nConfidence: 150%",
    "multi-step": "Step 1: x, Confidence: 90%\nStep 2: y, Confidence: 50%\nFinal Answer and Overall"
    " Confidence: Paris, 45%",
    "guess-probability": "Guess: Paris\nProbability: .5",
    "answer-tags": "<answer>Paris</answer><confidence>0.7</confidence>",
    "noise-aware": '```json\n{"answer": "Paris", "confidence": 70}\n```',
}

_DESK = (
    _C("version", "--version"),
    _C("example-csv", "example answers.csv"),
    _C("example-jsonl", "example pools.jsonl"),
    _C("example-toml", "example pipeline.toml"),
    _C("example-default", "example", code=2, needs=("example-csv",)),
    _C("render", "render --hash"),
    *(_C(f"render-{s}", f"render one.json -s {s}") for s in (
        "vanilla", "multi-step", "noise-aware", "label-only", "closed-book", "top-k", "cot-paper",
        "nova-paper",
    )),
    _C("render-file", "render groups.csv -s novarag.strategies:COT"),
    *(_C(f"read-{s}", f"read -s {s}", stdin=text) for s, text in _UGLY.items()),
    _C("read-empty", "read", stdin="  \n"),
    _C("read-k", "read --k 3", stdin=_UGLY["nova"]),
    _C("read-scale", "read -s vanilla --scale hundred", stdin="Answer: x\nConfidence: 0.8"),
)  # fmt: skip

_GROUPING = (
    _C("group-training", "group pools.jsonl --out training.jsonl", needs=("example-jsonl",)),
    *(_C(f"group-{mix}", f"group pools.jsonl --out {mix}.jsonl --mix {mix}{more}",
         needs=("example-jsonl",)) for mix, more in (
        ("gold-only", " -k 1"), ("gold+counterfactual", " --gold-at 2"), ("gold+relevant", ""),
        ("gold+irrelevant", " -k 4"), ("counterfactual-only", " -k 2"),
        ("relevant-only", " -k 2 --seed 5"), ("irrelevant-only", ""),
    )),
    _C("group-one-each", "group pools.jsonl --out each.jsonl --one-each --no-audit --seed 2",
       needs=("example-jsonl",)),
    _C("group-no-audit", "group pools.jsonl --out four.jsonl --no-audit -k 4",
       needs=("example-jsonl",)),
    _C("audit", "audit each.jsonl --margin 0.2", needs=("group-one-each",), code=1),
    _C("audit-json", "audit training.jsonl --json --margin 0.01 --seed 3",
       needs=("group-training",)),
)  # fmt: skip

_FEW = first_lines("training.jsonl", "few.jsonl", 36)
_ASKING = (
    _C("ask-dry", f"ask groups.jsonl {_SIM} --out no --dry-run --samples 16 --price 1:2"),
    _C("ask", f"ask groups.jsonl {_SIM} --out run"),
    _C("ask-again", f"ask groups.jsonl {_SIM} --out run --price 1:2", needs=("ask",)),
    _C("ask-16", f"ask few.jsonl {_SIM} --out many --samples 16 --shard-size 5 --seed 7",
       needs=("group-training",), first=_FEW),
    _C("ask-16-tuned", "ask few.jsonl --model simulated:tuned --out tuned -n 16 --shard-size 5",
       needs=("ask-16",)),
    *(_C(f"ask-{s}", f"ask groups.jsonl {_SIM} --out by/{s} -s {s} --max-tokens 200")
      for s in ("vanilla", "cot", "multi-step", "noise-aware", "label-only", "top-k")),
    _C("ask-plain", f"ask plain.jsonl {_SIM} --out plain --shard-size 6 -s vanilla", code=1),
    _C("ask-logprobs", f"ask groups.jsonl {_SIM} --out logprobs --logprobs -n 3 --per-request 2"),
    _C("ask-chaos", "ask plain.jsonl --model {server}=chaos --out chaos -n 4 --shard-size 7"
       " --logprobs --price 1 --revision r1 --top-p 0.9 --stop END --schema form.json"),
    _C("ask-faults", "ask plain.jsonl --model {faulty}=chaos --out faults -n 2 --shard-size 10"),
    _C("ask-dead", "ask groups.jsonl --model {faulty}=chaos --out dead --attempts 1", code=1),
    _C("show-dead", "show dead", needs=("ask-dead",)),
    _C("ask-retry", "ask groups.jsonl --model {faulty}=chaos --out dead --retry-failed",
       needs=("show-dead",)),
    _C("show", "show run", needs=("ask",)),
    _C("show-many", "show many --replies 3 --price 1:2", needs=("ask-16",)),
    _C("show-jsonl", "show many --jsonl", needs=("ask-16",)),
    _C("recover", "recover many", needs=("ask-16",)),
    _C("recover-damaged", "recover torn", needs=("ask-16",), first=after(
        copying("many", "torn"), losing("torn/trials/00000.parquet"),
        spoiling("torn/dead/00001.parquet"), spoiling("torn/shards/00002.json"))),
    _C("measure-partial", "measure half --replicates 100", needs=("ask-16",), first=after(
        copying("many", "half"),
        losing("half/shards/00001.json", "half/trials/00001.parquet", "half/journal/00001.log"))),
    _C("show-partial", "show half --replies 1", needs=("measure-partial",)),
    _C("filter-unfinished", "filter half --out half-kept", needs=("measure-partial",), code=2),
    _C("filter-partial", "filter half --out half-kept --partial", needs=("measure-partial",)),
    _C("reread-partial", "reread half --workers 1", needs=("filter-partial",)),
    _C("ask-go-on", f"ask few.jsonl {_SIM} --out half --samples 16 --shard-size 5 --seed 7",
       needs=("reread-partial", "show-partial")),
    _C("reread", "reread many --workers 2", needs=("ask-16",)),
    _C("answer", "answer 'When was it lit?' -m {server}=chaos -p passage.txt -p passages.jsonl"),
    _C("answer-two", "answer 'When was it lit?' -m {server}=chaos -s nova -s closed-book"
       " -p passages.jsonl --reply --seed 3"),
    _C("answer-json", "answer 'When?' -m {server}=chaos -p passage.txt --json --max-tokens 50"),
)  # fmt: skip

_TRAINING = (
    _C("filter", "filter many --out kept", needs=("reread",)),
    _C("filter-two", "filter many tuned --out common", needs=("reread", "ask-16-tuned")),
    _C("filter-keyword", "filter many --out keyword --rules keyword --seed 4", needs=("reread",),
       code=1),
    _C("filter-soft", "filter many tuned --out soft --alignment soft --no-common"
       " --balance downsample-consistent", needs=("reread", "ask-16-tuned")),
    _C("filter-none", "filter many --out unbalanced --balance none", needs=("reread",)),
    _C("export", "export kept --out set", needs=("filter",)),
    _C("export-labels", "export kept --out labels --label-only --format canonical",
       needs=("filter",)),
    _C("export-dev", "export unbalanced --out dev --dev 0.3 --seed 1 --base tiny --format openai"
       " --format llama-factory", needs=("filter-none",)),
    _C("export-model", "export soft --out tuned-set --model simulated:tuned",
       needs=("filter-soft",)),
    _C("export-tokenizer", "export kept --out short --tokenizer tiny --max-length 420",
       needs=("filter",), wants=("transformers",)),
    _C("noise-dry", "noise questions.jsonl -m {server}=chaos --out no --dry-run --verbalised"),
    _C("noise", "noise questions.jsonl -m {server}=chaos --out noise --shard-size 8"),
    _C("noise-again", "noise questions.jsonl -m {server}=chaos --out noise --shard-size 8",
       needs=("noise",)),
    _C("noise-kinds", "noise questions.jsonl -m {server}=chaos --out noise2 --kind irrelevant"
       " --kind relevant-theme --candidates 4 --keep 2 --verbalised --seed 9"),
    _C("show-noise", "show noise --replies 2", needs=("noise",)),
    _C("group-noise", "group noise --out noisy.jsonl --no-audit", needs=("noise",)),
    _C("build", "build build.toml"),
    _C("build-again", "build build.toml --price 1:2", needs=("build",)),
    _C("build-simulated", "build build-simulated.toml", needs=("example-jsonl",)),
    _C("build-paper", "build paper build-paper.toml"),
    _C("serve-model", "serve-model one nova=two", wants=("transformers",)),
    _C("serve-merged", "serve-model one --merged --cpu --port 8411 -- --seed 3 'a b'",
       wants=("transformers",)),
)  # fmt: skip

_MEASURING = (
    _C("measure", "measure answers.csv --by system --out report", needs=("example-csv",)),
    _C("measure-json", "measure answers.csv --by system --by passages --json --replicates 100",
       needs=("example-csv",)),
    _C("measure-percent", "measure percent.csv --percent --unread -1 --correct right --by system"
       " --out percent --seed 2 --title 'Of a hundred' --replicates 200"),
    _C("measure-gold", "measure gold.jsonl --gold accepted --by model --out gold --replicates 200"),
    _C("measure-reply", "measure replies.jsonl --reply text --strategy nova --gold accepted"
       " --by kind --json --replicates 200"),
    _C("measure-guess", "measure guesses.csv --reply said -s guess-probability --gold truth"
       " --scale unit --out guessed"),
    _C("measure-run", "measure run --by kind --out of-run", needs=("ask",)),
    _C("measure-runs", "measure by/vanilla by/cot by/top-k --by strategy --out of-runs --replicates 200",
       needs=("ask-vanilla", "ask-cot", "ask-top-k")),
    _C("measure-many", "measure many/trials/00000.parquet many/trials/00001.parquet --by kind --replicates 100",
       needs=("reread",)),
    _C("annotate", "annotate released.jsonl --out profile --replicates 200"),
    _C("annotate-planted", "annotate groups.jsonl --out planted --expect planted --least 0.8"
       " --seed 3 --replicates 200"),
    _C("annotate-nli", "annotate released.jsonl --out entailed --nli own:weigh --replicates 100"),
    _C("annotate-judge", "annotate released.jsonl --out judged --judge {server}=chaos"
       " --replicates 100"),
    _C("measure-mix", "measure many --mix planted/profile.json --by kind --out mixed --replicates 200",
       needs=("reread", "annotate-planted")),
    _C("estimate", f"estimate groups.jsonl {_SIM} --out estimates --replicates 100"),
    _C("estimate-some", "estimate groups.jsonl --model simulated:tuned --out some -s nova"
       " --method verbal --method p-true --method semantic-entropy --nli own:weigh"
       " --replicates 100 --structured --max-tokens 300 --shard-size 9"),
    _C("estimate-chaos", "estimate plain.jsonl --model {server}=chaos --out chaotic -s nova"
       " --method self-frequency --method verbal --replicates 100"),
    _C("sheet", "study sheet by/vanilla by/cot run --out sheet --questions 8",
       needs=("ask", "ask-vanilla", "ask-cot")),
    _C("sheet-criteria", "study sheet by/cot run --out fun --questions 6 --criteria criteria.toml"
       " --answers --seed 4", needs=("ask", "ask-cot")),
    _C("study-read", "study read sheet ann.json ben.json cy.json --out rated-by-three --replicates 300",
       needs=("sheet",), first=rated("sheet", "ann", "ben", "cy", missing=True)),
    _C("study-read-fun", "study read fun dee.json eve.json --out fun-report --replicates 200",
       needs=("sheet-criteria",), first=rated("fun", "dee", "eve")),
)  # fmt: skip

_EXPERIMENTS = (
    _C("index", "index corpus.jsonl --uri index.db --words 40", wants=("pymilvus",)),
    _C("index-again", "index corpus.jsonl --uri index.db --words 40", needs=("index",),
       wants=("pymilvus",)),
    _C("retrieve", "retrieve ask.jsonl --uri index.db --out retrieved.jsonl -k 4",
       needs=("index-again",), wants=("pymilvus",)),
    _C("retrieve-own", "retrieve ask.jsonl --with own:search --out own.jsonl --limit 9"),
    _C("run-bm25", "run retrieval-bm25 bm25.toml", wants=("pymilvus",)),
    _C("run-bm25-again", "run retrieval-bm25 bm25.toml", needs=("run-bm25",), wants=("pymilvus",)),
    _C("run-own", "run own.toml"),
    _C("run-table", "run table.toml"),
    _C("run-table-again", "run table.toml", needs=("run-table",)),
    _C("run-rules", "run rules.toml", needs=("run-table-again",)),
    _C("run-retention", "run kept.toml"),
    _C("run-study", "run study.toml"),
    _C("reproduce", f"reproduce rules judgments reliability {_SIM} --tuned simulated:tuned"
       " --profile smoke --out tables", wants=("data",)),
    _C("reproduce-bm25", f"reproduce real-bm25 {_SIM} --profile smoke --index index.db"
       " --max-tokens 150 --out tables3", needs=("index",), wants=("data", "pymilvus")),
    _C("run-preset", "run judgments judgments.toml", wants=("data",)),
    _C("reproduce-study", f"reproduce human-study retention {_SIM} --profile smoke --seed 3"
       " --out tables2 --page pages/mine.md --note 'a note'", wants=("data",)),
    _C("nova-clean", "nova-clean --out clean --no-audit", wants=("data",)),
)  # fmt: skip

_REFUSED = (
    _C("no-verb", "nonsense", code=2),
    _C("no-option", "measure answers.csv --nonsense", code=2),
    _C("no-file", "measure nowhere.csv", code=2),
    _C("no-column", "measure answers.csv --by nothing", needs=("example-csv",), code=2),
    _C("no-strategy", "render -s novas", code=2),
    _C("no-mix", "group pools.jsonl --out x.jsonl --mix gold", needs=("example-jsonl",), code=2),
    _C("no-respondent", "ask groups.jsonl --model simulated:nobody --out x", code=2),
    _C("no-server", "ask groups.jsonl --model http://127.0.0.1:9=m --out x --attempts 1", code=2),
    _C("no-answers", "annotate plain.jsonl --out x", code=2),
    _C("no-run", "show profile", code=2),
    _C("no-method", f"estimate groups.jsonl {_SIM} --out x --method guess", code=2),
    _C("no-table", f"reproduce pie {_SIM} --out x", code=2),
    _C("no-object", "retrieve ask.jsonl --with own:nothing --out x.jsonl", code=2),
    _C("own-raises", "retrieve ask.jsonl --with own:raises --out x.jsonl", code=2),
    _C("no-such-key", "build broken.toml", code=2),
    _C("no-suffix", "example answers.txt", code=2),
    _C("begun-otherwise", f"ask groups.jsonl {_SIM} --out run --temperature 0.5", needs=("ask",),
       code=2),
    _C("sheet-begun-otherwise", "study sheet by/cot run --out fun --questions 6", code=2,
       needs=("sheet-criteria",)),
    _C("export-nothing", "export run --out x", needs=("ask",), code=2),
)  # fmt: skip

COMMANDS = (
    *_DESK, *_GROUPING, *_ASKING, *_TRAINING, *_MEASURING, *_EXPERIMENTS, *_REFUSED,
    _C("help", "--help", loose=True), _C("train", "train --help", loose=True),
)  # fmt: skip
HELP = tuple(_C(f"help-{v.replace(' ', '-')}", f"{v} --help", loose=True) for v in VERBS)
"""More commands, for `--strict`."""
