"""fs.trust_tracked where no mount holds anything: what git checks out of a branch of the person is put
back first and goes through then; what a run made up stays held."""

import json

import pytest

SETTINGS = ".vscode/settings.json"
IDENTITY = ("-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@example.com")


def git(world, *words):
    return world.bare("git", *IDENTITY, *words).expect(0).out


def commit(world, message, files):
    for name, text in files.items():
        world.write(world.project / name, text)
    git(world, "add", "-f", *files)
    git(world, "commit", "-q", "-m", message)


@pytest.fixture
def project(world):
    git(world, "init", "-q", "-b", "main", ".")
    commit(world, "main", {SETTINGS: "main\n", ".mcp.json": "main\n"})
    git(world, "checkout", "-q", "-b", "feature")
    commit(world, "feature", {SETTINGS: "feature\n", ".mcp.json": "feature\n",
                              ".claude/settings.json": "feature\n"})
    git(world, "checkout", "-q", "main")
    return world.project


def checkout(world, branch, more="true"):
    done, report = world.report("/bin/sh", "-c", f"git -c safe.directory='*' checkout -q {branch}; {more}")
    return done, report, {entry["path"]: entry["state"] for entry in report["changes"]}


def test_a_branch_of_the_person_passes(world, project):
    done, report, states = checkout(world, "feature")
    assert report["enforcement"]["backend"] == "landlock"
    for name in (SETTINGS, ".mcp.json", ".claude/settings.json"):
        assert (project / name).read_text() == "feature\n", done.account() + json.dumps(report["changes"])
        assert states[name] == "applied", states
    assert git(world, "status", "--porcelain", "--untracked-files=no") == ""
    assert report["handoff"] == [], report["handoff"]
    assert world.left_behind() == []


def test_what_the_run_made_up_is_held(world, project):
    _, report, _ = checkout(world, "feature", f"echo evil > {SETTINGS}; echo evil > .claude/x.json")
    assert (project / SETTINGS).read_text() == "main\n"
    assert (project / ".mcp.json").read_text() == "feature\n"
    assert not (project / ".claude/x.json").exists()
    kept = {entry["path"]: entry["state"] for entry in report["changes"]}
    assert kept[SETTINGS] == "held" and kept[".claude/x.json"] == "held", kept
    assert kept[".claude/settings.json"] == "applied", kept


def test_a_branch_that_a_run_wrote_is_held(world, project):
    words = " ".join(f"'{word}'" for word in IDENTITY)
    world.report("/bin/sh", "-c", f"git {words} checkout -q -b evil; echo evil > {SETTINGS}; "
                 f"git {words} commit -q -a -m evil; git {words} checkout -q -f main")
    assert git(world, "show", f"evil:{SETTINGS}") == "evil\n"
    _, _, states = checkout(world, "-f evil")
    assert (project / SETTINGS).read_text() == "main\n" and states[SETTINGS] == "held", states
