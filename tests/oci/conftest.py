import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from seat import Seat  # noqa: E402


@pytest.fixture(params=["runc", "crun"])
def runtime(request):
    return request.param


@pytest.fixture
def seat(world):
    """Engines start runtimes as root, so that these tests are root's."""
    made = Seat(world, "runc")
    yield made
    made.leave()


@pytest.fixture
def seat_of(world, runtime):
    made = Seat(world, runtime)
    yield made
    made.leave()
