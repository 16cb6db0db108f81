"""`cordon hook` with the hosts themselves: Codex CLI, Copilot CLI and Gemini CLI run what it answers."""

import json
import os

import pytest

import hosts

pytestmark = [pytest.mark.npm, pytest.mark.only("user")]

COMMAND = "cat file.txt; readlink /proc/self/ns/pid; echo made > new; touch {outside}"


def codex(world, hook, command, *options):
    world.write(world.home / ".codex/config.toml", f"""approval_policy = "never"
sandbox_mode = "danger-full-access"
[[hooks.PreToolUse]]
matcher = "Bash"
[[hooks.PreToolUse.hooks]]
type = "command"
command = {json.dumps(hook)}
""", 0o600)
    provider = '{ name = "loopback", base_url = "@MODEL@/v1", wire_api = "responses" }'
    session = hosts.drive(
        world, [hosts.program("codex"), "exec", *options, "--skip-git-repo-check", "-m", "a-model-nobody-knows", "-c",
                'model_provider="loopback"', "-c", f"model_providers.loopback={provider}", "go"],
        [{"name": "exec_command", "arguments": {"cmd": command}}], {})
    return hosts.told_by_responses(session)


def trusted_codex(world, hook, command):
    # A person trusts a hook once, in its own list of hooks; there is nobody here.
    return codex(world, hook, command, "--dangerously-bypass-hook-trust")


def copilot(world, hook, command):
    world.write(world.home / ".copilot/hooks/cordon.json", json.dumps(
        {"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": hook, "timeoutSec": 30}]}}))
    session = hosts.copilot(world, ["--allow-all-tools"], [
        {"name": "bash", "arguments": {"command": command, "description": "d"}}])
    return hosts.told_by_messages(session)


def gemini(world, hook, command):
    world.write(world.home / ".gemini/settings.json", json.dumps({"hooks": {"BeforeTool": [
        {"matcher": "run_shell_command", "hooks": [{"type": "command", "command": hook}]}]}}))
    session = hosts.gemini(world, ["--yolo"], [
        {"name": "run_shell_command", "arguments": {"command": command, "description": "d"}}])
    return hosts.told_by_contents(session)


CLIENTS = {"codex": trusted_codex, "copilot": copilot, "gemini": gemini}


@pytest.mark.parametrize("host", CLIENTS)
def test_the_hook_contains_the_shell(world, host):
    outside = world.outside / "by-the-shell"
    [told] = CLIENTS[host](world, f"{world.cordon} hook {host} || exit 2", COMMAND.format(outside=outside))
    assert "project file\npid:[" in told, told
    assert os.readlink("/proc/self/ns/pid") not in told
    assert (world.project / "new").read_text() == "made\n" and not outside.exists()


@pytest.mark.parametrize("host", CLIENTS)
def test_a_hook_that_fails_blocks_as_it_is_installed(world, host):
    for hook in (f"/nowhere/cordon hook {host} || exit 2", f"{world.cordon} hook {host} --no-such-option || exit 2"):
        CLIENTS[host](world, hook, "touch ran")
        assert not (world.project / "ran").exists(), hook
    CLIENTS[host](world, "true", "touch ran")  # the control: a hook that says nothing holds nothing
    assert (world.project / "ran").exists()


def test_codex_does_not_ask_a_hook_that_nobody_trusted(world):
    """As docs/hosts.md says: until a person trusts it, the shell acts outside."""
    outside = world.outside / "by-the-shell"
    codex(world, f"{world.cordon} hook codex || exit 2", f"touch {outside}")
    assert outside.exists()
    answer = world.cordon_verb("doctor", "--host", "codex", "--json").expect(1).json
    assert answer["shell"]["reach"] == "outside"


def test_copilot_runs_what_a_project_has_in_its_hooks(world):
    """Why `.github/hooks` is held: what one run planted there, the next session of the host would start."""
    ran = world.outside / "by-the-project"
    hook = {"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": f"touch {ran}", "timeoutSec": 5}]}}
    plant = f"mkdir -p .github/hooks && cat > .github/hooks/x.json <<'E'\n{json.dumps(hook)}\nE\n"
    view = [{"name": "view", "arguments": {"path": str(world.project / "file.txt")}}]
    world.bare("git", "init", "-q").expect(0)
    # A person trusts the folder once.
    world.write(world.home / ".copilot/config.json", json.dumps({"trusted_folders": [str(world.project)],
                                                                 "trustedFolders": [str(world.project)]}))
    world.run("bash", "-c", plant).expect(0)
    hosts.copilot(world, ["--allow-all-tools"], view)
    assert not ran.exists() and not (world.project / ".github/hooks/x.json").exists()
    world.bare("bash", "-c", plant)  # the control: planted from outside it is started
    hosts.copilot(world, ["--allow-all-tools"], view)
    assert ran.exists()
