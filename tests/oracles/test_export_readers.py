"""A stranger reads our exports: the `datasets` library, as trainers do."""

import json

import pytest

from novarag.runs.group_table import read_groups
from novarag.sft.exporting import ExportOptions, export
from novarag.sft.filtered_trials import read_filtered
from tests.support.filtered_folder import make_rows, write_filtered
from tests.support.oracles import need

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("default")]


def test_datasets_finds_the_splits_and_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    load_dataset = need("datasets").load_dataset

    folder = write_filtered(tmp_path / "f", make_rows(10))
    export(read_filtered(folder, read_groups=read_groups), tmp_path / "out", ExportOptions(dev=0.3))
    found = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert set(found) == {"train", "dev"}
    for split, rows in found.items():
        lines = (tmp_path / "out" / f"{split}.jsonl").read_text("utf-8").splitlines()
        assert list(rows) == [json.loads(line) for line in lines]
    lf = tmp_path / "out" / "llama-factory"
    told = json.loads((lf / "dataset_info.json").read_bytes())
    for entry in told.values():
        file = str(lf / entry["file_name"])
        rows = load_dataset("json", data_files=file, cache_dir=str(tmp_path / "cache"))["train"]
        assert set(rows.column_names) == set(entry["columns"].values())
