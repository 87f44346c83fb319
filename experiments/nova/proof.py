"""The proof: NOVA from raw questions to measured figures, with real weights, on this machine.

    python -m experiments.nova.proof BUILD --base MODEL --vllm VLLM [--only STAGE]

Every step is a verb of the package; each leaves its result in BUILD and is not done again, so a
killed proof goes on. Small results go to `experiments/nova/results`, weights never do.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results")
PORT = 8411
URL = f"http://127.0.0.1:{PORT}/v1"

# Settled on dev questions or by the hours, never on test questions: see experiments/nova/README.md.
WARMUP = ["--rank", "32", "--learning-rate", "5e-4", "--epochs", "1", "--batch", "4"]
WARM = "drilled"  # the model that everything begins from
TRAIN = ["--rank", "32", "--learning-rate", "5e-4", "--epochs", "1", "--batch", "1"]
QUICK = ["--at-once", "1", "--no-gradient-checkpointing"]
SAMPLES = 16
DEV = 40  # questions, of those set aside for it: what the hours allow
LONGEST = {"nova": 260, "cot": 160, "noise-aware": 160, "vanilla": 60, "label-only": 60}
KINDS = 3  # of groups, in turn over the test questions
SINGLE = ("vanilla", "cot", "noise-aware")
TESTS = ("test-k3", "test-k5")


def stages(options):
    """Return every stage by name, in order."""
    return {
        "prepare": lambda: prepare(options),
        "warm-up": lambda: warm_up(options),
        "reader": lambda: reader(options),
        "sample": lambda: sample(options),
        "base": lambda: base(options),
        "train": lambda: train(options),
        "dev": lambda: dev(options),
        "test": lambda: test(options),
        "results": lambda: results(options),
    }


def main():
    """Run the stages in order, or the one named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--base", type=Path, required=True, help="folder of SmolLM2-135M-Instruct")
    parser.add_argument("--vllm", type=Path, required=True, help="vLLM's executable")
    parser.add_argument("--only", choices=list(stages(None)), help="one stage")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.build.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    for name, stage in stages(options).items():
        if options.only in {None, name}:
            print(f"\n== {name}", flush=True)
            stage()


def run(options, *command, env=None, cwd=None):
    """Run a command, in the build folder unless told, and write down what it took."""
    shown = " ".join(str(part) for part in command)
    print(f"$ {shown}", flush=True)
    for place, name in (
        (options.base, "BASE"), (options.build, "BUILD"),
        (RESULTS, "experiments/nova/results"), (sys.executable, "python"),
    ):  # fmt: skip
        shown = shown.replace(str(place), name)
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(part) for part in command], cwd=cwd or options.build, check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    row = {"command": shown, "wall_s": round(time.monotonic() - began), "cpu_s": round(spent)}
    with (options.build / "commands.jsonl").open("a") as log:
        log.write(json.dumps(row) + "\n")


def prepare(options):
    """Make groups, splits and warm-up rows; no model is asked."""
    if not (options.build / "facts.json").exists():
        run(options, sys.executable, "-m", "experiments.nova.prepare", options.build,
            "--tokenizer", options.base, cwd=ROOT)  # fmt: skip


def warm_up(options):
    """Teach the base model to read and to keep the forms; no part of the method."""
    for rows, begun, made in (("warmup", options.base, "warm"), ("drills", "warm/merged", WARM)):
        if not (options.build / made / "merged").exists():
            run(options, "novarag", "train", rows, "--model", begun, "--out", made, "--merge",
                *WARMUP, *QUICK)  # fmt: skip


def reader(options):
    """How often does it answer with gold among three passages, before and after the warm-up?"""
    sets = ("reader-dev-k3", "reader-test-k3")
    wanted = [(name, f"runs/{name}-{who}") for who in ("warm", "stock") for name in sets]
    for who, model in (("warm", options.build / WARM), ("stock", options.base)):
        left = [(n, p) for n, p in wanted if p.endswith(who) and not finished(options, p)]
        if left:
            with served(options, model, who):
                for name, place in left:
                    ask(options, name, who, "vanilla", place)


def sample(options):
    """Sample the warmed-up model, and pour its replies through the funnel."""
    if not finished(options, "runs/sample"):
        with served(options, options.build / WARM, "warm"):
            ask(options, "sample-k3", "warm", "nova", "runs/sample", "--samples", SAMPLES)
    for name in ("brier", "soft"):
        if not (options.build / f"filtered-{name}").exists():
            run(options, "novarag", "filter", "runs/sample", "--out", f"filtered-{name}",
                "--alignment", name)  # fmt: skip
    told = ["--format", "canonical", "--tokenizer", f"{WARM}/merged"]
    for name, kept, more in (
        ("nova", "brier", []), ("soft", "soft", []), ("label-only", "brier", ["--label-only"]),
    ):  # fmt: skip
        if not (options.build / f"export-{name}").exists():
            run(options, "novarag", "export", f"filtered-{kept}", "--out", f"export-{name}",
                *told, *more)  # fmt: skip


def few(options):
    """Write the groups of the first dev questions; return the set's name."""
    rows = (options.build / "groups" / "dev-k3.jsonl").read_text().splitlines(keepends=True)
    kept = list(dict.fromkeys(json.loads(row)["id"] for row in rows))[:DEV]
    text = "".join(row for row in rows if json.loads(row)["id"] in kept)
    (options.build / "groups" / "chosen-on-k3.jsonl").write_text(text)
    return "chosen-on-k3"


def train(options):
    """Train the three variants on the warmed-up model."""
    for name in ("soft", "label-only", "nova"):
        if not (options.build / "models" / name / "merged").exists():
            run(options, "novarag", "train", f"export-{name}", "--model", f"{WARM}/merged",
                "--out", f"models/{name}", "--merge", *TRAIN, *QUICK)  # fmt: skip


def base(options):
    """Ask the warmed-up model the test questions; they were looked at by no one before.

    One half is asked with three passages, the other with five; the kinds are even in both.
    """
    for half, k in enumerate((3, 5)):
        folder = options.build / "groups"
        parts = [folder / f"test-{name}-k{k}.jsonl" for name in ("hotpotqa", "nq", "bamboogle")]
        rows = [row for part in parts for row in part.read_text().splitlines(keepends=True)]
        kept = (row for place, row in enumerate(rows) if place // KINDS % 2 == half)
        (folder / f"test-k{k}.jsonl").write_text("".join(kept))
    ask_all(options, "warm", "test", TESTS, SINGLE)
    left = [group for group in TESTS if not sampled(options, group).exists()]
    if not left:
        return
    with served(options, options.build / WARM, "warm"):
        for group in left:
            run(options, "novarag", "estimate", f"groups/{group}.jsonl", "--model",
                f"{URL}=warm", "--out", sampled(options, group).parent, "--max-tokens",
                LONGEST["vanilla"], "--method", "ensemble", "--method", "p-true", "--method",
                "self-frequency", "--concurrency", "64")  # fmt: skip


def sampled(options, group):
    """Say where the estimates of the sampling methods are."""
    return options.build / "runs" / f"test-warm-sampled-{group[-2:]}" / "estimates.parquet"


def dev(options):
    """Ask what is chosen between the dev questions, and the warmed-up model beside."""
    ask_all(options, "warm", "dev", [few(options)], ("vanilla", "nova"))
    for who in ("soft", "nova"):
        ask_all(options, who, "dev", [few(options)], ["nova"])


def test(options):
    """Ask what was chosen, and label-only, the test questions."""
    ask_all(options, chosen(options), "test", TESTS, ["nova"])
    ask_all(options, "label-only", "test", TESTS, ["label-only"])


def chosen(options):
    """Name the alignment whose model has the lower Brier score on dev questions."""
    from experiments.nova.report import trials
    from novarag.metrics import measure_table

    scores = {
        who: measure_table(trials(options.build / "runs" / f"dev-{who}-nova-k3"), replicates=2)
        .overall.figures["brier"].value
        for who in ("soft", "nova")
    }  # fmt: skip
    print(f"Brier score on dev questions: {scores}", flush=True)
    return min(scores, key=scores.get)


def ask_all(options, who, split, sets, strategies):
    """Ask a model some sets by some strategies, as far as that is not done."""
    left = [
        (group, strategy, place) for strategy in strategies for group in sets
        if not finished(options, place := f"runs/{split}-{who}-{strategy}-{group[-2:]}")
    ]  # fmt: skip
    if left:
        model = options.build / (WARM if who == "warm" else f"models/{who}")
        with served(options, model, who):
            for group, strategy, place in left:
                ask(options, group, who, strategy, place)


def results(options):
    """Measure everything, and keep what is small."""
    run(options, sys.executable, "-m", "experiments.nova.report", options.build, RESULTS, cwd=ROOT)


def ask(options, groups, who, strategy, place, *more):
    """Ask one set by one strategy."""
    run(options, "novarag", "ask", f"groups/{groups}.jsonl", "--model", f"{URL}={who}", "--out",
        place, "--strategy", strategy, "--max-tokens", LONGEST[strategy], "--concurrency",
        4 if more else 64, *more)  # fmt: skip


def finished(options, place):
    """Say whether a run has nothing left to ask."""
    from novarag.runs import is_finished, open_store

    path = options.build / place
    return path.exists() and is_finished(open_store(str(path)))


@contextmanager
def served(options, model, name):
    """Serve a model for as long as it is needed; one that is served already is taken as it is."""
    if name in names_served():
        yield
        return
    trained = (model / "training.json").exists()
    log = (options.build / f"server-{name}.log").open("w")
    command = (
        ["novarag", "serve-model", f"{name}={model}", "--merged", "--run", "--cpu", "--compile",
         "--port", PORT, "--vllm", options.vllm, "--", "--max-num-seqs", "64"]
        if trained
        else [options.vllm, "serve", model, "--served-model-name", name, "--dtype", dtype(), *CPU]
    )  # fmt: skip
    print(f"$ {' '.join(map(str, command))}", flush=True)
    server = subprocess.Popen(
        [str(part) for part in command], cwd=options.build, stdout=log, stderr=log,
        start_new_session=True, env=os.environ | CPU_ENV,
    )  # fmt: skip
    try:
        wait(server, name)
        yield
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)


CPU = [
    "--host", "127.0.0.1", "--port", str(PORT), "--max-model-len", "4096", "--max-num-seqs", "64",
    "--max-num-batched-tokens", "32768",
]  # fmt: skip
CPU_ENV = {"VLLM_CPU_KVCACHE_SPACE": "4", "OMP_NUM_THREADS": "2", "VLLM_NO_USAGE_STATS": "1"}


def dtype():
    """Name the arithmetic that `serve-model --cpu` takes, for a model that was not trained."""
    from novarag.serving.machine import cpu_dtype

    return cpu_dtype(Path("/proc/cpuinfo").read_text(encoding="utf-8"))


def wait(server, name):
    """Wait until the server lists the model."""
    for _ in range(600):
        if name in names_served():
            return
        if server.poll() is not None:
            sys.exit(f"the server of {name} died; see its log")
        time.sleep(1)
    sys.exit(f"the server of {name} is not up after ten minutes")


def names_served():
    """List the models that a server on our port has; nothing if there is no server."""
    try:
        with urllib.request.urlopen(f"{URL}/models", timeout=5) as reply:
            return [row["id"] for row in json.load(reply)["data"]]
    except OSError:
        return []


if __name__ == "__main__":
    main()
