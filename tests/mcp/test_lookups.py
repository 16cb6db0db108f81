"""How often a call of a tool looks the ceilings' paths up: once, however many paths it names itself."""

import signal
import subprocess

import pytest

from served import ceiling_of

BOUND = "directory-that-only-the-ceiling-names"


def look_ups(server, log, call):
    """System calls that name BOUND while `call` is answered."""
    tracer = subprocess.Popen(["strace", "-f", "-e", "trace=%file", "-o", log, "-p", str(server.process.pid)],
                              stderr=subprocess.PIPE, text=True)
    try:
        assert "attached" in tracer.stderr.readline()
        call()
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=30)
    return sum(BOUND in line for line in log.read_text().splitlines())


@pytest.mark.only("root")
def test_ceilings_are_looked_up_once_for_a_call(world, serve):
    world.make_directory(world.home / BOUND)
    names = [str(world.write(world.project / f"file{number}", "x\n")) for number in range(8)]
    server = serve(ceiling=ceiling_of(world, f'read = ["{world.home / BOUND}"]\n'))

    def call(read):
        return lambda: server.good("run_code", {"argv": ["true"], "readonly_paths": read})
    call(names)()
    few = look_ups(server, world.path / "few.log", call(names[:1]))
    many = look_ups(server, world.path / "many.log", call(names))
    assert 0 < few == many
