"""The tables of the GPU page are what the arithmetic prints, and the arithmetic counts right."""

import doctest
import subprocess
import sys
from pathlib import Path

from tools import gpu_budget

ROOT = Path(__file__).parents[2]


def test_the_page_is_generated():
    page = (ROOT / "docs" / "gpu-budget.md").read_text("utf-8")
    out = subprocess.run(
        [sys.executable, "-m", "tools.gpu_budget"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert out.stdout.strip() in page, "run `make scale-docs`"


def test_weights_and_adapters_are_counted_as_published():
    found = doctest.testmod(gpu_budget)
    assert found.attempted >= 3
    assert not found.failed


def test_what_was_asked_is_counted_by_model_and_strategy(tmp_path):
    for place, replies in (("a", 3), ("b", 4)):
        folder = tmp_path / "draws" / place / "base" / "cot" / "greedy"
        folder.mkdir(parents=True)
        text = '{"content": {"settings": {"strategy": "cot"}, "counts": {"trials": %d, "requests": 1}}}'
        (folder / "manifest.json").write_text(text % replies)
    assert gpu_budget.count(tmp_path) == {"base/cot": {"requests": 2, "replies": 7}}


def test_four_gpus_are_faster_and_cost_no_less():
    assumed = {name: value for name, (value, _) in gpu_budget.ASSUMED.items()}
    asked = {"base/cot": {"requests": 1000, "replies": 1000}}
    for model in gpu_budget.MODELS:
        for gpu in gpu_budget.GPUS:
            one = gpu_budget.whole(model, gpu, asked, assumed, gpus=1)
            four = gpu_budget.whole(model, gpu, asked, assumed, gpus=4)
            assert one[0] < one[1]
            assert all(b < a < 4 * b for a, b in zip(one, four, strict=True))
