"""Fixtures of the protocol tests."""

import pytest

from peer import Peer


@pytest.fixture(params=["modern", "legacy"])
def era(request):
    return request.param


@pytest.fixture
def start(who, era):
    """Starts servers and ends them."""
    made = []

    def begin(*options, **how):
        made.append(Peer(who, how.pop("era", era), *options, **how))
        return made[-1]
    yield begin
    for one in made:
        one.kill()


@pytest.fixture
def peer(start):
    return start()
