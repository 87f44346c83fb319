"""The verb that evaluates under real retrieval: from a corpus to a report."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.common import find_strategy
from novarag.cli.console import screen
from novarag.cli.models import (  # noqa: TC001 - typer looks at them
    DriverName,
    PerMillion,
    RayAddress,
    RetryFailed,
)
from novarag.cli.options import import_from_here
from novarag.cli.running import (
    Means,
    Source,
    Task,
    begin,
    check_server,
    hash_of,
    means_of,
    settings_of,
    walk,
)
from novarag.cli.screen import parse_price
from novarag.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from novarag.cli.screen import Price
    from novarag.config import Experiment
    from novarag.retrieval.encoding import Encoder
    from novarag.retrieval.manifest import Manifest
    from novarag.runs.manifest import Settings
    from novarag.strategies import Strategy


def run(
    experiment: Annotated[
        list[str],
        typer.Argument(
            help="TOML files or presets; later ones override earlier ones. `real-bm25` and"
            " `real-dense` evaluate your own questions and corpus; others are tables of systems,"
            " as `novarag reproduce` has them."
        ),
    ],
    driver: DriverName = "local",
    ray_address: RayAddress = None,
    price: PerMillion = None,
    retry_failed: RetryFailed = False,
) -> None:
    """Run an experiment: real retrieval on your data, or a table; run it again to go on."""
    from novarag.config import load_experiment
    from novarag.config.grid import is_grid

    if is_grid(experiment):
        from novarag.cli.reproducing import run_table

        how = {"driver": driver, "ray_address": ray_address, "retry_failed": retry_failed}
        run_table(experiment, **how, price=parse_price(price))
        return
    found = load_experiment(*experiment)
    way = _Way(found, driver, ray_address, parse_price(price), retry_failed)
    way.check()
    annotated = [] if found.annotate is None else [way.annotate]
    walk([way.index, way.retrieve, *annotated, way.ask, way.measure])
    print(f"next: open {way.out / 'report' / 'report.html'}")


@dataclass(frozen=True)
class _Way:
    """The steps of an experiment; each leaves its result in the folder, or finds it there."""

    experiment: Experiment
    driver: str
    ray_address: str | None
    price: Price | None
    retry_failed: bool

    @property
    def out(self) -> Path:
        return Path(self.experiment.out)

    @property
    def _uri(self) -> str:
        """Where the index is; one of our own is named by its corpus, as an index only grows."""
        told = self._stamp
        name = sha256(json.dumps([told["corpus"], told["cut"]]).encode()).hexdigest()[:8]
        return self.experiment.index.uri or str(self.out / f"index-{name}.db")

    @cached_property
    def _means(self) -> Means:
        return means_of(
            self.experiment.model, driver=self.driver, ray_address=self.ray_address,
            price=self.price, retry_failed=self.retry_failed,
        )  # fmt: skip

    def check(self) -> None:
        """Complain about any setting now, not when its step comes and the others are paid for."""
        from novarag.runs.tables import TRIALS

        self._check_search()
        for column in self.experiment.measure.by:
            if column not in TRIALS:
                raise UnknownName(column, TRIALS)
        if not self._runs:
            raise UsageError("name at least one strategy in [ask]")
        for name, strategy in self._runs.items():
            self._settings(name, strategy)
        _ = self._stamp  # reads every file that must be there
        for name in self._runs:
            check_server(self._means, str(self._place(name)))

    def _check_search(self) -> None:
        from novarag.retrieval.searching import MODES

        told, corpus = self.experiment.retrieve, self.experiment.corpus
        if told.own is not None:
            if told.object and told.http:
                raise UsageError("[retrieve] names a search by object and by http: keep one")
            if corpus is not None:
                raise UsageError("[retrieve] names a search of yours: drop it, or [corpus]")
            return
        if told.mode not in MODES:
            raise UnknownName(told.mode, MODES)
        if corpus is None and self.experiment.index.uri is None:
            raise UsageError(
                'say where to search: [corpus] and files = ["corpus.jsonl"], uri in [index], or'
                " object or http in [retrieve]"
            )
        if told.mode != "bm25" and self.experiment.index.encoder is None:
            raise UsageError(f"mode {told.mode} needs an encoder: name one in [index]")
        _ = self._manifest

    @cached_property
    def _manifest(self) -> Manifest:
        """What the index is made with; who the encoder is, is known once it is open."""
        from novarag.retrieval.manifest import Manifest

        told, corpus = self.experiment.index, self.experiment.corpus
        return Manifest(
            analyzer=told.analyzer, k1=told.k1, b=told.b, vectors=told.vectors,
            words=100 if corpus is None else corpus.words,
        )  # fmt: skip

    @cached_property
    def _encoder(self) -> Encoder | None:
        from novarag.flows.encoders import open_encoder
        from novarag.flows.looping import run_sync

        told = self.experiment.index
        if told.encoder is None:
            return None
        return run_sync(open_encoder(told.encoder, key_env=told.key_env))

    # — retrieval, and how it is known to be done —

    @cached_property
    def _stamp(self) -> dict[str, object]:
        """Everything that decides which passages are found."""
        told = self.experiment
        files = [] if told.corpus is None else told.corpus.files
        return {
            "questions": [hash_of(Path(told.questions.file)), told.questions.limit],
            "corpus": [[Path(file).name, _hash_of_any(Path(file))] for file in files],
            "cut": None if told.corpus is None else [told.corpus.words, told.corpus.limit],
            "index": None if told.retrieve.own else _decisive(asdict(told.index)),
            "search": [told.retrieve.own or told.retrieve.mode, told.retrieve.k],
            "order": [told.retrieve.shuffle, told.seed],
        }

    @property
    def _found(self) -> Path:
        return self.out / "retrieved.jsonl"

    def _is_retrieved(self) -> bool:
        file = self.out / "retrieved.json"
        if not file.is_file() or not self._found.is_file():
            return False
        told = json.loads(file.read_bytes())
        if told["settings"] == json.loads(json.dumps(self._stamp)):
            return bool(told["hash"] == hash_of(self._found))
        if any((self.out / "runs").glob("*/manifest.json")):
            raise UsageError(
                f"{self.out} was begun with other questions, corpus or search; change them back,"
                " or write another `out` in the experiment"
            )
        return False

    def index(self) -> int:
        """Index the corpus, or add to an index what it lacks."""
        from novarag.flows.index import build_index

        told = self.experiment
        if self._is_retrieved():
            print("the passages are retrieved: the index is not needed")
            return 0
        if told.corpus is None:
            print("no [corpus]: " + (told.retrieve.own or f"searching {self._uri} as it is"))
            return 0
        made = self._manifest
        with screen() as tell:
            built = build_index(
                told.corpus.files, self._uri, encoder=self._encoder, words=made.words,
                analyzer=made.analyzer, k1=made.k1, b=made.b, vectors=made.vectors,
                collection=told.index.collection, limit=told.corpus.limit,
                token_env=told.index.token_env, tell=tell,
            )  # fmt: skip
        print(built)
        return 0

    def retrieve(self) -> int:
        """Find passages for every question, and put them in the order they are shown in."""
        told = self.experiment.retrieve
        if not self._is_retrieved():
            self._search()
        count = self._write_groups()
        order = "shuffled" if told.shuffle else "best first"
        print(f"{count:,} questions with up to {told.k} passages each, {order}")
        print(self._answerable())
        return 0

    def _search(self) -> None:
        from novarag.flows.retrieve import retrieve

        told = self.experiment
        own = told.retrieve.own is not None
        import_from_here()
        with screen() as tell:
            retrieve(
                told.questions.file, out=self._found, uri=None if own else self._uri,
                mode=told.retrieve.mode, k=told.retrieve.k,
                encoder=None if own else self._encoder, search=told.retrieve.object,
                http=told.retrieve.http, collection=told.index.collection,
                limit=told.questions.limit, key_env=told.retrieve.key_env,
                token_env=told.index.token_env, tell=tell,
            )  # fmt: skip
        done = {"settings": self._stamp, "hash": hash_of(self._found)}
        _put(self.out / "retrieved.json", json.dumps(done, indent=1).encode())

    def _write_groups(self) -> int:
        from novarag.datasets.groups import group_line, iter_groups
        from novarag.grouping import assemble

        lines, seed = [], self.experiment.seed
        for group in iter_groups(self._found):
            shown = group
            if self.experiment.retrieve.shuffle:
                shown = assemble(group.question, group.passages, seed=seed, id=group.id)
            lines.append(group_line(shown))
        _put(self.out / "groups.jsonl", b"".join(lines))
        return len(lines)

    def _answerable(self) -> str:
        """Say for how many questions an accepted answer stands in what was found."""
        from novarag.datasets.groups import iter_groups
        from novarag.grading import contains, normalize
        from novarag.records import AnswerForm

        asked, hits, others = 0, 0, 0
        for group in iter_groups(self._found):
            if group.question.answers and group.question.form is AnswerForm.OPEN:
                asked += 1
                texts = [normalize(passage.text) for passage in group.passages]
                golds = [normalize(answer) for answer in group.question.answers]
                hits += any(contains(text, gold) for text in texts for gold in golds)
            else:
                others += 1
        if not asked:
            return "No question has an answer that could stand in a passage."
        share = f"{hits:,} of {asked:,} questions ({100 * hits / asked:.1f} %)"
        left = f"; {others:,} with yes or no, or no answer, were not looked at" if others else ""
        return f"An accepted answer stands in the passages of {share}{left}."

    # — annotating, asking and measuring —

    @property
    def _asked(self) -> Path:
        """The groups as they are asked: with the kinds that annotation found, if there was any."""
        plain = self.experiment.annotate is None
        return self.out / ("groups.jsonl" if plain else "annotation/annotated.jsonl")

    def annotate(self) -> int:
        """Say what each passage is, so that the report can tell kinds of groups apart."""
        from novarag.flows.annotate import annotate

        told = self.experiment.annotate
        if told is None:
            return 0
        with screen() as tell:
            found = annotate(
                self.out / "groups.jsonl", self.out / "annotation", least=told.least,
                replicates=told.replicates, seed=self.experiment.seed, tell=tell,
            )  # fmt: skip
        print(found)
        return 0

    @cached_property
    def _runs(self) -> dict[str, Strategy]:
        return {name: find_strategy(name) for name in self.experiment.ask.strategies}

    def _place(self, strategy: str) -> Path:
        return self.out / "runs" / strategy.replace(":", ".")

    def _settings(self, name: str, strategy: Strategy) -> Settings:
        from novarag.calls import Sampling

        told = self.experiment.ask
        sampling = Sampling(n=told.samples, temperature=told.temperature)
        k = self.experiment.retrieve.k
        return settings_of(told, strategy, self._means, sampling, k=k, name=name)

    def ask(self) -> int:
        """Ask every group by every strategy."""
        from novarag.datasets import iter_groups
        from novarag.runs import is_finished

        file = self._asked
        self._check_form(file)
        source = Source(groups=partial(iter_groups, file), name=file.name, hash=hash_of(file))
        for name, strategy in self._runs.items():
            settings = self._settings(name, strategy)
            job = begin(strategy, source, settings, str(self._place(name)), self._means)
            code = asyncio.run(Task(job, self._means, alone=False).run())
            if code and not is_finished(job.store):
                return code
        return 0

    def _check_form(self, file: Path) -> None:
        """The form of `nova` has a line for each passage, so their number must be the same."""
        from novarag.datasets import iter_groups

        told, k = self.experiment.ask, self.experiment.retrieve.k
        if not told.structured or "nova" not in told.strategies:
            return
        few = sum(len(group.passages) < k for group in iter_groups(file))
        if few:
            raise UsageError(
                f"{few:,} questions have fewer than {k} passages, and structured replies by nova"
                " need them all: write structured = false in [ask], or drop nova"
            )

    def measure(self) -> int:
        """Measure all runs in one report."""
        from novarag.cli.measuring import measure_runs

        told = self.experiment
        how = "shuffled" if told.retrieve.shuffle else "best first"
        searched = told.retrieve.own or told.retrieve.mode
        note = f"Passages: the best {told.retrieve.k} by {searched}, {how}."
        measure_runs(
            [self._place(name) for name in self._runs], self.out / "report",
            by=told.measure.by, title=told.measure.title, notes=[note, self._answerable()],
            resampling=(told.measure.replicates, told.seed),
        )  # fmt: skip
        return 0


def _decisive(index: dict[str, object]) -> dict[str, object]:
    """Leave out what does not decide which passages are found."""
    return {name: value for name, value in index.items() if not name.endswith("_env")}


def _hash_of_any(path: Path) -> list[str] | str:
    """Hash a file, or each file of a folder."""
    if not path.is_dir():
        return hash_of(path)
    return [f"{f.relative_to(path)} {hash_of(f)}" for f in sorted(path.rglob("*")) if f.is_file()]


def _put(file: Path, content: bytes) -> None:
    """Write a file whole or not at all; one that holds the same is left alone."""
    if file.is_file() and file.read_bytes() == content:
        return
    draft = file.with_name(file.name + ".part")
    draft.write_bytes(content)
    draft.replace(file)
