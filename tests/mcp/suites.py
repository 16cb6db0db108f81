"""The official test programs: installed once into build/, from a lock file with digests."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from support import harness

SOURCE = Path(__file__).parent / "suite"
PLACE = harness.ROOT / "build" / "mcp-suite"


def install() -> Path:
    """Where node_modules is. Only what the lock file names is installed, and no script of it run."""
    wanted = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()
    stamp = PLACE / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(PLACE, ignore_errors=True)
        PLACE.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCE / name, PLACE)
        # Not "npm ci": it refuses a lock file without the optional packages of other systems.
        done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-save", "--no-audit",
                               "--no-fund", "--loglevel=error"], cwd=PLACE, capture_output=True,
                              text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        check_installed()
        stamp.write_text(wanted)
    return PLACE


def check_installed() -> None:
    """Everything that was installed is in the lock file, with the same digest."""
    locked = json.loads((SOURCE / "package-lock.json").read_text())["packages"]
    found = json.loads((PLACE / "node_modules/.package-lock.json").read_text())["packages"]
    assert len(found) > 100
    for name, package in found.items():
        wanted = locked.get(name)
        assert wanted and wanted["integrity"] == package["integrity"], f"{name} is not the locked one"


def node() -> str:
    """A node that is new enough for the suites: the one that was installed with them."""
    for found in sorted((install() / "node_modules").glob("node-linux-*/bin/node")):
        return str(found)
    system = shutil.which("node")
    assert system, "there is no node"
    version = subprocess.run([system, "--version"], capture_output=True, text=True).stdout
    assert int(re.match(r"v(\d+)", version)[1]) >= 22, f"node {version} is too old for the suites"
    return system


def run(arguments: list[str], **environment: str) -> subprocess.CompletedProcess:
    home = install() / "home"
    home.mkdir(exist_ok=True)
    return subprocess.run([node(), *arguments], cwd=install(), capture_output=True, text=True,
                          timeout=180, env={"PATH": os.environ["PATH"], "HOME": str(home),
                                            "NO_COLOR": "1", **environment})


def conformance(url: str, token: str, revision: str) -> subprocess.CompletedProcess:
    return run(["--import", str(SOURCE / "add_token.mjs"),
                "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url",
                url, "--requirements", revision], MCP_TOKEN=token)


def inspector(*arguments: str) -> subprocess.CompletedProcess:
    return run(["node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
                "--cli", *arguments])
