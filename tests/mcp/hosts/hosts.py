"""The agent hosts, installed from npm at fixed versions, and how a test drives them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support import harness

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from support.packages import Packages  # noqa: E402

CLIENTS = Packages(HERE / "clients", "mcp-hosts", at_least=8)


@cache
def program(name: str) -> Path:
    """A client where every person may start it: the checkout may lie where a user cannot go."""
    place = harness.stage().path / "clients"
    place.mkdir(mode=0o755, exist_ok=True)
    modules = CLIENTS.install() / "node_modules"
    [source] = {"claude": lambda: modules.glob("@anthropic-ai/claude-code-linux-*[46]"),
                "codex": lambda: modules.glob("@openai/codex-linux-*/vendor/*"),
                "copilot": lambda: modules.glob("@github/copilot-linux-*"),
                "gemini": lambda: modules.glob("@google/gemini-cli")}[name]()
    # Links where that is possible: these are hundreds of megabytes.
    linked = subprocess.run(["cp", "-al", source, place / name], capture_output=True, check=False)
    if linked.returncode != 0:
        subprocess.run(["rm", "-rf", place / name], check=True)
        subprocess.run(["cp", "-a", source, place / name], check=True)
    # Gemini CLI is a script that node runs; the others are programs.
    wanted = "gemini.js" if name == "gemini" else name
    [found] = [path for path in (place / name).rglob(wanted) if path.is_file()]
    return found


@dataclass
class Session:
    """What came of it: the client's own end, and everything the model was sent."""
    status: int | None
    out: str
    err: str
    seconds: float
    requests: list[dict]

    def account(self) -> str:
        return (f"status {self.status} after {self.seconds:.1f}s, {len(self.requests)} requests\n"
                f"--- stdout\n{self.out[-3000:]}\n--- stderr\n{self.err[-3000:]}")


def drive(world: harness.World, argv: list, script: list[dict], environment: dict,
          status: int | None = 0) -> Session:
    """`script` is what the model says, `argv` the client and its options; None: it may end as it likes."""
    if os.geteuid() == 0:
        apart, become = ["unshare", "--net"], list(world.who.prefix)
    else:
        apart = ["unshare", "--user", "--map-current-user", "--keep-caps", "--net"]
        become = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all"]
    spec, answer = world.path / "spec.json", world.path / "answer.json"
    spec.write_text(json.dumps({
        "argv": [*become, *map(str, argv)], "cwd": str(world.project), "script": script,
        "environment": world.environment(environment), "timeout": 50}))
    subprocess.run([*apart, sys.executable, HERE / "drive.py", spec, answer], check=True, timeout=60)
    session = Session(**json.loads(answer.read_text()))
    assert status is None or session.status == status, session.account()
    # Each host ends its server in its own way; none may leave one behind.
    assert harness.wait_until(lambda: not harness.processes_with(str(world.project)), 2)
    return session


def claude(world: harness.World, options: list, script: list[dict]) -> Session:
    return drive(world, [program("claude"), "-p", "go", *options], script,
                 {"ANTHROPIC_BASE_URL": "@MODEL@", "ANTHROPIC_API_KEY": "none",
                  "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})


def codex(world: harness.World, model: str, script: list[dict]) -> Session:
    provider = '{ name = "loopback", base_url = "@MODEL@/v1", wire_api = "responses" }'
    return drive(world, [program("codex"), "exec", "--skip-git-repo-check", "-m", model, "-c",
                         'model_provider="loopback"', "-c", f"model_providers.loopback={provider}",
                         "go"], script, {})
