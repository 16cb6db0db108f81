"""The official programs against the fixture: conformance over HTTP, the inspector over stdio."""

import json
import re

import pytest

import suites
from peer import stage
from support import harness
from web import TOKEN, Web

pytestmark = pytest.mark.npm

ME = harness.PEOPLE[0]
# Scenarios the suite does not count, of features that are not there: the tasks extension and
# headers for single arguments. Listed, so that one that starts to pass is noticed.
NOT_SCORED = {
    "2025-11-25": set(),
    "2026-07-28": {"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields",
                   "tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers",
                   "tasks-dispatch-and-envelope", "tasks-required-task-error",
                   "tasks-mrtr-composition", "http-custom-header-server-validation"},
}
SCORED = {"2025-11-25": 30, "2026-07-28": 37}


@pytest.mark.parametrize("revision", SCORED)
def test_conformance(revision):
    web = Web(ME)
    try:
        done = suites.conformance(web.url, TOKEN, revision)
    finally:
        web.kill()
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    counted = summary.partition("Not scored for")[0]
    passed = set(re.findall(r"^✓ (\S+):", counted, re.M))
    failed = set(re.findall(r"^✗ (\S+):", counted, re.M))
    unscored = set(re.findall(r"^  [✓✗] (\S+) \(", summary, re.M))
    assert failed == NOT_SCORED[revision], done.stdout[-6000:] + done.stderr[-2000:]
    assert len(passed - unscored) == SCORED[revision], sorted(passed - unscored)
    assert done.returncode == 0


FIXTURE = str(stage() / "mcp_fixture")


def inspect(era, *arguments):
    return suites.inspector(FIXTURE, *arguments, "--protocol-era", era, "--format", "json", "-q")


@pytest.fixture(params=["modern", "legacy"])
def era(request):
    return request.param


def test_inspector_connects(era):
    done = inspect(era, "--method", "initialize")
    assert done.returncode == 0, done.stderr
    assert "cordon-mcp-fixture" in done.stdout


def test_inspector_finds_portable_schemas(era):
    done = suites.inspector(FIXTURE, "--method", "tools/list", "--protocol-era", era, "--strict",
                            "-q")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_inspector_calls(era):
    done = inspect(era, "--method", "tools/call", "--tool-name", "echo", "--tool-args-json",
                   json.dumps({"text": "hi", "argv": ["a"]}))
    assert done.returncode == 0, done.stderr
    text = json.loads(done.stdout)["result"]["content"][0]["text"]
    assert json.loads(text) == {"text": "hi", "argv": ["a"]}
    by_words = inspect(era, "--method", "tools/call", "--tool-name", "echo", "--tool-arg",
                       "text=hello")
    assert by_words.returncode == 0, by_words.stderr


def test_inspector_sees_failures(era):
    for arguments in (["test_error_handling"], ["echo"], ["no_such_tool"]):
        done = inspect(era, "--method", "tools/call", "--tool-name", *arguments)
        assert done.returncode == 5, (arguments, done.returncode, done.stdout, done.stderr)


def test_inspector_reads(era):
    resource = inspect(era, "--method", "resources/read", "--uri", "test://static-text")
    assert resource.returncode == 0, resource.stderr
    assert "static text resource" in resource.stdout
    prompts = inspect(era, "--method", "prompts/list")
    assert prompts.returncode == 0 and "test_simple_prompt" in prompts.stdout


def test_inspector_loads(era):
    done = inspect(era, "--method", "tools/call", "--tool-name", "echo", "--tool-args-json",
                   '{"text":"x"}', "--load", "--load-requests", "500", "--load-concurrency", "10")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
