"""A build without what speaks other tools' languages runs commands, and names what it does not have. `./test --all`
makes that build and names it in CORDON."""

import pytest


def test_it_contains_commands(world):
    assert world.run("/bin/echo", "ran").expect(0).out == "ran\n"
    world.write(world.home / ".ssh/id_rsa", "SECRET")
    assert "SECRET" not in world.run("cat", world.home / ".ssh/id_rsa").out
    world.cordon_verb("policy", "show", "strict").expect(0)


@pytest.mark.parametrize("words, status", [
    (["policy", "convert", "--from", "srt", "--to", "cordon", "settings.json"], 2), (["mxc", "request.json"], None),
    (["srt", "true"], None), (["apply", "--print-policy", "default"], 2)], ids=lambda one: str(one))
def test_the_rest_is_refused_by_name(world, words, status):
    refused = world.cordon_verb(*words)
    assert refused.status != 0 and status in (None, refused.status), refused.account()
    assert "is not part of this build" in refused.err and "CORDON_COMPAT=OFF" in refused.err, refused.account()


def test_a_foreign_backend_is_refused_by_name(world):
    refused = world.run("true", options=["--backend", "mxc"]).expect(125)
    assert "mxc" in refused.err
    world.run("true", options=["--backend", "native"]).expect(0)
