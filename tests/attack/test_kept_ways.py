"""What is hidden, held or narrowed by its path stays at that path: nothing above it can be renamed
away or replaced, so that the next run finds it again."""
import json
import socket

import pytest

BUSY = {"EBUSY"}


def ceiling(world, text):
    return ["--ceiling", world.document(f"version = 1\n{text}", "kept.toml")]


def deny_below(world):
    world.write(world.project / "w/deep/secret/s", "SECRET\n")
    options = ceiling(world, f'[fs]\nread = ["/"]\nwrite = ["{world.project}"]\n'
                             f'deny = ["{world.project}/w/deep/secret"]\n')
    return [world.project / "w", world.project / "w/deep"], options


def deny_pattern(world):
    world.write(world.project / "w/one.key", "SECRET\n")
    return [world.project / "w"], ["--deny", f"{world.project}/w/*.key"]


def read_hole(world):
    world.write(world.project / "w/fixed/f", "FIXED\n")
    options = ceiling(world, f'[fs]\nread = ["/", "{world.project}/w/fixed"]\n'
                             f'write = ["{world.project}"]\n')
    return [world.project / "w"], [*options, "--read", world.project / "w/fixed"]


def credential_store(world):
    world.write(world.home / ".local/share/keyrings/login.keyring", "KEY\n", 0o600)
    return [world.home / ".local/share"], ["--write", world.home / ".local"]


def own_state(world):
    world.run("true").expect(0)
    return [world.home / ".local/state"], ["--write", world.home / ".local"]


def own_configuration(world):
    world.write(world.home / ".config/cordon/policies/mine.toml", "version = 1\n", 0o600)
    world.make_directory(world.home / "all")
    (world.home / ".config").rename(world.home / "all/.config")
    world.link(world.home / ".config", world.home / "all/.config")
    return [world.home / "all/.config"], ["--write", world.home / "all"]


@pytest.mark.parametrize("arrange", [deny_below, deny_pattern, read_hole, credential_store,
                                     own_state, own_configuration])
def test_a_directory_above_what_is_protected_stays_where_it_is(world, arrange):
    above, options = arrange(world)
    free = world.make_directory(above[0].parent / "free")
    attempts = [("rename", place, place.parent / "moved") for place in above]
    found = world.inside(attempts + [("rename", free, free.parent / "freed")], options=options)
    for answer in found[:-1]:
        assert not answer.ok and answer.errno in BUSY, found
    assert found[-1].ok, "another directory can be renamed"
    assert all(place.is_dir() for place in above)
    for verb, source, target in attempts:
        assert world.outside_of([(verb, source, target)])[0].ok, "nothing else forbids it"
        target.rename(source)


def test_a_link_on_the_way_to_what_is_protected_is_not_replaced(world):
    """Behind another link the next run would find a state directory that contained code made."""
    world.run("true").expect(0)
    state = world.home / ".local/state"
    place = world.make_directory(world.home / "real") / "state"
    state.rename(place)
    link = world.link(state, place)
    other = world.link(world.home / ".local/other", place)
    options = ["--write", world.home / ".local"]
    gone, moved, free = world.inside([("unlink", link), ("rename", link, link.parent / "moved"),
                                      ("unlink", other)], options=options)
    assert not gone.ok and gone.errno in BUSY, gone
    assert not moved.ok and moved.errno in BUSY, moved
    assert free.ok, "another link can be removed"
    assert link.is_symlink()
    assert world.outside_of([("unlink", link)])[0].ok


def test_a_forged_note_moves_nothing_out_of_a_home(world):
    """Recovery acts outside every sandbox on what it finds among Cordon's own files."""
    private = world.write(world.home / "docs/diary.txt", "PRIVATE\n", 0o600)
    options = ["--write", world.home / ".local"]
    note = ('{"run_id":"feedfacefeedface","pid":1,"cgroups":[],"writable":["%s"],'
            '"deny":[["*","","*"]],"snapshot":[]}' % private.parent)
    script = (f"cd {world.home}/.local && mv state old; mkdir -m 700 -p state/cordon/runs; "
              f"echo '{note}' > state/cordon/runs/feedfacefeedface; true")
    world.run("sh", "-c", script, options=options).expect(0)
    world.run("true").expect(0)
    assert private.read_text() == "PRIVATE\n"
    assert not (world.home / ".local/old").exists()


# A path of a policy or a ceiling, below a directory that the run can write: how it stands before.
def a_link(world, place):
    world.link(place, world.make_directory(world.home / "meant"))


def a_directory_below(world, place):
    world.make_directory(place)


def nothing_yet(world, place):
    world.make_directory(place.parent)


def a_link_to_nothing(world, place):
    world.make_directory(place.parent)
    world.link(place, place.parent / "later")


TURN = """
place={place}
rm -rf "$place" "${{place%/*}}/later"
mv "${{place%/*}}" "${{place%/*}}.old"
mkdir -p "${{place%/*}}"
ln -s {secret} "$place"
ln -s {secret} "${{place%/*}}/later"
true
"""


def turned(world, place, options):
    """A run that wants the path to lead elsewhere; then what the next one can read by any name."""
    secret = world.make_directory(world.home / "secret")
    world.write(secret / "s", "SECRET\n")
    script = TURN.format(place=place, secret=secret)
    world.run("sh", "-c", script, options=options).expect(0)
    return world.run("cat", secret / "s", options=options), secret


@pytest.mark.parametrize("before", [a_link, a_directory_below, nothing_yet, a_link_to_nothing])
@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("document", ["policy", "ceiling"])
def test_a_run_does_not_choose_what_the_next_is_granted(world, document, kind, before):
    place = world.project / "deep/granted"
    world.make_directory(place.parent)
    before(world, place)
    lists = {"read": ["/usr"], "write": [str(world.project)]}
    lists[kind].append(str(place))
    text = "version = 1\n[fs]\n" + "".join(f"{key} = {json.dumps(value)}\n"
                                           for key, value in lists.items())
    if document == "policy":
        options = ["--policy", world.document(text, "named.toml")]
    else:
        asks = f'version = 1\nextends = "workspace"\n[fs]\n{kind} = ["{world.home}/secret"]\n'
        options = ["--ceiling", world.document(text, "named.toml"), "--policy",
                   world.document(asks, "asks.toml")]
    refused, secret = turned(world, place, options)
    assert refused.status == 1 and "SECRET" not in refused.out, refused.account()
    # The same turn made by the person is followed.
    assert not (place.is_symlink() and place.readlink() == secret)
    for made in (place, place.parent / "later"):
        if made.is_symlink() or made.exists():
            world.bare("rm", "-rf", made).expect(0)
    world.bare("mkdir", "-p", place.parent).expect(0)
    world.bare("ln", "-s", secret, place).expect(0)
    assert world.run("cat", secret / "s", options=options).expect(0).out == "SECRET\n"


def test_a_deny_by_way_of_a_link_holds_in_the_next_run(world):
    world.write(world.home / "tree/keep/key", "SECRET\n")
    world.link(world.project / "way", world.home / "tree/keep")
    options = ["--policy", world.document(
        f'version = 1\n[fs]\nread = ["/usr"]\nwrite = ["{world.project}", "{world.home}/tree"]\n'
        f'deny = ["{world.project}/way/key"]\n', "denied.toml")]
    world.run("sh", "-c", "rm way; mkdir way; true", options=options).expect(0)
    refused = world.run("cat", world.home / "tree/keep/key", options=options)
    assert refused.status == 1 and "SECRET" not in refused.out, refused.account()
    (world.project / "way").unlink()
    assert "SECRET" in world.run("cat", world.home / "tree/keep/key", options=options).out


def test_a_run_does_not_choose_the_socket_of_the_next(world):
    """By a link in its place, contained code would reach a service that nobody listed."""
    options = ["--policy", world.document(
        f'version = 1\nextends = "workspace"\n[net]\nsockets = ["{world.project}/run/service.sock"]\n',
        "sockets.toml")]
    servers = []
    for path in (world.project / "run/service.sock", world.home / "other/other.sock"):
        world.make_directory(path.parent)
        servers.append(socket.socket(socket.AF_UNIX))
        servers[-1].bind(str(path))
        world.own(path)
        servers[-1].listen()
    other = world.home / "other/other.sock"
    connect = ("import socket, sys\ns = socket.socket(socket.AF_UNIX)\n"
               "print(s.connect_ex(sys.argv[1]))")
    turn = f"rm -f run/service.sock; mv run old; mkdir run; ln -s {other} run/service.sock; true"
    world.run("sh", "-c", turn, options=options).expect(0)
    reached = world.run("/usr/bin/python3", "-c", connect, other, options=options).expect(0)
    assert reached.out != "0\n", reached.account()
    listed = world.run("/usr/bin/python3", "-c", connect, world.project / "run/service.sock",
                       options=options).expect(0)
    assert listed.out == "0\n", listed.account()
    for server in servers:
        server.close()
