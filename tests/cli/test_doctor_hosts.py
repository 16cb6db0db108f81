"""`cordon doctor --host`: whether an agent host has hands of its own, read from its settings and processes."""

import json
import shlex

import pytest

from support.harness import wait_until

pytestmark = pytest.mark.once

HOSTS = ["claude", "codex", "copilot", "gemini", "vscode", "cursor", "opencode", "qwen", "windsurf", "zed",
         "claude-desktop"]
CLAUDE_SHELL = ["Bash", "Monitor"]
CLAUDE_FILES = ["Read", "Edit", "Write", "Glob", "NotebookEdit", "Grep"]
GEMINI_FILES = ["replace", "write_file", "read_file", "glob", "list_directory", "grep_search"]
QWEN_FILES = ["edit", *GEMINI_FILES[1:]]
HOOK = {"type": "command", "command": "/usr/bin/cordon hook claude || exit 2"}


def look(world, host, status, **how):
    """The answer as JSON; the text must come to the same."""
    answer = world.cordon_verb("doctor", "--host", host, "--json", **how).expect(status).json
    told = world.cordon_verb("doctor", "--host", host, **how).expect(status).out
    assert told.startswith(f"bypass {answer['bypass']}: "), told
    for kind, name in (("shell", "its own shell"), ("files", "its own file tools")):
        assert f"{name}: {answer[kind]['reach']} ({answer[kind]['why']})\n" in told
    assert answer["bypass"] == ("excluded" if status == 0 else "possible")
    return answer


def settings(world, path, document):
    text = document if isinstance(document, str) else json.dumps(document)
    return world.write(world.home / path, text, 0o600)


def reaches(answer):
    return answer["shell"]["reach"], answer["files"]["reach"]


@pytest.mark.parametrize("host", HOSTS)
def test_without_settings_a_host_has_hands_of_its_own(world, host):
    """R-182, R-183: a bypass is possible unless it is excluded; the line that excludes it is printed."""
    workspace = ["--workspace", world.project]
    printed = world.cordon_verb("mcp", "--print-config", host, "--json", *workspace).expect(0).json
    answer = look(world, host, 1)
    assert answer["launch"] == printed["launch"] and answer["read"] == []
    told = world.cordon_verb("doctor", "--host", host).out
    assert ("start it with: " in told) == bool(printed["launch"])
    for word in printed["launch"]:
        assert word in told or shlex.quote(word) in told
    if host != "claude-desktop":
        assert reaches(answer) == ("outside", "outside")


# What takes the tools away, in each host's own words.
OFF = {
    "claude": (".claude/settings.json", {"permissions": {"deny": CLAUDE_SHELL + CLAUDE_FILES}}),
    "codex": (".codex/config.toml", 'sandbox_mode = "read-only"\n[features]\nshell_tool = false\n'
                                    "unified_exec = false\n"),
    "gemini": (".gemini/settings.json", {"tools": {"exclude": ["run_shell_command", *GEMINI_FILES]}}),
    "qwen": (".qwen/settings.json", {"tools": {"exclude": ["run_shell_command", "monitor", *QWEN_FILES]}}),
    "opencode": (".config/opencode/opencode.json", {"permission": {"*": "deny", "cordon_*": "allow"}}),
}


@pytest.mark.parametrize("host", OFF)
def test_settings_that_take_the_tools_away_are_seen(world, host):
    path, document = OFF[host]
    file = settings(world, path, document)
    answer = look(world, host, 0)
    assert reaches(answer) == ("off", "off") and answer["read"] == [str(file)]
    assert str(file) in answer["shell"]["why"] and str(file) in answer["files"]["why"]


@pytest.mark.parametrize("host, path, document, open_hand", [
    ("claude", ".claude/settings.json", {"permissions": {"deny": CLAUDE_FILES + ["Bash"]}}, "shell"),
    ("claude", ".claude/settings.json", {"permissions": {"deny": CLAUDE_SHELL + CLAUDE_FILES[1:]}}, "files"),
    ("claude", ".claude/settings.json", {"permissions": {"deny": CLAUDE_FILES + ["Bash(rm:*)", "Monitor"]}},
     "shell"),
    ("codex", ".codex/config.toml", 'sandbox_mode = "read-only"\n[features]\nshell_tool = false\n', "shell"),
    ("codex", ".codex/config.toml", 'sandbox_mode = "workspace-write"\n[features]\nshell_tool = false\n'
                                    "unified_exec = false\n", "files"),
    ("gemini", ".gemini/settings.json", {"tools": {"exclude": GEMINI_FILES}}, "shell"),
    ("qwen", ".qwen/settings.json", {"tools": {"exclude": ["run_shell_command", "monitor"]}}, "files"),
    ("opencode", ".config/opencode/opencode.json", {"permission": {"*": "deny", "bash": "ask"}}, "shell"),
])
def test_one_hand_that_is_free_is_named(world, host, path, document, open_hand):
    settings(world, path, document)
    answer = look(world, host, 1)
    assert answer[open_hand]["reach"] == "outside"
    assert answer["files" if open_hand == "shell" else "shell"]["reach"] == "off"


def test_what_a_project_gives_back_counts(world):
    settings(world, *OFF["opencode"])
    world.write(world.project / "opencode.json", json.dumps({"permission": {"bash": "allow"}}))
    assert reaches(look(world, "opencode", 1)) == ("outside", "off")
    settings(world, *OFF["codex"])
    world.write(world.project / ".codex/config.toml", "[features]\nunified_exec = true\n")
    assert reaches(look(world, "codex", 1)) == ("outside", "off")


def test_a_hook_contains_the_shell_alone(world):
    group = {"matcher": "Bash|Monitor", "hooks": [HOOK]}
    document = {"hooks": {"PreToolUse": [group]}}
    settings(world, ".claude/settings.json", document)
    assert reaches(look(world, "claude", 1)) == ("contained", "outside")
    document["permissions"] = {"deny": CLAUDE_FILES}
    settings(world, ".claude/settings.json", document)
    assert reaches(look(world, "claude", 0)) == ("contained", "off")


@pytest.mark.parametrize("change, word", [
    (lambda d: d["hooks"]["PreToolUse"][0].update(matcher="Bash"), "Bash"),
    (lambda d: d["hooks"]["PreToolUse"][0].update(hooks=[{**HOOK, "command": "cordon hook claude"}]), "exit 2"),
    (lambda d: d["hooks"]["PreToolUse"][0].update(hooks=[{**HOOK, "command": "true || exit 2"}]), "Bash"),
    *[(lambda d, command=command: d["hooks"]["PreToolUse"][0].update(hooks=[{**HOOK, "command": command}]), "Bash")
      for command in ("echo cordon hook claude || exit 2", "cordon hook claude; true || exit 2",
                      "cordon hook claude # || exit 2", "cordon hook claude --help || exit 2",
                      "true || cordon hook claude || exit 2", "cordon hook claude > /dev/null || exit 2",
                      "cordon hook codex || exit 2", "not-cordon hook claude || exit 2",
                      "cordon hook claude\ntrue || exit 2", "cordon hook claude & || exit 2")],
    (lambda d: d.update(disableAllHooks=True), "disableAllHooks"),
    (lambda d: d.update(hooks={"PostToolUse": d["hooks"]["PreToolUse"]}), "Bash"),
])
def test_a_hook_that_does_not_hold_is_none(world, change, word):
    document = {"hooks": {"PreToolUse": [{"matcher": "Bash|Monitor", "hooks": [HOOK]}]},
                "permissions": {"deny": CLAUDE_FILES}}
    settings(world, ".claude/settings.json", document)
    look(world, "claude", 0)  # the control
    change(document)
    settings(world, ".claude/settings.json", document)
    answer = look(world, "claude", 1)
    assert answer["shell"]["reach"] == "outside" and word in answer["shell"]["why"]


KNOWN_NOT_TO_HOLD = [("if", "Bash(git *)"), ("async", True), ("asyncRewake", True), ("timeout", 1), ("timeout", 29.5),
                     ("once", True), ("type", "prompt"), ("type", None), ("shell", "powershell"),
                     ("onFailure", "continue"), ("whatever-comes-next", False)]


@pytest.mark.parametrize("member, value", KNOWN_NOT_TO_HOLD)
def test_a_member_that_is_not_known_is_not_believed(world, member, value):
    """Each may keep the host from asking the hook, or from waiting for its answer."""
    def with_hook(hook):
        settings(world, ".claude/settings.json", {"hooks": {"PreToolUse": [{"matcher": "Bash|Monitor", "hooks": [hook]}]},
                                                  "permissions": {"deny": CLAUDE_FILES}})
    with_hook({**HOOK, "timeout": 30, "statusMessage": "contained", "onFailure": "block"})
    assert reaches(look(world, "claude", 0)) == ("contained", "off")  # the control
    hook = {**HOOK, member: value}
    if value is None:
        del hook[member]
    with_hook(hook)
    answer = look(world, "claude", 1)
    assert answer["shell"]["reach"] == "outside" and f'"{member}"' in answer["shell"]["why"]


def gemini_hook(world, hook, **more):
    world.write(world.home / ".gemini/trustedFolders.json", json.dumps({str(world.project): "TRUST_FOLDER"}))
    call = {"type": "command", "command": "/usr/bin/cordon hook gemini || exit 2", **hook}
    settings(world, ".gemini/settings.json", {
        "hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [call]}]}, "tools": {"exclude": GEMINI_FILES},
        **more})


@pytest.mark.parametrize("hook, more, word", [
    ({"timeout": 1}, {}, "30000"),
    ({"timeout": 30}, {}, "30000"),
    ({"env": {}}, {}, '"env"'),
    ({"type": "plugin"}, {}, '"type"'),
    ({}, {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
    ({}, {"hooksConfig": {"disabled": ["cordon"]}}, "hooksConfig.disabled"),
    ({}, {"hooksConfig": False}, "hooksConfig"),
])
def test_a_hook_of_gemini_that_does_not_hold(world, hook, more, word):
    gemini_hook(world, {"timeout": 30000, "name": "cordon"},
                hooksConfig={"enabled": True, "disabled": []})
    assert reaches(look(world, "gemini", 0)) == ("contained", "off")  # the control
    gemini_hook(world, hook, **more)
    answer = look(world, "gemini", 1)
    assert answer["shell"]["reach"] == "outside" and word in answer["shell"]["why"]


@pytest.mark.parametrize("place", ["project", "system", "defaults"])
def test_whoever_switches_the_hooks_of_gemini_off(world, place):
    gemini_hook(world, {})
    look(world, "gemini", 0)  # the control
    off = {"hooksConfig": {"enabled": False}}
    file = world.write({"project": world.project / ".gemini/settings.json"}.get(place, world.home / f"{place}.json"),
                       json.dumps(off))
    variable = {"system": "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "defaults": "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"}.get(place)
    answer = look(world, "gemini", 1, env={variable: str(file)} if variable else {})
    assert "hooksConfig.enabled" in answer["shell"]["why"] and str(file) in answer["shell"]["why"]


@pytest.mark.parametrize("trust", [{}, {"{project}": "DO_NOT_TRUST"}, {"{outside}": "TRUST_FOLDER"},
                                   {"{above}": "TRUST_FOLDER", "{project}": "DO_NOT_TRUST"}])
def test_gemini_asks_no_hook_in_a_folder_it_does_not_trust(world, trust):
    gemini_hook(world, {})
    look(world, "gemini", 0)  # the control
    places = {"project": world.project, "outside": world.outside, "above": world.project.parent}
    world.write(world.home / ".gemini/trustedFolders.json",
                json.dumps({path.format(**places): value for path, value in trust.items()}))
    answer = look(world, "gemini", 1)
    assert answer["shell"]["reach"] == "outside" and "trust" in answer["shell"]["why"]


OTHER = {"type": "command", "command": "rewrite-commands"}


@pytest.mark.parametrize("whose", ["home", "project"])
def test_another_hook_may_change_what_cordon_answered(world, whose):
    groups = [{"matcher": "Bash|Monitor", "hooks": [HOOK]}, {"matcher": "Write|Edit", "hooks": [OTHER]}]
    deny = {"permissions": {"deny": CLAUDE_FILES}}
    settings(world, ".claude/settings.json", {"hooks": {"PreToolUse": groups}, **deny})
    look(world, "claude", 0)  # the control: one that is asked about other tools alone
    for matcher in ("Bash", "*", "^B", None):
        group = {"hooks": [OTHER], **({"matcher": matcher} if matcher else {})}
        own = groups if whose == "project" else [*groups, group]
        settings(world, ".claude/settings.json", {"hooks": {"PreToolUse": own}, **deny})
        if whose == "project":
            world.write(world.project / ".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [group]}}))
        answer = look(world, "claude", 1)
        assert answer["shell"]["reach"] == "outside" and "another hook" in answer["shell"]["why"], matcher


def test_the_first_working_tree_may_switch_hooks_off(world):
    settings(world, ".claude/settings.json", {"hooks": {"PreToolUse": [{"hooks": [HOOK]}]},
                                              "permissions": {"deny": CLAUDE_FILES}})
    world.write(world.project / ".git", f"gitdir: {world.outside}/.git/worktrees/project\n")
    look(world, "claude", 0)  # the control
    world.write(world.outside / ".claude/settings.local.json", '{"disableAllHooks": true}')
    assert "disableAllHooks" in look(world, "claude", 1)["shell"]["why"]


def test_a_second_shell_of_claude_counts_where_it_is_asked_for(world):
    deny = {"permissions": {"deny": CLAUDE_SHELL + CLAUDE_FILES}}
    settings(world, ".claude/settings.json", deny)
    variable = {"CLAUDE_CODE_USE_POWERSHELL_TOOL": "1"}
    look(world, "claude", 0)
    assert "PowerShell" in look(world, "claude", 1, env=variable)["shell"]["why"]
    world.write(world.project / ".claude/settings.json", json.dumps({"env": variable}))
    assert "PowerShell" in look(world, "claude", 1)["shell"]["why"]
    deny["permissions"]["deny"].append("PowerShell")
    settings(world, ".claude/settings.json", deny)
    look(world, "claude", 0, env=variable)


MANAGED = """
cp /etc/passwd /etc/group /etc/nsswitch.conf "$1"/
mount --bind "$1" /etc
shift
exec "$@"
"""


@pytest.mark.only("root")
@pytest.mark.parametrize("key, document", [
    ("allowManagedPermissionRulesOnly", {"permissions": {"deny": CLAUDE_SHELL + CLAUDE_FILES}}),
    ("allowManagedHooksOnly", {"permissions": {"deny": CLAUDE_FILES}, "hooks": {"PreToolUse": [{"hooks": [HOOK]}]}}),
    ("disableAllHooks", {"permissions": {"deny": CLAUDE_FILES}, "hooks": {"PreToolUse": [{"hooks": [HOOK]}]}}),
])
def test_what_the_system_manages_stands_above_the_person(world, key, document):
    """In a /etc of the test's own: the real one is left alone."""
    def bypass(managed):
        world.write(world.outside / "etc/claude-code/managed-settings.d/x.json", json.dumps(managed))
        return world.execute(["unshare", "-m", "/bin/sh", "-ec", MANAGED, "sh", world.outside / "etc", world.cordon,
                              "doctor", "--host", "claude", "--json"]).json["bypass"]
    settings(world, ".claude/settings.json", document)
    assert bypass({key: False}) == "excluded"
    assert bypass({key: True}) == "possible"
    if key != "disableAllHooks":
        assert bypass({key: True, **document}) == "excluded"


def test_a_hook_may_have_options(world):
    hook = {**HOOK, "command": "cordon hook claude --policy readonly --timeout=10m || exit 2"}
    settings(world, ".claude/settings.json", {"hooks": {"PreToolUse": [{"hooks": [hook]}]},
                                              "permissions": {"deny": CLAUDE_FILES}})
    assert reaches(look(world, "claude", 0)) == ("contained", "off")


def test_what_a_project_takes_away_may_not_count(world):
    """A host takes the settings of a project only once a person trusts the folder, and a stranger wrote them."""
    claude = {**OFF["claude"][1], "hooks": {"PreToolUse": [{"hooks": [HOOK]}]}}
    for path in (".claude/settings.json", ".claude/settings.local.json"):
        world.write(world.project / path, json.dumps(claude))
    world.write(world.project / ".codex/config.toml", OFF["codex"][1])
    for host in ("claude", "codex"):
        assert reaches(look(world, host, 1)) == ("outside", "outside")
        settings(world, *OFF[host])  # the control: the person's own
        assert reaches(look(world, host, 0)) == ("off", "off")


def test_a_project_that_switches_hooks_off_counts(world):
    settings(world, ".claude/settings.json", {"hooks": {"PreToolUse": [{"hooks": [HOOK]}]},
                                              "permissions": {"deny": CLAUDE_FILES}})
    look(world, "claude", 0)
    world.write(world.project / ".claude/settings.json", '{"disableAllHooks": true}')
    assert "disableAllHooks" in look(world, "claude", 1)["shell"]["why"]


@pytest.mark.parametrize("host, status", [("codex", 0), ("qwen", 0), ("opencode", 0), ("gemini", 1), ("copilot", 1),
                                          ("cursor", 1), ("zed", 1), ("claude-desktop", 1)])
def test_what_is_printed_for_a_host_is_no_further_server(world, host, status):
    """The files of --print-config, saved where it says: those that take the tools away by themselves exclude."""
    printed = world.cordon_verb("mcp", "--print-config", host, "--json", "--workspace", world.project).expect(0).json
    for file in printed["files"]:
        path = file["path"].replace("~", str(world.home), 1)
        world.write(world.project / path, file["content"], 0o600)  # an absolute path stays one
    variables = dict(word.split("=", 1) for word in printed["launch"][1:-1]) if printed["launch"][:1] == ["env"] else {}
    answer = look(world, host, status, env=variables)
    assert answer["servers"] == [] and answer["unread"] == []


@pytest.mark.parametrize("whose, path, document", [
    ("project", "opencode.json", {"permission": {"bash": "allow", "*": "deny"}}),
    ("project", "opencode.json", {"permission": {"ba*": "allow"}}),
    ("project", "opencode.json", {"agent": {"build": {"permission": {"bash": "allow"}}}}),
    ("project", "opencode.json", {"plugin": ["shell"]}),
    ("project", ".opencode/agent/build.md", "---\npermission:\n  bash: allow\n---\n"),
    ("project", ".opencode/tool/shell.ts", "export default 1\n"),
    ("home", ".config/opencode/plugin/shell.ts", "export default 1\n"),
])
def test_opencode_gives_back_in_many_ways(world, whose, path, document):
    settings(world, *OFF["opencode"])
    look(world, "opencode", 0)  # the control
    text = document if isinstance(document, str) else json.dumps(document)
    world.write(getattr(world, whose) / path, text)
    assert look(world, "opencode", 1)["shell"]["reach"] == "outside"


@pytest.mark.parametrize("name", ["OPENCODE_CONFIG_CONTENT", "OPENCODE_PERMISSION"])
def test_a_variable_of_opencode_may_give_back(world, name):
    settings(world, *OFF["opencode"])
    look(world, "opencode", 0)
    assert name in look(world, "opencode", 1, env={name: '{"bash": "allow"}'})["shell"]["why"]


def test_a_shorter_list_of_the_project_may_stand_for_the_persons(world):
    settings(world, *OFF["qwen"])
    look(world, "qwen", 0)
    world.write(world.project / ".qwen/settings.json", '{"tools": {"exclude": []}}')
    assert reaches(look(world, "qwen", 1)) == ("outside", "outside")


def test_a_directory_above_the_project_may_give_back(world):
    settings(world, *OFF["codex"])
    below = world.project / "below"
    world.make_directory(below)
    look(world, "codex", 0, cwd=below)
    world.write(world.project / ".codex/config.toml", "[features]\nshell_tool = true\n")
    assert reaches(look(world, "codex", 1, cwd=below)) == ("outside", "off")


@pytest.mark.parametrize("whose", ["home", "project"])
def test_a_profile_of_codex_may_give_back(world, whose):
    text = 'profile = "wide"\n' + OFF["codex"][1]
    settings(world, *OFF["codex"])
    look(world, "codex", 0)
    world.write(getattr(world, whose) / ".codex/config.toml", text, 0o600)
    answer = look(world, "codex", 1)
    assert reaches(answer) == ("outside", "outside") and "profile in" in answer["files"]["why"]


def test_a_hook_of_copilot_is_seen(world):
    hook = {"type": "command", "bash": "/usr/bin/cordon hook copilot || exit 2", "timeoutSec": 30}
    path = ".copilot/hooks/cordon.json"
    settings(world, path, {"version": 1, "hooks": {"preToolUse": [hook]}})
    assert reaches(look(world, "copilot", 1)) == ("contained", "outside")
    settings(world, path, {"version": 1, "hooks": {"preToolUse": [{**hook, "bash": "echo cordon hook copilot"}]}})
    assert look(world, "copilot", 1)["shell"]["reach"] == "outside"
    settings(world, path, {"version": 1, "hooks": {"preToolUse": [{**hook, "timeoutSec": 5}]}})
    answer = look(world, "copilot", 1)
    assert answer["shell"]["reach"] == "outside" and "30 seconds" in answer["shell"]["why"]


COPILOT = {"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "cordon hook copilot || exit 2"}]}}


def test_a_hook_of_the_project_contains_nothing(world):
    """It is a stranger's file, in a folder that a person has to trust first."""
    world.write(world.project / ".github/hooks/cordon.json", json.dumps(COPILOT))
    answer = look(world, "copilot", 1)
    assert answer["shell"]["reach"] == "outside" and "project" in answer["shell"]["why"]
    settings(world, ".copilot/hooks/cordon.json", COPILOT)  # the control: the person's own
    assert look(world, "copilot", 1)["shell"]["reach"] == "contained"


@pytest.mark.parametrize("whose, path, document", [
    ("home", ".copilot/config.json", {"disableAllHooks": True}),
    ("home", ".copilot/hooks/cordon.json", {**COPILOT, "disableAllHooks": True}),
    ("project", ".github/hooks/x.json", {"disableAllHooks": True}),
    ("project", ".github/hooks/x.json", {"hooks": {"preToolUse": [{"type": "command", "bash": "rewrite"}]}}),
    ("home", ".copilot/config.json", "{ not JSON"),
])
def test_what_switches_the_hook_of_copilot_off(world, whose, path, document):
    settings(world, ".copilot/hooks/cordon.json", COPILOT)
    settings(world, ".copilot/config.json", "// The host wrote this line itself.\n{}")
    assert look(world, "copilot", 1)["shell"]["reach"] == "contained"  # the control
    text = document if isinstance(document, str) else json.dumps(document)
    world.write(getattr(world, whose) / path, text, 0o600)
    assert look(world, "copilot", 1)["shell"]["reach"] == "outside"


def test_a_hook_of_codex_may_not_be_trusted(world):
    hook = '[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = "command"\n' \
           'command = "cordon hook codex || exit 2"\n'
    settings(world, ".codex/config.toml", hook)
    answer = look(world, "codex", 1)
    assert answer["shell"]["reach"] == "outside" and "trust" in answer["shell"]["why"]


def test_settings_that_cannot_be_read_exclude_nothing(world):
    settings(world, *OFF["claude"])
    local = world.write(world.project / ".claude/settings.local.json", "{ not JSON")
    answer = look(world, "claude", 1)
    assert [line for line in answer["unread"] if line.startswith(str(local))]
    local.unlink()
    look(world, "claude", 0)


def cordon_entry(world):
    printed = world.cordon_verb("mcp", "--print-config", "gemini", "--json", "--workspace", world.project).expect(0)
    return json.loads(printed.json["files"][0]["content"])["mcpServers"]["cordon"]


SHELL_SERVER = {"command": "/bin/sh", "args": ["-c", "exec my-server"]}


def test_another_server_is_another_hand(world):
    path, document = OFF["gemini"]
    cordon = cordon_entry(world)
    settings(world, path, {**document, "mcpServers": {"cordon": cordon}})
    assert look(world, "gemini", 0)["servers"] == []  # the control
    settings(world, path, {**document, "mcpServers": {"cordon": cordon, "shell": SHELL_SERVER}})
    [server] = look(world, "gemini", 1)["servers"]
    assert server.startswith("shell in ")


@pytest.mark.parametrize("change", [
    lambda world: {"command": "/bin/sh", "args": ["mcp"]},
    lambda world: {"command": str(world.project / "cordon"), "args": ["mcp"]},
    lambda world: {**cordon_entry(world), "args": ["run", "--", "mcp"]},
    lambda world: {**cordon_entry(world), "httpUrl": "http://127.0.0.1:1/mcp"},
    lambda world: {},
], ids=["another program", "of the project", "another verb", "an address", "nothing"])
def test_the_name_of_a_server_makes_it_no_cordon(world, change):
    path, document = OFF["gemini"]
    settings(world, path, {**document, "mcpServers": {"cordon": cordon_entry(world)}})
    look(world, "gemini", 0)  # the control
    settings(world, path, {**document, "mcpServers": {"cordon": change(world)}})
    [server] = look(world, "gemini", 1)["servers"]
    assert server.startswith("cordon in ") and "does not start" in server


# Where else a host finds servers: the host, the place, what stands there. {project} is the directory of the project.
SERVERS = {"shell": SHELL_SERVER}
FURTHER = [
    ("claude", "home", ".claude.json", {"mcpServers": SERVERS}),
    ("claude", "home", ".claude.json", {"projects": {"{project}": {"mcpServers": SERVERS}}}),
    ("claude", "home", ".claude.json", {"projects": {"{above}": {"mcpServers": SERVERS}}}),
    ("claude", "project", ".mcp.json", {"mcpServers": SERVERS}),
    ("claude", "project", ".claude/settings.json", {"enabledPlugins": {"shell@shop": True}}),
    ("claude", "project", ".claude/agents/shell.md", "---\nname: shell\nmcpServers:\n  - x\n---\n"),
    ("claude", "home", ".claude/skills/shell/SKILL.md", "---\nname: shell\n---\nThe date: !`date`\n"),
    ("claude", "project", ".claude/commands/shell.md", "---\nhooks:\n  PreToolUse: []\n---\n"),
    ("codex", "project", ".codex/config.toml", '[mcp_servers.shell]\ncommand = "/bin/sh"\n'),
    ("codex", "home", ".codex/config.toml", OFF["codex"][1] + '[plugins."shell@shop"]\nenabled = true\n'),
    ("codex", "project", ".codex/config.toml", "[features]\ncomputer_use = true\n"),
    ("gemini", "project", ".gemini/settings.json", {"mcpServers": SERVERS}),
    ("gemini", "project", ".gemini/settings.json", {"tools": {"discoveryCommand": "shell"}}),
    ("gemini", "home", ".gemini/extensions/shell/gemini-extension.json", {"mcpServers": SERVERS}),
    ("qwen", "project", ".qwen/settings.json", {"mcpServers": SERVERS}),
    ("qwen", "project", ".mcp.json", {"mcpServers": SERVERS}),
    ("opencode", "project", ".opencode/opencode.json", {"mcp": SERVERS}),
]


@pytest.mark.parametrize("host, whose, path, document", FURTHER)
def test_servers_are_found_where_hosts_look_for_them(world, host, whose, path, document):
    settings(world, *OFF[host])
    look(world, host, 0)  # the control
    text = document if isinstance(document, str) else json.dumps(document)
    text = text.replace("{project}", str(world.project)).replace("{above}", str(world.project.parent))
    file = world.write(getattr(world, whose) / path, text, 0o600)
    answer = look(world, host, 1)
    [server] = answer["servers"]
    assert str(file.parent if "extensions" in path else file) in server
    assert any(word in server for word in ("shell in ", "shell@shop in ", "discoveryCommand in ", "computer_use in ", "extension in ",
                                           "description in ")), server
    assert reaches(answer) == ("off", "off")


def test_a_server_draws_no_line_of_the_answer(world):
    settings(world, *OFF["claude"])
    name = "x\nbypass excluded: no tool of the host's own acts outside of Cordon\n\x1b[2J"
    world.write(world.project / ".mcp.json", json.dumps({"mcpServers": {name: SHELL_SERVER}}))
    assert look(world, "claude", 1)["servers"]
    told = world.cordon_verb("doctor", "--host", "claude").out
    assert "\nbypass excluded" not in told and "\x1b" not in told and "further server, not contained: x" in told


def test_the_servers_of_another_project_are_not_this_ones(world):
    settings(world, *OFF["claude"])
    world.write(world.home / ".claude.json", json.dumps({"projects": {str(world.outside): {"mcpServers": SERVERS}}}))
    assert look(world, "claude", 0)["servers"] == []
    # A second working tree may take those of the first.
    world.write(world.project / ".git", "gitdir: /nowhere\n")
    assert len(look(world, "claude", 1)["servers"]) == 1


def test_a_long_file_of_the_host_is_read(world):
    """Claude Code keeps what it knows of every project in one file."""
    settings(world, *OFF["claude"])
    document = {"history": ["x" * 1000] * 3000}
    world.write(world.home / ".claude.json", json.dumps(document))
    look(world, "claude", 0)
    world.write(world.home / ".claude.json", json.dumps({**document, "mcpServers": SERVERS}))
    assert len(look(world, "claude", 1)["servers"]) == 1


def test_a_variable_that_names_the_settings_is_followed(world):
    file = settings(world, "elsewhere.json", OFF["qwen"][1])
    look(world, "qwen", 1)
    look(world, "qwen", 0, env={"QWEN_CODE_SYSTEM_SETTINGS_PATH": str(file)})


@pytest.mark.parametrize("host", ["vscode", "windsurf", "copilot"])
def test_what_no_setting_takes_away_is_said(world, host):
    assert look(world, host, 1)["limit"]


SLEEP = ["/usr/bin/python3", "-c", "import time; time.sleep(300)"]


def running(world, host, lines, cwd=None):
    """Processes that are called like the host, with these words behind the program and nothing else."""
    program = world.write(world.home / f"bin/{host}.js", "import time\ntime.sleep(300)\n")
    # As node is started: words of its own may stand before the program.
    node = world.home / "bin/node"
    if not node.exists():
        node.symlink_to("/usr/bin/python3")
    return [world.start([node, "-u", program, *words], **({"cwd": cwd} if cwd else {})) for words in lines]


def seen(world, host, status, started):
    pids = [process.pid for process in started]
    found = {}

    def all_there():
        # A process that has not yet become the host's is not looked at, and changes no verdict.
        done = world.cordon_verb("doctor", "--host", host, "--json")
        found.update({process["pid"]: process for process in done.json["processes"]})
        return set(pids) <= set(found)
    assert wait_until(all_there)
    look(world, host, status)
    return [found[pid] for pid in pids]


def end(started):
    for process in started:
        process.kill()
        process.wait()


def test_running_processes_are_told_apart(world):
    launch = look(world, "claude", 1)["launch"]
    started = running(world, "claude", [launch[1:], [*launch[1:], "--settings", "x"], ["--print"], []])
    try:
        found = seen(world, "claude", 1, started)
        assert [process["as_told"] for process in found] == [True, False, False, False]
        assert [process["own_words"] for process in found] == [False, True, True, False]
        told = world.cordon_verb("doctor", "--host", "claude").out
        assert f"process {started[0].pid}: was started with the line below\n" in told
        for process in started[1:]:
            assert f"process {process.pid}: was not started with the line below" in told
    finally:
        end(started)


@pytest.mark.parametrize("words", [["-c", "features.shell_tool=true"], ["exec", "go"]])
def test_words_that_set_tools_exclude_nothing(world, words):
    """Codex has no words that take its tools away; behind none of its own a word may give one back."""
    settings(world, *OFF["codex"])
    elsewhere = running(world, "codex", [words], cwd=world.outside)
    try:
        [process] = seen(world, "codex", 0, elsewhere)  # the controls: in another project, and without such words
        assert not process["in_project"]
        plain = running(world, "codex", [[]])
        elsewhere += plain
        [process] = seen(world, "codex", 0, plain)
        assert process["as_told"] and process["in_project"]
        here = running(world, "codex", [words])
        elsewhere += here
        [process] = seen(world, "codex", 1, here)
        assert process["own_words"] and process["in_project"]
    finally:
        end(elsewhere)
    look(world, "codex", 0)


def test_an_unknown_host_is_refused(world):
    done = world.cordon_verb("doctor", "--host", "emacs").expect(2)
    assert "claude" in done.err and "zed" in done.err
