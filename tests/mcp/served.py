"""`cordon mcp` in a world, as an agent host meets it."""

import json

from peer import Peer, told

ON = {"CORDON_ENABLE_RUN_CODE": "1"}


class Served(Peer):
    """A server in a world, with tools switched on."""

    def __init__(self, world, era, *options, env=None, ceiling=None, **how):
        if ceiling is not None:
            options = (*options, "--ceiling", str(world.document(ceiling, "ceiling.toml")))
        super().__init__(world.who, era, *options, command=[world.cordon, "mcp"],
                         env=world.environment(ON if env is None else env), cwd=world.project,
                         **how)
        self.world = world

    def result(self, name, arguments, **more):
        answer = self.tool(name, arguments, **more)["result"]
        text = answer["content"][0]["text"]
        assert len(text.encode()) <= arguments.get("max_output", 10_000), len(text)
        return told(answer), answer.get("isError", False)

    def good(self, name, arguments, **more):
        result, is_error = self.result(name, arguments, **more)
        assert not is_error and result["success"] is True, result
        return result

    def bad(self, name, arguments, **more):
        result, is_error = self.result(name, arguments, **more)
        assert is_error and result["success"] is False, result
        assert {"error", "message", "help", "type"} <= set(result), result
        return result


def ceiling_of(world, more=""):
    return f'version = 1\n[fs]\nwrite = ["{world.project}"]\n{more}'


def audit_lines(world):
    place = world.home / ".local/state/cordon/audit"
    return [json.loads(line) for file in sorted(place.glob("*.jsonl"))
            for line in file.read_text().splitlines()]


def audit_bytes(world):
    place = world.home / ".local/state/cordon/audit"
    return b"".join(file.read_bytes() for file in place.rglob("*") if file.is_file())
