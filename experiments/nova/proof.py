"""The proof: NOVA from raw questions to measured figures, with real weights, on this machine.

    python -m experiments.nova.proof BUILD --base MODEL --vllm VLLM [--form FORM] [--only STAGE]

Every step is a verb of the package; each leaves its result in BUILD and is not done again, so a
killed proof goes on with the same line. Small results go to `experiments/nova/results`, weights
never do.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from experiments.nova.cards import cards
from experiments.nova.choosing import check_times, choice_of, choose, measured, write_choice
from experiments.nova.plan import GRADED, PLANS, READS
from experiments.nova.running import LONGEST, RESULTS, Bench, ServerDied, run_of
from experiments.nova.tables import trials

ROOT = Path(__file__).parents[2]
PORT = 8421
ATTEMPTS = 4  # at a stage, before the proof gives up
FRESH = ["test-clean", "test-retrieved"]
MORE = ["test-released", "test-asked"]
METHODS = ("ensemble", "p-true", "self-frequency")
WARMED = 120  # warm-up rows more, masked or not, of an ablation


def stages(bench):
    """Return every stage by name, in order."""
    made = (
        prepare,
        warm_up,
        reader,
        sample,
        train,
        dev,
        own,
        confident,
        graded,
        test,
        cards,
        ablation,
        results,
    )
    return {stage.__name__.replace("_", "-"): lambda s=stage: s(bench) for stage in made}


def main():
    """Run the stages in order, or the one named; what fails for a passing reason is tried again."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--base", type=Path, required=True, help="folder of SmolLM2-135M-Instruct")
    parser.add_argument("--vllm", type=Path, required=True, help="vLLM's executable")
    parser.add_argument("--form", choices=list(PLANS), default="nova",
                        help="the form of the trained systems' replies")  # fmt: skip
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--only", choices=list(stages(None)), help="one stage")
    given = parser.parse_args()
    given.build.mkdir(parents=True, exist_ok=True)
    bench = Bench(given.build.resolve(), given.base.resolve(), given.vllm.resolve(),
                  PLANS[given.form], given.port)  # fmt: skip
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        for name, stage in stages(bench).items():
            if given.only in {None, name}:
                print(f"\n== {name} {time.strftime('%H:%M:%S')}", flush=True)
                _insist(stage)
    finally:
        bench.end_server()
    print("\n== done", flush=True)


def _insist(stage):
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return stage()
        except (subprocess.CalledProcessError, ServerDied) as error:
            print(f"attempt {attempt}: {error}", flush=True)
            if attempt == ATTEMPTS:
                raise
            time.sleep(30 * attempt)
    return None


def prepare(bench):
    """Make groups, splits and warm-up rows; no model is asked."""
    if not bench.has("facts.json"):
        bench.run(sys.executable, "-m", "experiments.nova.prepare", bench.build,
                  "--tokenizer", bench.base, "--form", bench.plan.name, cwd=ROOT)  # fmt: skip


def warm_up(bench):
    """Teach the base to read and to keep the forms, the number masked, until it reads."""
    before, reads = bench.base, {}
    for part in range(1, bench.plan.parts + 1):
        if choice_of(bench.build, "warm-up"):
            return
        who = f"warm-{part}"
        bench.train(f"warmup-{part}", before, who, "--mask-confidence", "--epochs", "1",
                    *bench.plan.warmup)  # fmt: skip
        forms = dict.fromkeys([bench.plan.form, "vanilla"])
        bench.ask(who, [("reader-dev", s, f"runs/reader-{who}-{s}") for s in forms])
        right = trials(bench.build / f"runs/reader-{who}-{bench.plan.form}")["correct"].fill_null(
            value=False
        )
        reads[who], before = right.mean(), bench.build / who
        print(f"{who}: {reads[who]:.2f} right with gold among three passages", flush=True)
        if reads[who] >= READS:
            break
    chosen = max(reads, key=reads.get)
    (bench.build / "warm.txt").write_text(f"{chosen}\n")
    write_choice(bench.build, "warm-up", chosen, {"right with gold among three": reads})


def reader(bench):
    """Ask the model as it was downloaded what the warm-up was measured on."""
    bench.ask("stock", [("reader-dev", "vanilla", "runs/reader-stock-vanilla")])


def sample(bench):
    """Sample the warmed-up model, and pour its replies through the funnel."""
    bench.ask("warm", [("sample", bench.plan.form, "runs/sample")],
              "--samples", bench.plan.samples, "--concurrency", "8")  # fmt: skip
    for name in bench.plan.aligned:
        filtered(bench, "runs/sample", f"filtered-{name}", "--alignment", name,
                 *bench.plan.filters(name))  # fmt: skip
    for name in bench.plan.alignments:
        kept = "brier" if name == "label-only" else name
        exported(bench, f"filtered-{kept}", f"export-{name}",
                 *(["--label-only"] if name == "label-only" else []))  # fmt: skip


def filtered(bench, run, out, *more):
    """Filter a run, if that is not done."""
    if not bench.has(out):
        bench.verb("train", "filter", run, "--out", out, *more)


def exported(bench, kept, out, *more):
    """Export what was kept, if that is not done."""
    if not bench.has(out):
        bench.verb("train", "export", kept, "--out", out, "--format", "canonical", "--dev", "0",
                   "--tokenizer", bench.model("warm") / "merged", *more)  # fmt: skip


def train(bench):
    """Train every alignment on the warmed-up model."""
    for name in bench.plan.whole:
        bench.train(f"export-{name}", bench.model("warm"), f"models/{name}", *bench.plan.train,
                    "--epochs", epochs(bench, f"export-{name}", bench.plan.rows))  # fmt: skip


def epochs(bench, export, rows, most=2.0):
    """Say how often a set is gone through, so that about so many rows are learnt from in all."""
    with (bench.build / export / "train.jsonl").open("rb") as file:
        return f"{min(most, rows / sum(1 for _ in file)):.3f}"


def dev(bench):
    """Ask dev questions, and choose the alignment that goes on."""
    bench.ask_all("warm", "dev", ["dev"], list(dict.fromkeys(["vanilla", bench.plan.form])))
    if bench.plan.form != "vanilla":  # whose samples are such short draws
        bench.ask("warm", [("dev", "vanilla", "runs/dev-draws")], "--samples", bench.plan.samples,
                  "--concurrency", "8")  # fmt: skip
    for who in bench.plan.whole:
        bench.ask_all(who, "dev", ["dev"], [strategy_of(bench, who)])
    if not bench.plan.number_alone:
        decide(bench, "alignment", bench.plan.aligned)


def strategy_of(bench, who):
    """Name the strategy that a trained system is asked by."""
    return who if who == "label-only" else bench.plan.form


def decide(bench, what, names):
    """Choose between models by their answers to dev questions, once, and write it down."""
    if choice_of(bench.build, what) is None:
        places = {name: bench.build / run_of("dev", name, bench.plan.form, "dev") for name in names}
        found = {name: measured(trials(place)) for name, place in places.items()}
        figures = {name: {f: getattr(m, f) for f in m.__slots__} for name, m in found.items()}
        write_choice(bench.build, what, choose(found), figures)


def own(bench):
    """Sample what was chosen on questions that nothing was trained on, right and wrong alike."""
    if bench.plan.number_alone:
        return
    who = choice_of(bench.build, "alignment")
    bench.ask(who, [("own", bench.plan.form, "runs/own")], "--samples", bench.plan.own_samples,
              "--concurrency", "32")  # fmt: skip
    for name, more in (("teacher", ["--alignment", "teacher"]), ("bits", [])):
        filtered(bench, "runs/own", f"filtered-own-{name}",
                 "--unfiltered", "--balance", "none", *more)  # fmt: skip
        exported(bench, f"filtered-own-{name}", f"export-own-{name}")


def confident(bench):
    """Train the confidence alone: on the teacher's levels, then by a proper score.

    What a whole reply was trained for goes on with the bits of its own replies; a number that is
    trained alone keeps to the teacher's levels and to the replies that the base sampled.
    """
    chosen = choice_of(bench.build, "alignment")
    model = bench.model(chosen or "warm")
    first, second = ("export-own-teacher", "export-own-bits") if chosen else ("export-teacher",) * 2
    parts = (
        (first, bench.plan.loss, bench.plan.train, bench.plan.levels),
        (second, "tokenized-brier", bench.plan.gently, bench.plan.scores),
    )
    for who, (rows, loss, settings, count) in zip(bench.plan.confident, parts, strict=False):
        bench.train(rows, model, f"models/{who}", "--loss", loss, *settings,
                    "--epochs", epochs(bench, rows, count))  # fmt: skip
        bench.ask_all(who, "dev", ["dev"], [bench.plan.form])
        model = bench.model(who)
    whole = [name for name in bench.plan.whole if name in bench.plan.aligned]
    decide(bench, "final", [*([chosen] if chosen else whole), *bench.plan.confident])


def graded(bench):
    """The other road: the base's answers to graded training questions, and calibrations of them."""
    few = min(GRADED)
    rows = (bench.build / "groups" / "graded.jsonl").read_text().splitlines(keepends=True)
    for name, part in (("graded-few", rows[:few]), ("graded-more", rows[few:])):
        (bench.build / "groups" / f"{name}.jsonl").write_text("".join(part))
    forms = list(dict.fromkeys(["vanilla", bench.plan.form]))
    bench.ask_all("warm", "train", ["graded-few", "graded-more"], forms)
    (bench.build / "calibrations").mkdir(exist_ok=True)
    for strategy in forms:
        runs = [run_of("train", "warm", strategy, g) for g in ("graded-few", "graded-more")]
        for count, taken in zip(GRADED, (runs[:1], runs), strict=True):
            for signal in (None, "likelihood"):
                place = calibration_of(strategy, count, signal)
                if not bench.has(place):
                    bench.verb("calibrate", *taken, "--out", place,
                               *(["--signal", signal] if signal else []))  # fmt: skip


def calibration_of(strategy, count, signal):
    """Name the file of a calibration."""
    return f"calibrations/{strategy}-{count}{f'-{signal}' if signal else ''}.json"


def test(bench):
    """Ask the test questions, once, now that all is chosen."""
    final = choice_of(bench.build, "final")
    if final is None:
        raise SystemExit("nothing is chosen yet, so no test question is asked")
    check_times(bench.build)
    for strategy in bench.plan.prompts:
        is_main = strategy in {"vanilla", bench.plan.form}
        bench.ask_all("warm", "test", [*FRESH, *(MORE if is_main else [])], [strategy])
    calibrated(bench)
    sampling_methods(bench)
    for who in dict.fromkeys([final, *bench.plan.whole, *bench.plan.confident]):
        more = MORE if who in {final, "brier"} else []
        bench.ask_all(who, "test", [*FRESH, *more], [strategy_of(bench, who)])


def calibrated(bench):
    """Apply every calibration to the base's answers to the test questions."""
    (bench.build / "calibrated").mkdir(exist_ok=True)
    for strategy in dict.fromkeys(["vanilla", bench.plan.form]):
        for count in GRADED:
            for signal in (None, "likelihood"):
                place = calibration_of(strategy, count, signal)
                for group in [*FRESH, *MORE]:
                    out = f"calibrated/{Path(place).stem}-{group.removeprefix('test-')}.parquet"
                    if not bench.has(out):
                        bench.verb(
                            "apply", place, run_of("test", "warm", strategy, group), "--out", out
                        )


def sampling_methods(bench):
    """Ask the base for what asks more than once."""
    places = {g: run_of("test", "warm", "sampled", g) for g in bench.plan.sampled_on}
    left = [g for g, place in places.items() if not bench.has(f"{place}/estimates.parquet")]
    if left:
        with bench.served("warm"):
            for group in left:
                bench.verb("run", "estimate", f"groups/{group}.jsonl", "--model", bench.address("warm"),
                           "--out", places[group], "--max-tokens", LONGEST[bench.plan.sampled],
                           "--strategy", bench.plan.sampled, "--concurrency", "64",
                           *(word for m in METHODS for word in ("--method", m)))  # fmt: skip


def ablation(bench):
    """One lever at a time, in short trainings, on dev questions; nothing is chosen by them."""
    warm = bench.model("warm")
    for name, more in (
        ("teacher", ["--alignment", "teacher"]), ("share", ["--alignment", "share"]), ("bits", []),
    ):  # fmt: skip
        filtered(bench, "runs/sample", f"filtered-short-{name}",
                 "--unfiltered", "--balance", "none", *more)  # fmt: skip
        exported(bench, f"filtered-short-{name}", f"export-short-{name}")
        short(bench, f"short-{name}", f"export-short-{name}", warm)
    exported(bench, "filtered-teacher", "export-101", "--levels", "101")
    whole = {"levels-101": "export-101"}
    if bench.plan.number_alone:  # else `teacher` is that training
        whole |= {"levels-10": "export-teacher"}
    for who, rows in whole.items():
        bench.train(rows, warm, f"models/{who}", *bench.plan.train,
                    "--epochs", epochs(bench, rows, bench.plan.rows))  # fmt: skip
        bench.ask_all(who, "dev", ["dev"], [bench.plan.form])
    few = bench.build / "warmup-few" / "train.jsonl"
    few.parent.mkdir(exist_ok=True)
    rows = (
        (bench.build / f"warmup-{bench.plan.parts}" / "train.jsonl")
        .read_text()
        .splitlines(keepends=True)
    )
    few.write_text("".join(rows[:WARMED]))
    for name, more in (("masked", ["--mask-confidence"]), ("unmasked", [])):
        bench.train(
            "warmup-few", warm, f"models/{name}", "--epochs", "1", *bench.plan.warmup, *more
        )
        short(bench, f"short-{name}", "export-short-teacher", bench.model(name))


def short(bench, who, rows, model):
    """Train the confidence alone on few rows, and ask dev questions."""
    bench.train(rows, model, f"models/{who}", "--loss", "level-entropy", *bench.plan.train,
                "--epochs", epochs(bench, rows, bench.plan.short))  # fmt: skip
    bench.ask_all(who, "dev", ["dev"], [bench.plan.form])


def results(bench):
    """Measure everything, and keep what is small."""
    check_times(bench.build)
    bench.run(sys.executable, "-m", "experiments.nova.report", bench.build,
              RESULTS / bench.plan.name, cwd=ROOT)  # fmt: skip


if __name__ == "__main__":
    main()
