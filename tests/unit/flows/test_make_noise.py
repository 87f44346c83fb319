"""Noise from Python: in a script, a running loop, a thread; stopped and gone on with."""

import asyncio
import threading

import pytest
from typer.testing import CliRunner

from novarag import (
    Passage,
    PassageGroup,
    Question,
    group_passages,
    make_noise,
    make_noise_async,
    noise_prompts,
)
from novarag.cli import app
from novarag.datasets.groups import group_lines
from novarag.errors import DataError, UnknownNameError, UsageError
from novarag.flows.events import RunBegun
from novarag.runner.access import Access
from novarag.runner.stop import Stop
from novarag.taxonomy import PassageKind, Provenance
from tests.support.chaos.serving import bill, chaos

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


def make_question(i):
    return PassageGroup(
        question=Question(
            id=f"q{i}", text=f"Who built lighthouse{i} of Cape{i}?", answers=(f"Builder{i}",)
        ),
        passages=(
            Passage(
                text=f"Lighthouse{i} was built by Builder{i}, who came from far away to do it.",
                kind=PassageKind.GOLD,
            ),
        ),
    )


QUESTIONS = [make_question(i) for i in range(12)]


@pytest.fixture(scope="module")
def model():
    with chaos() as url:
        yield f"{url}=chaos"


def test_passages_are_written_and_counted(model, tmp_path):
    heard = []
    made = make_noise(QUESTIONS, model, tmp_path / "noise", on_event=heard.append)
    assert (made.run.answered, made.run.requests, made.run.dead) == (48, 48, 0)
    assert sum(count.written for count in made.tally) == 240
    assert all(count.rejected or count.kept for count in made.tally)
    assert any(isinstance(event, RunBegun) for event in heard)
    assert made.place == str(tmp_path / "noise")
    passages = [p for g in group_passages(made.place).groups for p in g.passages]
    sources = {(p.provenance, p.source) for p in passages}
    assert sources == {(Provenance.ORIGINAL, None), (Provenance.GENERATED, "chaos")}
    assert "48 of 48 requests answered" in repr(made)
    assert f"{made.tally[0].kept} kept" in repr(made)
    build = group_passages(made.place, audit=False)
    assert {g.question.id for g in build.groups} <= {g.question.id for g in QUESTIONS}
    again = make_noise(iter(QUESTIONS), model, made.place)
    assert (again.run.fresh, again.tally) == (0, made.tally)


def test_in_a_running_loop_and_a_thread(model, tmp_path):
    async def notebook():
        sync = make_noise(QUESTIONS[:2], [model], str(tmp_path / "sync"), kinds=["irrelevant"])
        return sync, await make_noise_async(
            QUESTIONS[:2], model, tmp_path / "async", kinds=["irrelevant"]
        )

    results = list(asyncio.run(notebook()))
    thread = threading.Thread(
        target=lambda: results.append(
            make_noise(QUESTIONS[:2], model, tmp_path / "thread", kinds=["irrelevant"])
        )
    )
    thread.start()
    thread.join()
    assert [r.run.answered for r in results] == [2, 2, 2]
    assert results[0].tally == results[1].tally == results[2].tally
    assert [c.noise for c in results[0].tally] == ["irrelevant"]


def test_what_was_stopped_in_python_goes_on_at_the_command_line(tmp_path):
    file, out = tmp_path / "questions.jsonl", tmp_path / "noise"
    file.write_bytes(group_lines(QUESTIONS))
    with chaos(latency=0.05) as url:
        stop = Stop()
        access = Access(concurrency=2)
        threading.Timer(0.3, stop.set).start()
        first = make_noise(file, f"{url}=chaos", out, access=access, stop=stop)
        assert first.run.stopped
        assert not first.run.finished
        assert first.tally is None
        words = ["train", "noise", str(file), "-m", f"{url}=chaos", "--out", str(out)]
        second = CliRunner().invoke(app, words)
        assert second.exit_code == 0, second.output
        paid = bill(url, "count")["total"]
        third = make_noise(file, f"{url}=chaos", out)
        assert bill(url, "count")["total"] == paid
    assert third.run.answered == 48
    assert f"{third.tally[0].written} passages: {third.tally[0].kept} kept" in second.stdout


def test_prompts_are_shown_without_asking():
    prompts = noise_prompts(QUESTIONS, kinds=["irrelevant", "consistent"])
    assert [p.text.count("Who built lighthouse0") for p in prompts] == [1, 1]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (PassageGroup(question=Question(id="q", text="Who?"), passages=()), "a known answer"),
        (
            PassageGroup(question=Question(id="q", text="Who?", answers=("x",)), passages=()),
            "row 1, column 'passages': there is no gold passage",
        ),
    ],
)
def test_questions_that_noise_cannot_be_written_around(question, said, tmp_path):
    with pytest.raises(DataError, match=said):
        make_noise([question], "simulated:base", tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_wrong_settings_leave_nothing_behind(model, tmp_path):
    out = tmp_path / "no"
    for more, error in (
        ({"kinds": ["nonsense"]}, UnknownNameError),
        ({"candidates": 2, "keep": 3}, UsageError),
        ({"questions": tmp_path / "nowhere.jsonl"}, DataError),
        ({"questions": [3]}, TypeError),
        ({"model": 3}, TypeError),
        ({"model": model.replace("chaos", "other")}, UsageError),
    ):
        with pytest.raises(error):
            make_noise(**{"questions": QUESTIONS, "model": model, "out": out, **more})
    assert not out.exists()
