import pytest

from support import harness


@pytest.fixture
def world(who):
    made = harness.World(who, harness.stage().new_directory())
    made.backend = "bwrap"
    yield made
    made.leave()
