"""Programs people really use do their work inside."""

import base64
import hashlib
import shutil
import zipfile

import pytest

pytestmark = pytest.mark.once

COMMITTER = ["--env", "GIT_AUTHOR_NAME=A", "--env", "GIT_AUTHOR_EMAIL=a@example.org",
             "--env", "GIT_COMMITTER_NAME=A", "--env", "GIT_COMMITTER_EMAIL=a@example.org"]


def script(world, text, *, options=(), shell="bash", **how):
    return world.run(shell, "-euc", text, options=options, **how)


def test_shell_and_coreutils(world):
    done = script(world, """
        mkdir -p a/b; seq 1 100 > a/numbers; sort -rn a/numbers | head -n 3 | tr '\\n' ' '
        cp -a a c; mv c d; ln -s d link; rm -r a; find d -type f | wc -l; stat -c %s d/numbers
        diff d/numbers link/numbers; sed -i s/1/x/ d/numbers; grep -c x d/numbers
        date +%Y > /dev/null; id -u > /dev/null; df . > /dev/null; du -s d > /dev/null
        mktemp > /dev/null; cat <(echo process substitution); sleep 0; env -i true
    """)
    done.expect(0)
    assert done.out.startswith("100 99 98 1\n"), done.account()
    assert (world.project / "d/numbers").exists()


def test_pipeline_with_status(world):
    done = script(world, "set -o pipefail; seq 100000 | sort | uniq | wc -l; false | true")
    assert done.status == 1 and done.out == "100000\n", done.account()


def test_git_life(world):
    done = script(world, """
        git init -q repo; cd repo
        echo one > f; git add f; git commit -q -m one
        git branch side; git checkout -q side; echo two > g; git add g; git commit -q -m two
        git checkout -q -; echo three >> f; git commit -q -am three
        echo dirty >> f; git stash -q; git stash pop -q; git checkout -q -- f
        git checkout -q side; git rebase -q -; git log --oneline | wc -l
        git tag v1; git gc -q; git fsck --no-progress; git status --short
    """, options=COMMITTER)
    done.expect(0)
    assert done.out.splitlines()[0] == "3", done.account()
    world.bare("git", "-C", "repo", "fsck", "--no-progress").expect(0)


def test_git_in_a_repository_of_the_host(world):
    world.bare("/bin/sh", "-c", "git init -q . && git config user.name A && "
               "git config user.email a@example.org && git add file.txt && "
               "git commit -q -m first").expect(0)
    config = (world.project / ".git/config").read_bytes()
    done = script(world, """
        echo x >> file.txt; git add -A .; git commit -q -m second
        git checkout -q -b topic; echo y >> file.txt; git commit -q -am third
        git config branch.topic.description private; git config branch.topic.description
        git stash list; git worktree add -q ../project/wt -b wt; git worktree list | wc -l
        git gc -q; git log --oneline | wc -l
    """)
    done.expect(0)
    assert "private" in done.out and done.out.rstrip().endswith("3"), done.account()
    assert (world.project / ".git/config").read_bytes() == config
    world.bare("git", "log", "--oneline", "topic").expect(0)
    world.bare("git", "fsck", "--no-progress").expect(0)


def test_git_identity_comes_from_the_caller(world):
    world.write(world.home / ".gitconfig", "[user]\n\tname = Caller Name\n"
                "\temail = caller@example.org\n[core]\n\tpager = evil\n[init]\n"
                "\tdefaultBranch = trunk\n")
    done = script(world, "git init -q r; cd r; git commit -q --allow-empty -m x;"
                  "git log --format='%an <%ae>'; git branch --show-current;"
                  "if git config core.pager; then exit 9; fi")
    done.expect(0)
    assert done.out == "Caller Name <caller@example.org>\ntrunk\n", done.account()


def test_git_submodule_and_push(world):
    world.bare("/bin/sh", "-c", "git init -q --bare up.git && git init -q lib && cd lib && "
               "git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m lib"
               ).expect(0)
    done = script(world, """
        git init -q main; cd main; git commit -q --allow-empty -m one
        git -c protocol.file.allow=always submodule --quiet add ../lib lib
        git commit -q -m sub; git submodule status | wc -l
        git remote add origin ../up.git; git push -q -u origin HEAD; git ls-remote origin | wc -l
        git clone -q ../up.git copy; ls copy/.gitmodules
    """, options=COMMITTER)
    done.expect(0)


def make_wheel(world):
    """A pure Python wheel of one module, written by hand: no network, no build tools."""
    wheel = world.project / "tinything-1.0-py3-none-any.whl"
    files = {"tinything.py": b"def answer():\n    return 42\n",
             "tinything-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tinything\n"
                                                 b"Version: 1.0\n",
             "tinything-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\n"
                                              b"Root-Is-Purelib: true\nTag: py3-none-any\n"}
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files["tinything-1.0.dist-info/RECORD"] = (
        record + "tinything-1.0.dist-info/RECORD,,\n").encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return world.own(wheel)


def test_python(world):
    done = world.run("python3", "-c", "import ssl, sqlite3, json, multiprocessing\n"
                     "import threading, tempfile\n"
                     "with tempfile.TemporaryFile() as f: f.write(b'x')\n"
                     "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
                     "print(1)")
    done.expect(0)
    assert done.out == "thread\n1\n"


def test_python_subprocesses_and_pools(world):
    done = world.run("/usr/bin/python3", "-c",
                     "import subprocess, concurrent.futures as c\n"
                     "print(subprocess.check_output(['echo', 'sub']).decode().strip())\n"
                     "with c.ThreadPoolExecutor(8) as p: print(sum(p.map(abs, range(100))))\n"
                     "import multiprocessing as m\n"
                     "if __name__ == '__main__':\n"
                     "    with m.Pool(4) as p: print(sum(p.map(abs, range(100))))")
    done.expect(0)
    assert done.out == "sub\n4950\n4950\n", done.account()


def test_virtualenv_and_pip(world):
    wheel = make_wheel(world)
    done = script(world, "/usr/bin/python3 -m venv --system-site-packages --without-pip env; "
                  "env/bin/python -m pip install -q --no-index --disable-pip-version-check "
                  f"{wheel.name}; "
                  "env/bin/python -c 'import tinything; print(tinything.answer())'", timeout=90)
    done.expect(0)
    assert done.out.endswith("42\n"), done.account()


NODE = shutil.which("node", path="/usr/local/bin:/usr/bin:/bin")
JAVA = shutil.which("javac", path="/usr/local/bin:/usr/bin:/bin")


def test_node(world):
    assert NODE, "node belongs to the machines this is proved on"
    done = world.run("node", "-e", "const w = require('worker_threads');"
                     "require('fs').writeFileSync('n.txt', 'x');"
                     "require('child_process').execFileSync('true');"
                     "setTimeout(() => console.log('node', w.isMainThread), 10)")
    done.expect(0)
    assert done.out == "node true\n", done.account()


def test_npm_script(world):
    world.write(world.project / "package.json",
                '{"name":"x","version":"1.0.0","scripts":{"hello":"node -p 6*7"}}\n')
    done = world.run("npm", "run", "--silent", "hello", timeout=60)
    done.expect(0)
    assert done.out == "42\n", done.account()


def test_npm_install_from_a_folder(world):
    world.write(world.project / "dep/package.json", '{"name":"dep","version":"1.0.0"}\n')
    world.write(world.project / "dep/index.js", "module.exports = 5\n")
    world.write(world.project / "package.json", '{"name":"x","version":"1.0.0"}\n')
    done = script(world, "npm install --silent --offline --no-audit --no-fund ./dep;"
                  "node -p \"require('dep')\"", timeout=90)
    done.expect(0)
    assert done.out.endswith("5\n"), done.account()


def test_c_and_make(world):
    world.write(world.project / "m.c", '#include <stdio.h>\nint main(void) { puts("made"); }\n')
    world.write(world.project / "Makefile", "all: m\n\t./m\nm: m.c\n\t$(CC) -O2 -o $@ $<\n")
    done = world.run("make", "-s", "-j4", timeout=60)
    done.expect(0)
    assert done.out.endswith("made\n"), done.account()


def test_cmake_and_cxx(world):
    world.write(world.project / "m.cc", "#include <iostream>\n#include <thread>\n"
                "int main() { std::thread t([] { std::cout << \"cxx\\n\"; }); t.join(); }\n")
    world.write(world.project / "CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\n"
                "project(x CXX)\nfind_package(Threads REQUIRED)\nadd_executable(m m.cc)\n"
                "target_link_libraries(m Threads::Threads)\n")
    done = script(world, "cmake -S . -B b > /dev/null; cmake --build b > /dev/null; b/m",
                  timeout=90)
    done.expect(0)
    assert done.out == "cxx\n", done.account()


def test_tar(world):
    done = script(world, "mkdir t; echo x > t/f; ln -s f t/l; tar czf t.tgz t; rm -r t;"
                  "tar xzf t.tgz;"
                  "cat t/l; tar cf - t | xz | xz -d | tar tf - | wc -l")
    done.expect(0)
    assert done.out == "x\n3\n", done.account()


# Java is the one tool here that is not installed everywhere; where it is, it must work.
@pytest.mark.parametrize("compiler", [JAVA] if JAVA else [])
def test_java(world, compiler):
    world.write(world.project / "M.java", "public class M { public static void main(String[] a) "
                "throws Exception { var t = new Thread(() -> System.out.println(6 * 7)); "
                "t.start(); t.join(); } }\n")
    done = script(world, f"{compiler} M.java; java -cp . M", timeout=120)
    done.expect(0)
    assert done.out == "42\n", done.account()


def test_many_children_and_threads(world):
    children, threads = world.inside([("children", 500), ("threads", 200)])
    assert children.ok and threads.ok, (children, threads)


def test_toolchain_under_home_works_without_the_rest_of_home(world):
    tool = world.home / ".pyenv/versions/3.99/bin/mytool"
    world.write(tool, "#!/bin/sh\necho toolchain\n", 0o755)
    world.write(world.home / ".pyenv/versions/3.99/lib/data", "data\n")
    world.write(world.home / "diary", "SECRET\n")
    env = {"PATH": f"{tool.parent}:/usr/bin:/bin"}
    done = world.run("mytool", env=env)
    done.expect(0)
    assert done.out == "toolchain\n", done.account()
    assert world.run("cat", world.home / "diary", env=env).status == 1


def test_what_the_packages_of_the_distribution_installed_can_be_asked(world):
    """Build tools ask which package owns a header, and dpkg's own tools who the vendor is."""
    asked = ["/bin/sh", "-c", "dpkg-query -W -f '${Status}\\n' libc6 && ls /etc/dpkg"]
    done = world.run(*asked).expect(0)
    assert "install ok installed" in done.out and "origins" in done.out
    without = world.run(*asked, options=["--policy", "strict"])
    assert without.status != 0 and "installed\n" not in without.out, without.account()
