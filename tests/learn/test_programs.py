"""What `cordon learn` proposes for real programs, applied: the same command runs then, and not before."""

import tomllib

import pytest

PAGE = "<!doctype html><title>x</title><body><p id=said>read</p><img src=pixel.svg></body>"
PIXEL = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def python(world):
    place = world.home / "lib/helpers"
    world.write(place / "helper.py", "VALUE = 7\n")
    world.write(place / "more.py", "import helper\nVALUE = helper.VALUE + 1\n")
    world.write(world.project / "conftest.py", f"import sys\nsys.path.insert(0, {str(place)!r})\n")
    world.write(world.project / "test_it.py", "import more\n\ndef test_it():\n    assert more.VALUE == 8\n")
    return ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def npm(world):
    place = world.home / "packages/thing"
    world.write(place / "package.json", '{"name": "thing", "version": "1.0.0", "main": "index.js"}')
    world.write(place / "index.js", "module.exports = require('./value')\n")
    world.write(place / "value.js", "module.exports = 7\n")
    world.write(world.project / "package.json",
                '{"name": "p", "version": "1.0.0", "dependencies": {"thing": "file:' + str(place) + '"}}')
    return ["sh", "-c", "npm install --offline --no-audit --no-fund --no-update-notifier && "
            "node -e 'process.exit(require(\"thing\") === 7 ? 0 : 1)'"]


def go(world):
    place = world.home / "src/lib"
    world.write(place / "go.mod", "module lib.example/lib\n\ngo 1.18\n")
    world.write(place / "lib.go", "package lib\n\nfunc Value() int { return 7 }\n")
    world.write(world.project / "go.mod", "module app\n\ngo 1.18\n\nrequire lib.example/lib v0.0.0\n\n"
                f"replace lib.example/lib => {place}\n")
    world.write(world.project / "main.go", 'package main\n\nimport (\n\t"lib.example/lib"\n\t"os"\n)\n\n'
                "func main() { os.Exit(lib.Value() - 7) }\n")
    return ["sh", "-c", "GOFLAGS=-mod=mod GOPROXY=off go build -o app . && ./app"]


def git(world):
    place = world.make_directory(world.home / "repositories/theirs")
    script = ("git init -q . && echo x > file && git add file && "
              "git -c user.name=u -c user.email=u@h.example commit -qm one")
    world.execute(["sh", "-c", script], cwd=place).expect(0)
    return ["sh", "-c", f"git clone -q {place} copy && test -s copy/file"]


def browser(world):
    place = world.home / "pages/site"
    world.write(place / "index.html", PAGE)
    world.write(place / "pixel.svg", PIXEL)
    return ["sh", "-c", "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --dump-dom "
            f"file://{place}/index.html 2>/dev/null | grep -q 'id=\"said\"'"]


@pytest.mark.parametrize("program", [python, npm, go, git, browser], ids=lambda one: one.__name__)
def test_what_is_proposed_is_enough(world, program):
    argv = program(world)
    assert world.run(*argv, timeout=300).status != 0, "it needs nothing"
    world.execute(["sh", "-c", "rm -rf copy app node_modules"]).expect(0)
    done = world.cordon_verb("learn", "--", *argv, timeout=600).expect(0)
    proposed = tomllib.loads(done.out)["fs"]["read"]
    assert proposed and not any(path in ("~", "~/", "/") for path in proposed), done.out
    assert all("/.ssh" not in path and "credentials" not in path for path in proposed)
    policy = world.write(world.trusted / "learned.toml", done.out)
    world.run(*argv, options=["--policy", str(policy)], timeout=300).expect(0)
