"""A run on an S3-compatible server: the same code, journal in segments."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import polars as pl
import pytest

from novarag.runs import open_store, settle, summarize
from novarag.runs.journal import journal_name
from novarag.runs.shard import Job
from novarag.strategies import NOVA
from tests.support.chaos.serving import bill, chaos

pytestmark = [pytest.mark.s3, pytest.mark.enable_socket]


@pytest.fixture(scope="module")
def bucket():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [os.environ.get("NOVARAG_MOTO", "moto_server"), "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    try:
        for _ in range(100):
            try:
                urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        from pyarrow import fs

        place = f"s3://bucket/runs?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
        filesystem, _ = fs.FileSystem.from_uri(place)
        filesystem.create_dir("bucket")
        yield place
    finally:
        process.kill()
        process.wait()


def test_a_run_on_an_object_store_survives_a_kill(bucket, tmp_path):
    groups = tmp_path / "groups.jsonl"
    groups.write_text(
        "".join(
            f'{{"id": "q{i}", "question": "When was light {i} lit?", "answers": ["1871"], "passages": ["It was {i}."]}}\n'
            for i in range(300)
        )
    )
    with chaos(latency=0.2) as url:
        words = [sys.executable, "-m", "novarag", "ask", str(groups), "--model", f"{url}=chaos", "--out", bucket,
                 "--samples", "2", "--shard-size", "100", "--concurrency", "8"]  # fmt: skip
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while bill(url, "count")["total"] < 120 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        paid = bill(url, "count")["served"]
        assert 0 < paid < 300
        time.sleep(
            31
        )  # nobody can ask an object store whether the owner lives: the lease must expire
        done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stderr
        total = bill(url, "count")["served"]
    store = open_store(bucket)
    seen = summarize(store, NOVA)
    assert seen.counts["trials"] == 600
    assert seen.unfinished == []
    assert (
        total - 300 <= 8 + 8 * 1.5 / 0.2
    )  # in flight, and what the last segment had not yet saved
    assert len(store.names(journal_name(0))) >= 2
    outlooks = asyncio.run(settle(Job(store=store, manifest=seen.manifest, strategy=NOVA)))
    assert all(o.finished and not o.damage for o in outlooks)
    store.write("trials/00001.parquet", b"scratched")
    outlooks = asyncio.run(settle(Job(store=store, manifest=seen.manifest, strategy=NOVA)))
    assert outlooks[1].damage
    tables = [pl.read_parquet(store.read(f"trials/{i:05}.parquet")) for i in range(3)]
    assert pl.concat(tables).select("group", "sample").n_unique() == 600
