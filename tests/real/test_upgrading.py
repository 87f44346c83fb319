"""The commands of docs/upgrading.md, in a real PostgreSQL; containers are left to a long proof."""

import os
import re
import subprocess
from pathlib import Path

import asyncpg
import pytest

from novarag.gateway.audit.schema import migrate, read_migrations
from tests.support.audited import audit, row
from tests.support.databases import asked, recorded, with_connection
from tests.support.postgres import program

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.skipif(program("initdb") is None, reason="PostgreSQL is not installed"),
]
PAGE = Path(__file__).parents[2] / "docs" / "upgrading.md"
INSIDE = "docker compose exec -T postgres "
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
BEFORE, UPGRADE, BACKUP, RESTORE = BLOCKS


@pytest.fixture
def novarag(postgres, monkeypatch, tmp_path):
    """The database of the page, with the tables of this release and a few rows."""
    for name in ("novarag", "restored", "replaced"):
        with_connection(
            postgres.dsn, lambda c, name=name: c.execute(f"drop database if exists {name}")
        )
    with_connection(postgres.dsn, lambda c: c.execute("create database novarag"))
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(postgres.port))
    monkeypatch.setenv("PATH", f"{Path(program('pg_dump')).parent}{os.pathsep}{os.environ['PATH']}")
    dsn = postgres.dsn.replace("/postgres", "/novarag")
    recorded(audit(monkeypatch, tmp_path, dsn), [row() for _ in range(50)])
    return dsn


def run(block, folder, codes=(0,)):
    """Run the lines of a block that are for the database or for the shell."""
    text = "\n".join(line for line in block.splitlines() if "docker compose run" not in line and "docker compose up" not in line)  # fmt: skip
    done = subprocess.run(
        ["bash", "-e", "-c", text.replace(INSIDE, "")], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode in codes, done.stderr
    return done.stdout


def rows(dsn):
    return sorted(asked(dsn, "select id from decisions"))


def test_the_schema_is_compared_before_and_after_an_upgrade(novarag, tmp_path):
    known = read_migrations()
    assert int(run(BEFORE, tmp_path)) == max(known)
    kept, more = rows(novarag), known | {max(known) + 1: "create table later (number integer)"}
    assert with_connection(novarag, lambda c: migrate(c, more)) == 1
    difference = run(UPGRADE, tmp_path, codes=(1,))
    added = [line for line in difference.splitlines() if line.startswith(">")]
    assert any("create table public.later" in line.lower() for line in added)
    drawn = ("< \\restrict", "< \\unrestrict")  # which pg_dump draws anew each time
    gone = [line for line in difference.splitlines() if line.startswith("<")]
    assert [line for line in gone if not line.startswith(drawn)] == []
    assert with_connection(novarag, migrate) == 0, "the old release leaves the newer tables"
    assert rows(novarag) == kept


def test_a_backup_is_restored_under_the_name_of_the_first(novarag, postgres, tmp_path):
    kept = rows(novarag)
    assert len(kept) == 50
    run(BACKUP, tmp_path)
    with_connection(novarag, lambda c: c.execute("delete from decisions"))
    assert rows(novarag) == []
    run(RESTORE, tmp_path)
    assert rows(novarag) == kept
    with pytest.raises(asyncpg.ObjectNotInPrerequisiteStateError):
        rows(postgres.dsn.replace("/postgres", "/replaced"))
    assert with_connection(novarag, migrate) == 0
