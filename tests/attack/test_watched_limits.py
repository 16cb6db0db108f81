"""Limits where no control group can be made: a watch ends the run, and the report says so.

/sys/fs/cgroup is made read-only in a mount namespace of the test's own, as it is in containers."""

import os
import shutil

import pytest

from support import harness

READ_ONLY = """
for m in $(awk '$2 ~ "^/sys/fs/cgroup" { print $2 }' /proc/self/mounts | sort -r); do
  mount -o remount,bind,ro "$m" || exit 99
done
exec "$@"
"""


class Watched(harness.World):
    """Every run has no group to be in: an ordinary user has none here anyway."""

    def command(self, argv):
        words = super().command(argv)
        if not self.who.is_root:
            return words
        return ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", READ_ONLY, "sh", *words]


@pytest.fixture
def world(who):
    made = Watched(who, harness.stage().new_directory())
    yield made
    made.leave()


def test_the_default_preset_runs_and_the_report_says_what_is_lost(world):
    done, report = world.report("sh", "-c", "echo ran; echo x > made")
    assert done.expect(0).out == "ran\n" and (world.project / "made").exists()
    held = report["enforcement"]
    assert held["limits"]["memory"] == "watch", held
    assert held["limits"]["pids"] == ("watch" if world.who.is_root else "rlimit"), held
    expected = ["memory-burst", "process-burst"] if world.who.is_root else ["memory-burst"]
    assert [word for word in held["lost"] if word.endswith("burst")] == expected, held


def test_a_required_cgroup_is_refused_with_the_cure(world):
    done = world.run("touch", "ran", options=["--require", "cgroup"]).expect(125)
    assert "requires cgroup limits" in done.err and not (world.project / "ran").exists()
    assert "/sys/fs/cgroup" in done.err or "systemd-run" in done.err, done.account()
    world.run("touch", "ran").expect(0)


BURST = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  size_t step = 1 << 20, most = (size_t)atoi(argv[1]) << 20;
  int processes = atoi(argv[2]);
  for (int i = 1; i < processes; ++i) if (fork() == 0) break;
  for (size_t done = 0; done < most / processes; done += step) {
    memset(malloc(step), 1, step);
    if ((done >> 20) % 8 == 0) { char line[32]; int n = snprintf(line, 32, "%zu\n", done >> 20); if (write(1, line, n) < 0) return 1; }
  }
  sleep(atoi(argv[3]));
  puts("survived");
}
"""


@pytest.mark.parametrize("processes", [1, 4])
def test_a_burst_of_memory_ends_the_run(world, processes):
    """As fast as the machine can touch it. How far it comes past the bound is measured."""
    world.write(world.project / "burst.c", BURST)
    world.bare("cc", "-O1", "-o", "burst", "burst.c").expect(0)
    bound, most = 256, 2048
    done, report = world.report("./burst", str(most), str(processes), "20",
                                options=["--memory", f"{bound}M", "--timeout", "30s"], timeout=60)
    assert done.expect(137).out.count("survived") == 0, done.account()
    assert report["kill_reason"] == "oom", report
    assert any(d["what"] == "memory" and d["layer"] == "watch" for d in report["denials"])
    # Each says how far it came, every 8 MiB.
    reached = (max(int(line) for line in done.out.split()) + 8) * processes
    print(f"touched about {reached} MiB, the bound is {bound}")
    assert reached < most, "the watch came too late"
    small = world.run("./burst", "64", "1", "1", options=["--memory", f"{bound}M"]).expect(0)
    assert "survived" in small.out, "the control is broken"


@pytest.mark.only("root")
def test_a_fork_bomb_of_root_ends_the_run(world):
    script = ("import os, time\nfor i in range(3000):\n  if os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\n"
              "time.sleep(60)\nprint('survived')")
    done, report = world.report("/usr/bin/python3", "-c", script, options=["--pids", "64"], timeout=90)
    assert done.expect(137).seconds < 50 and "survived" not in done.out, done.account()
    assert report["kill_reason"] == "pids", report
    assert any(d["what"] == "pids" and d["layer"] == "watch" for d in report["denials"])
    world.run("/bin/sh", "-c", "true & true & wait", options=["--pids", "64"]).expect(0)


def test_address_sanitizer_starts(world):
    """It reserves terabytes and uses little."""
    world.write(world.project / "a.c", "#include <stdlib.h>\nint main(void) { char *p = malloc(8); free(p); return p[0]; }\n")
    world.write(world.project / "b.c", "#include <stdio.h>\nint main(void) { puts(\"fine\"); return 0; }\n")
    for name in ("a", "b"):
        world.bare("cc", "-g", "-fsanitize=address", "-o", name, f"{name}.c").expect(0)
    env = {"ASAN_OPTIONS": "detect_leaks=0"}
    options = ["--env", "ASAN_OPTIONS"]
    assert world.run("./b", options=options, env=env).expect(0).out == "fine\n"
    done = world.run("./a", options=options, env=env)
    assert done.status == 1 and "heap-use-after-free" in done.err, done.account()


def test_nothing_is_left_of_a_tree_that_was_ended(world):
    sleep = shutil.which("sleep")
    marker = f"86400.{os.getpid()}{world.path.name[1:]}"
    done = world.run("/bin/sh", "-c", f"{sleep} {marker} & /usr/bin/python3 -c 'x = bytearray(1 << 30); import time; time.sleep(90)'",
                     options=["--memory", "128M"], timeout=80)
    assert done.status == 137, done.account()
    assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)
