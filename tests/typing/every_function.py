"""Every public function, called as its types want it: for mypy --strict and pyright, never run.

A parameter is given in the form that users give it, and what comes back is used by its type.
`tests/unit/core/test_typed_face.py` says which function is missing here.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import assert_type

import polars as pl

import novarag
from novarag import (
    Access,
    AnnotationResult,
    Answer,
    Answers,
    AnswerSource,
    AttackResult,
    AuditExport,
    Benchmark,
    Calibration,
    Columns,
    Comparison,
    Estimates,
    EvidenceState,
    ExampleFile,
    ExperimentResult,
    Export,
    FilterResult,
    Gate,
    GatewayCheck,
    GatewayKey,
    Grade,
    GradedTable,
    GroupBuild,
    Heading,
    IndexBuild,
    Mix,
    NewGatewayKey,
    NoiseResult,
    Passage,
    PassageGroup,
    Patience,
    PickedAnswers,
    ProbePreview,
    ProbeResult,
    Prompt,
    Proposal,
    PublicData,
    Question,
    Reading,
    Recovery,
    Reproduction,
    RetrievalResult,
    Run,
    Sampling,
    ScriptedLLM,
    SendResult,
    ShortcutAudit,
    Stop,
    Strategy,
    TrainingResult,
    TrainingSetBuild,
    TrainingSettings,
)

HERE = Path("out")
MODEL = "http://localhost:8000/v1=llama"
QUESTION = Question(id="q", text="When was it lit?", answers=("1871",))
PASSAGES = (Passage(text="It was lit in 1871."), Passage(text="Bread is baked."))


def hear(event: object) -> None:
    """Hear what happens."""


def ask_llm(prompt: str) -> str:
    """Answer a prompt."""
    return f"Answer: {len(prompt)}\nConfidence: 50%"


async def ask_app(question: str, passages: list[str]) -> Mapping[str, object]:
    """Answer a question beside its passages."""
    return {"answer": question, "confidence": len(passages) / 10}


def search(query: str, k: int) -> list[str]:
    """Find passages."""
    return [query] * k


def tables(frame: pl.DataFrame) -> None:
    """Measure, calibrate, gate and compare tables of answers."""
    columns = Columns(confidence="p", correct="ok")
    answers = novarag.read_answers("answers.csv", columns=columns, source="llama")
    assert_type(answers, Answers)
    assert_type(novarag.write_example("answers.csv"), ExampleFile)
    novarag.serve_demo(port=8765, open_page=True, on_event=hear)
    measured = novarag.measure(frame, by=["model"], metrics=["ece"], on_event=hear)
    figure = measured.overall.figures["ece"]
    assert_type(figure.value, float)
    assert_type(novarag.figures_frame(measured), pl.DataFrame)
    assert_type(measured.to_latex(["brier"]), str)
    measured.plot(group="a")
    heading = Heading(title="Ours", sources=["answers.csv"], made="2030-01-01", version="1")
    assert_type(novarag.write_report(measured, heading, HERE), list[Path])
    fitted = novarag.calibrate(answers, source=AnswerSource(model="llama"), page=HERE / "p.html")
    assert_type(fitted, Calibration)
    novarag.save_calibration(fitted, HERE / "calibration.json")
    assert_type(novarag.load_calibration("calibration.json"), Calibration)
    assert_type(novarag.apply_calibration(frame, fitted, out="with.csv"), pl.DataFrame)
    found = novarag.gate(answers, risk=0.1, calibration=fitted, by_state=True)
    assert_type(found, Gate)
    assert_type(found.decide(0.9, "consistent").answer, bool)
    novarag.save_gate(found, "gate.json")
    assert_type(novarag.load_gate(HERE / "gate.json"), Gate)
    assert_type(novarag.apply_gate(frame, "gate.json", calibration=fitted), pl.DataFrame)
    compared = novarag.compare(frame, "old.csv", budgets={"ece": 0.05}, by="model")
    assert_type(compared, Comparison)
    picked = novarag.pick_answers(frame, HERE, n=50, show=["question"])
    assert_type(picked, PickedAnswers)
    novarag.measure_judge("marks.csv", mark="judge", by="model", repeats=["again"], seed=1)
    assert_type(novarag.read_grades(HERE, ["grades.json"]), GradedTable)
    assert_type(novarag.send_answers(answers, "langfuse", trace="trace_id"), SendResult)


def records() -> None:
    """Build, render, read and grade single records."""
    group = novarag.assemble(QUESTION, PASSAGES, seed=1)
    assert_type(group, PassageGroup)
    assert_type(novarag.evidence_state(group), EvidenceState | None)
    assert_type(novarag.render([group], "vanilla"), list[Prompt])
    assert_type(novarag.read("Answer: 1871", novarag.FORMATS["verb"], k=2), Reading)
    assert_type(novarag.read_reply("Answer: 1871", novarag.STRATEGIES["nova"]), Reading)
    assert_type(novarag.grade("1871", QUESTION, claims=["1893"]), Grade)
    assert_type(novarag.parse_endpoint(MODEL, key_env="KEY"), novarag.Endpoint)
    assert_type(novarag.load_groups("groups.jsonl"), list[PassageGroup])
    assert_type(novarag.load_benchmark("nq", k=5, data=HERE), list[PassageGroup])
    assert_type(Mix(gold=1, counterfactual=2).gold, int)


def live(groups: Sequence[PassageGroup], strategy: Strategy) -> None:
    """Ask models, by their address, as an object and as a function."""
    access, stop = Access(concurrency=4), Stop()
    told = novarag.answer("When?", ["In 1871.", HERE / "p.txt"], ask_llm, access=access)
    assert_type(told, Answer)
    assert_type(told.confidence, float | None)
    scripted = ScriptedLLM({"When": "Answer: 1871\nConfidence: 90%"})
    run = novarag.ask(groups, strategy, scripted, sampling=Sampling(n=2), stop=stop)
    assert_type(run, Run)
    assert_type(novarag.open_run(HERE), Run)
    assert_type(novarag.tabulate(run.trials()), pl.DataFrame)
    novarag.to_pandas(run.trials_table())
    assert_type(novarag.preview_ask("groups.jsonl", "cot", [MODEL, MODEL]).requests, int)
    assert_type(novarag.estimate(groups, "cot", MODEL, methods=["verbal"]), Estimates)
    attacked = novarag.attack(groups, MODEL, defences=["plain"], threshold=0.5)
    assert_type(attacked, AttackResult)
    assert_type(novarag.preview_attack(groups, max_calls=9).total, int)
    assert_type(novarag.probe(groups, app=ask_app, profile="quick"), ProbeResult)
    assert_type(novarag.preview_probe([{"question": "When?"}], MODEL), ProbePreview)
    annotated = novarag.annotate(groups, judge=scripted, expect="retrieved")
    assert_type(annotated, AnnotationResult)
    assert_type(novarag.retrieve(["When?"], search=search, k=2), RetrievalResult)
    assert_type(novarag.build_index("corpus.jsonl", HERE / "index.db"), IndexBuild)


def runs(trials: pl.DataFrame) -> None:
    """Look into runs."""
    assert_type(novarag.recover(HERE, strategy="nova"), Recovery)
    assert_type(novarag.reread("run", workers=1).trials, int)
    assert_type(novarag.summarise(HERE).run, Run)
    assert_type(novarag.iter_trial_tables(HERE), Iterator[pl.DataFrame])
    assert_type(novarag.funnel(trials, ["format"]).kept, pl.DataFrame)
    sheet = novarag.make_rating_sheet(["a", HERE], "sheet", question_count=3)
    assert_type(sheet.id, str)
    assert_type(novarag.read_rating_files("sheet", ["ada.json"]).questions, int)


def training_sets() -> None:
    """Write noise, group passages, filter trials, export examples, train and serve."""
    noise = novarag.make_noise("questions.jsonl", MODEL, HERE, kinds=["relevant"])
    assert_type(noise, NoiseResult)
    assert_type(novarag.noise_prompts("questions.jsonl"), list[Prompt])
    assert_type(novarag.group_passages(HERE, "groups.jsonl", mix="training"), GroupBuild)
    assert_type(novarag.audit_groups("groups.jsonl"), ShortcutAudit)
    assert_type(novarag.filter_trials([HERE, "run"], "kept", common=2), FilterResult)
    assert_type(novarag.export_training_set("kept", "set", formats=["openai"]), Export)
    assert_type(novarag.build_training_set("pipeline.toml"), TrainingSetBuild)
    settings = TrainingSettings(epochs=1)
    assert_type(novarag.train_model("set", "base", HERE, settings=settings), TrainingResult)
    plan = novarag.serving_plan([HERE], port=8000)
    assert_type(novarag.check_serving(plan, "http://localhost:8000/v1").names, tuple[str, ...])
    with novarag.start_serving(plan, wait=60) as server:
        assert_type(server.url, str)
    assert_type(novarag.run_experiment(["experiment.toml"]), ExperimentResult)


def the_paper() -> None:
    """Get public data, and make the paper's tables again."""
    assert_type(novarag.public_data("nq", ["nq.jsonl"], out=HERE), PublicData)
    assert_type(novarag.rebuild_benchmark(HERE, retrieved=True), Benchmark)
    assert_type(novarag.reproduce(["main"], MODEL, HERE, tuned=MODEL), Reproduction)
    assert_type(novarag.run_table(["table.toml"]), Reproduction)


def gateway(settings: Path) -> None:
    """Serve a gateway, and look after its keys, its audit and its calibrations."""
    assert_type(novarag.check_gateway(settings), GatewayCheck)
    novarag.serve_gateway(settings, rolling=True)
    made = novarag.add_gateway_key("ada", settings, scopes=["chat"], expires=date(2030, 1, 1))
    assert_type(made, NewGatewayKey)
    assert_type(novarag.list_gateway_keys(settings), tuple[GatewayKey, ...])
    assert_type(novarag.revoke_gateway_key("ab12", settings), GatewayKey)
    proposal = novarag.propose_calibration(settings, served="support", since="2030-01-01")
    assert_type(proposal, Proposal)
    assert_type(novarag.propose_gate(settings, served="support", risk=0.1), Gate)
    assert_type(novarag.adopt_proposal(settings, served="support").files, tuple[Path, ...])
    assert_type(novarag.export_audit(settings, "2030-01-01", out=HERE), list[AuditExport])
    assert_type(novarag.drop_audit(settings, before=date(2030, 1, 1), out="a"), list[AuditExport])
    assert_type(novarag.forget_tenant(settings, "ada", exports=HERE), int)


async def awaited(groups: Sequence[PassageGroup]) -> None:
    """Await what waits for a server; each has the parameters of its twin."""
    llm = novarag.ChatLLM([novarag.parse_endpoint(MODEL)], patience=Patience(timeout=9))
    assert_type(await novarag.answer_async("When?", PASSAGES, llm), Answer)
    assert_type(await novarag.ask_async(groups, "nova", MODEL, out="run"), Run)
    assert_type(await novarag.estimate_async(groups, "cot", MODEL), Estimates)
    assert_type(await novarag.attack_async(groups, MODEL, max_calls=9), AttackResult)
    assert_type(await novarag.probe_async(groups, MODEL, junit="probe.xml"), ProbeResult)
    assert_type(await novarag.annotate_async(groups, seed=1), AnnotationResult)
    assert_type(await novarag.retrieve_async(["When?"], uri=HERE), RetrievalResult)
    assert_type(await novarag.build_index_async("corpus.jsonl", HERE), IndexBuild)
    assert_type(await novarag.recover_async(HERE), Recovery)
    assert_type(await novarag.make_noise_async("q.jsonl", MODEL, HERE), NoiseResult)
    assert_type(await novarag.build_training_set_async("p.toml"), TrainingSetBuild)
    plan = novarag.serving_plan("models")
    await novarag.check_serving_async(plan, "http://localhost:8000/v1", key_env="KEY")
    assert_type(await novarag.run_experiment_async("e.toml", stop=Stop()), ExperimentResult)
    assert_type(await novarag.public_data_async("nq", fetch=True), PublicData)
    assert_type(await novarag.reproduce_async("main", MODEL, HERE), Reproduction)
    assert_type(await novarag.run_table_async(["table.toml"]), Reproduction)
    assert_type(await novarag.send_answers_async("answers.csv", "phoenix"), SendResult)
