"""What the runner of machines says of a run, and that nobody can type a proof. No machine is started."""

import json
import re

import pytest

import gaps
import judge
import machines
import proven
import run
import suites
from images import CHECKOUT

MACHINE = "x86_64-6.1"
GAP = gaps.Gap("tests/a/test_x.py::test_scope[*]", (MACHINE,), "scopes", "EINVAL")

EVERY = tuple(machines.MACHINES.values())


def report(*cases):
    """A JUnit file as pytest writes it: name and None, or the words of a failure or a skip."""
    body = "".join(
        f'<testcase classname="tests.a.test_x" name="{name}">{inner or ""}</testcase>'
        for name, inner in cases)
    return f'<testsuites><testsuite name="pytest">{body}</testsuite></testsuites>'.encode()


def failure(words):
    return f'<failure message="{words}">{words}</failure>'


def judged(*cases, ended="status", status=0):
    files = {"machine.json": b"{}", "one.xml": report(*cases), "suites.json": json.dumps(
        [{"name": "one", "as": "root", "ended": ended, "status": status, "seconds": 1,
          "pytest": True}]).encode()}
    return judge.judge(MACHINE, files)


@pytest.fixture(autouse=True)
def one_gap(monkeypatch):
    monkeypatch.setattr(judge, "GAPS", (GAP,))


def test_cases_that_passed_are_counted():
    account, troubles = judged(("test_a[root]", None), ("test_a[user]", None))
    assert troubles == []
    assert account["suites"][0] == {"name": "one", "as": "root", "seconds": 1, "cases": 2,
                                    "passed": 2, "gaps": 0}


def test_a_failure_that_nothing_explains_is_trouble():
    _, troubles = judged(("test_a[root]", failure("assert 1 == 2")), status=1)
    assert len(troubles) == 1 and "tests/a/test_x.py::test_a[root]: failed" in troubles[0]
    assert "assert 1 == 2" in troubles[0]


def test_a_gap_is_seen_as_it_is_described():
    account, troubles = judged(("test_scope[root]", failure("got EINVAL")), status=1)
    assert troubles == [] and account["suites"][0]["gaps"] == 1 and account["lacks"] == ["scopes"]


@pytest.mark.parametrize("inner", [failure("got EPERM"), None], ids=["otherwise", "no longer"])
def test_a_gap_that_is_not_seen_is_trouble(inner):
    _, troubles = judged(("test_scope[root]", inner))
    assert len(troubles) == 1 and "gaps.py says" in troubles[0]


def test_a_gap_of_another_machine_explains_nothing(monkeypatch):
    monkeypatch.setattr(judge, "GAPS", (gaps.Gap(GAP.case, ("aarch64-6.1",), "x", "EINVAL"),))
    assert len(judged(("test_scope[root]", failure("got EINVAL")), status=1)[1]) == 1


def test_nothing_is_skipped():
    assert "was skipped" in judged(("test_a[root]", '<skipped message="no"/>'))[1][0]


@pytest.mark.parametrize("how", [{"ended": "time limit", "status": -9}, {"status": 2},
                                 {"status": 5}])
def test_a_suite_that_did_not_run_is_trouble(how):
    assert len(judged(("test_a[root]", None), **how)[1]) == 1


def test_a_report_without_a_case_is_trouble():
    assert judged()[1] == ["one: no case was run"]


def test_gaps_name_machines_that_exist():
    for gap in gaps.GAPS:
        assert set(gap.machines) <= set(machines.MACHINES), gap
        assert gap.lacks and gap.seen, gap


@pytest.mark.parametrize("own", ["x86_64", "aarch64"])
def test_machines_of_the_own_architecture_take_the_release(monkeypatch, own):
    monkeypatch.setattr(machines.platform, "machine", lambda: own)
    presets = json.loads((CHECKOUT / "CMakePresets.json").read_text())["configurePresets"]
    outputs = {preset["name"]: preset.get("cacheVariables", {}).get("CORDON_OUTPUT_DIR") for preset in presets}
    for machine in machines.MACHINES.values():
        assert machine.preset == ("release" if machine.processor == own else machine.processor)
        assert outputs[machine.preset] == f"${{sourceDir}}/{machine.binaries}"


@pytest.mark.parametrize("own, flags, usable", [
    ("x86_64", "fpu vmx sse", True), ("x86_64", "fpu svm", True), ("x86_64", "fpu sse hypervisor", False),
    ("aarch64", "fp asimd", True)])
def test_a_device_alone_is_no_kvm(monkeypatch, tmp_path, own, flags, usable):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"flags\t\t: {flags}\n")
    monkeypatch.setattr(machines, "PROCESSORS", cpuinfo)
    monkeypatch.setattr(machines.platform, "machine", lambda: own)
    monkeypatch.setattr(machines.os, "access", lambda *_: True)
    assert machines.has_kvm() == usable
    for machine in machines.MACHINES.values():
        assert ("kvm" in machine.hardware()) == (usable and machine.processor == own)
    monkeypatch.setattr(machines.os, "access", lambda *_: False)
    assert not machines.has_kvm()


LEAVING_OUT = {"--ignore", "--deselect"}


def test_chosen_tests_exist():
    """A test that was renamed would be an error of pytest's in the machine, half an hour later."""
    tiers = [boot for tier in suites.TIERS.values() for machine in EVERY for boot in tier(machine)]
    names = {name for boot in tiers for suite in boot for name in suite.tests}
    names -= LEAVING_OUT
    for name in [*names, *suites.LEFT_OUT]:
        path, _, test = name.partition("::")
        assert (CHECKOUT / path).exists(), name
        test = test.partition("[")[0]
        assert not test or f"def {test}(" in (CHECKOUT / path).read_text(), name


@pytest.mark.parametrize("machine", EVERY, ids=lambda machine: machine.name)
@pytest.mark.parametrize("part, path", {
    "attack": "tests/attack", "contract": "tests/contract", "limits": "tests/vm/suites/test_cgroup2.py",
    "death": "tests/cli/test_death.py", "egress": "tests/egress/", "audit": "tests/audit/",
    "doctor": "tests/cli/test_doctor.py", "mcp": "tests/mcp/", "filter": "tests/filter"}.items())
def test_the_whole_tier_asks_about_every_part(part, path, machine):
    """On whatever kernel: a suite that needs a newer one does not stand for a part."""
    asked = [suite for boot in suites.whole(machine) for suite in boot if not suite.needs_abi
             and any(name.startswith(path) for name, before in zip(suite.tests, ("", *suite.tests))
                     if before not in LEAVING_OUT)]
    assert asked, part


def test_the_package_is_installed_on_every_machine_of_x86_64():
    for machine in EVERY:
        found = [suite for boot in suites.whole(machine) for suite in boot if suite.package]
        assert len(found) == (machine.processor == "x86_64")
        assert all(suite.job()["package"] for suite in found)


@pytest.mark.parametrize("machine", EVERY, ids=lambda machine: machine.name)
def test_attacks_are_made_by_root_and_by_a_user_on_every_machine(machine):
    attacks = [suite for boot in suites.whole(machine) for suite in boot if suite.name in ("attack", "attack-second")]
    assert len(attacks) == 2 and not [suite for suite in attacks if "CORDON_TEST_AS" in suite.env]
    # A file that the first leaves out is the second's, or is about no kernel.
    left = [name for name, before in zip(attacks[0].tests, ("", *attacks[0].tests)) if before == "--ignore"]
    assert set(left) == {*attacks[1].tests, *suites.OF_CORDON_ITSELF, suites.STAGED_GIT}


def test_the_tables_are_what_the_accounts_say():
    assert proven.check() == 0


@pytest.mark.parametrize("outcome, found", [(None, ["lxc-exec 9.9"]), (failure("no"), [])], ids=["passed", "failed"])
def test_an_executor_is_proven_by_a_case_that_ran_it_and_by_nothing_else(tmp_path, monkeypatch, outcome, found):
    named = '<properties><property name="executor" value="lxc-exec 9.9"/></properties>'
    tmp_path.joinpath("one.xml").write_bytes(report(("test_a", None), ("test_b", named + (outcome or ""))))
    kept = []
    monkeypatch.setattr(proven.results, "keep", lambda begun, account: kept.append({**begun, **account}))
    proven.keep_host(tmp_path)
    [account] = kept
    assert account["executors"] == found and account["suites"][0]["cases"] == 2
    written = proven.summary({**account, "commit": "0" * 40})
    assert written.get("executors", []) == found


@pytest.mark.parametrize("change", [
    {"commit": "HEAD"}, {"date": "today"}, {"executors": "lxc-exec"}, {"executors": [""]}, {"suites": []},
    {"landlock_abi": "7"},
    {"suites": [{"name": "a", "as": "root", "cases": 3, "passed": 2, "gaps": 0}]}])
def test_an_account_that_is_not_whole_is_refused(change):
    whole = {"machine": "m", "tier": "whole", "commit": "0" * 40, "date": "2026-01-02T03:04:05Z",
             "kernel": "6.1", "architecture": "x86_64", "landlock_abi": 2, "cgroup": 2, "lacks": [],
             "suites": [{"name": "a", "as": "root", "cases": 3, "passed": 2, "gaps": 1}]}
    assert proven.trouble_with(whole) is None
    assert proven.trouble_with({**whole, **change}) is not None


def test_a_typed_proof_is_found(tmp_path, monkeypatch, capsys):
    page = tmp_path / "README.md"
    page.write_text(f"# x\n{proven.BEGIN}| mips, Linux 9 | proven |\n{proven.END}")
    monkeypatch.setattr(proven, "PAGES", (page,))
    assert proven.check() == 1 and "README.md" in capsys.readouterr().err
    proven.write()
    assert proven.check() == 0 and "mips" not in page.read_text()


def test_no_document_says_of_itself_that_something_is_proven():
    """Outside of the tables that are written from accounts."""
    for page in (*proven.PAGES, *sorted((CHECKOUT / "docs").glob("*.md"))):
        typed = re.sub(f"(?s){re.escape(proven.BEGIN)}.*?{re.escape(proven.END)}", "", page.read_text())
        assert not re.search(r"(?i)(?<!not )\bproven\s+(on|with|under)\b", typed), page.name
    assert re.search(r"(?i)(?<!not )\bproven\s+(on|with|under)\b", "Proven\non Linux"), "the control"


def test_no_two_suites_of_a_tier_have_one_name():
    """What the boots of a machine hand over is put together by these names."""
    for tier in suites.TIERS.values():
        for machine in EVERY:
            names = [suite.name for boot in tier(machine) for suite in boot]
            assert len(names) == len(set(names))


def test_what_several_boots_handed_over_is_one():
    def boot(name, suite, trouble=None):
        files = {"machine.json": b"{}", f"{name}.xml": b"<x/>", "suites.json": json.dumps([suite]).encode()}
        return run.boot.Ended(files if not trouble else {}, trouble)
    whole = run.together([boot("a", {"name": "a"}), boot("b", {"name": "b"})])
    assert [suite["name"] for suite in json.loads(whole.files["suites.json"])] == ["a", "b"]
    assert {"a.xml", "b.xml", "machine.json"} <= set(whole.files) and whole.trouble is None
    assert run.together([boot("a", {"name": "a"}), boot("b", {}, "late")]).trouble == "late"
