"""The official test programs of the protocol."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from support.packages import Packages

SOURCE = Path(__file__).parent / "suite"
install = Packages(SOURCE, "mcp-suite", at_least=100).install


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


def conformance(url: str, token: str, revision: str, *options: str) -> subprocess.CompletedProcess:
    return run(["--import", str(SOURCE / "add_token.mjs"),
                "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url",
                url, "--requirements", revision, *options], MCP_TOKEN=token)


def inspector(*arguments: str) -> subprocess.CompletedProcess:
    return run(["node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
                "--cli", *arguments])
