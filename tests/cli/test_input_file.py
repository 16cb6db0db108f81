"""A file as standard input: what a contained command has not read stays there for the next one."""

import json
import os
import shlex

import pytest

pytestmark = pytest.mark.once


def contained(world, *command, options=()) -> str:
    """`cordon run` as a line for a shell that the person runs."""
    line = world.command([world.cordon, "run", *options, "--", *command])
    return shlex.join(line[len(world.who.prefix):])


def shell(world, script, *, stdin, **how):
    return world.execute(["/bin/sh", "-c", script], stdin=stdin, **how)


def lines(count):
    return [f"line {number}" for number in range(count)]


@pytest.fixture
def listing(world):
    return world.write(world.trusted / "list", "\n".join(lines(9)) + "\n")


@pytest.fixture(params=["native", "bwrap", "landlock"])
def backend(request):
    return request.param


def accepted(world, backend):
    """Options of a backend; the ceiling accepts that one of them has no namespaces."""
    if backend != "landlock":
        return ["--backend", backend]
    ceiling = world.document('version = 1\n[fs]\nread = ["/"]\nwrite = ["@cwd"]\n[limits]\n'
                             '[require]\naccept_missing = ["namespaces"]\n', "ceiling.toml")
    return ["--backend", backend, "--ceiling", ceiling, "--policy", "readonly"]


def test_a_loop_does_every_round(world, listing, backend):
    run = contained(world, "true", options=accepted(world, backend))
    with open(listing) as file:
        done = shell(world, f'while read -r f; do {run} || exit 9; echo "$f"; done', stdin=file)
    assert done.expect(0).out.splitlines() == lines(9), done.account()


def test_each_line_is_read_once(world, listing, backend):
    # dash reads single bytes, so it takes its line and no more.
    run = contained(world, "/bin/sh", "-c", 'read -r a; echo "in: $a"',
                    options=accepted(world, backend))
    with open(listing) as file:
        done = shell(world, f"({run}; read -r b; echo \"out: $b\"; {run}; cat)", stdin=file)
    assert done.expect(0).out.splitlines() == [
        "in: line 0", "out: line 1", "in: line 2", *lines(9)[3:]], done.account()


def test_the_rest_of_a_large_file_is_left(world):
    path = world.write(world.trusted / "large", os.urandom(1 << 20))
    run = contained(world, "head", "-c", "300000")
    with open(path, "rb") as file:
        done = shell(world, f"{run} > first; cat > rest", stdin=file)
        done.expect(0)
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 1 << 20
    first = (world.project / "first").read_bytes()
    rest = (world.project / "rest").read_bytes()
    assert len(first) == 300000 and first + rest == path.read_bytes()


def test_a_large_file_arrives_whole(world):
    path = world.write(world.trusted / "large", os.urandom(3 << 20))
    with open(path, "rb") as file:
        shell(world, contained(world, "cat") + " > copy", stdin=file).expect(0)
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 3 << 20
    assert (world.project / "copy").read_bytes() == path.read_bytes()


def test_it_begins_where_the_file_stands(world, listing):
    with open(listing, "rb", buffering=0) as file:
        file.seek(7)
        done = shell(world, contained(world, "cat"), stdin=file)
        assert done.expect(0).out.splitlines() == lines(9)[1:]
        assert file.tell() == listing.stat().st_size


def test_a_file_open_for_appending_and_reading(world, listing):
    file = os.open(listing, os.O_RDWR | os.O_APPEND)
    try:
        run = contained(world, "/bin/sh", "-c", "read -r a; echo $a")
        done = shell(world, f"({run}; {run})", stdin=file)
        assert done.expect(0).out == "line 0\nline 1\n", done.account()
        assert os.lseek(file, 0, os.SEEK_CUR) == 14
    finally:
        os.close(file)
    assert listing.read_text().splitlines() == lines(9)


def test_a_file_that_grows_between_two_runs(world, listing):
    run = contained(world, "cat")
    with open(listing) as file:
        done = shell(world, f"{run}; echo more >> {shlex.quote(str(listing))}; {run}", stdin=file)
    assert done.expect(0).out.splitlines() == [*lines(9), "more"], done.account()


def test_with_a_report_on_stdout(world, listing):
    run = contained(world, "/bin/sh", "-c", "read -r a; echo $a", options=["--json"])
    with open(listing) as file:
        done = shell(world, f"{run} > {shlex.quote(str(world.trusted / 'r'))}; cat", stdin=file)
    assert done.expect(0).out.splitlines() == lines(9)[1:], done.account()
    assert '"stdout":"line 0\\n"' in (world.trusted / "r").read_text().replace('": "', '":"')


@pytest.mark.parametrize("options,status", [(["--timeout", "5s"], 124), ([], 143)])
def test_a_command_that_is_killed_leaves_the_rest(world, listing, options, status):
    kill = "" if options else "kill -TERM $$;"
    run = contained(world, "/bin/sh", "-c", f"read -r a; {kill} sleep 60", options=options)
    with open(listing) as file:
        done = shell(world, f"{run}; echo $?; cat", stdin=file)
    assert done.expect(0).out.splitlines() == [str(status), *lines(9)[1:]], done.account()


def test_a_command_that_never_starts_takes_nothing(world, listing):
    with open(listing) as file:
        done = shell(world, f"{contained(world, 'absent-program')}; cat", stdin=file)
    assert done.expect(0).out.splitlines() == lines(9), done.account()


def test_the_file_itself_is_out_of_reach(world, listing):
    """What is handed over is a pipe: nothing can be done to the file through it."""
    attempt = "import fcntl, os, stat, sys; s = os.fstat(0); print(stat.S_ISFIFO(s.st_mode), s.st_nlink)"
    listing.chmod(0o600)
    with open(listing) as file:
        done = world.run("/usr/bin/python3", "-c", attempt + "; os.fchmod(0, 0o777)", stdin=file)
        assert done.expect(0).out == "True 1\n", done.account()
    assert listing.stat().st_mode & 0o777 == 0o600
    with open(listing) as file:  # and bare it would be the file
        assert world.bare("/usr/bin/python3", "-c", attempt, stdin=file).out == "False 1\n"


def test_a_command_that_writes_into_its_own_input_moves_nothing_backwards(world, listing):
    """Bytes that the command put into the pipe itself do not count as unread bytes of the file."""
    script = ("import os; w = os.open('/proc/self/fd/0', os.O_WRONLY); os.read(0, 100000); "
              "os.write(w, b'x' * 60000)")
    with open(listing, "rb", buffering=0) as file:
        file.seek(7)
        world.run("/usr/bin/python3", "-c", script, stdin=file)
        assert 7 <= file.tell() <= listing.stat().st_size


def test_pipes_are_read_by_the_command_alone(world):
    run = contained(world, "true")
    done = world.execute(["/bin/sh", "-c", f"seq 5 | while read -r n; do {run}; echo $n; done"])
    assert done.expect(0).out.split() == ["1", "2", "3", "4", "5"]


def test_other_faces_do_the_same(world, listing):
    document = {"network": {"allowedDomains": [], "deniedDomains": []},
                "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}
    settings = world.write(world.trusted / "settings.json", json.dumps(document))
    srt = shlex.join([str(world.cordon), "srt", "--settings", str(settings), "-c", "true"])
    with open(listing) as file:
        done = shell(world, f'while read -r f; do {srt} || exit 9; echo "$f"; done', stdin=file)
    assert done.expect(0).out.splitlines() == lines(9), done.account()


@pytest.mark.parametrize("end", ["\n", ""], ids=["whole line", "part of a line"])
def test_a_loop_does_every_round_at_a_forced_terminal(world, end):
    """What went into the terminal and was not read there stays in the file."""
    listing = world.write(world.trusted / "list", "\n".join(lines(9)) + end)
    run = contained(world, "true", options=["--tty"])
    with open(listing) as file:
        done = shell(world, f'while read -r f || test "$f"; do {run} > /dev/null || exit 9; echo "$f"; done',
                     stdin=file)
    assert done.expect(0).out.splitlines() == lines(9), done.account()


def test_each_line_is_read_once_at_a_forced_terminal(world, listing):
    run = contained(world, "/bin/sh", "-c", 'stty -echo; read -r a; echo "in: $a"', options=["--tty"])
    with open(listing) as file:
        done = shell(world, f"({run}; read -r b; echo \"out: $b\"; {run}; cat)", stdin=file)
    got = [line for line in done.expect(0).out.replace("\r", "").splitlines() if line.startswith(("in", "out"))]
    assert got == ["in: line 0", "out: line 1", "in: line 2"], done.account()
    assert done.out.replace("\r", "").splitlines()[-6:] == lines(9)[3:], done.account()


def test_a_large_file_is_left_by_who_reads_nothing_at_a_forced_terminal(world):
    path = world.write(world.trusted / "large", "".join(f"line {number}\n" for number in range(40_000)))
    with open(path, "rb", buffering=0) as file:
        file.seek(7)
        world.run("/bin/sh", "-c", "stty -echo; sleep 0.3", options=["--tty"], stdin=file).expect(0)
        assert file.tell() == 7
