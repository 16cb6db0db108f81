"""A ceiling that does not cover the server's directory: no command starts somewhere else."""

import pytest

from served import audit_lines
from support.cures import apply_cure

pytestmark = pytest.mark.once

NOWHERE = 'version = 1\n[fs]\nwrite = ["{0.outside}"]\n'


def line_of(told, word):
    found = [line for line in told.splitlines() if word in line]
    assert found, told
    return found[0]


def start(serve, serve_full, profile, **how):
    return serve(**how) if profile == "basic" else serve_full(**how)


@pytest.mark.parametrize("profile", ["basic", "full"])
def test_no_command_starts_elsewhere(serve, serve_full, world, profile):
    server = start(serve, serve_full, profile, ceiling=NOWHERE.format(world))
    result = server.bad("run_code", {"argv": ["/bin/ls"]})
    assert result["message"] == "the working directory is outside what is granted"
    assert result["type"] == "SandboxDeniedError"
    # A model is told neither the ceiling nor what it holds.
    for secret in (world.outside, world.project, "ceiling.toml"):
        assert str(secret) not in str(result), result
    last = audit_lines(world)[-1]
    assert (last["outcome"], last["reason"]) == ("failure", "refused"), last
    told = server.end()[1]
    file = world.trusted / "ceiling.toml"
    for word in ("mcp: no command can start", "run_code: "):
        assert str(file) in line_of(told, word) and str(world.project) in line_of(told, word)
    line = line_of(told, "run_code: ")
    apply_cure(line[line.index("below [fs]"):])
    server = start(serve, serve_full, profile, ceiling=file.read_text())
    assert "file.txt" in server.good("run_code", {"argv": ["/bin/ls"]})["stdout"]


def test_a_process_that_goes_on_starts_nowhere_else_either(serve_full, world):
    server = serve_full(ceiling=NOWHERE.format(world))
    result = server.bad("start_process", {"argv": ["/bin/sleep", "60"]})
    assert result["message"] == "the working directory is outside what is granted"
    # A directory that is granted may be named, and one that is not tells nothing.
    there = server.good("run_code", {"argv": ["/bin/pwd"], "cwd": str(world.outside)})
    assert there["stdout"] == f"{world.outside}\n"
    told = {server.bad("run_code", {"argv": ["/bin/pwd"], "cwd": str(path)})["message"]
            for path in (world.project, world.home / "no-such-place")}
    assert len(told) == 1, told


def test_files_are_reached_all_the_same(serve_full, world):
    server = serve_full(ceiling=NOWHERE.format(world))
    result = server.good("read_local_file", {"path": str(world.outside / "secret")})
    assert "SECRET-outside" in str(result)
    server.bad("read_local_file", {"path": str(world.project / "file.txt")})


def test_a_second_ceiling_takes_it_away_as_well(serve, world):
    second = world.document(NOWHERE.format(world), "second.toml")
    server = serve("--ceiling", str(second), ceiling=f'version = 1\n[fs]\nwrite = ["{world.project}"]\n')
    server.bad("run_code", {"argv": ["/bin/ls"]})
    told = line_of(server.end()[1], "run_code: ")
    assert str(second) in told and str(world.trusted / "ceiling.toml") not in told
    apply_cure(told[told.index("below [fs]"):])
    server = serve("--ceiling", str(second), ceiling=f'version = 1\n[fs]\nwrite = ["{world.project}"]\n')
    server.good("run_code", {"argv": ["/bin/ls"]})
