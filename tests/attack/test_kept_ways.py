"""What is hidden, held or narrowed by its path stays at that path: nothing above it can be renamed
away or replaced, so that the next run finds it again."""
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
