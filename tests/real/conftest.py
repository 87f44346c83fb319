"""A PostgreSQL server for each file of tests, and a fresh database for each test."""

import asyncio

import pytest


@pytest.fixture(scope="module")
def postgres():
    from tests.support.postgres import server

    with server() as made:
        yield made


@pytest.fixture
def dsn(postgres, request):
    """The address of a fresh database."""
    import asyncpg

    name = f"t{abs(hash(request.node.name))}"

    async def make():
        connection = await asyncpg.connect(postgres.dsn)
        await connection.execute(f"create database {name}")
        await connection.close()

    asyncio.run(make())
    return postgres.dsn.replace("/postgres", f"/{name}")
