"""Policy, ceiling and approvals: cases PL01 to PL24."""

import pytest

from support.harness import FILE_ERRORS

CEILING = 'version = 1\n[fs]\nread = ["{outside}", "/usr"]\nwrite = ["{project}"]\n'


def ceiling(world, text=CEILING, name="ceiling.toml"):
    return world.document(text.format(project=world.project, outside=world.outside,
                                      home=world.home), name)


def refused(world, done, *words):
    """A refusal runs nothing, says why on one line, and exits with 125."""
    assert done.status == 125, f"expected a refusal\n{done.account()}"
    assert not (world.project / "ran").exists(), "the command ran"
    lines = [line for line in done.err.splitlines() if not line.startswith("hint:")]
    assert len(lines) == 1, f"not one line of error\n{done.account()}"
    for word in words:
        assert word in done.err, f"{word!r} is not named\n{done.account()}"


def test_PL01_every_ceiling_counts(world):
    world.make_directory(world.project / "sub")
    wide = ceiling(world)
    narrow = ceiling(world, 'version = 1\n[fs]\nread = ["/usr"]\nwrite = ["{project}/sub"]\n'
                     '[limits]\nwall = "20s"\n', "narrow.toml")
    # The second has no [net]; the first no [limits]: neither absence may undo the other.
    asks = world.document(f'version = 1\nextends = "workspace"\n[fs]\nread = ["{world.outside}", '
                          f'"{world.probe}"]\n[limits]\nwall = "60s"\n')
    options = ["--ceiling", wide, "--ceiling", narrow, "--policy", asks]
    done, report = world.report("touch", world.project / "x", options=options)
    assert "touch:" in done.expect(1).err and not (world.project / "x").exists(), done.account()
    assert report["policy"]["limits"]["wall_ms"] == 20000, done.report_text
    environment = world.run("touch", world.project / "sub/x", options=options,
                            env={"CORDON_SANDBOX_READWRITE_PATHS": str(world.outside)})
    assert "the ceiling of the environment" in environment.expect(125).err, environment.account()
    assert not (world.project / "sub/x").exists()
    world.run("touch", world.project / "sub/x", options=options).expect(0)


def test_PL01_a_request_below_what_the_ceiling_holds(world):
    for name in (".claude/commands", ".vscode", ".git/hooks", "private/sub", "plain/sub"):
        world.make_directory(world.project / name)
    path = ceiling(world, CEILING + 'deny = ["private"]\n')

    def write(name, *options):
        return world.run(world.probe, "write", world.project / name / "x",
                         options=["--ceiling", path, *options])

    def by_option(name):
        return write(name, "--policy", "strict", "--read", world.probe, "--write", world.project / name)

    def by_policy(name):
        return write(name, "--policy", world.document(
            f'version = 1\nextends = "strict"\n[fs]\nread = ["{world.probe}"]\n'
            f'write = ["{world.project / name}"]\n'))

    for name in (".claude/commands", ".vscode", ".git/hooks", "private/sub"):
        refused(world, by_option(name), f"--write {world.project / name}")
        done = by_policy(name)
        assert "forbidden" in done.expect(1).err, done.account()
        assert not (world.project / name / "x").exists(), name
    by_option("plain/sub").expect(0)
    (world.project / "plain/sub/x").unlink()
    by_policy("plain/sub").expect(0)
    hidden = world.write(world.project / "private/sub/secret", "secret", 0o644)
    for place in (hidden, hidden.parent):
        done = world.run("cat", hidden, options=["--policy", "strict", "--ceiling", path,
                                                 "--read", place])
        assert done.status in (1, 125) and "secret" not in done.out, done.account()
    world.run("cat", hidden, options=["--policy", "strict", "--read", hidden]).expect(0)


def test_PL02_one_invalid_entry_refuses_the_whole_ceiling(world):
    for text, place in (('version = 1\n[fs]\nread = ["/usr"]\nwrite = [3]\n', "ceiling.toml:4"),
                        ('version = 1\n[fs]\nread = ["~other/x"]\n', "ceiling.toml:3"),
                        ('version = 1\n[limits]\nwall = "soon"\n', "ceiling.toml:3"),
                        ('version = 1\n[net]\nmode = "alow"\n', "ceiling.toml:3")):
        path = ceiling(world, text)
        refused(world, world.run("touch", "ran", options=["--ceiling", path]), place)
    refused(world, world.run("touch", "ran", env={"CORDON_SANDBOX_NETWORK": "alow"}))
    refused(world, world.run("touch", "ran", options=["--ceiling", world.trusted / "absent.toml"]))
    world.run("touch", "ran", options=["--ceiling", ceiling(world)]).expect(0)


@pytest.mark.parametrize("key,nearest", [("wrote", "write"), ("raed", "read"),
                                         ("scrach", "scratch")])
def test_PL05_unknown_key_is_refused_with_the_nearest(world, key, nearest):
    path = world.document(f'version = 1\n[fs]\n{key} = ["/usr"]\n')
    done = world.run("touch", "ran", options=["--policy", path])
    refused(world, done, key, "policy.toml:3")
    assert nearest in done.err, done.account()
    right = world.document('version = 1\n[fs]\nread = ["/usr"]\n')
    world.run("true", options=["--policy", right]).expect(0)


@pytest.mark.parametrize("backend", ["landlock", "seatbelt"])
def test_PL06_missing_mechanism_is_refused(world, backend):
    done = world.run("touch", "ran", options=["--backend", backend, "--json"])
    assert done.status == 125 and not (world.project / "ran").exists(), done.account()
    assert done.json["error"]["kind"] in ("unsupported", "unavailable"), done.account()
    refused(world, world.run("touch", "ran", options=["--backend", "none"]))
    # The control: with a mechanism that this host has the same command runs.
    world.run("touch", "ran", options=["--backend", "native"]).expect(0)
    assert (world.project / "ran").exists()


def test_PL06_host_without_user_namespaces(world):
    setup = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    done = world.execute(["unshare", "-Ur", "/bin/sh", "-c", setup, "sh", world.cordon, "run", "--",
                          "touch", "ran"])
    assert done.status == 125, done.account()
    assert not (world.project / "ran").exists(), "it ran without a sandbox"
    world.execute(["unshare", "-Uc", world.cordon, "run", "--", "touch", "ran"]).expect(0)
    assert (world.project / "ran").exists()


# Each with the line of a shell that it would break out of.
BREAKING = {"'; touch ran; '": "printf %s '{}'", '"; touch ran; "': 'printf %s "{}"',
            "$(touch ran)": 'printf %s "{}"', "`touch ran`": 'printf %s "{}"',
            "a\ntouch ran\n": "printf %s {}", "> ran": "printf %s {}"}


@pytest.mark.parametrize("word", BREAKING)
def test_PL07_quotes_end_nothing(world, word):
    done = world.run("printf", "%s", word)
    done.expect(0)
    assert done.out == word and not (world.project / "ran").exists()
    world.bare("/bin/sh", "-c", BREAKING[word].format(word))
    assert (world.project / "ran").exists(), "the control breaks out of nothing"


def test_PL09_nested_call_cannot_replace_the_policy(world):
    inner = world.write(world.project / "cordon2", world.cordon.read_bytes(), 0o755)
    # Inside no sandbox is to be had, whatever is asked of it.
    for options in (["--read", world.outside], []):
        done = world.run(inner, "run", "--json", *options, "--", "cat", world.outside / "secret")
        assert "SECRET" not in done.out, done.account()
        assert done.status == 125 and done.json["error"]["kind"] == "unavailable", done.account()
    bare = world.bare(inner, "run", "--read", str(world.outside), "--", "cat",
                      str(world.outside / "secret"))
    assert "SECRET" in bare.expect(0).out


def test_PL10_denies_and_grants_in_every_order(world):
    world.write(world.project / "d/open/x", "SECRET\n")
    world.write(world.project / "d/y", "SECRET\n")
    for order in (["--deny", world.project / "d", "--read", world.project / "d/open"],
                  ["--read", world.project / "d/open", "--deny", world.project / "d"],
                  ["--write", world.project / "d/open", "--deny", world.project / "d"]):
        refused(world, world.run("touch", "ran", options=order), "is denied")
    for kind in ("read", "write"):
        policy = world.document(f'version = 1\nextends = "workspace"\n[fs]\n'
                                f'{kind} = ["{world.project}/d/open"]\ndeny = ["{world.project}/d"]\n')
        found = world.inside([("read", world.project / "d/y"),
                              ("read", world.project / "d/open/x")], options=["--policy", policy])
        assert not any(a.ok for a in found), (kind, found)
    assert world.inside([("read", world.project / "d/y")])[0].ok
    # A read-only path inside a writable one stays read-only, whichever is named first.
    for order in (["--read", world.project / "d", "--write", world.project],
                  ["--write", world.project, "--read", world.project / "d"]):
        world.denied("write", world.project / "d/new", options=order)


def test_PL11_there_are_no_exclusions(world):
    for key in ("exclude", "excluded_commands", "unsandboxed"):
        path = world.document(f'version = 1\nextends = "workspace"\n{key} = ["touch"]\n')
        refused(world, world.run("touch", "ran", options=["--policy", path]), key)
    for flag in ("--no-sandbox", "--unsandboxed", "--dangerously-skip"):
        assert world.run("touch", "ran", options=[flag]).status == 125
    assert not (world.project / "ran").exists()


COMMANDS = ("cat {0}", "true && cat {0}", "c\\\nat {0}", "cat$IFS{0}", "sed -n p {0}",
            "echo $(< {0})", "x={0}; while read l; do echo $l; done < $x", "tail -n1 {0} | cat")


@pytest.mark.group("secrets")
@pytest.mark.parametrize("text", COMMANDS)
def test_PL12_command_text_decides_nothing(world, text):
    command = text.format(world.outside / "secret")
    assert "SECRET" not in world.run("bash", "-c", command).out
    assert "SECRET" in world.bare("bash", "-c", command).out


BAD_LIMITS = ('wall = "-1s"', 'wall = "0s"', "wall = 30", 'wall = "1e999s"', 'wall = "unlimited"',
              'memory = "0"', 'memory = "99999999999999999999G"', "memory = nan", "pids = 0",
              "pids = -5", 'pids = "many"', "pids = 1.5", "cpus = 0", "cpus = -1.0", "cpus = inf",
              'output = "10"', 'output_total = "-1K"')


@pytest.mark.parametrize("line", BAD_LIMITS)
def test_PL16_senseless_limits(world, line):
    path = world.document(f'version = 1\nextends = "workspace"\n[limits]\n{line}\n')
    refused(world, world.run("touch", "ran", options=["--policy", path]), "policy.toml:4")


@pytest.mark.parametrize("option", [("--timeout", "0"), ("--timeout", "-1s"), ("--timeout", "10"),
                                    ("--memory", "0M"), ("--memory", "lots"), ("--pids", "0"),
                                    ("--pids", "-3"), ("--cpus", "0"), ("--scratch", "-1M"),
                                    ("--output-limit", "x")], ids=lambda o: "=".join(o))
def test_PL16_senseless_flags(world, option):
    refused(world, world.run("touch", "ran", options=option))
    world.run("touch", "ran", options=["--timeout", "10s", "--pids", "64"]).expect(0)


DOCUMENTS = {
    "duplicate-key": b'version = 1\n[fs]\nread = ["/usr"]\nread = ["/"]\n',
    "duplicate-table": b'version = 1\n[fs]\nread = ["/usr"]\n[fs]\nwrite = ["/"]\n',
    "bom": b"\xef\xbb\xbfversion = 1\n",
    "nul": b"version = 1\n\x00\n",
    "deep": b"version = 1\nx = " + b"[" * 5000 + b"]" * 5000 + b"\n",
    "no-version": b'[fs]\nread = ["/usr"]\n',
    "other-version": b"version = 2\n",
    "wrong-type": b'version = 1\nfs = "all"\n',
    "not-utf8": b"version = 1\n# \xff\xfe\n",
    "keychain": b"version = 1\nkeychain_access = true\n",
    "empty-path": b'version = 1\n[fs]\nread = [""]\n',
    "nul-path": b'version = 1\n[fs]\nread = ["/usr\\u0000/x"]\n',
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_PL17_malformed_documents(world, name):
    path = world.document(DOCUMENTS[name])
    refused(world, world.run("touch", "ran", options=["--policy", path]), "policy.toml")
    done = world.cordon_verb("policy", "check", path)
    assert "policy.toml" in done.expect(2).err, done.account()


@pytest.mark.parametrize("text", ['{"version":1,"version":1}', '{"version":1,"fs":{"read":["/usr"],'
                                  '"read":["/"]}}', '{"version":1}x', "[1]", '{"version":1,}',
                                  '{"version":' + "[" * 3000 + "]" * 3000 + "}"])
def test_PL17_malformed_json(world, text):
    path = world.document(text, "policy.json")
    refused(world, world.run("touch", "ran", options=["--policy", path]), "policy.json")
    assert world.run("true", options=["--policy", world.document(
        '{"version":1,"extends":"workspace"}', "good.json")]).status == 0


def test_PL19_preset_name_cannot_be_shadowed(world):
    text = f'version = 1\nextends = "workspace"\n[fs]\nread = ["{world.outside}"]\n'
    config = world.write(world.home / ".config/cordon/policies/workspace.toml", text, 0o600)
    world.write(world.project / "policies/workspace.toml", text, 0o600)
    for options in ([], ["--policy", "workspace"]):
        done = world.run("cat", world.outside / "secret", options=options)
        assert "SECRET" not in done.out, done.account()
    mine = config.with_name("mine.toml")
    mine.write_text(text)
    mine.chmod(0o600)
    world.own(mine)
    done = world.run("cat", world.outside / "secret", options=["--policy", "mine"])
    assert "SECRET" in done.out, done.account()


def test_PL20_variables_from_the_workspace(world):
    lines = (f"CORDON_SANDBOX_READWRITE_PATHS={world.outside}\nCORDON_SANDBOX_NETWORK=allow\n"
             f"ENTRABOT_SANDBOX_READONLY_PATHS={world.outside}\nCORDON_CEILING=/dev/null\n")
    for name in (".env", ".envrc", "cordon.env"):
        world.write(world.project / name, lines)
    world.denied("write", world.outside / "x")
    world.denied("read", world.outside / "secret")


def test_PL21_the_report_says_what_the_kernel_says(world):
    done, report = world.report(world.probe, "batch", "-", input="status\ncaps\nns\n")
    enforced = report["enforcement"]
    assert ("NoNewPrivs=1" in done.out) == enforced["no_new_privs"] is True
    assert ("Seccomp=2" in done.out) == enforced["seccomp"] is True
    assert ('"ok":false' in done.out) == enforced["cap_drop"] is True
    [bare] = world.outside_of([("ns",)])
    ours = set(done.out.split('"detail":"user:')[1].split('"')[0].split()[1:])
    assert enforced["namespaces"] is True and not ours & set(bare.detail.split())
    assert enforced["landlock"] is True and enforced["landlock_abi"] >= 1
    open_net, open_report = world.report("true", options=["--net", "open"])
    assert open_report["enforcement"]["network"] == "open", open_net.report_text


def test_PL22_a_deny_never_allows(world):
    world.write(world.outside / "sub/secret", "SECRET\n")
    world.denied("read", world.outside / "secret", options=["--deny", world.outside / "secret"])
    options = ["--read", world.outside, "--deny", world.outside / "sub"]
    world.denied("read", world.outside / "sub/secret", options=options)
    world.allowed("read", world.outside / "secret", options=options)


def test_PL24_one_bad_path_drops_nothing_else(world):
    refused(world, world.run("touch", "ran", options=["--read", world.outside / "absent"]), "absent")
    options = ["--policy", world.document(
        f'version = 1\nextends = "workspace"\n[fs]\nread = ["{world.outside}/absent", '
        f'"{world.outside}"]\ndeny = ["file.txt"]\n')]
    done, report = world.report("true", options=options)
    done.expect(0)
    assert any(r["because"] == "nonexistent" and r["asked"].endswith("absent")
               for r in report["reductions"]), done.report_text
    found = world.inside([("read", world.outside / "secret"), ("read", world.project / "file.txt"),
                          ("write", world.outside / "x")], options=options)
    assert found[0].ok, found
    assert not found[1].ok and found[1].errno in FILE_ERRORS, found
    assert not found[2].ok and found[2].errno in FILE_ERRORS, found


@pytest.mark.group("binary tampering")
def test_R547_ceiling_policy_and_state_are_out_of_reach(world):
    policy = world.write(world.project / "own.toml", 'version = 1\nextends = "workspace"\n', 0o600)
    refused(world, world.run("touch", "ran", options=["--policy", policy]), "own.toml")
    mine = (f'version = 1\n[fs]\nread = ["/"]\nwrite = ["{world.project}", "{world.home}/.config",'
            f' "{world.home}/.local"]\n')
    held = [world.write(world.home / ".config/cordon/ceiling.toml", mine, 0o600),
            world.write(world.home / ".config/cordon/policies/mine.toml", "version = 1\n", 0o600),
            world.write(world.home / ".local/state/cordon/audit/day.jsonl", "{}\n", 0o600)]
    world.make_directory(world.home / ".local/state/cordon").chmod(0o700)
    before = [path.read_text() for path in held]
    for options in ([], ["--write", world.home / ".config", "--write", world.home / ".local"]):
        attempts = [(verb, path) for path in held for verb in ("write", "unlink")]
        world.inside(attempts, options=options)
        assert [path.read_text() for path in held] == before, f"changed with {options}"
    bare = world.outside_of([("append", held[2])])
    assert bare[0].ok and held[2].read_text() != before[2]
    held[0].unlink()
    shared = world.document('version = 1\nextends = "workspace"\n', "shared.toml")
    shared.chmod(0o666)
    refused(world, world.run("touch", "ran", options=["--policy", shared]), "shared.toml")
    linked = world.link(world.trusted / "link.toml", ceiling(world))
    refused(world, world.run("touch", "ran", options=["--ceiling", linked]), "link.toml")


def test_a_ceiling_that_leads_nowhere_is_not_taken_for_absent(world):
    """A link into a place that is not mounted, or that somebody removed, is still a ceiling."""
    world.run("touch", "control").expect(0)
    target = world.document('version = 1\n[fs]\nwrite = []\n', "elsewhere.toml")
    world.link(world.home / ".config/cordon/ceiling.toml", target)
    refused(world, world.run("touch", "ran"), "ceiling.toml")
    target.unlink()
    refused(world, world.run("touch", "ran"), "ceiling.toml")


@pytest.mark.group("binary tampering")
def test_R547_a_policy_in_a_grant_is_seen_by_whatever_name(world):
    text = 'version = 1\nextends = "workspace"\n'
    outside = world.document(text)
    world.run("true", options=["--policy", outside]).expect(0)
    inside = world.write(world.project / "own.toml", text, 0o600)
    through = world.link(world.trusted / "way", world.project) / "own.toml"
    around = world.trusted / "sub" / ".." / "way" / "own.toml"
    world.make_directory(world.trusted / "sub")
    into = world.link(world.project / "lead", outside.parent) / outside.name
    for policy in (inside, through, around, into):
        refused(world, world.run("touch", "ran", options=["--policy", policy]), "writable grant")
    twin = world.trusted / "twin.toml"
    twin.hardlink_to(inside)
    refused(world, world.run("touch", "ran", options=["--policy", twin]), "another name")
    inside.unlink()
    world.run("true", options=["--policy", twin]).expect(0)


def test_where_a_command_starts_opens_no_other_projects_home(world):
    policy = world.document('version = 1\nextends = "workspace"\n[fs]\nhome = "persistent"\n')
    keep = ["--policy", policy]
    world.run("sh", "-c", "echo SECRET > ~/s", options=keep).expect(0)
    assert world.run("cat", world.home / "s", options=keep).expect(0).out == "SECRET\n"
    other = world.make_directory(world.path / "other")
    done = world.run("sh", "-c", "pwd; cat ~/s", cwd=other,
                     options=[*keep, "--read", world.project, "--cwd", world.project])
    assert "SECRET" not in done.expect(1).out, done.account()
    assert str(world.project) in done.out
