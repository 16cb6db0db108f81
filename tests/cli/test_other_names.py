"""Homes and projects that are reached through a symlink exist inside under that name too."""

import pytest


def moved_home(world):
    """The home of the world behind a link, as /home/me that leads to a larger disk."""
    name = world.path / "me"
    world.link(name, world.home)
    return name


def test_a_home_behind_a_link_has_both_names(world):
    name = moved_home(world)
    world.write(world.home / "project/script.sh", f"#!{name}/project/shell\necho ran\n", 0o755)
    world.link(world.home / "project/shell", "/bin/sh")
    done, report = world.report("sh", "-c", f"cat {name}/project/file.txt && {name}/project/script.sh && "
                                f"echo kept > {name}/project/new && echo private > {name}/note",
                                env={"HOME": str(name), "PWD": str(name / "project")})
    done.expect(0)
    assert done.out == "project file\nran\n" and (world.project / "new").read_text() == "kept\n"
    # The home is private under either name.
    assert not (world.home / "note").exists()
    assert [c["path"] for c in report["changes"]] == [str(world.home / "note")]


@pytest.mark.once
def test_a_project_behind_a_link_has_the_name_that_the_shell_knows(world):
    elsewhere = world.make_directory(world.path / "disk/work")
    world.write(elsewhere / "file.txt", "there\n")
    name = world.home / "work"
    world.link(name, elsewhere)
    done = world.run("sh", "-c", f"cat {name}/file.txt; echo x > {name}/made", cwd=elsewhere, env={"PWD": str(name)})
    assert done.expect(0).out == "there\n" and (elsewhere / "made").exists()
    # A name that is not the current directory's is nobody's.
    stale = world.run("cat", f"{name}/file.txt", cwd=elsewhere, env={"PWD": str(world.outside)})
    assert stale.status != 0, stale.account()


@pytest.mark.once
def test_a_grant_that_was_named_by_a_link_is_there_by_that_name(world):
    name = world.home / "data"
    world.link(name, world.outside)
    done, report = world.report("cat", f"{name}/secret", options=["--read", name])
    assert done.expect(0).out == "SECRET-outside\n"
    assert report["changes"] == [] and report["reductions"] == []
    # Without the grant the link leads to nothing.
    assert world.run("cat", f"{name}/secret").status != 0


@pytest.mark.once
def test_a_link_into_what_is_not_granted_is_not_made(world):
    """The name of the home is given, and what lies beyond what is granted there stays away."""
    name = moved_home(world)
    world.write(world.home / "Documents/letter", "SECRET-letter\n")
    done = world.run("sh", "-c", f"cat {name}/Documents/letter; readlink {name}", env={"HOME": str(name)})
    assert "SECRET" not in done.out and done.out == f"{world.home}\n", done.account()
    assert "SECRET" in world.bare("cat", name / "Documents/letter").expect(0).out


@pytest.mark.once
def test_a_link_in_a_directory_that_only_leads_to_a_grant(world):
    """Such a directory is read-only inside, and has the link all the same."""
    deep = world.make_directory(world.home / "work/deep/project")
    world.link(world.home / "work/data", world.outside)
    done = world.run("sh", "-c", f"cat {world.home}/work/data/secret; touch {world.home}/work/new", cwd=deep,
                     options=["--read", world.home / "work/data"])
    assert done.out == "SECRET-outside\n" and done.status != 0 and "Read-only" in done.err, done.account()
