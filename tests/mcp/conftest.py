"""Fixtures of the protocol tests."""

import pytest

from peer import Peer
from served import Served, ceiling_of


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


@pytest.fixture
def serve(world, era):
    made = []

    def begin(*options, **how):
        made.append(Served(world, how.pop("era", era), *options, **how))
        return made[-1]
    yield begin
    for one in made:
        one.kill()


@pytest.fixture
def served(serve, world):
    return serve(ceiling=ceiling_of(world))


@pytest.fixture
def serve_full(world):
    """Servers with every tool. Their eras differ by person: what depends on the era says so itself."""
    made = []

    def begin(*options, **how):
        era = how.pop("era", "modern" if world.who.is_root else "legacy")
        how.setdefault("ceiling", ceiling_of(world))
        made.append(Served(world, era, "--profile", "full", *options, **how))
        return made[-1]
    yield begin
    for one in made:
        one.kill()


@pytest.fixture
def full(serve_full):
    return serve_full()
