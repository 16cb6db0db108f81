"""cordon changes diff and show for people: nothing is left out without a word, a pager that no run can choose, a page
that runs nothing."""

from html.parser import HTMLParser

import pytest

from support.pty_session import Terminal

pytestmark = pytest.mark.once


def staged(world, script):
    done, report = world.report("/bin/sh", "-c", script, options=["--stage=review"])
    done.expect(0)
    return report["run_id"]


def diff(world, *words, status=0):
    return world.cordon_verb("changes", "diff", *words).expect(status).out


def test_every_file_is_shown_however_many_there_are(world):
    staged(world, "mkdir many; for i in $(seq 1500); do echo $i > many/$i; done")
    text = diff(world)
    assert text.count("\n+++ ") == 1500
    assert "/many/999\n@@ -0,0 +1,1 @@\n+999\n" in text


@pytest.mark.parametrize("case", ["both large", "only the run's is large", "the host's is a directory", "not readable"])
def test_what_cannot_be_compared_is_named(world, case):
    """A difference that is not shown must not look like none."""
    file = world.project / "file.txt"
    if case == "both large":
        world.write(file, "")
        with open(file, "r+b") as opened:
            opened.truncate(65 << 20)
        staged(world, "printf x | dd of=file.txt bs=1 seek=5000 conv=notrunc")
        assert "larger than 64" in diff(world)
    elif case == "only the run's is large":
        staged(world, "truncate -s 65M file.txt")
        text = diff(world)
        assert "the run's version: larger than 64" in text and "-project file" not in text
    elif case == "the host's is a directory":
        staged(world, "echo run > file.txt")
        file.unlink()
        world.make_directory(file)
        assert "the host's version: a directory" in diff(world)
    else:
        run = staged(world, "echo run > file.txt; chmod 0 file.txt")
        # Root reads everything.
        expected = "+run" if world.who.is_root else "the run's version: it cannot be read"
        assert expected in diff(world)
        if not world.who.is_root:
            shown = world.cordon_verb("changes", "show", run, "file.txt").expect(2)
            assert "cannot show" in shown.err and "stages/" in shown.err


@pytest.fixture
def terminal(world):
    opened = []

    def start(*words, **environment):
        opened.append(Terminal(world, [world.cordon, "changes", *words], env=environment))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_a_long_answer_goes_through_a_pager_and_a_short_one_does_not_stay_in_it(world, terminal):
    staged(world, "seq 500 > long.txt")
    reading = terminal("diff")
    reading.expect(b"+20")
    assert b"+400" not in reading.seen
    reading.type(b"q")
    assert reading.wait() == 0
    short = terminal("diff", "last", "short.txt")
    assert short.wait() == 1
    for words, environment in ((["--no-pager"], {}), ([], {"PAGER": "cat"}), ([], {"PAGER": ""})):
        whole = terminal("diff", *words, **environment)
        whole.expect(b"+500")
        assert whole.wait() == 0


def test_names_of_files_come_with_their_text_in_a_pager(world, terminal):
    staged(world, "seq 60 > a.txt; seq 60 > b.txt; rm file.txt")
    reading = terminal("show", PAGER="sed s/^/paged:/")
    reading.expect(b"paged:60\r\npaged:==> " + str(world.project / "b.txt").encode())
    reading.expect(b"paged:cordon: the run deleted")
    assert reading.wait() == 0


def test_who_leaves_a_pager_has_read_enough(world, terminal):
    staged(world, "seq 300000 > a.txt; seq 300000 > b.txt")
    for verb in ("show", "diff"):
        assert terminal(verb, PAGER="head -n 1").wait() == 0


def test_the_pager_that_is_named_is_used(world, terminal):
    staged(world, "seq 50 > long.txt")
    counted = terminal("diff", PAGER="grep -c ^.*+")
    counted.expect(b"\n")
    assert counted.wait() == 0
    assert b"+20" not in counted.seen


def test_no_program_of_the_project_shows_what_a_run_did(world, terminal):
    """A PATH that begins with the project is not unusual (node_modules/.bin)."""
    marker = world.outside / "marker"
    for name in ("less", "more", "mine"):
        world.write(world.project / "bin" / name, f"#!/bin/sh\ntouch '{marker}'\ncat\n", 0o755)
    staged(world, "seq 50 > long.txt")
    path = f"{world.project}/bin:/usr/bin:/bin"
    reading = terminal("diff", PATH=path)
    reading.expect(b"+20")
    reading.type(b"q")
    assert reading.wait() == 0
    named = terminal("diff", PATH=path, PAGER="mine")
    named.wait()
    assert not marker.exists()
    # The same program by its own path is the person's choice.
    named = terminal("diff", PAGER=f"{world.project}/bin/mine")
    assert named.wait() == 0
    assert marker.exists()


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text, self.attributes = [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text += data


def test_the_page_has_everything_and_runs_nothing(world):
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    run = staged(world, f"echo '{evil}' > 'a<b>.txt'; printf 'a\\033[31mb\\n' > b.txt; echo more >> file.txt; "
                        "mkdir -p .vscode; echo x > .vscode/tasks.json")
    page = Page()
    page.feed(diff(world, "--html"))
    assert {"script", "img", "iframe", "link", "a"}.isdisjoint(page.tags)
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "href")]
    assert evil in page.text and "a<b>.txt" in page.text and run in page.text
    assert "\x1b" not in page.text and "+more" in page.text
    assert "editor" in page.text and "held" in page.text
    assert diff(world, "--html", "last", "absent.txt", status=1) == ""


def test_a_word_that_names_no_change_is_named(world):
    """Any word but a run's id is a path: who mistyped one is told which word was not found."""
    staged(world, "echo x > made")
    told = world.cordon_verb("changes", "list", "mede").expect(1).err
    assert "none of its changes lies at" in told and "mede" in told, told
    assert "made" in world.cordon_verb("changes", "list", "made").expect(0).out
