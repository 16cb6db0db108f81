"""The library as a program outside this tree sees it: what is installed, what its headers promise, and
the examples, built against an installation and run."""

import os
import re
import shlex
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from support.harness import ROOT, stage
from support.installed import build_directory, call
from support.without_namespaces import launcher

HEADERS = sorted((ROOT / "include/cordon").glob("*.h"))
EVERY_HEADER = "".join(f"#include <cordon/{header.name}>\n" for header in HEADERS)
STRICT = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only", "-x", "c++", "-"]


def compiled(prefix, text, *options, compiler="g++") -> subprocess.CompletedProcess:
    return subprocess.run([compiler, f"-I{prefix}/include", *options, *STRICT], input=text, capture_output=True,
                          text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    path = tmp_path_factory.mktemp("prefix")
    call("cmake", "--install", build_directory(), "--component", "development", "--prefix", path)
    return path


@pytest.fixture(scope="module")
def library(prefix):
    [path] = prefix.rglob("libcordon.a")
    return path


# What is installed.


def test_the_library_holds_nothing_of_the_servers_and_the_demonstration(library):
    defined = call("nm", "--demangle", "--defined-only", library).stdout
    assert " cordon::Runner::run(" in defined and " cordon::parse_host_rule(" in defined
    strangers = re.findall(r"\bcordon::(?:mcp|loop|demo|setup|apply)::\S*", defined)
    assert not strangers, strangers[:10]
    members = call("ar", "t", library).stdout.split()
    assert any("run" in name for name in members), members
    assert not [name for name in members if re.search(r"unity_(mcp|loop|demo|setup|apply|cli)", name)]


def test_the_library_needs_no_server_and_no_database_of_whoever_links_it(library, examples):
    """What an embedder links is what its program names, so neither comes with it."""
    needed = call("ldd", examples["stream"]).stdout
    assert "libcrypto" in needed or "not a dynamic" in needed
    for name in ("microhttpd", "ncurses", "sqlite"):
        assert name not in needed, needed


# The headers.


def test_each_header_stands_alone(prefix):
    assert len(HEADERS) > 8
    for header in HEADERS:
        done = compiled(prefix, f"#include <cordon/{header.name}>\n")
        assert done.returncode == 0, f"{header.name}\n{done.stderr}"


@pytest.mark.parametrize("compiler, options", [("g++", ["-fno-exceptions"]), ("clang++", []),
                                               ("clang++", ["-fno-exceptions"])])
def test_the_headers_suit_other_programs(prefix, compiler, options):
    done = compiled(prefix, EVERY_HEADER, *options, compiler=compiler)
    assert done.returncode == 0, done.stderr


def test_the_headers_define_no_macro_and_name_no_internal_type(prefix):
    done = subprocess.run(["g++", "-std=c++20", f"-I{prefix}/include", "-dM", "-E", "-x", "c++", "-"], input=EVERY_HEADER,
                          capture_output=True, text=True, timeout=60, check=True)
    assert "#define __cplusplus" in done.stdout
    assert not re.findall(r"#define CORDON\w*", done.stdout)
    text = "".join(header.read_text() for header in HEADERS)
    assert "struct HostRule" in text
    for name in ("FileId", "struct Approval", "CORDON_TRY", "Grant", "JudgedRun"):
        assert name not in text, name


USES = """#include <cordon/runner.h>
void use(cordon::Policy& policy, cordon::Ceiling& ceiling, cordon::Request& request) {{
  (void)policy; (void)ceiling; (void)request;
  {}
}}
"""
# What a program may not write, and what it has to write instead.
WIDENINGS = {
    "network": ("policy.net.mode = cordon::NetMode::Open;",
                "policy.net.mode = cordon::share_the_hosts_network();"),
    "network by value": ("const cordon::NetMode mode = cordon::NetMode::Open; policy.net.mode = mode;",
                         "policy.net.mode = cordon::NetMode::Allow;"),
    "network of nobody": ("policy.net.mode = cordon::HostNetwork{};", "policy.net.mode = cordon::NetAccess{};"),
    "layer": ("ceiling.policy.require.accept_missing = {cordon::Layer::Namespaces};",
              "ceiling.policy.require.accept_missing = {cordon::run_without(cordon::Layer::Namespaces)};"),
    "login": ("policy.agent.share_login = true;",
              "policy.agent.share_login = cordon::hand_over_the_agents_login();"),
    "login in place": ("policy.agent.share_login.emplace();", "policy.agent.share_login.reset();"),
    "output": ("request.out = cordon::Output{1, 2};", "request.out = cordon::Output::unfiltered_to(1, 2);"),
    "input": ("request.in = 0;", "request.in = cordon::Input::drawn_from(0);"),
}


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_what_widens_can_be_named(prefix, compiler):
    done = compiled(prefix, USES.format("\n  ".join(named for _, named in WIDENINGS.values())), compiler=compiler)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", WIDENINGS)
def test_what_widens_has_to_be_named(prefix, name):
    """That the rest of it compiles is the test before."""
    unnamed = WIDENINGS[name][0]
    done = compiled(prefix, USES.format(unnamed))
    assert done.returncode != 0 and "error: " in done.stderr, "it compiles"
    if "NetMode::Open" in unnamed:
        assert "write_share_the_hosts_network_instead" in done.stderr, done.stderr
        assert compiled(prefix, USES.format(unnamed), compiler="clang++").returncode != 0


# The examples.


@pytest.fixture(scope="module")
def examples(prefix):
    """Built against the installation alone, and put where everybody can execute them."""
    place = stage().new_directory()
    built = {}
    for name in ("embed", "stream", "explain", "session"):
        build = place / f"build-{name}"
        call("cmake", "-S", ROOT / "examples" / name, "-B", build, "-G", "Ninja",
             f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
        call("cmake", "--build", build)
        built[name] = place / name
        shutil.copy(build / name, built[name])
        built[name].chmod(0o755)
    shutil.copy(stage().cordon.parent / "cordon-inside", place / "cordon-inside")
    return built


def test_a_command_runs_contained(world, examples):
    done = world.execute([examples["embed"], "/bin/sh", "-c", "echo from inside"]).expect(0)
    assert "landlock: yes, seccomp: yes" in done.out and "output: from inside\n" in done.out


def test_commands_share_a_session(world, examples):
    done = world.execute([examples["session"], "echo kept > /tmp/note; sleep 60 &", "cat /tmp/note; echo made > made",
                          "cat made; exit 3", "echo never"])
    assert done.status == 3 and done.out == "kept\nmade\n", done.account()
    assert world.execute([examples["session"], "cat /tmp/note"]).status == 1
    place = world.make_directory(world.path / "alone")
    shutil.copy(examples["session"], place / "session")
    refused = world.execute([place / "session", "true"])
    assert refused.status == 125 and "cordon-inside" in refused.err, refused.account()


def test_a_command_cannot_write_where_it_stands(world, examples):
    target = world.project / "made"
    done = world.execute([examples["embed"], "/usr/bin/touch", target])
    assert done.status != 0 and not target.exists(), done.account()
    world.bare("/usr/bin/touch", target).expect(0)
    assert target.exists()


def test_the_backend_that_works_here_is_taken(world, examples):
    """As by every verb: the first of native, bwrap and landlock, and the last only where a ceiling accepts it."""
    def embedded(*host, **how):
        return world.execute([*host, examples["embed"], "/bin/sh", "-c", "echo ran"], **how)
    refused = embedded(*launcher())
    assert refused.status == 125 and "ran" not in refused.out, refused.account()
    for words in ("nothing can contain a run on this host", "native: ", "bwrap: ",
                  "landlock: it goes without namespaces"):
        assert words in refused.err, refused.account()
    ceiling = world.write(world.home / ".config/cordon/ceiling.toml", 'version = 1\n[fs]\nread = ["/"]\n[require]\n'
                          'accept_missing = ["namespaces"]\n', 0o600)
    ceiling.parent.chmod(0o700)
    for host, backend in (((), "native"), ((*launcher(), "--clone3-only"), "bwrap"), (launcher(), "landlock")):
        done = embedded(*host).expect(0)
        assert f"backend: {backend}, landlock: yes, seccomp: yes" in done.out and "output: ran\n" in done.out
    done = embedded(env={"CORDON_BACKEND": "bwrap"}).expect(0)
    assert "backend: bwrap, " in done.out, done.account()
    ceiling.write_text(ceiling.read_text() + 'backends = ["native"]\n')
    done = embedded(*launcher())
    assert done.status == 125 and "landlock: a ceiling does not permit it" in done.err, done.account()


def test_the_status_is_the_commands(world, examples):
    world.execute([examples["embed"], "/bin/sh", "-c", "exit 7"]).expect(7)
    world.execute([examples["embed"], "absent-program"]).expect(127)


class Held:
    """A server on loopback that answers when it is told to."""

    def __init__(self):
        self.released = threading.Event()
        held = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                held.released.wait(30)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"from the host\n")

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def held():
    made = Held()
    yield made
    made.close()


def test_output_is_heard_while_the_command_runs(world, examples, held):
    """The server answers only after the first line has come out: kept until the end, it never would."""
    script = f"echo first; curl -sS --max-time 25 http://127.0.0.1:{held.port}/"
    process = world.start([examples["stream"], f"127.0.0.1:{held.port}", "/bin/sh", "-c", script])
    try:
        assert process.stdout.readline() == b"first\n"
        assert process.poll() is None
        held.released.set()
        out, err = process.communicate(timeout=40)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, b"from the host\n"), (out, err)
    assert f"stream: reached 127.0.0.1:{held.port}\n".encode() in err, err


def test_the_one_host_is_the_only_one(world, examples, held):
    held.released.set()
    fetch = ["/usr/bin/curl", "-sS", "--max-time", "10", f"http://127.0.0.1:{held.port}/"]
    # The loopback that is not listed is the sandbox's own.
    done = world.execute([examples["stream"], f"127.0.0.1:{held.port - 1}", *fetch])
    assert done.status == 7 and "from the host" not in done.out, done.account()
    elsewhere = ["/usr/bin/curl", "-sS", "--max-time", "10", "http://192.0.2.1/"]
    done = world.execute([examples["stream"], f"127.0.0.1:{held.port}", *elsewhere])
    assert done.status == 7 and "stream: refused 192.0.2.1:80: " in done.err, done.account()
    world.execute([examples["stream"], f"127.0.0.1:{held.port}", *fetch]).expect(0)


def test_a_host_that_is_none_is_refused_with_a_hint(world, examples):
    done = world.execute([examples["stream"], "*", "true"]).expect(125)
    assert 'stream: ' in done.err and "\nhint: " in done.err, done.account()


def test_a_denial_is_explained_and_the_change_helps(world, examples):
    target = world.project / "notes.txt"
    done = world.execute([examples["explain"], "write", "notes.txt", "touch", "notes.txt"])
    assert done.status == 1 and not target.exists(), done.account()
    assert f"no: write {target}\n" in done.out and "\nbecause: " in done.out, done.account()
    [change] = re.findall(r"^change: (.*)$", done.out, re.M)
    # The command line says the same.
    asked = world.cordon_verb("policy", "explain", "--policy", "readonly", "write", "notes.txt")
    assert asked.out == done.out.split("\n", 1)[1], asked.account()
    assert change == f"make it first, then --write {target}"
    world.write(target, "")
    write = ["sh", "-c", "echo changed >notes.txt"]
    assert world.run(*write, options=["--policy", "readonly"]).status != 0
    world.run(*write, options=["--policy", "readonly", *shlex.split(change.partition("then ")[2])]).expect(0)
    assert target.read_text() == "changed\n"


def test_what_succeeds_needs_no_explanation(world, examples):
    done = world.execute([examples["explain"], "read", "file.txt", "cat", "file.txt"]).expect(0)
    assert done.out == ""
