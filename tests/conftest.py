"""Fixtures of every black-box test, and the account at the end of a run."""

import os

import pytest

from support import harness, voids
from support.internet import Internet, NetWorld

SEED_GROUPS = ("symlink", "traversal", "secrets", "network", "timeout", "binary tampering",
               "fork bomb", "cleanup")


def pytest_configure(config):
    harness.hear_hangups()
    config.addinivalue_line("markers", "group(name): the seed group an attack case belongs to")
    config.addinivalue_line("markers", "only(person): the case concerns root or the user alone")


def pytest_collection_modifyitems(config, items):
    kept, dropped = [], []
    for item in items:
        mark = item.get_closest_marker("only")
        callspec = getattr(item, "callspec", None)
        person = callspec.params.get("who") if callspec else None
        (dropped if mark and person and person.name != mark.args[0] else kept).append(item)
    items[:] = kept
    cases = [i for i in kept if "who" in getattr(i, "fixturenames", ())]
    config.cordon_root_cases_not_run = 0 if os.geteuid() == 0 else len(cases) + len(dropped)


@pytest.fixture(params=harness.PEOPLE, ids=lambda person: person.name)
def who(request):
    return request.param


@pytest.fixture
def world(who):
    made = harness.World(who, harness.stage().new_directory())
    yield made
    made.tidy()
    harness.remove_tree(made.path)


@pytest.fixture(scope="session")
def internet():
    """One small internet for all tests that want one."""
    made = Internet()
    yield made
    made.close()


@pytest.fixture
def net(who, internet):
    """A world on that internet's host."""
    made = NetWorld(who, harness.stage().new_directory(), internet)
    yield made
    made.tidy()
    harness.remove_tree(made.path)


@pytest.fixture
def target(world):
    made = harness.start_target(world)
    yield made
    harness.stop(made.process)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.seed_groups = [mark.args[0] for mark in item.iter_markers("group")]


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed:
        voids.note_run(report.nodeid)


def pytest_sessionfinish(session):
    if voids.troubles_of_this_run() and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    counts = {name: [0, 0] for name in SEED_GROUPS}
    for column, kind in enumerate(("passed", "failed")):
        for report in terminalreporter.stats.get(kind, []):
            for name in getattr(report, "seed_groups", []):
                if report.when == "call":
                    counts[name][column] += 1
    if any(sum(pair) for pair in counts.values()):
        terminalreporter.section("attack groups")
        for name, (passed, failed) in counts.items():
            terminalreporter.write_line(f"{name:18} {passed:4} passed {failed:4} failed")
    for line in voids.account():
        terminalreporter.write_line(line)
    for line in voids.troubles_of_this_run():
        terminalreporter.write_line(f"VOID: {line}", red=True)
    missing = config.cordon_root_cases_not_run
    if missing:
        terminalreporter.write_line(f"not started by root: {missing} root cases were not run")
