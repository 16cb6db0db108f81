import pytest

from trail import Trail


@pytest.fixture
def trail(world):
    return Trail(world)
