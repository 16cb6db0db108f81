"""The official programs against the product: conformance over HTTP, the inspector over stdio."""

import json
import re

import pytest

import peer
import suites
from support import harness
from web import TOKEN

pytestmark = pytest.mark.npm

ON = {"CORDON_ENABLE_RUN_CODE": "1"}
# Scenarios in which nothing fails. They are named, since a suite that ran nothing would fail nothing
# either.
WHOLE = {"2025-11-25": {"server-initialize", "ping", "tools-list", "dns-rebinding-protection"},
         "2026-07-28": {"tools-list", "dns-rebinding-protection", "http-header-validation",
                        "input-required-result-unsupported-methods"}}


@pytest.fixture(scope="module")
def place():
    """A world for all of the tests: the inspector takes most of a second to start."""
    made = harness.World(harness.PEOPLE[-1], harness.stage().new_directory())
    made.document(f'version = 1\n[fs]\nwrite = ["{made.project}"]\n', "ceiling.toml")
    made.document(f'version = 1\n[fs]\nwrite = ["{made.project}"]\n[ask]\nread = ["{made.outside}"]\n',
                  "asking.toml")
    yield made
    made.leave()


# What the profile `full` adds: resources, prompts and tools that ask.
MORE = {"2025-11-25": {"prompts-list", "resources-list"},
        "2026-07-28": {"prompts-list", "resources-list", "caching", "sep-2164-resource-not-found"}}


@pytest.mark.parametrize("profile", ["basic", "full"])
@pytest.mark.parametrize("revision", WHOLE)
def test_conformance_fails_nothing_but_what_is_listed(place, revision, profile):
    token = place.write(place.trusted / "token", TOKEN + "\n", 0o600)
    server = place.start([place.cordon, "mcp", "--profile", profile, "--http", "127.0.0.1:0",
                          "--token-file", token, "--ceiling", place.trusted / "asking.toml"],
                         env=ON)
    try:
        port = None
        while port is None:
            line = server.stderr.readline().decode()
            assert line, "the server ended"
            port = line.split()[-1] if "listening" in line else None
        done = suites.conformance(f"http://127.0.0.1:{port}/mcp", TOKEN, revision,
                                  "--expected-failures",
                                  str(suites.SOURCE / f"expected-{profile}-{revision}.yml"))
    finally:
        harness.stop(server)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    whole = WHOLE[revision] | (MORE[revision] if profile == "full" else set())
    assert whole <= set(re.findall(r"^✓ (\S+):", done.stdout, re.M)), done.stdout[-4000:]


def inspect(place, era, *arguments, form=("--format", "json")):
    """The server is started as the inspector's child, as the person of the place."""
    words = [*place.who.prefix, str(place.cordon), "mcp", "--workspace", str(place.project),
             "--ceiling", str(place.trusted / "ceiling.toml")]
    wrapper = place.trusted / "serve"
    place.write(wrapper, "#!/bin/sh\nexec env -i " + " ".join(
        f"'{word}'" for word in [*(f"{k}={v}" for k, v in place.environment(ON).items()), *words])
        + "\n", 0o755)
    return suites.inspector(str(wrapper), *arguments, "--protocol-era", era, *form, "-q")


def told(done):
    return peer.told(json.loads(done.stdout)["result"])


def call(place, era, tool, arguments, *more):
    return inspect(place, era, "--method", "tools/call", "--tool-name", tool, "--tool-args-json",
                   json.dumps(arguments), *more)


def test_inspector_connects(place, era):
    done = inspect(place, era, "--method", "initialize")
    assert done.returncode == 0, done.stderr
    assert '"cordon"' in done.stdout


def test_inspector_finds_portable_schemas(place, era):
    done = inspect(place, era, "--method", "tools/list", "--strict", form=())
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    listed = inspect(place, era, "--method", "tools/list")
    tools = json.loads(listed.stdout)["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["run_code", "read_local_file", "write_local_file"]
    assert len(json.dumps(tools)) < 10_000


def test_inspector_runs_and_reads(place, era):
    ran = call(place, era, "run_code", {"argv": ["cat", "file.txt"]})
    assert ran.returncode == 0, ran.stderr
    assert told(ran)["stdout"] == "project file\n"
    read = inspect(place, era, "--method", "tools/call", "--tool-name", "read_local_file",
                   "--tool-arg", f"path={place.project / 'file.txt'}")
    assert read.returncode == 0, read.stderr
    assert told(read)["content"] == "project file\n"


def test_inspector_sees_refusals(place, era):
    """Exit status 5: the tool said isError, or there is no such tool."""
    for tool, arguments in (("read_local_file", {"path": str(place.outside / "secret")}),
                            ("run_code", {"argv": []}), ("no_such_tool", {})):
        done = call(place, era, tool, arguments)
        assert done.returncode == 5, (tool, done.returncode, done.stdout, done.stderr)
        assert "SECRET" not in done.stdout + done.stderr


def test_inspector_loads(place, era):
    done = call(place, era, "run_code", {"argv": ["true"]}, "--load", "--load-requests", "500",
                "--load-concurrency", "10")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    counts = json.loads(done.stdout)["result"]
    assert (counts["requests"], counts["ok"], counts["errors"]) == (500, 500, 0), counts
