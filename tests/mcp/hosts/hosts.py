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


def source(name: str) -> Path:
    """The package of a client."""
    modules = CLIENTS.install() / "node_modules"
    [found] = {"claude": lambda: modules.glob("@anthropic-ai/claude-code-linux-*[46]"),
                "codex": lambda: modules.glob("@openai/codex-linux-*/vendor/*"),
                "copilot": lambda: modules.glob("@github/copilot-linux-*"),
                "gemini": lambda: modules.glob("@google/gemini-cli"),
                "opencode": lambda: modules.glob("opencode-linux-*[46]"),
                "qwen": lambda: modules.glob("@qwen-code/qwen-code")}[name]()
    return found


@cache
def program(name: str) -> Path:
    """A client where every person may start it: the checkout may lie where a user cannot go."""
    place = harness.stage().path / "clients"
    place.mkdir(mode=0o755, exist_ok=True)
    # Links where that is possible: these are hundreds of megabytes.
    linked = subprocess.run(["cp", "-al", source(name), place / name], capture_output=True, check=False)
    if linked.returncode != 0:
        subprocess.run(["rm", "-rf", place / name], check=True)
        subprocess.run(["cp", "-a", source(name), place / name], check=True)
    # Two are scripts that node runs; the others are programs.
    wanted = {"gemini": "gemini.js", "qwen": "cli.js"}.get(name, name)
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
    assert harness.wait_until(lambda: not harness.processes_with(str(world.project)), harness.SOON)
    return session


def claude(world: harness.World, options: list, script: list[dict], environment: dict | None = None) -> Session:
    return drive(world, [program("claude"), "-p", "go", *options], script,
                 {"ANTHROPIC_BASE_URL": "@MODEL@", "ANTHROPIC_API_KEY": "none",
                  "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", **(environment or {})})


def codex(world: harness.World, model: str, script: list[dict]) -> Session:
    provider = '{ name = "loopback", base_url = "@MODEL@/v1", wire_api = "responses" }'
    return drive(world, [program("codex"), "exec", "--skip-git-repo-check", "-m", model, "-c",
                         'model_provider="loopback"', "-c", f"model_providers.loopback={provider}",
                         "go"], script, {})


def gemini(world: harness.World, options: list, script: list[dict]) -> Session:
    """In a folder that a person trusts: in another one Gemini CLI reads no settings and asks no hook."""
    world.write(world.home / ".gemini/trustedFolders.json", json.dumps({str(world.project): "TRUST_FOLDER"}))
    settings = world.home / ".gemini/settings.json"
    own = json.loads(settings.read_text()) if settings.exists() else {}
    own["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    world.write(settings, json.dumps(own))
    return drive(world, ["node", program("gemini"), "-m", "gemini-2.5-flash", *options, "-p", "go"], script,
                 {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "@MODEL@"}, status=None)


def copilot(world: harness.World, options: list, script: list[dict]) -> Session:
    return drive(world, [program("copilot"), *options, "-p", "go"], script,
                 {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "@MODEL@",
                  "COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_API_KEY": "no-key",
                  "COPILOT_MODEL": "claude-sonnet-4.5"})


def opencode(world: harness.World, environment: list[str], script: list[dict]) -> Session:
    """Its settings name the model, so they are written once its address is known."""
    settings = {"model": "anthropic/claude-sonnet-4-5", "small_model": "anthropic/claude-sonnet-4-5",
                "provider": {"anthropic": {"options": {"baseURL": "@MODEL@/v1", "apiKey": "none"}}}}
    write = 'mkdir -p ~/.config/opencode; echo "$0" > ~/.config/opencode/opencode.json; exec "$@"'
    return drive(world, ["/bin/sh", "-c", write, json.dumps(settings), "env", *environment, program("opencode"), "run",
                         "go"], script, {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"})


def qwen(world: harness.World, environment: list[str], script: list[dict]) -> Session:
    return drive(world, ["env", *environment, "node", program("qwen"), "--auth-type", "anthropic", "-m", "claude-x",
                         "--yolo", "-p", "go"], script,
                 {"ANTHROPIC_BASE_URL": "@MODEL@", "ANTHROPIC_API_KEY": "none", "ANTHROPIC_MODEL": "claude-x"})


def results_in_messages(session: Session) -> list[tuple[str, bool]]:
    """What a model behind Anthropic's messages was told of each call, and whether it is an error."""
    found = {}
    for request in session.requests:
        for message in request["body"].get("messages", []):
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block.get("type") == "tool_result":
                    content = block["content"]
                    text = content if isinstance(content, str) else content[0]["text"]
                    found[block["tool_use_id"]] = (text, block.get("is_error", False))
    return [found[key] for key in sorted(found)]


def told_by_messages(session: Session) -> list[str]:
    """The words of that alone."""
    return [text for text, _ in results_in_messages(session)]


def told_by_contents(session: Session) -> list[str]:
    """The same behind Google's contents."""
    parts = [part["functionResponse"]["response"] for turn in session.requests[-1]["body"]["contents"]
             for part in turn["parts"] if "functionResponse" in part]
    return [answer.get("output") or answer.get("error") or json.dumps(answer) for answer in parts]


def told_by_responses(session: Session) -> list[str]:
    """The same behind OpenAI's responses."""
    outputs = [item["output"] for item in session.requests[-1]["body"]["input"]
               if item.get("type") in ("function_call_output", "custom_tool_call_output")]
    return [output if isinstance(output, str) else "\n".join(part["text"] for part in output)
            for output in outputs]
