"""All stages in their order, on simulated respondents and trainings that only say what they saw."""

import time

import pytest

from experiments.nova_qwen import choices, hours, plan, proof, questions, speeds, teaching
from experiments.nova_qwen.arms import ARMS
from experiments.nova_qwen.figures import figures, markdown
from experiments.nova_qwen.looks import Look
from experiments.nova_qwen.serving import Server
from experiments.nova_qwen.store import Store
from novarag.flows.group import write_groups
from novarag.noise.group_build import GroupBuild
from tests.support.filtered_folder import KINDS, make_group

pytestmark = pytest.mark.enable_socket  # an event loop makes a pair of them
SPLITS = {"sample": 40, "graded": 34, "dev": 24, "look": 8, "dev-rest": 4, "test": 4,
          "test-asked-of-others": 4}  # fmt: skip


class FakeServer(Server):
    url = "simulated:base"

    def seconds(self):
        return 3


@pytest.fixture
def bench(tmp_path, monkeypatch):
    made = {
        split: [make_group(f"{split}{i}", kind) for i in range(count) for kind in KINDS]
        for split, count in SPLITS.items()
    }
    for split, groups in made.items():
        write_groups(GroupBuild(groups=groups), tmp_path / "build" / "groups" / f"{split}.jsonl")
    store = Store(tmp_path / "results")
    store.write_json(questions.FACTS, {"groups": {s: {"groups": len(g)} for s, g in made.items()}})
    store.write_json(
        speeds.FILE, {name: {} for name in (speeds.EAGER, speeds.COMPILED, "float32, eager")}
    )

    def part(bench, arm, rows, learnt, rate):
        place = bench.build / "training" / arm / "looks"
        place.mkdir(parents=True, exist_ok=True)
        after = learnt + len(rows)
        teaching.adapters.write(place / f"{after}.npz", {}, {"learnt": after})
        return {"looks": [Look(after, 0.6, 1.0, 0.5)], "loss": 1.0, "tokens": 9, "cpu_s": 50}

    monkeypatch.setattr(teaching, "train_part", part)
    made_bench = proof.Bench(
        tmp_path / "build", FakeServer(tmp_path), store, time.monotonic() + 600
    )
    made_bench.serve = lambda who: None
    return made_bench


def test_the_stages_in_their_order_leave_every_reply_both_choices_and_the_tables_in_small_files(
    bench,
):
    for stage in proof.STAGES.values():
        stage(bench)
    rows = bench.store.rows()
    assert choices.chosen(bench.store, choices.PROMPT) in plan.PROMPTS
    assert choices.chosen(bench.store, choices.ARM) in set(ARMS) - {"label-only"}
    chosen = max(i for i, row in enumerate(rows) if "choice" in row)
    tested = min(
        i for i, row in enumerate(rows) if str(row.get("stage", "")).startswith(choices.TEST)
    )
    assert chosen < tested
    for asking in plan.askings():
        groups = questions.groups_of(bench.build, asking.split)
        table = bench.store.read(asking, groups)
        assert table.height == asking.samples * len(groups)
    assert {row["rows"] for row in rows if "kinds" in row} == set(ARMS)
    assert "| all | | | | 0.0 |" in hours.plan_of(bench.store)
    shown = markdown({a.name: figures(bench.store.read(a)) for a in plan.askings()})
    assert shown.count("\n") == len(plan.askings()) + 1
    tables = (bench.store.place / "tables.md").read_text("utf-8")
    for part in (
        "base, vanilla",
        "state (ours)",
        "+ calibration (100, likelihood)",
        "a constant for",
    ):
        assert part in tables
    before = len(rows)
    for stage in list(proof.STAGES.values())[:-1]:  # the tables are written anew
        stage(bench)
    assert len(bench.store.rows()) == before
    made = [p for p in bench.store.place.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in made) < 2_000_000
    assert not any(p.name.startswith(".") for p in made)
    assert not any(p.is_file() for p in (bench.build / "runs").rglob("*"))
