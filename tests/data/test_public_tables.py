"""The tables that the register knows are those that our figures were measured on."""

import pytest

from novarag.datasets.converters import is_table
from novarag.presets.public_data import public_sources

pytestmark = pytest.mark.data
SMALLER = "retrieval"  # made without the articles of an encyclopaedia; the register says so
TABLES = [t for s in public_sources().values() if s.name != SMALLER for t in s.tables]


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.to)
def test_a_table_of_the_register_has_the_rows_of_the_file(data, table):
    assert is_table(data / table.to, table.converter, table.digest)
