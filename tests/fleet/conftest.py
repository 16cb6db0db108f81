import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "audit")]

import fleet  # noqa: E402


@pytest.fixture(scope="session")
def whole_server():
    server = fleet.Server()
    yield server
    server.remove()


@pytest.fixture
def database(whole_server):
    """A database of its own with the tables, in a server that is up."""
    made = whole_server.database()
    yield made
    whole_server.up()
    made.drop()


@pytest.fixture
def node(world, database):
    return fleet.Node(world, database)
