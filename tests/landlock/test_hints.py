"""What landlock refuses comes with what to change. Each hint is followed, and then the command runs."""

import json

import pytest

from support.without_namespaces import launcher

NATIVE = "use --backend native"


def run_named(world, *command, options=(), alone=True):
    words = [world.cordon, "run", "--backend", "landlock", "--ceiling", world.ceiling, *options, "--",
             *command]
    return world.execute([*launcher(), *words] if alone else words)


CASES = {
    "deny": ("key.pem", ["--deny", "**/*.pem"], "cannot hide"),
    "machine": (None, ["--policy", "readonly", "--read", "/"], "cannot leave /proc out"),
    "publish": (None, ["--policy", 'version = 1\nextends = "workspace"\n[net]\npublish = ["8080"]\n'],
                "net.publish"),
    "deny-open": (None, ["--policy", 'version = 1\nextends = "workspace"\n[net]\nmode = "open"\n'
                         'deny = ["a.example"]\n'], "net.deny"),
}


def options_of(world, options):
    return [world.document(word) if word.startswith("version") else word for word in options]


@pytest.mark.parametrize("case", CASES)
def test_native_is_named_only_where_it_works(world, case):
    planted, options, words = CASES[case]
    if planted:
        world.write(world.project / planted, "SECRET\n")
    options = options_of(world, options)
    refused = run_named(world, "true", options=options).expect(125)
    assert words in refused.err and NATIVE not in refused.err, refused.account()
    # The cure for this host: a filter that refuses namespaces, as a container's does.
    works = case != "deny-open"  # that one native cannot hold either
    cure = "run cordon outside of it" in refused.err or "container" in refused.err
    assert cure == works, refused.account()
    elsewhere = run_named(world, "true", options=options, alone=False).expect(125)
    control = world.execute([world.cordon, "run", "--backend", "native", *options, "--", "true"])
    assert (NATIVE in elsewhere.err) == works, elsewhere.account()
    control.expect(0 if works else 125)


def test_grant_the_directories_beside_it(world):
    world.write(world.project / "secrets/key.pem", "SECRET\n")
    world.make_directory(world.project / "src")
    refused = run_named(world, "true", options=["--deny", "**/*.pem"]).expect(125)
    assert "grant the directories beside it instead of the one above" in refused.err, refused.account()
    policy = world.document('version = 1\nextends = "strict"\n[fs]\n'
                            f'write = ["{world.project}/src"]\ndeny = ["**/*.pem"]\n')
    run_named(world, "touch", world.project / "src/made", options=["--policy", policy]).expect(0)
    assert (world.project / "src/made").exists()


def test_grant_the_directories_that_the_command_needs(world):
    options = ["--policy", "readonly", "--read"]
    refused = run_named(world, "cat", world.outside / "secret", options=[*options, "/"]).expect(125)
    assert "grant the directories that the command needs" in refused.err, refused.account()
    done = run_named(world, "cat", world.outside / "secret", options=[*options, world.outside])
    assert done.expect(0).out == "SECRET-outside\n"


def test_remove_the_list_or_the_deny(world):
    for text, words in ((CASES["publish"][1][1], "remove the list"),
                        (CASES["deny-open"][1][1], "remove the deny")):
        refused = run_named(world, "true", options=["--policy", world.document(text)]).expect(125)
        assert words in refused.err, refused.account()
        without = "\n".join(line for line in text.splitlines()
                            if not line.startswith(("publish", "deny")))
        run_named(world, "true", options=["--policy", world.document(without)]).expect(0)


def test_a_file_with_another_name_is_parted(world):
    world.write(world.outside / "elsewhere", "{}\n")
    (world.project / ".mcp.json").hardlink_to(world.outside / "elsewhere")
    refused = run_named(world, "true").expect(125)
    assert "it is one file with another" in refused.err and NATIVE not in refused.err, refused.account()
    world.bare("sh", "-c", "cp -p .mcp.json x && mv x .mcp.json").expect(0)
    run_named(world, "true").expect(0)


def test_the_report_of_a_refusal_is_one(world):
    report = world.trusted / "report.json"
    world.write(world.project / "key.pem", "SECRET\n")
    run_named(world, "true", options=["--deny", "**/*.pem", "--report", report]).expect(125)
    error = json.loads(report.read_text())["error"]
    assert error["kind"] == "unsupported" and NATIVE not in json.dumps(error), error
