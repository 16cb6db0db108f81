import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import gates  # noqa: E402
from support import harness  # noqa: E402


@pytest.fixture(scope="session")
def whole_place():
    place = gates.Place()
    yield place
    place.remove()


@pytest.fixture
def place(whole_place):
    """Its gates are started by somebody who is not root, if root runs the tests: the gate needs nothing of root's."""
    whole_place.prefix = harness.PEOPLE[-1].prefix
    yield whole_place
    whole_place.end_started()
