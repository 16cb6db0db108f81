"""Fixtures of every black-box test, and the account at the end of a run."""

import os
import zlib

import pytest

from support import apart, harness, voids
from support.internet import Internet, NetWorld

SEED_GROUPS = ("symlink", "traversal", "secrets", "network", "timeout", "binary tampering",
               "fork bomb", "cleanup")


def pytest_configure(config):
    harness.hear_hangups()
    apart.enter_own_groups()
    config.addinivalue_line("markers", "group(name): the group an attack case belongs to")
    config.addinivalue_line("markers", "only(person): the case concerns root or the user alone")
    config.addinivalue_line("markers", "once: what is asserted does not depend on who starts it")
    config.addinivalue_line("markers", "npm: the case needs programs that npm fetches")


def person_of(item):
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("who") if callspec else None


def is_the_others(item):
    """Whether a case marked `once` is left to the other person. Each case has its own, by its name: half of them
    start as root and half as the user, and the same ones every time."""
    person = person_of(item)
    if person is None or len(harness.PEOPLE) < 2 or not item.get_closest_marker("once"):
        return False
    if item.get_closest_marker("only"):
        return False
    case = item.nodeid.replace(person.name, "", 1)
    return harness.PEOPLE.index(person) != zlib.crc32(case.encode()) % len(harness.PEOPLE)


def pytest_collection_modifyitems(config, items):
    kept, dropped = [], []
    for item in items:
        mark = item.get_closest_marker("only")
        person = person_of(item)
        (dropped if mark and person and person.name != mark.args[0] else kept).append(item)
    # Of all cases, those that ./test takes; whoever calls pytest himself, and ./test --all, takes all.
    config.cordon_left_out = {}
    if harness.only_chosen_cases():
        without_npm = [item for item in kept if not item.get_closest_marker("npm")]
        chosen = [item for item in without_npm if not is_the_others(item)]
        config.cordon_left_out = {"need programs that npm fetches": len(kept) - len(without_npm),
                                  "repeat as one person what the other did": len(without_npm) - len(chosen)}
        kept = chosen
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
    made.leave()


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
    made.leave()


@pytest.fixture
def target(world):
    made = harness.start_target(world)
    yield made
    harness.stop(made.process)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.case_groups = [mark.args[0] for mark in item.iter_markers("group")]


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
            for name in getattr(report, "case_groups", []):
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
    for why, count in config.cordon_left_out.items():
        if count:
            terminalreporter.write_line(f"left to ./test --all: {count} cases that {why}")
    missing = config.cordon_root_cases_not_run
    if missing:
        terminalreporter.write_line(f"not started by root: {missing} root cases were not run")
