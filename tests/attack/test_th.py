"""Trust hand-off: what the host would later run. Cases TH01 to TH24."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from gitrepo import HOOKS, git, make_repository, payload
from support.harness import FILE_ERRORS, tree_digest

EXEC_KEYS = ("diff.external", "core.pager", "core.sshCommand", "core.editor", "gpg.program",
             "credential.helper", "sequence.editor", "diff.x.textconv", "alias.st",
             "core.askPass", "merge.x.driver", "uploadpack.packObjectsHook")

EDITOR_FILES = (".vscode/settings.json", ".vscode/tasks.json", ".vscode/launch.json")
MCP_FILES = (".cursor/mcp.json", ".mcp.json")
AGENT_FILES = (".claude/settings.json", ".claude/hooks/pre.sh", ".cursor/rules",
               ".codex/config.toml", ".gemini/settings.json", ".copilot/mcp-config.json",
               ".github/agents/a.agent.md", ".github/hooks/a.json", ".amazonq/cli-agents/a.json", ".crush.json",
               "crush.json", ".aider.conf.yml", ".clinerules/hooks/PreToolUse")


def shell(world, script, **how):
    return world.report("/bin/sh", "-c", script, **how)


def cannot_plant(world, name, kind=None):
    """Neither creates nor changes: both by shell, both with the control beside."""
    script = f"mkdir -p \"$(dirname '{name}')\" && echo evil > '{name}'"
    done, report = shell(world, script)
    planted = world.project / name
    assert not planted.exists(), f"{name} was planted\n{done.account()}"
    if done.status == 0:
        moved = [entry for entry in report["handoff"] if entry["moved_to"]]
        assert moved, f"{name} vanished without a report\n{done.report_text}"
        assert os.path.lexists(moved[0]["moved_to"]), done.report_text
        if kind:
            assert moved[0]["kind"] == kind, done.report_text
    world.bare("/bin/sh", "-c", script).expect(0)
    assert planted.read_text() == "evil\n"
    planted.write_text("mine\n")
    world.own(planted)
    for attempt in (f"echo evil > '{name}'", f"rm -f '{name}'; echo evil > '{name}'",
                    f"mv '{name}' moved; echo evil > '{name}'"):
        shell(world, attempt)
        assert planted.read_text() == "mine\n", f"{name} was changed by: {attempt}"


@pytest.mark.group("binary tampering")
def test_TH01_every_hook(world):
    make_repository(world)
    before = tree_digest(world.project / ".git/hooks")
    script = "; ".join(f"echo evil > .git/hooks/{hook}; chmod +x .git/hooks/{hook}"
                       for hook in HOOKS)
    shell(world, script)
    assert tree_digest(world.project / ".git/hooks") == before
    world.bare("/bin/sh", "-c", script).expect(0)
    assert tree_digest(world.project / ".git/hooks") != before


def test_TH02_hooks_path_in_the_workspace(world):
    make_repository(world)
    git(world, "config", "core.hooksPath", "myhooks")
    marker = world.outside / "host-ran-it"
    hook = payload(world, world.project / "myhooks/pre-commit", world.outside / "other")
    before = hook.read_bytes()
    shell(world, f"printf '#!/bin/sh\\ntouch {marker}\\n' > myhooks/pre-commit;"
          f"cp myhooks/pre-commit myhooks/post-commit; chmod +x myhooks/*; true")
    assert hook.read_bytes() == before
    git(world, "commit", "-q", "--allow-empty", "-m", "on the host")
    assert not marker.exists(), "the host ran a hook from the run"


def test_special_files_under_protected_names(world):
    make_repository(world)
    listening = socket.socket(socket.AF_UNIX)
    fifos = [world.project / ".mcp.json", world.project / ".git/commondir"]
    for path in fifos:
        os.mkfifo(path, 0o600)
        world.own(path)
    place = world.project / ".vscode"
    listening.bind(str(place))
    world.own(place)
    before = {path: path.stat().st_ino for path in [*fifos, place]}
    done, report = shell(world, "echo ok; for name in .mcp.json .vscode; do rm -f $name;"
                                "mv $name away; echo x 1<> $name; done; true")
    done.expect(0)
    assert done.out == "ok\n" and report["handoff"] == [], done.account()
    assert {path: path.stat().st_ino for path in before} == before
    # A FIFO that a grant names is seen as it is.
    granted = world.path / "granted"
    os.mkfifo(granted)
    world.own(granted)
    world.run("/usr/bin/test", "-p", granted, options=["--read", granted]).expect(0)
    listening.close()


def test_what_reads_a_fifo_under_a_protected_name_reads_nothing(world):
    fifo = world.project / ".mcp.json"
    os.mkfifo(fifo, 0o600)
    world.own(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    script = "echo evil 1<> .mcp.json"
    shell(world, script)
    assert os.read(reader, 10) == b"", "the command spoke through the FIFO"
    world.bare("/bin/sh", "-c", "echo evil > .mcp.json").expect(0)
    assert os.read(reader, 10) == b"evil\n"
    os.close(reader)


def test_hard_links_into_protected_directories(world):
    make_repository(world)
    held = {world.project / ".vscode/tasks.json": "other",
            world.project / ".git/hooks/pre-commit": "hk",
            world.project / ".git/info-hook": ".git/copy",
            world.project / ".git/config": "settings"}
    for path, name in held.items():
        if not path.exists():
            world.write(path, "mine\n", 0o755)
        os.link(path, world.project / name)
    plain = world.project / ".git/info-hook"
    before = {path: path.read_bytes() for path in held}
    script = "; ".join(f"echo evil >> {name}" for name in held.values())
    shell(world, script)
    for path, content in before.items():
        # Not everything with two names is protected.
        assert (path.read_bytes() == content) == (path != plain), path
    world.bare("/bin/sh", "-c", script).expect(0)
    assert all(path.read_bytes() != content for path, content in before.items())


def test_hard_links_into_credential_stores(world):
    key = world.write(world.home / ".ssh/id", "SECRET-key\n", 0o600)
    os.link(key, world.home / "backup")
    world.write(world.home / "plain", "plain\n")
    options = ["--read", world.home]
    world.denied("read", world.home / "backup", options=options)
    world.allowed("read", world.home / "plain", options=options)


@pytest.mark.parametrize("mode", ["0", "0100", "0400"])
def test_closed_directories_hide_nothing(world, mode):
    script = ("mkdir -p c/.vscode c/.git/hooks && echo evil > c/.vscode/tasks.json && "
              f"echo evil > c/.git/hooks/pre-commit && touch c/plain && chmod {mode} c")
    done, report = shell(world, script)
    done.expect(0)
    assert {entry["path"] for entry in report["handoff"] if entry["moved_to"]} == {
        "c/.vscode", "c/.git/hooks/pre-commit"}, done.report_text
    closed = world.project / "c"
    assert closed.stat().st_mode & 0o7777 == int(mode, 8), "the run's own mode was not kept"
    closed.chmod(0o755)
    assert (closed / "plain").exists() and not (closed / ".vscode").exists()


def test_a_closed_workspace_hides_nothing(world):
    done, report = shell(world, "echo evil > .mcp.json; chmod 0 .")
    done.expect(0)
    assert [entry["path"] for entry in report["handoff"]] == [".mcp.json"], done.report_text
    world.project.chmod(0o755)
    assert not (world.project / ".mcp.json").exists()


@pytest.mark.parametrize("before", ["present", "absent"])
def test_TH02_hooks_path_of_the_user_without_a_repository(world, before):
    world.write(world.home / ".gitconfig", "[core]\n\thooksPath = ~/project/hk/in\n")
    hook = world.make_directory(world.project / "hk") / "in/pre-commit"
    if before == "present":
        world.write(hook, "mine\n", 0o755)
    script = "mkdir -p hk/in; echo evil > hk/in/pre-commit"
    done, report = shell(world, script)
    if before == "present":
        assert hook.read_text() == "mine\n", done.account()
    else:
        assert not hook.exists(), done.account()
        [moved] = report["handoff"]
        assert (moved["path"], moved["kind"]) == ("hk/in", "git"), done.report_text
    world.bare("/bin/sh", "-c", script).expect(0)
    assert hook.read_text() == "evil\n"


def test_TH02_hooks_path_seen_from_a_directory_below(world):
    make_repository(world)
    git(world, "config", "core.hooksPath", "sub/myhooks")
    marker = world.outside / "host-ran-it"
    hook = payload(world, world.project / "sub/myhooks/pre-commit", world.outside / "other")
    before = hook.read_bytes()
    script = f"touch plain; printf '#!/bin/sh\\ntouch {marker}\\n' > myhooks/pre-commit"
    shell(world, script, cwd=world.project / "sub")
    assert (world.project / "sub/plain").exists()
    assert hook.read_bytes() == before
    # A grant of the hooks themselves cannot be held, so there is no such run.
    options = ["--policy", "strict", "--write", world.project / "sub/myhooks"]
    refused = world.run("/bin/sh", "-c", "true", options=options)
    assert refused.status == 125 and "hooks" in refused.err, refused.account()
    world.bare("/bin/sh", "-c", script, cwd=world.project / "sub").expect(0)
    assert hook.read_bytes() != before


def test_TH02_configuration_that_the_user_includes(world):
    make_repository(world)
    included = world.write(world.project / "work.inc", "[user]\n\tname = w\n", 0o644)
    world.write(world.home / ".gitconfig",
                f'[includeIf "gitdir:{world.project}/"]\n\tpath = {included}\n', 0o644)
    script = "echo '[core]\n\tpager = evil' > work.inc"
    shell(world, script)
    assert "evil" not in included.read_text()
    world.bare("/bin/sh", "-c", script).expect(0)
    assert "evil" in included.read_text()


def config_is_untouched(world, script):
    config = world.project / ".git/config"
    before = config.read_bytes()
    done, _ = shell(world, script)
    assert config.read_bytes() == before, f"the host's config changed\n{done.account()}"
    return done


def test_TH04_fsmonitor(world):
    make_repository(world)
    marker = world.outside / "host-ran-it"
    payload(world, world.project / "evil.sh", marker)
    script = f"git config core.fsmonitor '{world.project}/evil.sh'"
    config_is_untouched(world, script)
    git(world, "status")
    assert not marker.exists()
    world.bare("/bin/sh", "-c", script + "; git status").expect(0)
    assert marker.exists(), "the attack does not work even bare"


@pytest.mark.parametrize("key", EXEC_KEYS)
def test_TH05_keys_that_execute(world, key):
    make_repository(world)
    config_is_untouched(world, f"git config {key} ./evil.sh; echo '[core]' >> .git/config;"
                        "mv .git/config .git/config2; printf '[core]\\n' > .git/config; true")
    world.bare("git", "config", key, "./evil.sh").expect(0)
    assert "evil.sh" in (world.project / ".git/config").read_text()


def test_TH06_filter_named_by_attributes(world):
    make_repository(world)
    marker = world.outside / "host-ran-it"
    payload(world, world.project / "evil.sh", marker)
    script = ("echo '* filter=evil' > .gitattributes; echo x >> tracked.txt;"
              f"git config filter.evil.clean '{world.project}/evil.sh'")
    config_is_untouched(world, script)
    git(world, "diff")
    assert not marker.exists()
    world.bare("/bin/sh", "-c", script).expect(0)
    git(world, "add", "tracked.txt")
    assert marker.exists(), "the attack does not work even bare"


def test_TH07_include(world):
    make_repository(world)
    config_is_untouched(world, "git config include.path ../evil.cfg;"
                        "git config includeIf.gitdir:/.path ../evil.cfg")
    git(world, "config", "include.path", "../included.cfg")
    included = world.write(world.project / "included.cfg", "[core]\n\tabbrev = 12\n")
    shell(world, "printf '[core]\\n\\tfsmonitor = ./evil.sh\\n' > included.cfg;"
          "rm -f included.cfg; mv included.cfg x; true")
    assert included.read_text() == "[core]\n\tabbrev = 12\n"
    world.bare("/bin/sh", "-c", "echo > included.cfg").expect(0)


def test_TH09_git_variables_steer_nothing(world):
    make_repository(world)
    marker = world.outside / "host-ran-it"
    evil = payload(world, world.outside / "evil.sh", marker)
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor",
                 "GIT_CONFIG_VALUE_0": str(evil), "GIT_DIR": str(world.project / ".git"),
                 "GIT_WORK_TREE": str(world.project)}
    done = world.run("env", env=variables)
    done.expect(0)
    # Nothing of the caller's: at most what Cordon sets, which has git compare files by size and time (ADR 0065).
    assert {line for line in done.out.splitlines() if line.startswith("GIT_")} <= {
        "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.checkStat", "GIT_CONFIG_VALUE_0=minimal",
        "GIT_CONFIG_KEY_1=core.trustctime", "GIT_CONFIG_VALUE_1=false"}, done.account()
    assert not marker.exists(), "Cordon ran the caller's git settings"
    world.bare("git", "status", env=variables).expect(0)
    assert marker.exists(), "the attack does not work even bare"


@pytest.mark.parametrize("name", EDITOR_FILES)
def test_TH10_editor_files(world, name):
    cannot_plant(world, name, "editor")


@pytest.mark.parametrize("name", MCP_FILES)
def test_TH11_mcp_files(world, name):
    cannot_plant(world, name, "agent")


def test_mercurial_configuration(world):
    cannot_plant(world, ".hg/hgrc", "shell")


@pytest.mark.parametrize("name", AGENT_FILES)
def test_TH12_agent_files(world, name):
    cannot_plant(world, name, "agent")


def test_TH14_the_workspace_sets_no_policy(world):
    text = f'version = 1\nextends = "workspace"\n[fs]\nread = ["{world.outside}"]\n'
    for name in ("cordon.toml", ".cordon.toml", ".cordon/policy.toml", "policy.toml",
                 "ceiling.toml", ".config/cordon/ceiling.toml", "policies/workspace.toml"):
        world.write(world.project / name, text, 0o600)
    world.denied("read", world.outside / "secret")


def test_TH15_directory_on_the_path(world):
    binaries = world.project / "venv/bin"
    world.write(binaries / "activate", "mine\n")
    world.write(binaries / "python", "#!/bin/sh\necho mine\n", 0o755)
    env = {"PATH": f"{binaries}:/usr/bin:/bin"}
    before = tree_digest(binaries)
    attempts = [("write", binaries / "activate"), ("write", binaries / "python"),
                ("rename", binaries, world.project / "venv/old")]
    activate, python, renamed = world.inside(attempts, env=env)
    assert activate.ok and python.ok  # in a private copy
    assert not renamed.ok and renamed.errno in FILE_ERRORS | {"EBUSY", "EXDEV"}, renamed
    assert tree_digest(binaries) == before
    done, report = shell(world, "echo evil > venv/bin/ls; chmod +x venv/bin/ls", env=env)
    assert not (binaries / "ls").exists(), f"{done.account()}\n{done.report_text}"
    assert world.outside_of([attempts[0]])[0].ok


@pytest.mark.parametrize("name", ["package.json", "conftest.py", ".github/workflows/ci.yml"])
def test_TH16_reported_build_files(world, name):
    reported_only(world, name)


@pytest.mark.parametrize("name", [".envrc", "Makefile"])
def test_TH17_reported_tool_files(world, name):
    reported_only(world, name)


def test_TH17_idea_is_held(world):
    cannot_plant(world, ".idea/workspace.xml", "editor")


def reported_only(world, name):
    content = '{"scripts":{"postinstall":"evil"}}' if name == "package.json" else "all:"
    done, report = shell(world, f"mkdir -p \"$(dirname '{name}')\"; echo '{content}' > '{name}'")
    done.expect(0)
    assert (world.project / name).exists(), "ordinary work must be possible"
    assert any(name.split("/")[0] in entry["path"] and not entry["moved_to"]
               for entry in report["handoff"]), f"not reported\n{done.report_text}"
    done, report = shell(world, "echo plain > notes.txt")
    assert not report["handoff"], f"a plain file was reported\n{done.report_text}"


@pytest.mark.parametrize("name", [".config/autostart/evil.desktop",
                                  ".config/systemd/user/evil.service", ".bashrc", ".profile",
                                  ".zshrc", ".inputrc", ".config/fish/config.fish", ".gitconfig",
                                  ".ssh/authorized_keys", ".local/bin/ls", "bin/ls"])
def test_TH19_things_that_start_by_themselves(world, name):
    script = f"mkdir -p \"$(dirname ~/'{name}')\"; echo evil > ~/'{name}'"
    shell(world, script)
    assert not (world.home / name).exists(), "it left the private home"
    # The same with the parent granted for writing: the names themselves are held.
    parent = (world.home / name).parent
    if parent != world.home:
        top = world.make_directory(world.home / name.split("/")[0])
        script = f"mkdir -p '{parent}'; echo evil > '{world.home / name}'"
        done, _ = shell(world, script, options=["--write", top])
        assert not (world.home / name).exists(), f"planted through a grant\n{done.account()}"
    world.bare("/bin/sh", "-c", script).expect(0)
    assert (world.home / name).read_text() == "evil\n"


@pytest.mark.group("binary tampering")
def test_TH20_helpers_are_not_looked_up_in_the_workspace(world):
    marker = world.outside / "host-ran-it"
    for name in ("git", "bwrap", "rg", "sh", "newuidmap", "newgidmap", "mount", "ip", "cordon"):
        payload(world, world.project / "bin" / name, marker)
    env = {"PATH": f"{world.project}/bin:/usr/bin:/bin"}
    make_repository(world)
    world.run("/usr/bin/true", env=env).expect(0)
    world.cordon_verb("doctor", env=env)
    assert not marker.exists(), "a program of the workspace ran on the host"
    world.bare("git", "status", env=env).expect(0)
    assert marker.exists(), "the trap does not work"


def test_TH21_project_settings_choose_no_helper(world):
    marker = world.outside / "host-ran-it"
    evil = payload(world, world.project / "evil.sh", marker)
    for name, text in ((".claude/settings.json", f'{{"sandbox":{{"helper":"{evil}"}}}}'),
                       (".cordon/config.toml", f'helper = "{evil}"\n'),
                       ("cordon.toml", f'backend = "{evil}"\n')):
        world.write(world.project / name, text)
    done, report = world.report("/usr/bin/true")
    done.expect(0)
    assert report["enforcement"]["backend"] == (world.backend or "native") and not marker.exists()


def test_TH22_env_file_of_the_project_is_not_read(world):
    marker = world.outside / "host-ran-it"
    evil = payload(world, world.project / "evil.sh", marker)
    world.write(world.project / ".env", f"CORDON_PROXY_COMMAND={evil}\nHTTPS_PROXY=evil:1\n"
                f"CORDON_ENV_FILE={world.project}/.env\n")
    done = world.run("env").expect(0)
    assert "evil" not in done.out and "HOME=" in done.out and not marker.exists(), done.account()
    # What would take the file for an environment takes the variable.
    assert "HTTPS_PROXY=evil:1" in world.bare("/bin/sh", "-c", "set -a; . ./.env; env").out


def test_TH24_caches_are_private(world):
    world.write(world.home / ".cache/ccache/host", "host\n")
    script = "mkdir -p ~/.cache/ccache; echo poison > ~/.cache/ccache/poison; ls ~/.cache/ccache"
    done = world.run("/bin/sh", "-c", script, options=["--policy", "build"])
    done.expect(0)
    assert "host" not in done.out.split(), "the host's cache is visible"
    assert not (world.home / ".cache/ccache/poison").exists(), "the host's cache was poisoned"
    again = world.run("cat", world.home / ".cache/ccache/poison", options=["--policy", "build"])
    assert again.out == "poison\n", f"the private cache does not persist\n{again.account()}"


def test_TH_commondir_ends_the_run(world):
    make_repository(world)
    evil = world.make_directory(world.project / "evil")
    git(world, "init", "-q", "--bare", str(evil))
    marker = world.outside / "host-ran-it"
    payload(world, world.project / "evil.sh", marker)
    git(world, "--git-dir", str(evil), "config", "core.fsmonitor", str(world.project / "evil.sh"))
    script = "echo ../evil > .git/commondir; sleep 35"
    for _ in range(6):  # a watch that starts late misses some
        done, report = shell(world, script)
        assert done.seconds < 30, f"the run was not ended\n{done.account()}"
        assert not (world.project / ".git/commondir").exists(), done.report_text
    git(world, "status")
    assert not marker.exists()
    world.bare("/bin/sh", "-c", "echo ../evil > .git/commondir; git status")
    assert marker.exists(), "the attack does not work even bare"


def test_TH_new_repository_keeps_working(world):
    script = ("git init -q fresh && cd fresh && git -c user.name=a -c user.email=a@example.org "
              "commit -q --allow-empty -m one && echo evil > .git/hooks/pre-commit && "
              "chmod +x .git/hooks/pre-commit && git config core.fsmonitor ./evil.sh && "
              "git config user.name kept")
    done, report = shell(world, script)
    done.expect(0)
    fresh = world.project / "fresh"
    assert (fresh / ".git/HEAD").exists() and (fresh / ".git/hooks/pre-commit.sample").exists()
    assert not (fresh / ".git/hooks/pre-commit").exists(), done.report_text
    assert "fsmonitor" not in (fresh / ".git/config").read_text(), done.report_text
    assert len(report["handoff"]) >= 2, done.report_text
    git(world, "log", "--oneline", cwd=fresh)


@pytest.mark.group("cleanup")
def test_no_stub_is_left_on_the_host(world):
    make_repository(world)
    before = set(tree_digest(world.project))
    shell(world, "true")
    shell(world, "true", options=["--deny", "absent.key", "--deny", "**/*.pem"])
    assert set(tree_digest(world.project)) == before


def test_TH24_nothing_takes_the_place_of_cordon_itself(world):
    """The file is held; a directory above it is moved away and another one put there."""
    mine = world.make_directory(world.project / "tools") / "cordon"
    shutil.copy(world.cordon, mine)
    world.own(mine)
    world.own(Path(shutil.copy(world.cordon.parent / "cordon-inside", mine.parent)))
    before = mine.read_bytes()
    attempts = ("echo evil > tools/cordon", "rm -f tools/cordon; echo evil > tools/cordon",
                "mv tools was; mkdir tools; echo evil > tools/cordon",
                "mv tools was; mkdir other; echo evil > other/cordon; ln -s other tools",
                "echo evil > tools/cordon-tools")
    for attempt in attempts:
        done = world.execute([mine, "run", "--", "/bin/sh", "-c", f"{attempt}; touch ran"])
        assert (world.project / "ran").exists(), done.account()
        for name in ("cordon", "cordon-tools"):
            program = world.project / "tools" / name
            assert not program.exists() or program.read_bytes() == before, attempt
        if (world.project / "was").exists():
            shutil.rmtree(world.project / "tools", ignore_errors=True)
            (world.project / "was").rename(world.project / "tools")
        assert mine.read_bytes() == before, attempt
    world.bare("/bin/sh", "-c", attempts[2]).expect(0)
    assert mine.read_text() == "evil\n"


@pytest.mark.parametrize("program", ["cordon-tools", "cordon-inside", "cordon-apply"])
def test_TH24_nor_of_the_programs_it_is_installed_with(world, program):
    """They lie elsewhere than the program that is typed, which starts them next."""
    typed = world.make_directory(world.project / "own" / "bin") / "cordon"
    started = world.make_directory(world.project / "own" / "libexec" / "cordon") / program
    for source, target in ((world.cordon, typed), (world.cordon.parent / program, started)):
        world.own(Path(shutil.copy(source, target)))
    if program != "cordon-inside":
        inside = world.cordon.parent / "cordon-inside"
        world.own(Path(shutil.copy(inside, started.parent)))
    before = started.read_bytes()
    at = started.relative_to(world.project)
    for attempt in (f"echo evil > {at}", f"rm -f {at}; echo evil > {at}",
                    f"mv {at.parent} was; mkdir {at.parent}; echo evil > {at}"):
        done = world.execute([typed, "run", "--", "/bin/sh", "-c", f"{attempt}; touch ran"])
        assert (world.project / "ran").exists(), done.account()
        assert started.read_bytes() == before, attempt
    absent = started.parent / ("cordon-apply" if program == "cordon-tools" else "cordon-tools")
    world.execute([typed, "run", "--", "/bin/sh", "-c",
                   f"echo evil > {absent.relative_to(world.project)}"])
    assert not absent.exists()
    world.bare("/bin/sh", "-c", f"echo evil > {at}").expect(0)
    assert started.read_text() == "evil\n"
