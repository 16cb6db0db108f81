"""Starts the program under the name srt, with settings of sandbox-runtime."""

import json
import shutil

from support import harness

_program = None


def program():
    global _program
    if _program is None:
        place = harness.stage().path / "srt"
        place.mkdir(mode=0o755)
        _program = place / "srt"
        shutil.copy(harness.stage().cordon.parent / "cordon-tools", _program)
    return _program


def document(hosts=(), denied=(), network=None, top=None, **files):
    """Complete settings; `files` are lists of "filesystem"."""
    filesystem = {"denyRead": [], "allowWrite": [], "denyWrite": []}
    filesystem.update({key: [str(path) if not isinstance(path, dict) else path for path in paths]
                       if isinstance(paths, (list, tuple)) else paths
                       for key, paths in files.items()})
    return {"network": {"allowedDomains": list(hosts), "deniedDomains": list(denied),
                        **(network or {})},
            "filesystem": filesystem, **(top or {})}


def settings(world, *args, **lists):
    return world.document(json.dumps(document(*args, **lists)), "settings.json")


def srt(world, *words, rules=None, **how):
    """`srt [-s SETTINGS] WORDS`, the settings made of `rules`."""
    named = [] if rules is None else ["-s", settings(world, **rules)]
    return world.execute([program(), *named, *words], **how)


def shell(world, line, options=(), **rules):
    """A line for bash, under settings made of `rules`."""
    return srt(world, *options, "-c", line, rules=rules)
