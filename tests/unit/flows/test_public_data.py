"""Public data: a register, files known by their checksums, and tables that must be what they were."""

import asyncio
import json
from hashlib import sha256

import pytest
from typer.testing import CliRunner

from novarag import (
    DataError,
    ServiceError,
    UnknownNameError,
    UsageError,
    load_benchmark,
    public_data,
)
from novarag.cli import app
from novarag.datasets.benchmark import DATASETS, POOLS
from novarag.datasets.clean import _recipe
from novarag.datasets.converters import CONVERTERS, table_digest
from novarag.flows import public_data as flow
from novarag.presets.public_data import PublicFile, PublicSource, PublicTable, public_sources
from tests.support.file_server import file_server
from tests.support.released_rows import CELLS, released

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


# --- the register ---


def test_every_source_says_all_that_somebody_needs():
    sources = public_sources()
    assert {"nova-benchmark", "retrieval", "stated-answers"} <= set(sources)
    for name, source in sources.items():
        assert source.name == name
        assert all((source.title, source.use, source.licence, source.page))
        assert source.page.startswith("https://github.com/")
        paths = {file.path for file in source.files}
        assert len(paths) == len(source.files)
        for file in source.files:
            assert file.address.startswith("https://raw.githubusercontent.com/")
            assert file.address.endswith(file.path)
            assert len(file.address.split("/")[5]) == 40  # a commit, which nobody can move
            assert 0 < file.size < 10_000_000
            assert len(bytes.fromhex(file.sha256)) == 32
        assert {part for table in source.tables for part in table.parts} == paths
        for table in source.tables:
            assert table.converter in CONVERTERS
            assert table.rows > 0
            assert len(bytes.fromhex(table.digest)) == 32


def test_the_register_makes_all_that_the_library_loads():
    made = {table.to for source in public_sources().values() for table in source.tables}
    groups = {
        f"naacl/{n}_{s}_k{k}.parquet" for n, ss in DATASETS.items() for s in ss for k in (3, 5)
    }
    originals = {f"naacl/original_{n}_{s}.parquet" for n, ss in DATASETS.items() for s in ss}
    pools = {f"naacl/noise_pool_{name}.parquet" for name in POOLS}
    assert groups | originals | pools == {to for to in made if to.startswith("naacl/")}
    assert {"retrieval/corpus.parquet", "retrieval/questions.parquet"} < made
    assert set(_recipe()["inputs"]) < made


# --- making tables of files ---

OWN = {"dataset": "nq", "split": "test", "k": 3}
THREE = json.dumps([released(passages=CELLS)]).encode()
FIVE = json.dumps([released(passages=CELLS + CELLS[:2])]).encode()


def sample(base="https://data.example/c/"):
    """A source of two files and two tables."""
    contents = {"d/three.json": THREE, "d/five.json": FIVE}
    tables = []
    for path, k in (("d/three.json", 3), ("d/five.json", 5)):
        schema, make = CONVERTERS["nova-groups"]
        own = OWN | {"k": k}
        made = make({path: contents[path]}, name=f"nq_test_k{k}", **own)
        digest, to = table_digest(made, schema), f"naacl/nq_test_k{k}.parquet"
        tables.append(
            PublicTable(
                to=to, converter="nova-groups", parts=(path,), rows=1, digest=digest, settings=own
            )
        )
    return PublicSource(
        name="tiny", title="A few rows", use="tests", page="https://data.example", licence="MIT",
        address_tried=False, tables=tuple(tables),
        files=tuple(
            PublicFile(path=p, address=base + p, size=len(c), sha256=sha256(c).hexdigest())
            for p, c in contents.items()
        ),
    )  # fmt: skip


@pytest.fixture
def tiny(monkeypatch):
    source = sample()
    monkeypatch.setattr(flow, "public_source", lambda name: {"tiny": source}[name])
    return source


def test_without_files_nothing_is_made_or_fetched(tmp_path, monkeypatch, tiny):
    monkeypatch.chdir(tmp_path)
    assert len(public_data().sources) == len(public_sources())
    assert public_data("tiny").missing == tiny.files
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="of which source"):
        public_data(fetch=True)
    monkeypatch.delenv("NOVARAG_DATA")
    with pytest.raises(UsageError, match="pass `out`, or set NOVARAG_DATA"):
        public_data("tiny", fetch=True)


def test_files_are_known_by_their_checksums_whatever_they_are_called(tmp_path, tiny):
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "renamed (1).txt").write_bytes(THREE)
    (tmp_path / "given" / "d").mkdir()
    (tmp_path / "given" / "d" / "five.json").write_bytes(FIVE[:-1] + b" ")
    (tmp_path / "note.txt").write_text("mine")
    found = public_data("tiny", [tmp_path / "given", tmp_path / "note.txt"], out=tmp_path / "out")
    [table] = found.tables
    assert (table.path, table.rows, table.fresh) == (
        tmp_path / "out/naacl/nq_test_k3.parquet",
        1,
        True,
    )
    assert [file.path for file in found.missing] == ["d/five.json"]
    assert [path.name for path in found.wrong] == ["five.json"]
    assert [path.name for path in found.unknown] == ["note.txt"]
    [group] = load_benchmark("nq", data=tmp_path / "out")
    assert group.kinds is not None


def test_a_table_that_is_there_is_left_alone_and_another_file_is_not_replaced(tmp_path, tiny):
    given, place = tmp_path / "three.json", tmp_path / "out/naacl/nq_test_k3.parquet"
    given.write_bytes(THREE)
    public_data("tiny", given, out=tmp_path / "out")
    before = place.stat().st_mtime_ns
    [table] = public_data("tiny", given, out=tmp_path / "out").tables
    assert not table.fresh
    assert place.stat().st_mtime_ns == before
    place.write_text("mine")
    with pytest.raises(DataError, match="is not this table"):
        public_data("tiny", given, out=tmp_path / "out")
    assert place.read_text() == "mine"


def test_a_converter_that_makes_other_rows_is_found(tmp_path, tiny, monkeypatch):
    from novarag.datasets import released as module

    monkeypatch.setattr(module, "_YES_NO", frozenset())
    (tmp_path / "three.json").write_bytes(THREE)
    with pytest.raises(DataError, match="a fault of novarag"):
        public_data("tiny", tmp_path / "three.json", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_path_that_is_none_and_a_source_that_is_none_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        public_data("retrieval", tmp_path / "gone", out=tmp_path)
    with pytest.raises(UnknownNameError, match="nova-benchmark, retrieval, stated-answers"):
        public_data("squad")


# --- fetching ---


def test_files_are_fetched_kept_and_not_fetched_again(tmp_path, tiny):
    with file_server({"/c/d/three.json": THREE, "/c/d/five.json": FIVE}) as served:
        heard = []
        told = {"out": tmp_path, "fetch": True, "mirror": served.url + "/"}
        found = public_data("tiny", **told, on_event=heard.append)
        assert served.asked == ["/c/d/three.json", "/c/d/five.json"]
        assert not found.missing
        assert [table.rows for table in found.tables] == [1, 1]
        assert (tmp_path / "downloads/tiny/d/three.json").read_bytes() == THREE
        assert any("fetching http" in str(event) for event in heard)
        assert [t.fresh for t in public_data("tiny", **told).tables] == [False, False]
        assert len(served.asked) == 2
        (tmp_path / "downloads/tiny/d/three.json").write_text("damaged")
        public_data("tiny", **told)
        assert served.asked[2:] == ["/c/d/three.json"]


def test_what_was_given_is_not_fetched_and_a_broken_fetch_goes_on(tmp_path, tiny):
    (tmp_path / "three.json").write_bytes(THREE)
    with file_server({}) as served:
        told = {"out": tmp_path / "out", "fetch": True, "mirror": served.url}
        with pytest.raises(
            ServiceError,
            match=r"five\.json could not be fetched: HTTP 404; fetch it by other means",
        ):
            public_data("tiny", tmp_path / "three.json", **told)
        assert set(served.asked) == {"/c/d/five.json"}
        assert not (tmp_path / "out/naacl").exists()
        served.answers["/c/d/five.json"] = FIVE
        assert len(public_data("tiny", tmp_path / "three.json", **told).tables) == 2


def test_a_server_with_another_file_changes_nothing(tmp_path, tiny):
    with (
        file_server({"/c/d/three.json": b"?" * len(THREE)}) as served,
        pytest.raises(ServiceError, match="its checksum is another"),
    ):
        public_data("tiny", out=tmp_path, fetch=True, mirror=served.url)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_mirror_is_a_web_address_and_a_running_loop_is_no_hindrance(tmp_path, tiny):
    with pytest.raises(UsageError, match="`mirror` must begin with http"):
        public_data("tiny", out=tmp_path, fetch=True, mirror="file:///etc")

    async def notebook():
        return public_data("tiny", out=tmp_path)

    assert asyncio.run(notebook()).missing == tiny.files


# --- the door ---


def run(*words):
    return CliRunner().invoke(app, ["paper", "data", *map(str, words)])


def test_the_list_names_address_licence_and_use():
    result = run()
    assert result.exit_code == 0
    for source in public_sources().values():
        assert f"{source.name}: {source.title}" in result.stdout
        assert f"licence: {source.licence}" in result.stdout
        assert source.page in result.stdout


def test_one_source_says_which_file_goes_where_and_that_addresses_are_unverified():
    result = run("nova-benchmark")
    assert result.exit_code == 0
    assert "unverified" in result.stdout
    source = public_sources()["nova-benchmark"]
    for file in source.files:
        assert file.address in result.stdout
        assert file.sha256 in result.stdout
    for table in source.tables:
        assert f"{table.to}: {table.rows:,} rows, converter {table.converter}" in result.stdout


def test_the_door_names_what_is_missing_and_ends_with_one(tmp_path, tiny):
    (tmp_path / "a.json").write_bytes(THREE)
    result = run("tiny", tmp_path / "a.json", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "1 of 2 tables: 1 made, 0 there already" in result.stdout
    assert "https://data.example/c/d/five.json" in result.stdout
    (tmp_path / "b.json").write_bytes(FIVE)
    result = run("tiny", tmp_path / "a.json", tmp_path / "b.json", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "2 of 2 tables: 1 made, 1 there already" in result.stdout
    assert f"next: export NOVARAG_DATA={tmp_path / 'out'}" in result.stdout


MISSING = [
    ["paper", "reproduce", "main-k3", "--model", "simulated:base", "--out", "out"],
    ["paper", "nova-clean", "--out", "out"],
    ["paper", "nova-clean", "--out", "out", "--data", "."],
]


@pytest.mark.parametrize("words", MISSING, ids=" ".join)
def test_every_error_that_misses_data_names_this_verb(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOVARAG_DATA")
    result = CliRunner().invoke(app, words)
    assert "`novarag paper data nova-benchmark` says which files" in str(result.exception)
    assert "--data" in str(result.exception)


def test_so_does_the_library(tmp_path, monkeypatch):
    from novarag.datasets.retrieved import retrieved_questions

    monkeypatch.delenv("NOVARAG_DATA")
    for where in (None, tmp_path):
        with pytest.raises(DataError, match=r"`public_data\('nova-benchmark'\)`"):
            load_benchmark("nq", data=where)
        with pytest.raises(DataError, match=r"`public_data\('retrieval'\)`"):
            retrieved_questions(where)
