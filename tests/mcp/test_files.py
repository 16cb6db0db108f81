"""Profile `full`: the tools for files, and attempts to reach past what is allowed with them."""

import base64
import hashlib
import json
import os
import time

import pytest

from peer import told
from served import audit_bytes, audit_lines, ceiling_of
from support.harness import SECRET_FILES, tree_digest

pytestmark = pytest.mark.once


def digest(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


# read_local_file.

def test_reading_page_by_page(full):
    text = "".join(f"line {i} \"quoted\" é\n" for i in range(1, 3001))
    full.world.write(full.world.project / "long", text)
    seen, start = "", 1
    while start:
        page = full.good("read_local_file", {"path": "long", "start_line": start})
        assert page["sha256"] == digest(text) and page["total_lines"] == 3000
        assert page["start_line"] == start and page["truncated"] is ("next_line" in page)
        seen += page["content"]
        start = page.get("next_line")
    assert seen == text
    some = full.good("read_local_file", {"path": "long", "start_line": 2999, "max_lines": 1})
    assert some["content"].startswith("line 2999") and some["next_line"] == 3000
    assert full.good("read_local_file", {"path": "long", "start_line": 9999})["content"] == ""


def test_reading_bytes(full):
    data = bytes(range(256)) * 60
    full.world.write(full.world.project / "bin", data)
    seen, start = b"", 0
    while start is not None:
        page = full.good("read_local_file", {"path": "bin", "encoding": "base64",
                                             "start_byte": start})
        seen += base64.b64decode(page["content"])
        start = page.get("next_byte")
    assert seen == data and page["sha256"] == digest(data)


def test_a_line_longer_than_a_page(full):
    full.world.write(full.world.project / "wide", "x" * 50_000 + "\nend\n")
    page = full.good("read_local_file", {"path": "wide"})
    assert page["line_truncated"] is True and page["next_line"] == 2
    assert full.good("read_local_file", {"path": "wide", "start_line": 2})["content"] == "end\n"


def test_secrets_are_masked_in_every_form(full):
    token = "ghp_" + "a1B2" * 9
    full.world.write(full.world.project / "t", f"before\nkey {token}\nafter\n")
    assert full.good("read_local_file", {"path": "t"})["content"] == "before\nkey [secret]\nafter\n"
    refused = full.bad("read_local_file", {"path": "t", "encoding": "base64"})
    assert "secret" in refused["message"] and "content" not in refused
    found = full.good("search_files", {"pattern": "key", "path": "t"})
    assert "[secret]" in found["matches"] and token not in json.dumps(found)
    edited = full.good("edit_local_file", {"path": "t", "edits": [{"old": "after", "new": "end"}]})
    assert token not in json.dumps(edited) and "[secret]" in edited["diff"]
    assert token in (full.world.project / "t").read_text()


# write_local_file.

def test_writing_knows_what_it_replaces(full):
    path = full.world.project / "w"
    first = full.good("write_local_file", {"path": "w", "content": "one", "expected_sha256": "none"})
    assert first["sha256"] == digest("one") and first["previous_sha256"] == "none"
    again = full.bad("write_local_file", {"path": "w", "content": "x", "expected_sha256": "none"})
    assert again["type"] == "StaleFile" and digest("one") in again["message"]
    second = full.good("write_local_file", {"path": "w", "content": "two",
                                            "expected_sha256": digest("one")})
    assert second["previous_sha256"] == digest("one")
    path.write_text("by somebody else")
    lost = full.bad("write_local_file", {"path": "w", "content": "three",
                                         "expected_sha256": digest("two")})
    assert lost["type"] == "StaleFile" and path.read_text() == "by somebody else"
    full.good("write_local_file", {"path": "w", "content": "four"})
    assert path.read_text() == "four"


@pytest.mark.parametrize("one", ["x", "\x01", "\N{GRINNING FACE}"])
def test_the_longest_content_that_the_schema_permits_fits_into_a_message(full, one):
    """However a client writes it: a character outside the first plane is twelve bytes as escapes."""
    [tool] = [tool for tool in full.call("tools/list")["result"]["tools"] if tool["name"] == "write_local_file"]
    most = tool["inputSchema"]["properties"]["content"]["maxLength"]
    full.good("write_local_file", {"path": "large", "content": one * most})
    assert (full.world.project / "large").read_bytes() == (one * most).encode()
    error = full.tool("write_local_file", {"path": "larger", "content": one * (most + 1)})
    assert str(most) in json.dumps(error) and not (full.world.project / "larger").exists(), error


def test_writing_makes_directories_and_modes(full):
    world = full.world
    path = world.project / "a/b/c.sh"
    refused = full.bad("write_local_file", {"path": str(path), "content": "x"})
    assert refused["success"] is False and not path.parent.exists()
    full.good("write_local_file", {"path": str(path), "content": "x", "create_dirs": True,
                                   "mode": "0755"})
    assert path.read_text() == "x" and path.stat().st_mode & 0o777 == 0o755
    assert path.stat().st_uid == world.who.uid
    full.good("write_local_file", {"path": str(path), "content": "y"})
    assert path.stat().st_mode & 0o777 == 0o755
    before = tree_digest(world.outside)
    for outside in (world.outside / "n/e/w", world.home / "n/e/w"):
        full.bad("write_local_file", {"path": str(outside), "content": "x", "create_dirs": True})
    assert tree_digest(world.outside) == before and not (world.home / "n").exists()
    for held in (".vscode/tasks.json", ".git/hooks/x", ".claude/deep/er/x"):
        full.bad("write_local_file", {"path": held, "content": "x", "create_dirs": True})
        assert not (world.project / held).exists()


# edit_local_file.

def edit(full, edits, **more):
    return {"path": str(full.world.project / "e"),
            "edits": [dict(zip(("old", "new", "count"), one)) for one in edits], **more}


def test_edits_are_exact_and_all_or_none(full):
    path = full.world.write(full.world.project / "e", "a = 1\nb = 2\nb = 2\nc = 3\n", 0o640)
    done = full.good("edit_local_file", edit(full, [("a = 1", "a = 10"), ("b = 2", "b = 20", 2)]))
    assert path.read_text() == "a = 10\nb = 20\nb = 20\nc = 3\n"
    assert done["previous_sha256"] == digest("a = 1\nb = 2\nb = 2\nc = 3\n")
    assert done["sha256"] == digest(path.read_text()) and done["written"] is True
    assert "-a = 1\n" in done["diff"] and "+a = 10\n" in done["diff"] and " c = 3\n" in done["diff"]
    assert path.stat().st_mode & 0o777 == 0o640
    for edits, count in (([("c = 3", "x"), ("b = 20", "y")], "2 time(s), not 1"),
                         ([("c = 3", "x"), ("gone", "y")], "0 time(s), not 1"),
                         ([("c = 3", "x", 2)], "1 time(s), not 2")):
        refused = full.bad("edit_local_file", edit(full, edits))
        assert count in refused["message"] and "nothing was changed" in refused["message"]
        assert path.read_text() == "a = 10\nb = 20\nb = 20\nc = 3\n"
    # One after the other: what the first brings in the second may change.
    full.good("edit_local_file", edit(full, [("c = 3", "d"), ("d", "e")]))
    assert path.read_text().endswith("e\n")


def test_a_dry_run_and_a_stale_edit_change_nothing(full):
    path = full.world.write(full.world.project / "e", "old\r\ntext\r\n")
    before = path.stat()
    shown = full.good("edit_local_file", edit(full, [("old", "new")], dry_run=True))
    assert shown["written"] is False and "+new" in shown["diff"]
    stale = full.bad("edit_local_file", edit(full, [("old", "new")], expected_sha256=digest("x")))
    assert stale["type"] == "StaleFile"
    ends = full.bad("edit_local_file", edit(full, [("old\ntext", "new")]))
    assert "\\r\\n" in ends["help"]
    assert path.stat().st_mtime_ns == before.st_mtime_ns and path.stat().st_ino == before.st_ino
    full.good("edit_local_file", edit(full, [("old", "new")],
                                      expected_sha256=digest("old\r\ntext\r\n")))


def test_no_update_is_lost_between_two_servers(full, serve_full):
    """Both add to one file at once, each by an edit of its end: every one is there."""
    path = full.world.write(full.world.project / "e", "end")
    other = serve_full()
    pending = []
    for i in range(12):
        server = (full, other)[i % 2]
        pending.append((server, server.start_tool(
            "edit_local_file", edit(full, [("end", f"{i}\nend")]))))
    done = [told(server.answer(id)["result"])["success"]
            for server, id in pending]
    assert sorted(path.read_text().split()[:-1]) == sorted(str(i) for i, ok in enumerate(done) if ok)
    assert sum(done) >= 6, done


def test_edits_reach_no_further_than_writes(full):
    world = full.world
    before = tree_digest(world.outside)
    world.link(world.project / "link", world.outside / "secret")
    world.write(world.project / ".mcp.json", "{}")
    edits = [{"old": "SECRET", "new": "x"}]
    for path in (world.outside / "secret", world.project / "link", "../../outside/secret"):
        refused = full.bad("edit_local_file", {"path": str(path), "edits": edits})
        assert "outside the operator's allowed paths" in refused["message"]
        assert "SECRET" not in json.dumps(refused)
    held = full.bad("edit_local_file", {"path": ".mcp.json", "edits": [{"old": "{}", "new": "x"}]})
    assert held["type"] == "SandboxDeniedError"
    full.bad("edit_local_file", {"path": "missing", "edits": edits})
    assert tree_digest(world.outside) == before and (world.project / ".mcp.json").read_text() == "{}"


@pytest.mark.parametrize("edits", [[], [{"old": "", "new": "x"}], [{"old": "x"}],
                                   [{"old": "x", "new": "y", "count": 0}],
                                   [{"old": "x", "new": "y", "regex": True}], "x"])
def test_malformed_edits(full, edits):
    result = full.bad("edit_local_file", {"path": "file.txt", "edits": edits})
    assert result["error"] == "Invalid arguments" and "edits" in result["message"]


# list_files and search_files.

def follow(server, tool, member, arguments):
    """All pages, by their cursors."""
    lines, arguments = [], dict(arguments)
    for _ in range(500):
        page = server.good(tool, arguments)
        lines += page[member].splitlines()
        if not page["more"]:
            return lines
        arguments["cursor"] = page["next_cursor"]
    raise AssertionError("no end")


def plant(world):
    for name in ("src/a.c", "src/b.h", "src/deep/c.c", "doc/x.md", ".git/objects/00/1"):
        world.write(world.project / name, f"content of {name}\nneedle here\nlast\n")


def test_listing(full):
    plant(full.world)
    assert full.good("list_files", {})["entries"].splitlines() == [
        "dir .git/", "dir doc/", "file 13 file.txt",
        f"file {(full.world.project / 'probe').stat().st_size} probe", "dir src/"]
    assert full.good("list_files", {"glob": "*.c"})["entries"].splitlines() == [
        "file 36 src/a.c", "file 41 src/deep/c.c"]
    assert full.good("list_files", {"glob": "src/*.?"})["count"] == 2
    deep = full.good("list_files", {"depth": 9})["entries"]
    assert "src/deep/c.c" in deep and ".git/objects" not in deep
    assert full.good("list_files", {"path": "src/a.c"})["entries"] == "file 36 a.c\n"


def test_listing_by_pages_is_complete_and_each_page_bounded(full):
    for i in range(1500):
        (full.world.project / f"file-{i:04}-with-a-rather-long-name").touch()
    lines = follow(full, "list_files", "entries", {"glob": "file-*", "limit": 700})
    assert lines == [f"file 0 file-{i:04}-with-a-rather-long-name" for i in range(1500)]


def test_searching(full):
    plant(full.world)
    found = full.good("search_files", {"pattern": "^need(le|ful)"})
    assert found["matches"].splitlines() == [
        f"{name}:2:needle here" for name in ("doc/x.md", "src/a.c", "src/b.h", "src/deep/c.c")]
    assert full.good("search_files", {"pattern": "need(le", "literal": True})["count"] == 0
    around = full.good("search_files", {"pattern": "needle", "path": "src/a.c", "context": 1})
    assert around["matches"] == ("a.c-1-content of src/a.c\na.c:2:needle here\na.c-3-last\n--\n")
    assert full.good("search_files", {"pattern": "needle", "glob": "*.md"})["count"] == 1
    bad = full.bad("search_files", {"pattern": "("})
    assert bad["error"] == "Invalid arguments" and "pattern" in bad["message"]
    binary = full.good("search_files", {"pattern": "needle"})["binary_files_skipped"]  # the probe
    full.world.write(full.world.project / "binary", b"needle\0\n")
    full.world.write(full.world.project / "wide", "needle " + "x" * 5000)
    found = full.good("search_files", {"pattern": "needle"})
    lines = found["matches"].splitlines()
    assert not [line for line in lines if line.startswith("binary")]
    assert found["binary_files_skipped"] == binary + 1
    assert [len(line) for line in lines if line.startswith("wide")] == [len("wide:1:") + 305]


def test_a_binary_file_is_said_to_be_one(full):
    full.world.write(full.world.project / "image", b"\x89PNG\0\0rest")
    refused = full.bad("read_local_file", {"path": "image"})
    assert refused["message"] == "a binary file of 10 bytes" and refused["type"] == "BinaryFile"
    # What it says works.
    assert '"encoding": "base64"' in refused["help"]
    read = full.good("read_local_file", {"path": "image", "encoding": "base64"})
    assert base64.b64decode(read["content"]) == b"\x89PNG\0\0rest"


IGNORE = {".gitignore": "node_modules/\n*.log\n!kept.log\n/top-only\nsrc/*.tmp\n**/cache\ndocs/**/draft\n",
          "web/.gitignore": "dist\n!special.log\n", ".git/info/exclude": "mine\n"}
TREE = ["a.c", "a.log", "kept.log", "top-only", "sub/top-only", "src/x.tmp", "src/deep/x.tmp", "mine", "web/mine",
        "node_modules/m/index.js", "web/node_modules/n/index.js", "web/dist/out.js", "web/special.log", "web/other.log",
        "dist/stays.js", "cache/c", "web/cache/c", "docs/a/b/draft", "docs/draft", "docs/text"]


def test_what_git_ignores_is_left_out_and_counted(full):
    """As git itself tells it, also below a directory of the work tree."""
    world = full.world
    world.bare("git", "init", "-q").expect(0)
    for name in TREE:
        world.write(world.project / name, "needle\n")
    for name, text in IGNORE.items():
        world.write(world.project / name, text)
    for path in (".", "web", "docs", "src"):
        wanted = world.bare("git", "-C", path, "ls-files", "-co", "--exclude-standard").expect(0).out.split()
        listed = full.good("list_files", {"path": path, "glob": "**/*", "limit": 1000})
        files = [line.split(" ", 2)[2] for line in listed["entries"].splitlines() if line.startswith("file")]
        assert sorted(files) == sorted(wanted), path
        assert listed["left_out_by_gitignore"] > 0
        found = full.good("search_files", {"pattern": "needle", "path": path, "limit": 200})
        matched = {line.split(":")[0] for line in found["matches"].splitlines()}
        assert matched == set(wanted) & {name.removeprefix(path + "/") for name in TREE}, path
        # The option shows all of it.
        everything = full.good("list_files", {"path": path, "glob": "**/*", "limit": 1000, "include_ignored": True})
        assert "left_out_by_gitignore" not in everything
        below = world.project / path
        assert everything["entries"].count("file ") == sum(
            one.is_file() and ".git/" not in str(one.relative_to(below)) for one in below.rglob("*"))
    # Whoever names a directory that is ignored wants to see it.
    named = full.good("search_files", {"pattern": "needle", "path": "web/node_modules"})
    assert named["matches"].startswith("n/index.js:1:needle")


def test_ignoring_reads_nothing_that_the_operator_does_not_permit(serve_full, world):
    """The rules above what is granted are not read: their effect would tell what stands in them."""
    world.write(world.project / ".gitignore", "*.log\n")
    for name in ("in/a.log", "in/b.c"):
        world.write(world.project / name, "x\n")
    allowed = serve_full()
    assert "a.log" not in allowed.good("list_files", {"path": "in"})["entries"]  # the control
    server = serve_full(ceiling=f'version = 1\n[fs]\nread = ["{world.project}/in"]\n')
    assert "a.log" in server.good("list_files", {"path": "in"})["entries"]


def test_searching_by_pages(full):
    full.world.write(full.world.project / "many", "".join(f"hit {i}\n" for i in range(1000)))
    lines = follow(full, "search_files", "matches", {"pattern": "hit", "limit": 200})
    assert lines == [f"many:{i + 1}:hit {i}" for i in range(1000)]


@pytest.mark.parametrize("tool, arguments", [("list_files", {"depth": 9}),
                                             ("search_files", {"pattern": "SECRET|link"})])
def test_trees_are_not_left_by_links(full, tool, arguments):
    world = full.world
    world.link(world.project / "to-file", world.outside / "secret")
    world.link(world.project / "to-directory", world.outside)
    world.link(world.project / "loop", world.project)
    world.write(world.project / "plain", "link in text\n")
    text = json.dumps(full.good(tool, arguments))
    assert "SECRET" not in text and "to-directory/" not in text and "loop/" not in text
    assert "plain" in text
    for path in ("to-file", "to-directory", str(world.outside), "../../outside", "/", "~",
                 str(world.home), "/etc", str(world.outside / "nothing")):
        refused = full.bad(tool, {**arguments, "path": path})
        assert refused["message"] == "outside the operator's allowed paths", (path, refused)
        assert "SECRET" not in json.dumps(refused)


@pytest.mark.parametrize("tool, arguments", [("list_files", {"depth": 9}),
                                             ("search_files", {"pattern": "content"})])
def test_what_is_denied_inside_is_not_shown(serve_full, world, tool, arguments):
    for name in ("private/deep/a", "open/deep/a", "open/key.pem"):
        world.write(world.project / name, "content\n")
    server = serve_full(ceiling=ceiling_of(world, 'deny = ["private", "*.pem"]\n'))
    text = json.dumps(server.good(tool, arguments))
    assert "open/deep/a" in text and "private/deep" not in text and "key.pem:" not in text
    server.bad(tool, {**arguments, "path": "private/deep"})
    server.good(tool, {**arguments, "path": "open/deep"})


def test_odd_names_cannot_draw_lines(full):
    name = "a\nfile 1 forged\x1b[31m"
    (full.world.project / name).touch()
    entries = full.good("list_files", {})["entries"]
    assert "\x1b" not in entries and "\nfile 1 forged" not in entries and "forged" in entries


def test_special_files_do_not_hang_a_search(full):
    os.mkfifo(full.world.project / "fifo")
    full.world.own(full.world.project / "fifo")
    began = time.monotonic()
    assert full.good("search_files", {"pattern": "project"})["count"] == 1
    assert "other fifo" in full.good("list_files", {})["entries"]
    assert time.monotonic() - began < 30


def test_a_pattern_without_end_is_ended(serve_full, world):
    server = serve_full(ceiling=ceiling_of(world, '[limits]\nwall = "1s"\nmemory = "256M"\n'))
    world.write(world.project / "as", "a" * 4000 + "\n" + "ab" * 2000)
    result, is_error = server.result("search_files", {
        "pattern": r"^((a*)*b?)*(\2\1)*(a|aa)*\1\2c$"})
    assert is_error, result
    server.good("search_files", {"pattern": "a"})


def test_cursors_belong_to_their_question(full, serve_full):
    plant(full.world)
    page = full.good("list_files", {"limit": 1, "depth": 3})
    cursor = page["next_cursor"]
    full.good("list_files", {"limit": 1, "depth": 3, "cursor": cursor})
    other = serve_full()
    for server, tool, arguments in (
            (full, "list_files", {"limit": 1, "depth": 2, "cursor": cursor}),
            (full, "list_files", {"limit": 1, "depth": 3, "path": "src", "cursor": cursor}),
            (full, "search_files", {"pattern": "x", "cursor": cursor}),
            (full, "list_files", {"limit": 1, "depth": 3, "cursor": "9" + cursor}),
            (full, "list_files", {"limit": 1, "depth": 3, "cursor": "5-0-"}),
            (other, "list_files", {"limit": 1, "depth": 3, "cursor": cursor})):
        refused = server.bad(tool, arguments)
        assert "cursor" in refused["message"] and refused["audit_id"]


def test_a_ceiling_that_keeps_little_output_does_not_cut_files(serve_full, world):
    """limits.output is about what commands print."""
    server = serve_full(ceiling=ceiling_of(world, '[limits]\noutput = "1K"\n'))
    plant(world)
    world.write(world.project / "long", "x\n" * 3000)
    assert server.good("read_local_file", {"path": "long"})["total_lines"] == 3000
    assert server.good("list_files", {"depth": 3})["count"] > 5


def test_every_file_call_is_recorded_and_nothing_of_it_told(full):
    world = full.world
    world.write(world.project / "CANARY-file", "CANARY-content\n")
    full.good("read_local_file", {"path": "CANARY-file"})
    full.good("write_local_file", {"path": "CANARY-new", "content": "CANARY-text"})
    full.good("edit_local_file", {"path": "CANARY-new",
                                  "edits": [{"old": "CANARY-text", "new": "CANARY-more"}]})
    full.good("list_files", {"glob": "CANARY*"})
    full.good("search_files", {"pattern": "CANARY", "literal": True})
    full.bad("search_files", {"pattern": "CANARY", "path": str(world.outside)})
    lines = audit_lines(world)
    for tool in ("read_local_file", "write_local_file", "edit_local_file", "list_files",
                 "search_files"):
        mine = [line for line in lines if line["action"] == tool]
        begun = [line["event_id"] for line in mine if line["phase"] == "pending"]
        assert begun and set(begun) <= {line["event_id"] for line in mine
                                        if line["phase"] == "closing"}
    assert b"CANARY" not in audit_bytes(world)
    assert world.cordon_verb("audit", "verify").status == 0


def test_without_a_ceiling_nothing_is_shown(serve_full):
    server = serve_full(ceiling="version = 1\n")
    for tool, arguments in (("list_files", {}), ("search_files", {"pattern": "project"}),
                            ("read_local_file", {"path": "file.txt"}),
                            ("edit_local_file", {"path": "file.txt",
                                                 "edits": [{"old": "project", "new": "x"}]})):
        assert server.bad(tool, arguments)["type"] == "SandboxDeniedError"


def test_credentials_below_a_grant_stay_hidden(serve_full, world):
    """Also where a call names the store itself, or something in it."""
    world.plant({**SECRET_FILES, "notes/plain": "SECRET-word in notes\n"})
    server = serve_full(ceiling=f'version = 1\n[fs]\nread = ["{world.home}"]\n')
    found = server.good("search_files", {"pattern": "SECRET-", "path": "~"})
    assert found["matches"] == "notes/plain:1:SECRET-word in notes\n"
    for name in (".ssh", ".aws", ".config/gh", ".netrc"):
        for tool, more in (("list_files", {"depth": 5}), ("search_files", {"pattern": "SECRET"})):
            result, _ = server.result(tool, {"path": f"~/{name}", **more})
            assert "SECRET" not in json.dumps(result) and "id_ed25519" not in json.dumps(result)
    for name in SECRET_FILES:
        result, is_error = server.result("read_local_file", {"path": f"~/{name}"})
        assert is_error and "SECRET" not in json.dumps(result), name
    assert server.good("read_local_file", {"path": "~/notes/plain"})["total_lines"] == 1


# What was not looked at is told.

@pytest.mark.parametrize("tool, arguments", [("search_files", {"pattern": "needle"}),
                                             ("list_files", {"glob": "*needle*"}), ("workspace_diff", {})])
@pytest.mark.parametrize("kind", ["closed", "deep", "neither"])
def test_what_cannot_be_entered_or_lies_too_deep_is_told(full, tool, arguments, kind):
    world = full.world
    if kind == "closed":
        closed = world.make_directory(world.project / "closed")
        world.write(closed / "needle", "needle\n")
        closed.chmod(0o000)
    if kind == "deep":
        place = world.project
        for _ in range(70):
            place = place / "d"
        world.write(world.make_directory(place) / "needle", "needle\n")
    found = full.good(tool, arguments)
    assert ("incomplete" in found) == (kind != "neither"), found
    if kind == "closed":
        closed.chmod(0o755)


def test_a_depth_that_was_asked_for_is_not_incomplete(full):
    full.world.write(full.world.project / "a/b/c", "x")
    assert "incomplete" not in full.good("list_files", {"depth": 1})


def test_a_page_that_begins_inside_a_private_key_is_masked(full):
    key = ["-----BEGIN OPENSSH PRIVATE KEY-----", *["AAAAneedle" for _ in range(20)],
           "-----END OPENSSH PRIVATE KEY-----", "after"]
    full.world.write(full.world.project / "k", "\n".join(key) + "\n")
    page = full.good("read_local_file", {"path": "k", "start_line": 5})
    assert "needle" not in page["content"] and page["content"].endswith("after\n"), page
    refused = full.bad("read_local_file", {"path": "k", "encoding": "base64", "start_byte": 60})
    assert "secret" in refused["message"]
