"""run --report FILE.html and why --html: the account of a run as a page that a person opens in a browser."""

import json
import os
import stat

from test_changes_read import Page

NO_PLACE = {"script", "img", "iframe", "link", "a", "object", "embed", "form"}
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def page_in(text):
    page = Page()
    page.feed(text)
    return page


def check_harmless(page, text):
    assert NO_PLACE.isdisjoint(page.tags), page.tags
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "href")]
    assert "default-src 'none'" in text and "\x1b" not in text and "\u202e" not in text


def test_the_page_tells_how_it_ended_what_was_denied_and_what_to_do(world):
    file = world.path / "report.html"
    done = world.run("sh", "-c", f"echo '{EVIL}' >&2; echo x > .bashrc; exit 3",
                     options=["--report", file, "--memory", "512M", "--timeout", "1m"])
    done.expect(3)
    text = file.read_text()
    page = page_in(text)
    check_harmless(page, text)
    assert stat.S_IMODE(os.lstat(file).st_mode) == 0o600
    assert "exit status 3" in page.text and "moved out of the tree: .bashrc (shell)" in page.text
    assert "cordon changes apply" in page.text and "Landlock" in page.text and "512M" in page.text
    # The command as it was given, and its bars with words beside them.
    assert EVIL in page.text and page.tags.count("meter") >= 2
    assert page.tags.count("main") == page.tags.count("h1") == page.tags.count("title") == 1
    assert page.tags.count("table") == page.tags.count("caption")


def test_the_page_shows_captured_streams_and_names_that_steer(world):
    file = world.path / "report.html"
    script = f"echo '{EVIL}'; printf 'a\\033[31mb\\n'; mkdir -p .vscode; echo x > '.vscode/\u202e<b>.json'"
    world.run("sh", "-c", script, options=["--report", file, "--json"]).expect(0)
    text = file.read_text()
    page = page_in(text)
    check_harmless(page, text)
    assert EVIL in page.text and "\\x1b[31mb" in page.text
    assert "<b>" in page.text and ".vscode" in page.text


def test_a_run_that_was_not_started_has_a_page_too(world):
    file = world.path / "report.html"
    done = world.run("true", options=["--report", file, "--read", "/no such place"]).expect(125)
    page = page_in(file.read_text())
    assert "not started" in page.text and "/no such place" in page.text and "Nothing was started" in page.text
    assert "/no such place" in done.err


def test_a_page_is_replaced_by_a_page_and_nothing_else_is(world):
    file = world.path / "report.html"
    world.run("true", options=["--report", file]).expect(0)
    world.run("false", options=["--report", file]).expect(1)
    assert "exit status 1" in file.read_text()
    other = world.write(world.path / "mine.html", "<!DOCTYPE html>\n<p>mine</p>\n")
    refused = world.run("true", options=["--report", other]).expect(125)
    assert "not a report" in refused.err and other.read_text().endswith("<p>mine</p>\n")
    # What it advises works.
    other.unlink()
    world.run("true", options=["--report", other]).expect(0)
    plain = world.path / "report.json"
    world.run("true", options=["--report", plain]).expect(0)
    assert json.loads(plain.read_text())["schema"] == "cordon.report/1"


def test_a_name_that_was_not_resolved_has_a_cure(world):
    asks = "import socket; socket.gethostbyname('denied.example')"
    options = ["--allow", "other.example"]
    world.run("python3", "-c", asks, options=options).expect(1)
    said = world.cordon_verb("why").expect(0).out
    assert "denied: resolve: denied.example" in said
    assert "\n    --allow denied.example:443\n" in said
    world.cordon_verb("policy", "explain", *options, "connect", "denied.example:443").expect(1)
    options += ["--allow", "denied.example:443"]
    assert "denied" not in world.run("python3", "-c", asks, options=options).expect(0).err
    world.cordon_verb("policy", "explain", *options, "connect", "denied.example:443").expect(0)


def test_why_answers_with_the_same_page(world):
    world.run("sh", "-c", "echo x > .bashrc; exit 4").expect(4)
    text = world.cordon_verb("why", "--html").expect(0).out
    page = page_in(text)
    check_harmless(page, text)
    assert "exit status 4" in page.text and ".bashrc" in page.text
    said = world.cordon_verb("why").expect(0).out
    assert "moved out of the tree: .bashrc (shell)" in said and "moved out of the tree: .bashrc (shell)" in page.text
    world.run("true").expect(0)
    assert world.cordon_verb("why", "--html").expect(1).out == ""
