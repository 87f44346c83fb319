"""Shipped settings: a folder has one schema, and a name is one file."""

from collections import Counter
from importlib.resources import files

import pytest

from novarag.config import load_experiment, load_pipeline
from novarag.config.experiment import EXPERIMENTS
from novarag.config.grid import EXPERIMENTS as TABLES
from novarag.config.grid import load_grid
from novarag.config.pipeline import PRESETS as PIPELINES
from novarag.errors import DataError, UsageError

SHIPPED = files("novarag").joinpath("presets")
FOLDERS = {
    folder.name: {f.name.removesuffix(".toml"): f for f in folder.iterdir()}
    for folder in SHIPPED.iterdir()
    if folder.is_dir() and folder.name != "__pycache__"
}
NEEDED = '[model]\nendpoints = ["http://x=m"]\n[questions]\nfile = "q"\n'


def test_a_name_is_one_file():
    every = Counter(name for folder in FOLDERS.values() for name in folder)
    assert [name for name, count in every.items() if count > 1] == []
    assert all(f.name.endswith(".toml") for folder in FOLDERS.values() for f in folder.values())


def test_what_can_be_named_is_what_ships():
    assert set(FOLDERS) == {"build", "experiment", "gateway", "table"}
    assert set(FOLDERS["build"]) == {*PIPELINES, "example"}  # `novarag example` writes that one
    assert set(FOLDERS["experiment"]) == set(EXPERIMENTS)
    assert set(FOLDERS["table"]) == set(TABLES)
    assert set(FOLDERS["gateway"]) == {"gateway"}  # `novarag example gateway.toml` writes it


@pytest.mark.parametrize(
    ("folder", "load", "others"),
    [
        ("build", load_pipeline, (load_experiment, load_grid)),
        ("experiment", load_experiment, (load_pipeline, load_grid)),
        ("table", load_grid, (load_pipeline, load_experiment)),
    ],
)
def test_every_file_of_a_folder_has_its_schema_and_no_other(folder, load, others, tmp_path):
    needed = tmp_path / "needed.toml"
    needed.write_text(NEEDED if folder != "table" else "", "utf-8")
    for file in FOLDERS[folder].values():
        assert load(needed, file)
        for other in others:
            with pytest.raises(DataError):
                other(needed, file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seed = 99999999999999999999", "seed is over"),
        ('out = "a\\u0000b"', "leave out the NUL"),
        ("a." * 1500 + "a = 1", "a key of more than 100 parts"),
        ("seed = " + "[" * 1500, "nested more than 100 deep"),
    ],
)
def test_values_that_no_setting_can_have(tmp_path, text, says):
    (tmp_path / "my.toml").write_text(f"{text}\n{NEEDED}")
    for load in (load_pipeline, load_experiment):
        with pytest.raises(DataError, match=says):
            load(tmp_path / "my.toml")


def test_a_model_has_an_endpoint(tmp_path):
    (tmp_path / "my.toml").write_text(NEEDED.replace('["http://x=m"]', "[]"))
    with pytest.raises(UsageError, match="one at least"):
        load_pipeline(tmp_path / "my.toml")
