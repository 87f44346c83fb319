"""The scorer, its metrics and its logs in the real inspect_ai, with its own mock model."""

import gc
import hashlib
import json
import math
import re

import polars as pl
import pytest

from novarag import DataError, Flaw, UsageError, measure

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.enable_socket,  # theirs asks for its own host's name
    pytest.mark.filterwarnings("ignore"),  # theirs leaves streams open
]
WRITERS = ("Melville", "Shelley", "Stoker", "Verne", "Woolf")


def chance(*what):
    """Draw a number that only depends on what is named, as the order of calls is not ours."""
    return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:4]) / 2**32


def reply_to(text, seen):
    """Answer like a somewhat honest respondent; one in twelve replies states no confidence."""
    turn = seen[text] = seen.get(text, 0) + 1
    stated = round(chance("stated", text, turn), 1)
    right = chance("right", text, turn) < 0.2 + 0.6 * stated
    name = text.split("who is ")[1].rstrip("?") if right else "Nobody"
    if chance("odd", text, turn) < 1 / 12:
        return f"Answer: {name}\nConfidence: rather sure"
    return f"Some thought.\nAnswer: {name}\nConfidence: {stated:.0%}"


def mock(reply):
    """Make inspect's own mock model reply with a function of the text and what came before."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    seen = {}

    def answer(messages, tools, tool_choice, config):
        output = ModelOutput.from_content("mockllm/model", reply(messages[-1].text, seen))
        output.usage = ModelUsage()  # else it counts tokens with a file from the network
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample

    def run_eval(scorer, *, samples=60, epochs=2, metrics=None, reply=reply_to, target=None):
        dataset = [
            Sample(
                id=i + 1,
                input=f"{i}: who is {WRITERS[i % 5]}?",
                target=WRITERS[i % 5] if target is None else target,
                metadata={"book": f"book {i // 3}"},
            )
            for i in range(samples)
        ]
        task = Task(dataset=dataset, scorer=scorer, metrics=metrics)
        folder = str(tmp_path_factory.mktemp("logs"))
        (log,) = evaluate(
            task,
            model=mock(reply),
            epochs=epochs,
            log_dir=folder,
            display="none",
            score_display=False,
        )
        assert log.status == "success", log.error
        return log

    yield run_eval
    gc.collect()  # streams it left open complain here, where nobody minds


@pytest.fixture(scope="module")
def log(run):
    from novarag.integrations.inspect import stated_confidence

    return run(stated_confidence())


def printed(log, scorer="stated_confidence"):
    (score,) = [s for s in log.results.scores if s.name == scorer]
    return {name: m.value for name, m in score.metrics.items()}, score


def same(metrics, panel, names):
    for name in names:
        figure = panel.figures[name]
        for end, value in (("", figure.value), ("_low", figure.low), ("_high", figure.high)):
            assert metrics[name + end] == pytest.approx(value, abs=1e-12), name + end


def test_metrics_of_an_evaluation_are_those_of_measure_on_its_log(log):
    from novarag.integrations.inspect import read_log
    from novarag.integrations.marking import HEADLINE

    answers = read_log(log.location)
    panel = measure(answers).overall
    metrics, score = printed(log)
    same(metrics, panel, HEADLINE)
    assert metrics["ece_noise_floor"] == panel.floor.line
    assert metrics["brier_of_a_constant"] == panel.baselines["constant"]["brier"].value
    assert metrics["questions"] == panel.questions == 60
    assert answers.height == panel.rows == 120
    assert score.reducer is None
    unread = answers["confidence"].null_count()
    assert 0 < unread == score.unscored_samples
    assert metrics["rows"] == panel.read == 120 - unread == score.scored_samples
    assert set(answers.filter(pl.col("confidence").is_null())["flaw"]) == {Flaw.WORDS}
    assert read_log(log).equals(answers)


def test_the_table_says_what_the_mock_model_said(log):
    from novarag.integrations.inspect import read_log

    answers = read_log(log)
    assert set(answers["sample"]) == {1, 2}
    assert set(answers["model"]) == {"mockllm/model"}
    for sample, row in zip(log.samples, answers.iter_rows(named=True), strict=True):
        text = sample.output.completion
        assert row["question"] == str(sample.id)
        if row["confidence"] is not None:
            assert f"Confidence: {row['confidence']:.0%}" in text
            assert row["correct"] == (sample.target in text)
            assert sample.scores["stated_confidence"].value == ("C" if row["correct"] else "I")


def test_questions_can_be_named_by_metadata(log):
    from inspect_ai.scorer import SampleScore, Score

    from novarag.integrations.inspect import aurc, auroc, brier, ece, read_log, selective

    scores = [
        SampleScore(score=score, sample_id=sample.id, sample_metadata=sample.metadata)
        for sample in log.samples
        if (score := sample.scores["stated_confidence"]).reason is None
    ]
    metrics = {}
    for made in (ece, brier, auroc, aurc, selective):
        metrics |= made(question="book")(scores)
    panel = measure(read_log(log, question="book")).overall
    assert panel.questions == 20
    names = ["ece", "brier", "auroc", "aurc", "accuracy_at_80", "coverage_at_10"]
    assert len(metrics) == 3 * len(names)
    same(metrics, panel, names)
    other = printed(log)[0]
    assert metrics["brier"] == other["brier"]
    assert metrics["brier_low"] != other["brier_low"]
    with pytest.raises(UsageError, match="has no 'page'"):
        ece(question="page")(scores)
    with pytest.raises(UsageError, match="states no confidence: score with novarag/"):
        ece()([SampleScore(score=Score(value="C"), sample_id=1)])


def test_few_samples_are_refused_not_guessed(run, caplog):
    from novarag.integrations.inspect import read_log, stated_confidence

    caplog.set_level("INFO", "novarag")
    few = run(stated_confidence(), samples=4, epochs=1)
    metrics, _ = printed(few)
    assert math.isnan(metrics["ece"])
    assert "fewer than the 50" in caplog.text
    assert measure(read_log(few)).overall.refusal


def test_refusals_silence_and_missing_targets(run):
    from novarag.integrations.inspect import read_log, stated_confidence

    def reply(text, _):
        number = int(text.split(":")[0]) % 3
        return ["Answer: I do not know\nConfidence: 20%", "", "Answer: Nobody\nConfidence: 1%"][
            number
        ]

    odd = run(stated_confidence(), samples=9, epochs=1, reply=reply)
    answers = read_log(odd)
    scores = [s.scores["stated_confidence"] for s in odd.samples]
    assert [s.value for s in scores[::3]] == ["N"] * 3
    assert [s.reason for s in scores[1::3]] == ["no_response"] * 3
    assert answers["abstained"].sum() == 3
    assert answers["correct"].sum() == 0
    assert answers["flaw"].value_counts(sort=True).row(1) == (Flaw.EMPTY, 3)
    blank = run(stated_confidence(), samples=9, epochs=1, reply=reply, target="")
    answers = read_log(blank)
    assert answers["correct"].null_count() == 9
    assert answers["confidence"].null_count() == 3


def test_samples_that_fail_are_counted(run):
    from inspect_ai.scorer import Score, scorer

    from novarag.integrations.inspect import calibration, read_log

    @scorer(metrics=[calibration()])
    def own():
        async def score(state, target):
            if state.sample_id == 1:
                return None
            return Score(
                value=state.sample_id % 2, metadata={"confidence": state.sample_id % 7 / 10}
            )

        return score

    found = run(own(), epochs=1)
    answers = read_log(found)
    assert answers["flaw"].to_list() == ["not scored"] + [None] * 59
    scored = answers.filter(pl.col("flaw").is_null())  # inspect shows metrics no others
    same(printed(found, "own")[0], measure(scored).overall, ["ece", "auroc"])
    with pytest.raises(UsageError, match="no scorer 'match'"):
        read_log(found, scorer="match")
    found.samples[0].error = "the server broke"
    assert read_log(found)["flaw"][0] == "failed"
    found.samples = []
    with pytest.raises(DataError, match="no samples"):
        read_log(found)


def test_scores_without_a_confidence_are_told_what_to_do(run, log):
    from inspect_ai.scorer import match

    from novarag.integrations.inspect import is_right, read_log

    plain = run(match(), samples=2, epochs=1)
    with pytest.raises(UsageError, match="novarag/stated_confidence"):
        read_log(plain)
    with pytest.raises(UsageError, match="has no 'page'"):
        read_log(log, question="page")
    both = log.model_copy(deep=True)
    for sample in both.samples:
        sample.scores["again"] = sample.scores["stated_confidence"]
    with pytest.raises(UsageError, match="scorer=stated_confidence or again"):
        read_log(both)
    assert read_log(both, scorer="again").equals(read_log(log))
    for sample in both.samples:
        said = sample.scores["again"].metadata["confidence"]
        sample.scores["again"].metadata["confidence"] = said and said * 100
    percents = read_log(both, scorer="again")
    assert (percents["confidence"] - read_log(log)["confidence"]).abs().max() < 1e-9
    mixed = log.model_copy(deep=True)
    score = next(s.scores["stated_confidence"] for s in mixed.samples if s.scores)
    score.metadata["confidence"] = score.metadata["confidence"] * 100
    with pytest.raises(DataError, match="mixed=True"):
        read_log(mixed)
    settled = read_log(mixed, mixed=True, values={"1": 1.0})
    assert settled.equals(read_log(log))
    with pytest.raises(UsageError, match="neither right nor wrong"):
        is_right(0.5)


def test_the_page_on_plug_ins(root, tmp_path, monkeypatch, capsys):
    from inspect_ai import eval as evaluate

    page = (root / "docs/plugins.md").read_text("utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    task, reading = [b for b in blocks if "novarag.integrations" in b]
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"q{i // 2}", "group": f"g{i}", "question": f"Who is {i}?", "answers": ["Ada"],
             "passages": ["Ada."]} for i in range(60)]  # fmt: skip
    (tmp_path / "groups.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = {"__name__": "page"}
    exec(compile(task, "page", "exec"), names)
    reply = "Answer: Ada\nConfidence: 70%"
    (log,) = evaluate(names["rag"](), model=mock(lambda *_: reply), log_dir="logs", display="none")
    assert printed(log)[0]["questions"] == 30
    assert printed(log)[0]["ece"] == pytest.approx(0.3)
    exec(compile(reading.replace("logs/my.eval", log.location), "page", "exec"), {})
    assert capsys.readouterr().out.startswith("Figure(value=0.3")


def test_inspect_finds_us_by_name_and_scores_an_old_log(run, monkeypatch):
    """As `inspect score LOG --scorer novarag/stated_confidence -S strategy=vanilla` does."""
    from inspect_ai import score
    from inspect_ai._eval.loader import scorer_from_spec
    from inspect_ai._util.registry import registry_lookup
    from inspect_ai.scorer import match
    from inspect_ai.scorer._scorer import ScorerSpec

    from novarag.integrations.inspect import read_log

    spec = ScorerSpec(scorer="novarag/stated_confidence", args={"strategy": "vanilla"})
    ours = scorer_from_spec(spec, task_path=None)
    assert scorer_from_spec(ScorerSpec(scorer="novarag/confidence"), task_path=None)
    for name in ("ece", "brier", "auroc", "aurc", "selective", "calibration"):
        assert registry_lookup("metric", f"novarag/{name}")
    old = run(match(), epochs=1)
    new = score(old, ours, action="append", display="none")
    assert measure(read_log(new)).overall.figures["ece"].value == printed(new)[0]["ece"]
    assert {s.name for s in new.results.scores} == {"match", "stated_confidence"}
