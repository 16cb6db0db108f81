"""Where the commands of a document are typed: a shell of a person, in a home that was made for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import fences
from support import harness
from support.internet import NetWorld
from support.packages import Packages
from support.stand_ins import COMPANY_TOKEN

HERE = Path(__file__).parent
PROGRAMS = Packages(HERE / "programs", "docs-programs", at_least=2)
AGENTS = ("claude", "codex", "copilot", "gemini")
SCRIPTS = {"srt": "@anthropic-ai/sandbox-runtime/dist/cli.js"}
PACKAGES = ("playwright-core",)
FROM_NPM = (*AGENTS, *SCRIPTS, *PACKAGES)


@cache
def own_programs() -> Path:
    """A directory for PATH with `cordon` in it, and nothing else."""
    place = harness.stage().path / "path"
    place.mkdir(mode=0o755)
    for name in ("cordon", "cordon-tools", "cordon-inside", "cordon-gate", "cordon-ship", "cordon-apply"):
        os.link(harness.stage().cordon.parent / name, place / name)
    return place


@cache
def scripted_model() -> Path:
    place = harness.stage().path / "model"
    place.mkdir(mode=0o755)
    for source in (HERE / "scripted_model.py", HERE.parent / "mcp/hosts/model.py"):
        shutil.copy(source, place)
        (place / source.name).chmod(0o644)
    return place / "scripted_model.py"


@cache
def node_prefix() -> Path:
    """What npm brought, arranged as a version manager of node does; every home gets links to it."""
    place = harness.stage().path / "node"
    modules = place / "lib/node_modules"
    (place / "bin").mkdir(parents=True)
    shutil.copytree(PROGRAMS.install() / "node_modules", modules, symlinks=True)
    sys.path.insert(0, str(HERE.parent / "mcp/hosts"))
    import hosts  # pylint: disable=import-outside-toplevel
    for name in AGENTS:
        program = hosts.program(name)
        home = harness.stage().path / "clients" / name
        subprocess.run(["cp", "-al", home, modules / name], check=True)
        _put_on_path(place, name, modules / name / program.relative_to(home))
    for name, script in SCRIPTS.items():
        _put_on_path(place, name, modules / script)
    # That of Debian 12 is too old for half of them.
    [node] = modules.glob("node-linux-*/bin/node")
    _put_on_path(place, "node", node)
    return place


def _put_on_path(prefix: Path, name: str, program: Path) -> None:
    program.chmod(0o755)
    (prefix / "bin" / name).symlink_to(f"../{program.relative_to(prefix)}")


# What a fence may need that is no program.
CONDITIONS = ("internet", "time")


def is_there(name: str) -> bool:
    if name == "internet":
        return False
    if name in FROM_NPM or name == "time":
        return not harness.only_chosen_cases()
    return shutil.which(name, path=harness.BASE_PATH) is not None


SHELL = """
typed() {
  eval "$1" 2>&1
  printf '\\n\\036%d\\n' $?
}
"""


# What tells an agent to ask the scripted model, whose address is in MODEL: options of `cordon run`, and its own words.
TO_THE_MODEL = {
    "claude": ("--env ANTHROPIC_BASE_URL=$MODEL --env ANTHROPIC_API_KEY=none "
               "--env CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", ""),
    "codex": ("", """ -m a-model-nobody-knows -c 'model_provider="loopback"' """
                  """-c "model_providers.loopback={ name = \\"loopback\\", """
                  """base_url = \\"$MODEL/v1\\", wire_api = \\"responses\\" }\""""),
    "gemini": ("--env GEMINI_API_KEY=none --env GOOGLE_GEMINI_BASE_URL=$MODEL", " -m gemini-2.5-flash"),
    "copilot": ("--env COPILOT_OFFLINE=true --env COPILOT_PROVIDER_BASE_URL=$MODEL "
                "--env COPILOT_PROVIDER_TYPE=anthropic "
                "--env COPILOT_PROVIDER_API_KEY=none --env COPILOT_MODEL=claude-sonnet-4.5", ""),
}
START_MODEL = ("[ -z \"$MODELS_PID\" ] || { kill $MODELS_PID; wait $MODELS_PID; }; "
               "coproc MODELS { exec python3 $SCRIPTED_MODEL %s %s; }; read -r MODEL <&${MODELS[0]}")

# What was not typed, and why: told at the end.
LEFT_OUT: set[str] = set()

# Servers that a document starts go on until somebody ends them.
END = "\nkill $(jobs -p) 2>/dev/null\nwait\n"


class Shell:
    """All commands of one section, typed into one shell."""

    def __init__(self, world: harness.World) -> None:
        self.world = world
        self.words: list[str] = []
        self.commands: list[tuple[fences.Fence, fences.Command]] = []
        self.left_out: list[str] = []
        self.ports: dict[str, str] = {}
        self.node = world.home / ".nvm/versions/node/v20/bin"

    def add(self, fence: fences.Fence) -> None:
        if fence.kind == "not run":
            self.left_out.append(f"{fence.place} is not run: {fence.words}")
            return
        missing = [name for name in fence.needs if not is_there(name)]
        if any(name in FROM_NPM and name not in missing for name in fence.needs) and not self.node.exists():
            self.world.make_directory(self.node.parent.parent)
            subprocess.run(["cp", "-al", node_prefix(), self.node.parent], check=True)
        if missing and fence.needs_all:
            self.left_out.append(f"{fence.place} needs {missing[0]}")
            return
        before = [line for line in fence.before if not named_in(missing, line)]
        if fence.kind == "file":
            path = self.world.project / fence.target.replace("~", str(self.world.home), 1)
            # Written when its turn comes: what stands before it may make the directory.
            text = "\n".join(fence.text) + "\n"
            before += [f"mkdir -p {path.parent}", f"cat > {path} <<'END OF FILE'\n{text}END OF FILE"]
        if fence.has_a_scripted_model and not missing:
            before = [START_MODEL % (fence.needs[0], "told" if fence.asks_cordon else "greeting"), *before]
        for line in before:
            self._type(fence, fences.Command(line, compared=False))
        if fence.kind != "run":
            return
        for command in fence.commands():
            named = named_in(missing, command.typed)
            if named:
                self.left_out.append(f"{fence.place} needs {named[0]}: {command.typed.splitlines()[0]}")
            else:
                self._type(fence, command)

    def _type(self, fence: fences.Fence, command: fences.Command) -> None:
        typed = command.typed
        for name, stand_in in self._in_place_of(fence).items():
            typed = typed.replace(name, stand_in)
        if fence.has_a_scripted_model:
            typed = to_the_model(typed, fence.needs[0])
        self.commands.append((fence, command))
        self.words.append("typed " + quoted(typed))

    def _in_place_of(self, fence: fences.Fence) -> dict[str, str]:
        for name in fence.ports:
            if name not in self.ports:
                self.ports[name] = str(harness.free_port())
        return {**fence.stand_ins, **{name: self.ports[name] for name in fence.ports}}

    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self.node}:{own_programs()}:{harness.BASE_PATH}", "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8",
                "LOGNAME": self.world.who.name, "npm_config_update_notifier": "false",
                "CLIENTS": str(self.world.path / "clients"), "SCRIPTED_MODEL": str(scripted_model())}

    def check(self) -> list[str]:
        """What was printed otherwise than it is written."""
        if isinstance(self.world, NetWorld):
            self._copy_what_clients_need()
        script = self.world.write(self.world.path / "typed.sh", SHELL + "\n".join(self.words) + END)
        done = self.world.execute(["bash", script], env=self.environment(), timeout=300)
        answers = re.split(r"\n\036(\d+)\n", done.out)
        found = []
        for at, (fence, command) in enumerate(self.commands):
            if 2 * at + 1 >= len(answers):
                found.append(f"{fence.place}: the shell ended before {command.typed!r}\n{done.account()}")
                break
            got, status = answers[2 * at], int(answers[2 * at + 1])
            lines = fences.without_blank_end(self._as_shown(got, fence).split("\n"))
            wanted = fences.without_blank_end(command.printed)
            if status != command.status or (command.compared and not fences.same(wanted, lines)):
                found.append("\n".join([f"{fence.place}: $ {command.typed}", "is to print:", *wanted,
                                        f"with status {command.status}, and printed:", *lines,
                                        f"with status {status}"]))
        return found

    def _copy_what_clients_need(self) -> None:
        """In the directory that CLIENTS names: the key of the small internet's ssh server, the certificate of its
        others, and what its company asks for."""
        source = self.world.internet.directory / "for-clients"
        for name, text in (("client_key", (source / "client_key").read_bytes()), ("ca.pem", (source / "ca.pem").read_bytes()),
                           ("token", COMPANY_TOKEN.encode())):
            self.world.write(self.world.path / "clients" / name, text, 0o600)

    def _as_shown(self, text: str, fence: fences.Fence) -> str:
        for name, stand_in in self._in_place_of(fence).items():
            text = text.replace(stand_in, name)
        text = text.replace(str(self.world.home), "/home/me").replace(str(own_programs()), "/usr/bin")
        return re.sub("\x1b\\[[0-9;]*m", "", text)


def to_the_model(typed: str, agent: str) -> str:
    """What is typed to start an agent, with what makes it ask the scripted model."""
    options, words = TO_THE_MODEL[agent]
    name = "codex exec" if agent == "codex" else agent
    if typed.startswith("cordon run "):
        typed = typed.replace(f"agent:{agent}", f"agent:{agent} --allow ${{MODEL#http://}} {options}")
        return typed.replace(f"-- {name}", f"-- {name}{words}")
    if typed.startswith(name + " "):
        return f"{options.replace('--env ', '')} {name}{words}{typed.removeprefix(name)}"
    return typed


def named_in(missing: list[str], line: str) -> list[str]:
    """Which of what is missing a line is about."""
    return [name for name in missing if name in CONDITIONS or
            re.search(rf"(^|[\s/'\"]){re.escape(name)}($|[\s'\"/;])", line)]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
