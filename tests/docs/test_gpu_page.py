"""The tables of the GPU page are what the arithmetic prints, and the arithmetic counts right."""

import doctest
import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "proof" / "gpu_budget.py"


def load():
    spec = importlib.util.spec_from_file_location("gpu_budget", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["gpu_budget"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_page_is_generated():
    page = (ROOT / "docs" / "gpu.md").read_text("utf-8")
    out = subprocess.run([sys.executable, str(SCRIPT)], check=True, capture_output=True, text=True)
    assert out.stdout.strip() in page, "run `make gpu-docs`"


def test_weights_and_adapters_are_counted_as_published():
    found = doctest.testmod(load())
    assert found.attempted >= 3
    assert not found.failed


def test_what_was_asked_is_counted_by_model_and_strategy(tmp_path):
    module = load()
    for place, replies in (("a", 3), ("b", 4)):
        folder = tmp_path / "draws" / place / "base" / "cot" / "greedy"
        folder.mkdir(parents=True)
        text = '{"content": {"settings": {"strategy": "cot"}, "counts": {"trials": %d, "requests": 1}}}'
        (folder / "manifest.json").write_text(text % replies)
    assert module.count(tmp_path) == {"base/cot": {"requests": 2, "replies": 7}}


def test_four_gpus_are_faster_and_cost_no_less():
    module = load()
    assumed = {name: value for name, (value, _) in module.ASSUMED.items()}
    asked = {"base/cot": {"requests": 1000, "replies": 1000}}
    for model in module.MODELS:
        for gpu in module.GPUS:
            one = module.whole(model, gpu, asked, assumed, gpus=1)
            four = module.whole(model, gpu, asked, assumed, gpus=4)
            assert one[0] < one[1]
            assert all(b < a < 4 * b for a, b in zip(one, four, strict=True))
