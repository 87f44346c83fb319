"""Evaluate under real retrieval: from a corpus and questions to a report, in steps that resume."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.atomic import write_whole
from novarag.config import Experiment, load_experiment
from novarag.errors import UnknownNameError, UsageError
from novarag.flows.annotate import AnnotationResult, annotate_async
from novarag.flows.events import StepBegun, StepResult, silent
from novarag.flows.index import IndexBuild, build_index_async
from novarag.flows.measure import measure
from novarag.flows.retrieve import retrieve_async
from novarag.flows.sync import synchronous
from novarag.formatting import fixed_percent
from novarag.runner.access import check_keys, reach_endpoints
from novarag.runner.asking import SamplingPlan, sampling_plan, strategy_mode
from novarag.runner.runner import Runner
from novarag.runner.sources import hash_of, source_of
from novarag.runner.stop import Stop
from novarag.texts import parse_json, plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.flows.events import EventListener
    from novarag.metrics import Measurement
    from novarag.runner.access import Access, ModelAccess
    from novarag.runner.asking import AskingMode
    from novarag.runs import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentResult:
    """What an experiment found: the measurement, its report, and the run of each strategy."""

    report: Path
    measurement: Measurement
    runs: dict[str, Run]

    def __repr__(self) -> str:
        """Show where the report is, who was asked, and the figures of all together."""
        asked = ", ".join(plain_text(name) for name in self.runs)
        return f"ExperimentResult({str(self.report)!r}: {asked};\n  {self.measurement.overall!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSummary:
    """What a search found, and for how many questions an accepted answer stands in it."""

    questions: int
    k: int
    shuffled: bool
    answerable: str

    def __str__(self) -> str:
        """Say it in two lines."""
        order = "shuffled" if self.shuffled else "best first"
        lines = f"{self.questions:,} questions with up to {self.k} passages each, {order}"
        return f"{lines}\n{self.answerable}"


async def run_experiment_async(
    experiment: str | Path | Experiment | Sequence[str | Path],
    *,
    access: Access | None = None,
    on_event: EventListener = silent,
    stop: Stop | None = None,
) -> ExperimentResult:
    """Index a corpus, retrieve, annotate, ask and measure, as a file or preset says.

    Each step leaves its result in the folder that the file names as `out`, or finds it there, so
    that the same call goes on where it was cut off; `UnfinishedError` says that it was.

    Args:
        experiment: TOML files, or presets such as "retrieval-bm25", later ones overriding earlier
            ones; or an `Experiment`.
        access: How servers are reached: time-outs, concurrency, retries, keys.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
        stop: A `Stop` that ends the call early; what was answered is kept.
    """
    if isinstance(experiment, (str, Path)):
        experiment = [experiment]
    found = experiment if isinstance(experiment, Experiment) else load_experiment(*experiment)
    stop = stop or Stop()
    steps = _ExperimentSteps(found, access, on_event, stop)
    await steps.check()
    annotated = [] if found.annotate is None else [steps.annotate]
    wanted = [steps.index, steps.retrieve, *annotated, steps.ask, steps.measure]
    for number, step in enumerate(wanted, start=1):
        stop.raise_if_set(str(steps.out))
        on_event(StepBegun(step.__name__, number, len(wanted)))
        on_event(StepResult(step.__name__, await step()))
    return ExperimentResult(
        report=steps.report, measurement=steps.measured[-1], runs=dict(steps.runs)
    )


run_experiment = synchronous(run_experiment_async)


class _ExperimentSteps:
    """The steps of an experiment; each leaves its result in the folder, or finds it there."""

    def __init__(
        self, experiment: Experiment, access: Access | None, on_event: EventListener, stop: Stop
    ) -> None:
        self.experiment, self.access, self.on_event, self.stop = experiment, access, on_event, stop
        self.out = Path(experiment.out)
        self.report = self.out / "report" / "report.html"
        self.runs: dict[str, Run] = {}
        self.measured: list[Measurement] = []

    @cached_property
    def _model(self) -> ModelAccess:
        return reach_endpoints(self.experiment.model, self.access)

    @cached_property
    def _runner(self) -> Runner:
        folder = self.out / "runs"
        return Runner(model=self._model, folder=folder, on_event=self.on_event, stop=self.stop)

    @cached_property
    def _modes(self) -> dict[str, AskingMode]:
        return {name: strategy_mode(name) for name in self.experiment.ask.strategies}

    # — before anything is paid —

    async def check(self) -> None:
        """Complain about any setting now, not when its step comes and the others are paid for."""
        from novarag.rows import TRIALS

        self._check_search()
        index = self.experiment.index
        check_keys(self._model, encoder=index.encoder, key_env=index.key_env)
        for column in self.experiment.measure.by:
            if column not in TRIALS:
                raise UnknownNameError(column, TRIALS)
        if not self._modes:
            raise UsageError("name at least one strategy in [ask]")
        for mode in self._modes.values():
            self._samples(mode)
        _ = self._stamp  # reads every file that must be there
        await self._runner.check(*map(_place, self._modes))

    def _check_search(self) -> None:
        from novarag.retrieval.manifest import IndexManifest
        from novarag.retrieval.searching import MODES

        search, corpus, index = (
            self.experiment.retrieve, self.experiment.corpus, self.experiment.index
        )  # fmt: skip
        if search.own is not None:
            if search.object and search.http:
                raise UsageError("[retrieve] names a search by object and by http: keep one")
            if corpus is not None:
                raise UsageError("[retrieve] names a search of yours: drop it, or [corpus]")
            return
        if search.mode not in MODES:
            raise UnknownNameError(search.mode, MODES)
        if corpus is None and index.uri is None:
            raise UsageError(
                'say where to search: [corpus] and files = ["corpus.jsonl"], uri in [index], or'
                " object or http in [retrieve]"
            )
        if search.mode != "bm25" and index.encoder is None:
            raise UsageError(f"mode {search.mode} needs an encoder: name one in [index]")
        IndexManifest(analyzer=index.analyzer, k1=index.k1, b=index.b, vectors=index.vectors)

    # — retrieval, and how it is known to be done —

    @cached_property
    def _stamp(self) -> dict[str, object]:
        """Everything that decides which passages are found."""
        given = self.experiment
        files = [] if given.corpus is None else given.corpus.files
        return {
            "questions": [hash_of(Path(given.questions.file)), given.questions.limit],
            "corpus": [[Path(file).name, _hash_of_any(Path(file))] for file in files],
            "cut": None if given.corpus is None else [given.corpus.words, given.corpus.limit],
            "index": None if given.retrieve.own else _decisive(asdict(given.index)),
            "search": [given.retrieve.own or given.retrieve.mode, given.retrieve.k],
            "order": [given.retrieve.shuffle, given.seed],
        }

    @property
    def _uri(self) -> str:
        """Where the index is; one of our own is named by its corpus, as an index only grows."""
        made_of = json.dumps([self._stamp["corpus"], self._stamp["cut"]])
        name = sha256(made_of.encode()).hexdigest()[:8]
        return self.experiment.index.uri or str(self.out / f"index-{name}.db")

    @property
    def _found(self) -> Path:
        return self.out / "retrieved.jsonl"

    def _is_retrieved(self) -> bool:
        file = self.out / "retrieved.json"
        if not file.is_file() or not self._found.is_file():
            return False
        try:
            done = parse_json(file.read_bytes())
            settings, known = done["settings"], done["hash"]
        except (ValueError, KeyError, TypeError):
            return False  # not as it was written: the passages are found again
        if settings == json.loads(json.dumps(self._stamp)):
            return bool(known == hash_of(self._found))
        if any((self.out / "runs").glob("*/manifest.json")):
            raise UsageError.saying(
                "{} was begun with other questions, corpus or search; change them back, or write"
                " another `out` in the experiment",
                self.out,
            )
        return False

    async def index(self) -> IndexBuild | str:
        """Index the corpus, or add to an index what it lacks."""
        given, index = self.experiment, self.experiment.index
        if self._is_retrieved():
            return "the passages are retrieved: the index is not needed"
        if given.corpus is None:
            return "no [corpus]: " + (given.retrieve.own or f"searching {self._uri} as it is")
        self.out.mkdir(parents=True, exist_ok=True)
        return await build_index_async(
            given.corpus.files, self._uri, encoder=index.encoder, words=given.corpus.words,
            analyzer=index.analyzer, k1=index.k1, b=index.b, vectors=index.vectors,
            collection=index.collection, limit=given.corpus.limit, key_env=index.key_env,
            token_env=index.token_env, on_event=self.on_event,
        )  # fmt: skip

    async def retrieve(self) -> RetrievalSummary:
        """Find passages for every question, and put them in the order they are shown in."""
        search = self.experiment.retrieve
        if not self._is_retrieved():
            await self._search()
            done = {"settings": self._stamp, "hash": hash_of(self._found)}
            _put(self.out / "retrieved.json", json.dumps(done, indent=1).encode())
        count = self._write_groups()
        return RetrievalSummary(
            questions=count, k=search.k, shuffled=search.shuffle, answerable=self._answerable()
        )

    async def _search(self) -> None:
        given, search, index = self.experiment, self.experiment.retrieve, self.experiment.index
        self.out.mkdir(parents=True, exist_ok=True)
        own = search.own is not None
        await retrieve_async(
            given.questions.file, out=self._found, uri=None if own else self._uri,
            mode=search.mode, k=search.k, encoder=None if own else index.encoder,
            search=search.object, http=search.http, collection=index.collection,
            limit=given.questions.limit, key_env=search.key_env if own else index.key_env,
            token_env=index.token_env, on_event=self.on_event,
        )  # fmt: skip

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
        share = f"{hits:,} of {asked:,} questions ({fixed_percent(hits / asked)})"
        left = f"; {others:,} with yes or no, or no answer, were not looked at" if others else ""
        return f"An accepted answer stands in the passages of {share}{left}."

    # — annotating, asking and measuring —

    @property
    def _asked(self) -> Path:
        """The groups as they are asked: with the kinds that annotation found, if there was any."""
        plain = self.experiment.annotate is None
        return self.out / ("groups.jsonl" if plain else "annotation/annotated.jsonl")

    async def annotate(self) -> AnnotationResult | None:
        """Say what each passage is, so that the report can tell kinds of groups apart."""
        given = self.experiment.annotate
        if given is None:
            return None
        return await annotate_async(
            self.out / "groups.jsonl", self.out / "annotation", min_confidence=given.min_confidence,
            replicates=given.replicates, seed=self.experiment.seed, on_event=self.on_event,
        )  # fmt: skip

    def _samples(self, mode: AskingMode) -> SamplingPlan:
        from novarag.calls import Sampling

        given, k = self.experiment.ask, self.experiment.retrieve.k
        sampling = Sampling(n=given.samples, temperature=given.temperature)
        return sampling_plan(given, mode.asking, sampling, k=k)

    async def ask(self) -> dict[str, Run]:
        """Ask every group by every strategy."""
        file = self._asked
        self._check_form(file)
        source = source_of(file)
        for name, mode in self._modes.items():
            self.runs[name] = await self._runner.ask(
                source, mode, place=_place(name), samples=self._samples(mode)
            )
        return self.runs

    def _check_form(self, file: Path) -> None:
        """The form of `nova` has a line for each passage, so their number must be the same."""
        from novarag.datasets import iter_groups

        given, k = self.experiment.ask, self.experiment.retrieve.k
        if not given.structured or "nova" not in given.strategies:
            return
        few = sum(len(group.passages) < k for group in iter_groups(file))
        if few:
            raise UsageError(
                f"{few:,} questions have fewer than {k} passages, and structured replies by nova"
                " need them all: write structured = false in [ask], or drop nova"
            )

    async def measure(self) -> Measurement:
        """Measure all runs in one report."""
        given = self.experiment
        how = "shuffled" if given.retrieve.shuffle else "best first"
        searched = given.retrieve.own or given.retrieve.mode
        note = f"Passages: the best {given.retrieve.k} by {searched}, {how}."
        found = measure(
            [self.out / "runs" / _place(name) for name in self._modes], out=self.out / "report",
            by=given.measure.by, title=given.measure.title, notes=[note, self._answerable()],
            replicates=given.measure.replicates, seed=given.seed, on_event=self.on_event,
        )  # fmt: skip
        self.measured.append(found)
        return found


def _place(strategy: str) -> str:
    """Name the folder of a strategy's run."""
    return strategy.replace(":", ".")


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
    if not file.is_file() or file.read_bytes() != content:
        write_whole(file, content)
