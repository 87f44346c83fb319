"""Parts of a training on a tiny random llama: from the adapter in a file, the same on any machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.nova_qwen import adapters
from experiments.nova_qwen.training import ALPHA, RANK
from novarag.flows.group import write_groups
from novarag.noise.group_build import GroupBuild
from tests.support.filtered_folder import make_group
from tests.support.tiny_model import make_model, write_rows

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    make_model(folder / "tiny")
    for part in (1, 2):
        write_rows(folder / f"rows-{part}" / "train.jsonl", rows=20, seed=part)
    looked = [make_group(f"q{i}", "consistent") for i in range(3)]
    write_groups(GroupBuild(groups=looked), folder / "looked.jsonl")
    return folder


def train(place, part, before, after, learnt):
    (place / after).mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "experiments.nova_qwen.training", place / f"rows-{part}",
         place / "looked.jsonl", place / "tiny", place / before, place / after, "--rate", "0.01",
         "--learnt", str(learnt), "--strategy", "vanilla", "--upper", "1"],
        cwd=ROOT, env=os.environ | {"HF_HUB_OFFLINE": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_part_goes_on_from_the_file_of_the_one_before_and_gives_the_same_again(place):
    first = train(place, 1, "none.npz", "one", 0)
    assert [look[0] for look in first["looks"]] == [0, 20]  # before, and after the last row
    assert first["tokens"] > 0
    second = train(place, 2, "one/20.npz", "two", 20)
    assert [look[0] for look in second["looks"]] == [40]
    train(place, 2, "one/20.npz", "again", 20)
    before, after, again = (
        adapters.read(place / name)[0] for name in ("one/20.npz", "two/40.npz", "again/40.npz")
    )
    assert all(np.array_equal(after[name], again[name]) for name in after)
    assert any(not np.allclose(after[name], before[name], atol=1e-3) for name in after)


def test_an_adapter_is_worked_into_the_weights_in_int8(place):
    import torch
    from safetensors.torch import load_file

    if not (place / "one" / "20.npz").exists():
        train(place, 1, "none.npz", "one", 0)
    adapters.write_peft(
        place / "one" / "20.npz",
        place / "peft",
        base="tiny",
        settings={"r": RANK, "lora_alpha": ALPHA},
    )
    script = [sys.executable, ROOT / ".ci" / "vllm" / "int8.py", place / "tiny"]
    subprocess.run([*script, place / "plain"], check=True)
    subprocess.run([*script, place / "merged", place / "peft"], check=True)
    told = json.loads((place / "merged" / "config.json").read_text("utf-8"))
    assert told["quantization_config"]["quant_method"] == "compressed-tensors"
    base, plain, merged = (
        load_file(place / f / "model.safetensors") for f in ("tiny", "plain", "merged")
    )
    weights, _ = adapters.read(place / "one" / "20.npz")
    name = "model.layers.1.mlp.up_proj"
    up, down = (weights[f"base_model.model.{name}.lora_{x}.weight"] for x in "BA")
    added = ALPHA / RANK * torch.from_numpy(up @ down)

    def made(found):
        return found[f"{name}.weight"].float() * found[f"{name}.weight_scale"]

    wanted = base[f"{name}.weight"].float() + added
    assert (made(merged) - wanted).abs().max() <= merged[f"{name}.weight_scale"].max() / 2 + 1e-6
    assert (made(merged) - made(plain)).abs().max() > 0
    lower = "model.layers.0.mlp.up_proj.weight"
    assert torch.equal(merged[lower], plain[lower])
