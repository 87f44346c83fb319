"""That a key which the server echoes reaches neither the disk nor the screen, and that it is noted."""

import polars as pl
import pytest

from novarag.web.redaction import REMARK
from tests.support.spellings import KEY, spellings
from validation.keys import leaked

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
NAMES = ("plain", "all json twice", "third percent", "base64 third", "spaces", "second half hex")


@pytest.mark.parametrize("place", ["content", "tokens", "error"])
def test_an_echoed_key_is_neither_on_the_disk_nor_on_the_screen(place, tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", KEY)
    written = {name: spellings()[name](KEY) for name in NAMES}
    seen, marks = leaked(place, written, tmp_path)
    assert seen == []
    assert marks >= len(written)
    ledger = pl.read_parquet(next(tmp_path.glob("*/attempts/*.parquet")))
    answered = ledger.filter(pl.col("outcome") == "answered")["detail"].to_list()
    assert answered == ([] if place == "error" else [REMARK] * len(written))


@pytest.mark.parametrize("place", ["location", "models"])
def test_what_ends_a_run_says_no_key(place, tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", KEY)
    written = {name: spellings()[name](KEY) for name in ("plain", "all wide")}
    seen, marks = leaked(place, written, tmp_path)
    assert seen == []
    assert marks >= len(written)


def test_a_reply_without_the_key_has_no_remark(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVARAG_API_KEY", KEY)
    leaked("content", {"none": "nothing of the kind"}, tmp_path)
    ledger = pl.read_parquet(next(tmp_path.glob("*/attempts/*.parquet")))
    assert ledger["detail"].to_list() == [None]
