"""The command that serves adapters, and what is checked before it is printed."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from novarag.cli import app
from novarag.errors import UsageError
from novarag.serving import preparing
from novarag.serving.models import RANKS, read_model, served_rank
from novarag.serving.options import ServingOptions
from novarag.serving.preparing import cpu_dtype, cpu_environment, plan_adapters, plan_merged
from novarag.serving.templates import first_difference, speller
from novarag.sft.lengths import load_ruler
from tests.support.served_folder import (
    DATED,
    TEMPLATE,
    WORDS,
    make_base,
    make_model,
    save_tokenizer,
)


@pytest.fixture
def base(tmp_path):
    return make_base(tmp_path / "tiny")


@pytest.fixture
def one(tmp_path, base):
    return make_model(tmp_path / "one", base)


def serve(*words):
    return CliRunner().invoke(app, ["train", "serve", *map(str, words)])


def refused(*words):
    done = serve(*words)
    assert isinstance(done.exception, UsageError), done.output
    assert not done.stdout
    return str(done.exception)


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")


def plan(*folders, **options):
    return plan_adapters([read_model(str(f)) for f in folders], ServingOptions(**options))


def test_base_and_two_adapters_side_by_side(tmp_path, one, base, snapshot):
    two = make_model(tmp_path / "two", base, rank=20)
    done = serve(one, f"nova={two}")
    assert done.exit_code == 0, done.output
    assert done.stdout.replace(str(tmp_path), "/models") == snapshot
    assert not done.stderr


def test_one_merged_model_on_a_cpu(tmp_path, base, snapshot, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    monkeypatch.setattr("novarag.serving.preparing.processor", lambda: "flags : fpu amx_bf16 sse")
    model = make_model(tmp_path / "one", base, merged=True)
    done = serve(model, "--merged", "--cpu", "--port", 8411, "--max-model-len", 512, "--", "--seed", 3, "a b")  # fmt: skip
    assert done.stdout.replace(str(tmp_path), "/models") == snapshot
    assert not done.stderr
    compiled = serve(model, "--merged", "--cpu", "--compile").stdout
    assert "--enforce-eager" not in compiled
    assert "--max-num-batched-tokens 32768" in compiled


def test_an_adapter_on_a_cpu_is_said_to_be_slow(one, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    done = serve(one, "--cpu")
    assert "several times slower than merged weights: serve those with --merged" in done.stderr
    assert re.match(r"OMP_NUM_THREADS=\d+ VLLM_CPU_KVCACHE_SPACE=2 vllm serve ", done.stdout)


def test_what_is_printed_is_what_would_run(tmp_path):
    place = tmp_path / "it's, a 'place' $HOME"
    model = make_model(place / "one", make_base(place / "tiny"))
    made = plan(model, cpu={"OMP_NUM_THREADS": "2"}, extra=("--seed", "3 4"), vllm="my vllm")
    typed = shlex.split(made.command.typed().replace("\\\n", " "))
    assert typed == ["OMP_NUM_THREADS=2", *made.command.words]
    (module,) = (w for w in typed if w.startswith("{"))  # vLLM takes what holds a comma for JSON
    assert json.loads(module) == {"name": "one", "path": str(model.resolve() / "adapter")}


def test_what_the_environment_says_of_a_cpu_stands():
    assert cpu_environment({"VLLM_CPU_KVCACHE_SPACE": "9"}, 4) == {
        "OMP_NUM_THREADS": "4",
        "VLLM_CPU_KVCACHE_SPACE": "9",
    }


@pytest.mark.parametrize(
    ("processor", "dtype"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16 sse2\n", "bfloat16"),
        ("Features\t: fp asimd bf16 i8mm\n", "bfloat16"),
        ("flags\t\t: fpu avx512f avx2 sse2\n", "float32"),
        ("", "float32"),
    ],
)
def test_a_cpu_computes_in_what_it_has_instructions_for(one, monkeypatch, processor, dtype):
    assert cpu_dtype(processor) == dtype
    monkeypatch.setattr("novarag.serving.preparing.processor", lambda: processor)
    assert f"--dtype {dtype} " in serve(one, "--cpu").stdout
    assert "--dtype bfloat16 " in serve(one).stdout


@pytest.mark.parametrize(("positions", "length"), [(2048, "2048"), (8192, "4096"), (None, "4096")])
def test_no_longer_than_the_model_can_see(tmp_path, positions, length):
    model = make_model(tmp_path / "one", make_base(tmp_path / "tiny", positions=positions))
    words = plan(model).command.words
    assert words[words.index("--max-model-len") + 1] == length
    words = plan(model, max_model_len=99).command.words
    assert words[words.index("--max-model-len") + 1] == "99"


@given(st.integers(1, 600))
def test_the_rank_is_one_that_vllm_takes(tmp_path_factory, rank):
    folder = tmp_path_factory.getbasetemp() / "ranked"
    if not folder.exists():
        make_model(folder, make_base(tmp_path_factory.getbasetemp() / "ranked-base"))
    edit(folder / "adapter" / "adapter_config.json", r=1, rank_pattern={"q_proj": rank})
    model = read_model(str(folder))
    if rank > RANKS[-1]:
        with pytest.raises(UsageError, match=f"rank {rank}, and vLLM serves none above 512; serve"):
            served_rank([model])
        return
    told = served_rank([model])
    assert told in RANKS
    assert rank <= told
    assert not any(rank <= smaller < told for smaller in RANKS)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"use_dora": True}, "uses use_dora, which vLLM does not apply; serve the merged"),
        ({"modules_to_save": ["lm_head"]}, "uses modules_to_save"),
        ({"bias": "all"}, "uses bias"),
        ({"r": "8"}, "tells no rank"),
        ({"rank_pattern": [3]}, "tells no rank"),
    ],
)
def test_an_adapter_that_vllm_would_not_apply_is_refused(one, config, said):
    edit(one / "adapter" / "adapter_config.json", **config)
    assert said in refused(one)


def test_only_safetensors_are_served(tmp_path, one, base):
    pickle = one / "adapter" / "adapter_model.bin"
    pickle.touch()
    assert "is a pickle, which may run code" in refused(one)
    pickle.unlink()
    (one / "adapter" / "adapter_model.safetensors").rename(one / "adapter" / "elsewhere")
    assert "holds no weights as safetensors; name a folder" in refused(one)
    assert "make them with `novarag train fit --merge`" in refused(one, "--merged")
    merged = make_model(tmp_path / "m", base, merged=True)
    (merged / "merged" / "model.pt").touch()
    assert "is a pickle" in refused(merged, "--merged")


def test_models_of_two_bases_are_refused(tmp_path, one, base):
    other = make_model(tmp_path / "other", make_base(tmp_path / "big", weights=b"others"))
    said = refused(one, other)
    assert "one was trained on tiny, other on big with other weights; serve them from two" in said
    two = make_model(tmp_path / "two", base)
    edit(two / "training.json", tokenizer_sha256="another")
    assert "one and two were trained with different tokenizers" in refused(one, two)


def test_names_are_told_apart(tmp_path, one):
    assert "two models are named 'one'" in refused(one, f"one={one}")
    assert "two models are named 'one'" in refused(one, "--base-name", "one")
    assert "'a b' cannot be the name of a model" in refused(f"a b={one}")
    assert "cannot be the name" in refused(one.rename(tmp_path / "x,y"))
    odd = (tmp_path / "x,y").rename(tmp_path / "a=b")
    assert read_model(f"fine={odd}").name == "fine"
    assert "cannot be the name" in refused(odd)  # a folder that is there is no NAME=FOLDER


def test_a_base_that_changed_or_moved_is_refused(tmp_path, one, base):
    moved = base.rename(tmp_path / "moved")
    said = refused(one)
    assert "If the base was moved, name its place with --base" in said
    assert serve(one, "--base", moved).exit_code == 0
    assert "--base" not in refused(one, "--base", tmp_path / "nowhere")
    (moved / "model.safetensors").write_bytes(b"tuned")
    said = refused(one, "--base", moved)
    assert f"{moved} is not the model that one was trained on (tiny)" in said
    assert "name the right one with --base" in said


def test_another_template_in_the_base_is_refused_by_its_first_token(one, base):
    save_tokenizer(base, TEMPLATE.replace("}}", "}} lamp", 1))
    said = refused(one)
    assert f"the tokenizer of the base {base} does not render the training's sample prompt" in said
    assert "token 2 is 'who' (5) in training and 'lamp' (8) by the tokenizer of the base" in said
    assert f"copy the tokenizer's files from {one / 'adapter'} into the base" in said


def test_other_tokens_in_the_adapter_are_refused_by_the_first(one):
    swapped = ("<unk>", "<|turn|>", "<|end|>", "user", "assistant", "who", "the", "lit", "lamp")
    save_tokenizer(one / "adapter", words=swapped)
    said = refused(one)
    assert f"the tokenizer in {one / 'adapter'}" in said
    assert "token 3 is 6 in training and 'lit' (7) by" in said  # who could spell 6 is gone
    assert "train again, or bring the files of the training back" in said


def test_a_shorter_prompt_and_a_text_that_differs_in_spaces(one, base):
    save_tokenizer(base, TEMPLATE.replace(" assistant", ""))
    assert "token 8 is 'assistant' (4) in training and missing by" in refused(one)
    save_tokenizer(base, TEMPLATE.replace("<|turn|> assistant", "<|turn|>  assistant"))
    assert "the texts part at character 48, though not the tokens" in refused(one)
    save_tokenizer(base, "{{ raise_exception('no such\trole') }}")
    assert "'tiny' refuses a question: no such\\u0009role" in refused(one)


def test_a_tokenizer_that_only_the_sample_does_not_tell_apart_is_noted(one, base):
    save_tokenizer(base, words=(*WORDS, "more"))
    done = serve(one)
    assert done.exit_code == 0
    assert "not the one of the training byte for byte, though the sample prompt agrees" in done.stderr  # fmt: skip


def test_a_template_that_writes_the_date_is_told_the_one_of_training(tmp_path):
    model = make_model(tmp_path / "m", make_base(tmp_path / "b", template=DATED), merged=True)
    for words in (plan(model).command.words, plan_merged(read_model(str(model)), ServingOptions()).command.words):  # fmt: skip
        assert json.loads(words[words.index("--default-chat-template-kwargs") + 1]) == {
            "date_string": "26 Jul 2024"
        }


def test_samples_of_all_models_are_kept_once(tmp_path, base, one):
    two, three = (make_model(tmp_path / n, base, prompt=p) for n, p in (("two", "lit"), ("three", "lit")))  # fmt: skip
    assert [s.prompt for s in plan(one, two, three).samples] == ["who lit the lamp", "lit"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base": None}, "lacks what serving needs"),
        ({"base": {"name": "tiny", "place": 3, "fingerprint": "x"}}, "place is no text"),
        ({"sample": {}}, "lacks what serving needs ('prompt')"),
        ({"sample": {"prompt": "", "text": "", "tokens": [True]}}, "a token is no number"),
        (
            {"sample": {"prompt": "", "text": "", "tokens": 3}},
            "was it written by `novarag train fit`?",
        ),
    ],
)
def test_a_training_that_tells_too_little(one, changes, said):
    edit(one / "training.json", **changes)
    assert said in refused(one)


def test_a_folder_that_is_no_model(tmp_path, one):
    assert "name a folder that `novarag train fit` wrote to the end" in refused(tmp_path)
    (one / "training.json").write_text("{", "utf-8")
    assert "is not JSON" in refused(one)
    (one / "training.json").write_text("[]", "utf-8")
    assert "lacks what serving needs" in refused(one)


def test_options_that_do_not_go_together(one):
    assert "leave out --check-server" in refused(
        one, "--run", "--check-server", "http://127.0.0.1:1"
    )
    assert "--compile goes with --cpu and --merged" in refused(one, "--cpu", "--compile")
    assert "serve one model with --merged" in refused(one, one, "--merged")
    assert "leave out --base" in refused(one, "--merged", "--base", "x")
    assert "give --port by itself" in refused(one, "--", "--port=3")
    assert "give --host by itself" in refused(one, "--", "--host", "::")


def test_without_transformers_the_extra_is_named(one, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    assert "pip install '.[train]' in a clone of novarag" in refused(one)


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_the_first_difference_is_the_first(one, other):
    found = first_difference(one, other)
    if found is None:
        assert one == other
        return
    assert one[: found.place] == other[: found.place]
    assert found.trained == (one[found.place] if found.place < len(one) else None)
    assert found.found == (other[found.place] if found.place < len(other) else None)
    assert found.trained != found.found


def test_any_number_can_be_spelt(base):
    spell = speller(load_ruler(str(base)))
    assert [spell(n) for n in (5, 10_000, 2**70)] == ["who", "?", "?"]


def test_a_machine_that_tells_nothing_of_itself(monkeypatch):
    assert preparing.cores() == len(os.sched_getaffinity(0))
    monkeypatch.setattr(preparing, "Path", lambda _: Path("/nowhere/cpuinfo"))
    assert preparing.processor() == ""
    monkeypatch.delattr(os, "sched_getaffinity")
    assert preparing.cores() == os.cpu_count()
