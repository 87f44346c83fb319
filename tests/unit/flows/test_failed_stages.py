"""A stage that failed whole stops with its own cause, and a simulated model writes noise (T12)."""

import asyncio
import json
from dataclasses import replace

import polars as pl
import pytest
from typer.testing import CliRunner

from novarag import ServiceError, ask, estimate, make_noise, open_run
from novarag.calls import Attempt, CallError, Outcome
from novarag.cli import app
from novarag.llm.simulated import RESPONDENTS, SimulatedLLM, SimulatedWorld
from novarag.llm.simulated.passages import find_wish
from novarag.noise import ALL, NOISES, NoisePlan
from novarag.records import Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES
from novarag.taxonomy import PassageKind

run = CliRunner().invoke

TOWNS = ("Lyon", "Porto", "Ghent", "Turin", "Graz")
THINGS = ("lighthouse", "bridge", "library", "theatre")


def write_questions(path):
    """Write questions as somebody has them: what is asked, the answer, the passage it is from."""
    rows = [
        {
            "question": f"When was the {thing} of {town} opened?",
            "answers": [str(1800 + 7 * len(town) + n * len(thing))],
            "passages": [
                {
                    "text": f"The {thing} of {town} stands near the market. Its walls are of stone."
                    f" It was opened in {1800 + 7 * len(town) + n * len(thing)} after nine years."
                    " Guests still climb its stairs.",
                    "kind": "gold",
                }
            ],
        }
        for town in TOWNS
        for n, thing in enumerate(THINGS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_pipeline(path, model="simulated:base", more=""):
    path.write_text(
        f'out = "nova"\n[model]\nendpoints = ["{model}"]\n[questions]\nfile = "questions.jsonl"\n'
        f"[noise]\n[groups]\naudit = false\n[ask]\nsamples = 4\n{more}",
        "utf-8",
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_questions(tmp_path / "questions.jsonl")
    return tmp_path


def test_t12_a_build_with_a_simulated_model_goes_from_questions_to_an_export(folder):
    write_pipeline(folder / "my.toml")
    done = run(app, ["train", "build", "my.toml"])
    assert done.exit_code == 0, done.output
    assert "80 of 80 requests answered" in done.output
    assert "[5/5] export" in done.output
    assert (folder / "nova" / "export" / "card.json").is_file()
    shown = run(app, ["run", "show", "nova/noise"])
    assert "80 answered" in shown.output
    kinds = {row["kind"] for row in open_rows(folder / "nova/noise/passages")}
    assert kinds == {"counterfactual", "relevant", "irrelevant", "gold"}


def open_rows(place):
    return pl.concat(pl.read_parquet(file) for file in sorted(place.iterdir())).to_dicts()


@pytest.mark.parametrize("verbalised", [False, True])
@pytest.mark.parametrize("answer", ["1871", "Ada Lovelace", "yes", "12 March 1901", "The Hague"])
def test_t12_what_a_simulated_model_writes_without_slips_is_sound(answer, verbalised):
    gold = f"It is told at length, and at the end of it all {answer} is what they say. So it is."
    group = PassageGroup(
        question=Question(id="q", text="Is it so, and since when?", answers=(answer,)),
        passages=(Passage(text=gold, kind=PassageKind.GOLD),),
    )
    noising = NoisePlan(noises=tuple(NOISES), candidates=5, keep=3, verbalised=verbalised)
    requests = list(noising.requests([group]))
    careful = replace(RESPONDENTS["base"], slips=0.0)
    model = SimulatedLLM(careful, SimulatedWorld.of(requests))
    for request in requests:
        prompt = noising.render(request).text
        wish = find_wish(prompt)
        assert wish is not None
        assert wish.noise.name == request.flags[0]
        reply = asyncio.run(model.complete(prompt, key="k"))
        again = asyncio.run(model.complete(prompt, key="k"))
        assert reply.completions == again.completions
        drafts = noising.drafts(request, [reply.completions[0].text])
        assert len(drafts) == 5
        assert [d.reason for d in drafts if not d.spare] == [None] * 3, request.flags
        assert all((d.probability is not None) == verbalised for d in drafts)


def test_t12_prompts_for_answers_are_no_wish_for_noise():
    group = PassageGroup(
        question=Question(id="q", text="When?", answers=("1871",)),
        passages=(Passage(text="In 1871. Write passages that a search engine might return"),),
    )
    assert not [s.name for s in STRATEGIES.values() if find_wish(s.render(group).text)]


class Refusing:
    """A model that lets every request leave and then refuses it, saying nothing of the attempt."""

    def __init__(self):
        self.asked = 0

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def complete(self, prompt, sampling, *, key, tell):
        self.asked += 1
        tell(Attempt(id=f"{key}-{self.asked}", endpoint="here"))
        raise CallError(Outcome.REFUSED, "no budget left for <b>this</b> month")


CAUSE = r"every one of 80 requests failed: request refused: no budget left"


def test_t12_a_build_whose_noise_failed_stops_there_with_the_cause(folder, monkeypatch):
    monkeypatch.setattr("novarag.llm.simulated.find_wish", lambda _: None)
    write_pipeline(folder / "my.toml")
    for _ in range(2):  # found again, it says the same
        done = run(app, ["train", "build", "my.toml"])
        assert isinstance(done.exception, ServiceError)  # which the command ends with code 2 for
        said = " ".join(f"{done.output} {done.exception}".split())
        assert "every one of 80 requests failed: request refused: a simulated respondent" in said
        assert (
            "`novarag run show nova/noise` lists them, and --retry-failed asks them again" in said
        )
        assert "[2/5]" not in said
        assert "gold passage" not in said
    assert not (folder / "nova" / "groups.jsonl").exists()
    shown = run(app, ["run", "show", "nova/noise"]).output
    assert "80 request refused" in shown
    assert "kill" not in shown
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    again = run(app, ["train", "build", "my.toml", "--retry-failed"])
    assert again.exit_code == 0, again.output


def groups():
    return [
        PassageGroup(
            question=Question(id=f"q{i}", text=f"Who lit lamp {i}?", answers=("Ada",)),
            passages=(Passage(text=f"Ada lit lamp {i}.", kind=PassageKind.GOLD),),
        )
        for i in range(20)
    ]


def test_t12_noise_and_estimates_stop_with_the_cause(tmp_path):
    model = Refusing()
    with pytest.raises(ServiceError, match=CAUSE):
        make_noise(groups(), model, tmp_path / "noise", kinds=ALL)
    assert not (tmp_path / "noise" / "drafts.json").exists()
    asked = model.asked
    with pytest.raises(ServiceError, match="every one of 20 requests failed: request refused"):
        estimate(groups(), "vanilla", model, methods="p-true")
    assert model.asked == asked + 20  # nothing was followed up


def test_t12_an_attempt_of_which_nobody_told_the_end_was_not_cut_off_by_a_kill(tmp_path):
    run_of = ask(groups(), "vanilla", Refusing(), out=tmp_path / "run")
    assert run_of.dead == 20
    assert open_run(tmp_path / "run").counts["outcomes"] == {"request refused": 20}
    shown = run(app, ["run", "show", str(tmp_path / "run")])
    assert "20 request refused" in shown.output
    assert "kill" not in shown.output
