"""A model on loopback for an agent that a document starts: it has one file written, and says "done".

Started as `scripted_model.py AGENT FILE`. Of FILE `greeting` the agent's own shell writes it, of any other name the
tool of Cordon's server. It prints its address and serves until it is killed.
"""

import sys
import threading

from model import Model

WRITES = "echo hello > %s.txt"


def calls(file: str) -> dict[str, dict]:
    """How each agent names its own shell, or a tool of Cordon's server."""
    command = WRITES % file
    if file == "greeting":
        return {"claude": {"name": "Bash", "arguments": {"command": command}},
                "codex": {"name": "exec_command", "arguments": {"cmd": command}},
                "gemini": {"name": "run_shell_command", "arguments": {"command": command}},
                "copilot": {"name": "bash", "arguments": {"command": command, "description": "writes it"}}}
    arguments = {"argv": ["sh", "-c", command]}
    return {"claude": {"name": "mcp__cordon__run_code", "arguments": arguments},
            "codex": {"name": "run_code", "namespace": "mcp__cordon", "arguments": arguments},
            "gemini": {"name": "mcp_cordon_run_code", "arguments": arguments},
            "copilot": {"name": "cordon-run_code", "arguments": arguments}}


if __name__ == "__main__":
    print(Model([calls(sys.argv[2])[sys.argv[1]]]).url, flush=True)
    threading.Event().wait()
