"""Files: grants, what is taken out of them, and private space."""

import os
from pathlib import Path

from facts import Facts, Feature, gone, refused, tried, unchanged, works
from gitrepo import make_repository
from place import Profile

STRICT_READ = ("--policy", "strict", "--read", "{project}")
STRICT_WRITE = ("--policy", "strict", "--write", "{project}")
HELD_FILE = "{project}/.mcp.json"
TEMPORARY = "${TMPDIR:-/tmp}"


def shell(place, script, *options, **how):
    return place.contained("/bin/sh", "-c", script, options=options, **how)


def git_configuration(place) -> Facts:
    make_repository(place)
    config = place.project / ".git/config"
    before = config.read_bytes()
    if isinstance(place, Profile):
        [answer] = place.inside([("append", config)])
        made, kept_so = answer.ok, not answer.ok
    else:
        done, _ = shell(place, "git config core.pager evil; git config core.pager")
        made, kept_so = done.out == "evil\n", config.read_bytes() == before
    return Facts(works={"settings can be made inside": made},
                 holds={"the host's stay as they are": kept_so})


def private_home(place) -> Facts:
    place.plant({"plain.txt": "SECRET\n"})
    done, _ = shell(place, f'echo x > "$HOME/named" && cat "$HOME/named"; '
                           f'echo y > {place.home}/spelled && cat {place.home}/spelled; '
                           f'cat {place.home}/plain.txt')
    left = [name for name in ("named", "spelled") if (place.home / name).exists()]
    return Facts(works={"HOME can be written": done.out.startswith("x\n"),
                        "it lies at its usual path": "y\n" in done.out},
                 holds={"nothing is left in the real one": not left,
                        "the real one is not read": "SECRET" not in done.out})


def private_temporary(place) -> Facts:
    script = (f'echo x > "{TEMPORARY}/{place.unique}" && cat "{TEMPORARY}/{place.unique}"; '
              f'echo y > /tmp/{place.unique} && cat /tmp/{place.unique}')
    done, _ = shell(place, script)
    real = [path / place.unique for path in (place.temporary, Path("/tmp"))]
    return Facts(works={"TMPDIR can be written": done.out.startswith("x\n"),
                        "it lies at its usual path": "y\n" in done.out},
                 holds={"nothing is left in the real one": not any(path.exists() for path in real)})


def scratch(place) -> Facts:
    def fill(megabytes):
        script = (f'head -c {megabytes}M /dev/zero > "{TEMPORARY}/{place.unique}" && sleep {wait} && '
                  f'rm "{TEMPORARY}/{place.unique}" && echo fits')
        return shell(place, script, "--scratch", "8M")
    wait = 0
    small, _ = fill(4)
    wait = 1.5  # a bound that is looked at is not met at once
    large, report = fill(64)
    return Facts(works={"less than the bound fits": small.out == "fits\n"},
                 holds={"more does not": large.out != "fits\n",
                        "the program is told": "No space left" in large.err,
                        "the report says so": bool(report) and (
                            report["kill_reason"] == "scratch" or
                            any(denial["what"] == "scratch" for denial in report["denials"]))})


def kept(name, policy, place_inside, place_outside) -> Feature:
    def measure(place) -> Facts:
        given = ("--policy", place.document(policy))
        script = f'f="{place_inside}"; cat "$f"; mkdir -p "${{f%/*}}" && echo again > "$f"'
        first, _ = shell(place, script, *given)
        second, _ = shell(place, script, *given)
        return Facts(works={"what was written is there in the next run":
                            first.out == "" and second.out == "again\n"},
                     holds={"it is not the host's": not (place.home / place_outside).exists()})
    return Feature(name, measure)


def accounts(place) -> Facts:
    done, _ = shell(place, "cat /etc/passwd; uname -n")
    *lines, node = done.out.splitlines()
    host = Path("/etc/passwd").read_text().splitlines()
    return Facts(works={"programs find their own": any(":/" in line for line in lines)},
                 holds={"the host's are unknown": lines != host,
                        "the host's name is unknown": node != os.uname().nodename})


FEATURES = [
    tried("`fs.read`", works("files are read", "read", "{project}/file.txt"),
          works("directories are listed", "list", "{project}"),
          refused("nothing is written", "write", "{project}/new"),
          refused("nothing else is read", "read", "{outside}/secret"), options=STRICT_READ),
    tried("`fs.write`", works("files are made", "write", "{project}/new"),
          works("directories are made", "mkdir", "{project}/made"),
          works("files are renamed", "rename", "{project}/file.txt", "{project}/renamed"),
          works("files are removed", "unlink", "{project}/renamed"),
          refused("nothing else is written", "write", "{outside}/new"),
          refused("nothing else is removed", "unlink", "{outside}/secret"), options=STRICT_WRITE),
    tried("a read-only path inside a writable one",
          works("it is read", "read", "{project}/vendor/file"),
          works("the rest is written", "write", "{project}/new"),
          refused("it is not written", "write", "{project}/vendor/new"),
          plant={"{project}/vendor/file": "vendor\n"},
          policy='version = 1\nextends = "workspace"\n[fs]\nread = ["PROJECT/vendor"]\n'),
    tried("a grant of `/`", works("files are read", "read", "{outside}/secret"),
          refused("keys are not", "read", "{home}/.ssh/id_ed25519"),
          refused("nothing is written", "write", "{outside}/new"),
          plant={"{home}/.ssh/id_ed25519": "SECRET\n"},
          options=("--policy", "readonly", "--read", "/")),
    tried("`fs.deny` of what is there", works("the rest is read", "read", "{project}/file.txt"),
          refused("a file is not read", "read", "{project}/.env"),
          refused("nor written", "write", "{project}/.env"),
          refused("nothing in a directory is read", "read", "{project}/hidden/key"),
          plant={"{project}/.env": "SECRET\n", "{project}/hidden/key": "SECRET\n"},
          options=("--deny", ".env", "--deny", "hidden")),
    tried("`fs.deny` of what appears", works("the rest is written", "write", "{project}/new"),
          gone("it is not left", "{project}/new.pem"), options=("--deny", "*.pem")),
    tried("credential stores under a grant",
          works("the rest is read", "read", "{home}/.local/share/app/plain"),
          refused("they are not", "read", "{home}/.local/share/keyrings/login.keyring"),
          plant={"{home}/.local/share/app/plain": "plain\n",
                 "{home}/.local/share/keyrings/login.keyring": "SECRET\n"},
          options=("--policy", "readonly", "--read", "{home}/.local/share")),
    tried("protected names that are there", works("they are read", "read", HELD_FILE),
          unchanged("they are not written", HELD_FILE), plant={HELD_FILE: "{}\n"}),
    tried("protected names that appear", works("the rest is written", "write", "{project}/new"),
          gone("they are not left", HELD_FILE)),
    tried("git's hooks", works("the rest is read", "read", "{project}/.git/HEAD"),
          works("the rest is written", "write", "{project}/.git/ORIG_HEAD"),
          gone("none is left", "{project}/.git/hooks/pre-commit"), prepare=make_repository),
    Feature("git's configuration", git_configuration),
    Feature("private home", private_home),
    Feature("private temporary directory", private_temporary),
    Feature("`fs.scratch`", scratch),
    kept("`fs.home = \"persistent\"`",
         'version = 1\nextends = "workspace"\n[fs]\nhome = "persistent"\n', "$HOME/kept", "kept"),
    kept("`fs.caches`", 'version = 1\nextends = "build"\n',
         "${XDG_CACHE_HOME:-$HOME/.cache}/pip/kept", ".cache/pip/kept"),
    tried("metadata of what is not granted",
          works("of what is, is seen", "stat", "{project}/file.txt"),
          refused("it is not looked up", "stat", "{outside}/secret")),
    Feature("accounts and the host's name", accounts),
]
