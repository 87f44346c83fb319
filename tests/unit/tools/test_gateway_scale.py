"""The arithmetic of a gateway at scale: right where all is known, open where it is not."""

import json

import pytest

from tools.gateway_scale import ASSUMED, BEGIN, DAY, INPUTS, OPEN, PAGE, put, size, tables

GIVEN = {name: value for name, (value, _) in ASSUMED.items()}
MEASURED = {
    "cpu_us_per_request": 650, "memory_mb_idle": 80, "memory_kb_in_flight": 50,
    "database_cpu_us_per_row": 20, "database_bytes_per_row": 101, "database_rows_per_second": 10_000,
}  # fmt: skip


def test_a_billion_answers_a_day_by_hand():
    found = size(10**9, MEASURED, GIVEN)
    assert found.mean == pytest.approx(11_574, rel=1e-4)
    assert found.peak == pytest.approx(34_722, rel=1e-4)
    assert found.cores == pytest.approx(22.57, rel=1e-3)
    assert found.processes == 57  # 22.57 / 0.6 * 3 / 2, rounded up
    assert found.memory_gb == pytest.approx(57 * 0.08 + 69_444 * 50e-6, rel=1e-3)
    assert found.databases == 4
    assert found.database_cores == pytest.approx(0.694, rel=1e-2)
    assert found.audit_gb_a_day == pytest.approx(101)
    assert found.audit_tb_kept == pytest.approx(3.03)


def test_a_small_one_still_has_two_processes_and_a_database():
    found = size(DAY, MEASURED, GIVEN)
    assert (found.processes, found.databases) == (2, 1)


@pytest.mark.parametrize("name", MEASURED)
def test_what_was_not_measured_stays_open(name):
    found = size(10**9, MEASURED | {name: None}, GIVEN)
    known = size(10**9, MEASURED, GIVEN)
    changed = {n for n in vars(found) if getattr(found, n) != getattr(known, n)}
    assert changed
    assert all(getattr(found, n) is None for n in changed)
    inputs = {n: {"value": v, "command": "c", "means": n} for n, v in (MEASURED | {name: None}).items()}  # fmt: skip
    assert sum(OPEN in line for line in tables(inputs, GIVEN)) == len(changed) + 1


def test_the_page_holds_the_tables_of_the_recorded_figures():
    inputs = json.loads(INPUTS.read_text("utf-8"))
    assert set(inputs) == set(MEASURED)
    page = PAGE.read_text("utf-8")
    assert put(page, tables(inputs, GIVEN)) == page, "make scale-docs"
    with pytest.raises(SystemExit):
        put(page.replace(BEGIN, ""), [])
