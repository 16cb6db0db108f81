#!/usr/bin/env python3
"""What one node holds, and what a fleet of nodes asks of PostgreSQL.

  tests/bench/scale.py [--seconds N] [--sandboxes N] [--records N] [--write docs/scale.md]

Needs a release build with its tests, and PostgreSQL 15. Sandboxes are started by the real cordon as an ordinary user,
records are copied by the real shipper to a PostgreSQL that syncs every transaction. --write makes the whole page. It
waits for a quiet machine before each figure, and refuses where that does not come: then the figures mean nothing. Without
it nothing is waited for, and what is printed shows no more than that everything can be measured.
"""

import argparse
import os
import platform
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "fleet"), str(TESTS / "audit")]

import fleet  # noqa: E402
from support import harness  # noqa: E402
from trail import Trail  # noqa: E402

LOAD = Path(os.environ.get("BENCH_LOAD", harness.ROOT / "out/release/tests/bench/bench_load"))
PROCESSORS = os.cpu_count() or 1
WORKERS = sorted({1, 2, 4, PROCESSORS, 2 * PROCESSORS})
PRESETS = ("strict", "workspace")
# As the benchmark of launches has it: a bare spawn whose slow ones are slower than this is disturbed.
STEADY = 1.5
# Of some sixty figures.
MOST_DISTURBED = 4
NODES = 1000
RATES = (0.01, 0.1, 1, 10)  # actions a second of each node
DAY = 86_400
SOON = 120


class Quiet:
    """Whether the machine had nothing else to do."""

    def __init__(self, matters: bool) -> None:
        self.matters = matters
        self.waits, self.disturbed = 0, 0
        self.spread = 0.0

    @staticmethod
    def _runnable() -> int:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])

    def wait(self) -> None:
        """Until nothing but this wants to run, for thirty seconds at most."""
        if not self.matters:
            return
        self.waits += 1
        until, quiet = time.monotonic() + 30, 0
        while quiet < 3:
            if time.monotonic() > until:
                self.disturbed += 1
                if self.disturbed > MOST_DISTURBED:
                    raise SystemExit(self.refused)
                return
            quiet = quiet + 1 if self._runnable() <= 1 else 0
            time.sleep(0.15)

    def measure_spread(self) -> None:
        times = []
        for turn in range(120):
            if turn % 10 == 0:
                self.wait()
                # The first ones after a pause are slow on any machine: its caches and clocks have gone to rest.
                for _ in range(3):
                    subprocess.run(["/bin/true"], check=True)
            begin = time.perf_counter()
            subprocess.run(["/bin/true"], check=True)
            times.append(time.perf_counter() - begin)
        times.sort()
        self.spread = max(self.spread, times[round(0.95 * (len(times) - 1))] / statistics.median(times))

    @property
    def steady(self) -> bool:
        return self.matters and self.spread <= STEADY and self.disturbed <= MOST_DISTURBED

    @property
    def refused(self) -> str:
        return (f"scale: the machine was not quiet: p95 of a bare spawn is {self.spread:.2f}x its median ({STEADY} at most), and "
                f"{self.disturbed} of {self.waits} figures were waited for in vain ({MOST_DISTURBED} at most). These figures would "
                "mean nothing, and nothing is written")


def new_world():
    return harness.World(harness.PEOPLE[-1], harness.stage().new_directory())


def everybody(pid: int) -> list[int]:
    """A process and all that came of it."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue  # it has ended
    return found


# One node.

def rate(world, preset: str, workers: int, seconds: float, one: float) -> float:
    """Sandboxes a second, of so many that start one after the other at once."""
    load = harness.stage().path / "bin/bench_load"
    each = max(5, round(seconds / one / max(1, workers / PROCESSORS)))
    words = [load, "start", each, world.cordon, "run", "--policy", preset, "--", "/bin/true"]
    begin = time.monotonic()
    running = [world.start(words) for _ in range(workers)]
    for process in running:
        _, err = process.communicate(timeout=fleet.HOUR)
        assert process.returncode == 0, err
    return workers * each / (time.monotonic() - begin)


def rates(world, quiet: Quiet, seconds: float) -> dict:
    """(preset, workers) -> median of three, in turn."""
    one = {}
    for preset in PRESETS:
        quiet.wait()
        one[preset] = 1 / rate(world, preset, 1, 5, 1)
    found: dict = {}
    for _ in range(3):
        for preset in PRESETS:
            for workers in WORKERS:
                quiet.wait()
                found.setdefault((preset, workers), []).append(rate(world, preset, workers, seconds, one[preset]))
    return {key: statistics.median(values) for key, values in found.items()}


def available() -> int:
    [size] = re.findall(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    return int(size) * 1024


def keys_of(uid: int) -> int:
    for line in Path("/proc/key-users").read_text().splitlines():
        if line.split(":")[0].strip() == str(uid):
            return int(line.split()[3].partition("/")[0])
    return 0


def settled_keys(uid: int) -> int:
    """The kernel takes keys of what has ended away in its own time."""
    seen = []
    harness.wait_until(lambda: seen.append(keys_of(uid)) or len(seen) > 5 and len(set(seen[-5:])) == 1, SOON, 0.5)
    return seen[-1]


KINDS = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


class Held:
    """Sandboxes that are there at once, each with a shell that waits, and what they take of the host."""

    def __init__(self, world) -> None:
        self.world, self.running = world, []
        self.before = available()
        self.own = {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS}

    def add(self, count: int) -> int:
        """How many of them came up; the first refusal ends it."""
        for made in range(count):
            process = self.world.start([self.world.cordon, "run", "--policy", "workspace", "--", "sh", "-c",
                                        "echo up; exec sleep 36000"])
            self.running.append(process)
            if process.stdout.readline() != b"up\n":
                self.refusal = process.communicate(timeout=SOON)[1].decode()
                self.running.pop()
                return made
        return count

    def memory(self) -> int:
        return self.before - available()

    def takes(self) -> dict:
        """Of each, on average: what can be counted."""
        processes = [pid for process in self.running for pid in everybody(process.pid)]
        spaces: dict = {kind: set() for kind in KINDS}
        files, proportional = 0, 0
        for pid in processes:
            for kind in KINDS:
                spaces[kind].add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            files += len(os.listdir(f"/proc/{pid}/fd"))
            [size] = re.findall(r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
            proportional += int(size) * 1024
        count = len(self.running)
        threads = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in processes)
        return {"processes": len(processes) / count, "threads": threads / count, "files": files / count,
                "pss": proportional / count,
                **{f"ns {kind}": len(spaces[kind] - {self.own[kind]}) / count for kind in KINDS}}

    def end(self) -> None:
        for process in self.running:
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            process.communicate(timeout=SOON)


def setting(name: str) -> int:
    return int(Path("/proc/sys", name).read_text().split()[-1])


def ceilings(world, takes: dict, memory: float) -> list[tuple[str, float, int, int]]:
    """What there is of each thing that a sandbox takes: (what, taken, there is, so many sandboxes), fewest first. Keys are
    not among them: a keyring of a session is counted, and made beyond the quota as well."""
    [total] = re.findall(r"MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text())
    there = [("memory (MiB)", memory / 2**20, int(total) // 1024),
             ("process ids (`kernel.pid_max`)", takes["threads"], setting("kernel/pid_max")),
             ("threads (`kernel.threads-max`)", takes["threads"], setting("kernel/threads-max")),
             ("open files (`fs.file-max`)", takes["files"], setting("fs/file-max"))]
    names = {"mnt": "mnt", "net": "net", "pid": "pid", "user": "user", "ipc": "ipc", "uts": "uts", "cgroup": "cgroup"}
    for kind, name in names.items():
        there.append((f"{kind} namespaces of one user (`user.max_{name}_namespaces`)", takes[f"ns {kind}"],
                      setting(f"user/max_{name}_namespaces")))
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if most != resource.RLIM_INFINITY and not world.who.is_root:
        there.append(("processes of one user (`RLIMIT_NPROC`)", takes["threads"], most))
    rows = [(what, taken, have, int(have / taken)) for what, taken, have in there if taken > 0]
    return sorted(rows, key=lambda row: row[3])


def namespaces_at_a_bound(world, bound: int) -> tuple[int, str]:
    """How many sandboxes come up where so many network namespaces are permitted, and what the next one is told."""
    script = f"""echo {bound} > /proc/sys/user/max_net_namespaces || exit 3
exec setpriv --inh-caps=-all --ambient-caps=-all sh -c '
up() {{ exec "$0" run --policy workspace -- sh -c "echo up; exec sleep 36000"; }}
for i in $(seq {bound + 4}); do
  mkfifo up.$i; up > up.$i 2> err.$i & pids="$pids $!"
  read word < up.$i || true
  [ "$word" = up ] || {{ cat err.$i >&2; break; }}
  word=; echo up
done
kill $pids 2>/dev/null; wait' {world.cordon}"""
    done = world.execute(["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", script], timeout=fleet.HOUR)
    assert done.status != 3, done.account()
    return done.out.count("up"), done.err


# PostgreSQL.

class DurableServer(fleet.Server):
    """As the tests have it, but it syncs each transaction, and has the memory of a small server."""

    def __init__(self) -> None:
        super().__init__()
        self.kill(signal.SIGINT)
        self.options = ["-c", "listen_addresses=", "-c", "fsync=on", "-c", "shared_buffers=256MB", "-c",
                        "max_wal_size=2GB"]
        self.up()

    def default_of(self, name: str) -> int:
        return int(self.sql(f"SELECT boot_val FROM pg_settings WHERE name = '{name}'")[0][0])


def shipped(server, quiet: Quiet, nodes: int, records: int) -> tuple[float, float]:
    """Records a second of so many nodes at once, and bytes of each in the database."""
    database = server.database()
    made = []
    for _ in range(nodes):
        world = new_world()
        trail = Trail(world)
        trail.write("append", str(records // 2), timeout=fleet.HOUR)
        made.append(fleet.Node(world, database))
    quiet.wait()
    begin = time.monotonic()
    running = [node.start("--once") for node in made]
    for process in running:
        _, err = process.communicate(timeout=fleet.HOUR)
        assert process.returncode == 0, err
    took = time.monotonic() - begin
    stored = database.number("SELECT count(*) FROM cordon.records")
    assert stored == nodes * (records // 2) * 2, stored
    size = database.number("SELECT pg_total_relation_size('cordon.records')")
    database.drop()
    return stored / took, size / stored


def transactions(server, quiet: Quiet, clients: int, seconds: int) -> float:
    """Transactions a second that add one record each, as the role of a node adds it."""
    database = server.database()
    world = new_world()
    trail = Trail(world)
    trail.write("append", "1")
    node = fleet.Node(world, database)
    line = trail.lines()[-1].rstrip(b"\n").hex()
    script = world.write(world.path / "one.sql", "\\set seq random(1, 1000000000000000)\n"
                         "INSERT INTO cordon.records (node, seq, line, at, phase, pending_seq) VALUES "
                         f"('{node.name}', :seq, '\\x{line}', now(), 'closing', :seq) ON CONFLICT DO NOTHING;\n")
    quiet.wait()
    done = subprocess.run([fleet.PROGRAMS / "pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j",
                           str(min(clients, PROCESSORS)), "-T", str(seconds), "-f", script, "-h", server.directory, "-p",
                           str(server.port), "-U", node.name, database.name], capture_output=True, text=True, check=False,
                          env=fleet.ENVIRONMENT, timeout=fleet.HOUR)
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    assert done.returncode == 0 and found, done.stderr
    database.drop()
    return float(found.group(1))


def connections_of_a_follower(server) -> int:
    database = server.database()
    world = new_world()
    Trail(world).write("append", "1")
    node = fleet.Node(world, database)
    follower = node.start("--follow")
    count = f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{node.name}'"
    assert harness.wait_until(lambda: database.number("SELECT count(*) FROM cordon.records") == 2, SOON)
    found = database.number(count)
    follower.send_signal(signal.SIGTERM)
    follower.communicate(timeout=SOON)
    database.drop()
    return found


def gathered_for() -> float:
    """Seconds that the shipper gathers records for before it sends them, from its source."""
    [value] = re.findall(r"kGatherMs = (\d+);", (TESTS.parent / "src/ship/ship.cc").read_text())
    return int(value) / 1000


# The page.

def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.1 else f"{value:.2f}"


def machine() -> str:
    [total] = re.findall(r"MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text())
    release = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return (f"{platform.system()} {platform.release()}, {platform.machine()}, {PROCESSORS} processors, "
            f"{int(total) / 2**20:.0f} GiB of memory, {release}; PostgreSQL on the same machine and disk.")


def node_section(found: dict) -> str:
    fastest = max(found["rates"].values())
    text = "## One node\n\n### Sandboxes a second\n\nEach starts, runs `/bin/true`, is recorded and is gone. So many workers start " \
           "one after the other at once.\n\n"
    text += table(["workers", *(f"`{preset}`" for preset in PRESETS)],
                  [[str(workers), *(number(found["rates"][preset, workers]) for preset in PRESETS)] for workers in WORKERS])
    held, takes = found["held"], found["takes"]
    _, workers = max(found["rates"], key=found["rates"].get)
    text += (f"\nThe most were {number(fastest)} a second, of {workers} workers on {PROCESSORS} processors.\n\n"
             f"### Sandboxes at once\n\n{held} were held at once, each with a shell that waits. What one takes:\n\n")
    text += table(["", "each"], [
        ["memory that the host has less of, the kernel's included", f"{found['memory'] / 2**10:,.0f} KiB"],
        ["memory of its processes alone (PSS), the waiting shell included", f"{takes['pss'] / 2**10:,.0f} KiB"],
        ["processes", number(takes["processes"])], ["threads", number(takes["threads"])],
        ["open files", number(takes["files"])], ["keys", number(takes["keys"])],
        *[[f"{kind} namespaces", number(takes[f"ns {kind}"])] for kind in KINDS]])
    text += "\nWhat this host has of it, and for how many sandboxes of one user that is enough, the fewest first:\n\n"
    text += table(["", "each", "this host", "sandboxes"],
                  [[what, number(taken), f"{have:,}", f"{most:,}"] for what, taken, have, most in found["ceilings"]])
    bound, came, said = found["bound"]
    told = "\n".join(line.strip() for line in said.splitlines() if line.startswith(("cordon:", "hint:")))
    text += (f"\nAt a ceiling nothing is weakened: where {bound} network namespaces were permitted, {came} sandboxes came up and "
             f"the next was refused:\n\n```\n{told}\n```\n")
    return text


def fleet_section(found: dict) -> str:
    best, one = max(found["shipped"].values()), max(found["single"].values())
    size = found["size"]
    gather = found["gather"]
    text = "## What a fleet asks of PostgreSQL\n\n### What it takes\n\nEvery transaction is synced. Records of nodes that " \
           "catch up, two thousand a transaction:\n\n"
    text += table(["nodes at once", "records a second"], [[str(n), number(value)] for n, value in found["shipped"].items()])
    text += "\nOne record a transaction, as from nodes that do little:\n\n"
    text += table(["connections", "transactions a second"], [[str(n), number(value)] for n, value in found["single"].items()])
    text += f"\nA record takes {size:,.0f} bytes there, its indexes included.\n\n### What {NODES:,} nodes ask\n\n"
    text += (f"An action is two records. A shipper gathers for {gather:g} s and sends what came in one transaction, so that a node "
             f"makes at most {1 / gather:g} a second. In brackets: the share of what was measured above.\n\n")
    rows = []
    for each in RATES:
        records, sent = 2 * each * NODES, min(2 * each, 1 / gather) * NODES
        rows.append([f"{each:g}", f"{number(records)} ({records / best:.0%})", f"{number(sent)} ({sent / one:.0%})",
                     f"{records * size * DAY / 2**30:,.1f} GiB"])
    text += table(["actions a second of each node", "records a second", "transactions a second", "a day"], rows)
    return text


def limits_section(found: dict) -> str:
    best, one = max(found["shipped"].values()), max(found["single"].values())
    fastest = max(found["rates"].values())
    connections = found["connections"]
    first = found["ceilings"][0]
    reserved = found["reserved"]
    sentences = [
        f"**A node:** of what was counted above, {first[0]} is used up first, by {first[3]:,} sandboxes of one user at once; "
        f"started one after the other, the most were {number(fastest)} a second.",
        f"**Connections:** a node with `--follow` keeps {connections} open. PostgreSQL permits {found['default']} as it is shipped, "
        f"{reserved} of them for administrators: {(found['default'] - reserved) // max(connections, 1)} nodes. {NODES:,} nodes need "
        f"`max_connections` above that, a pooler, or a timer with `--once`.",
        f"**Transactions:** {number(one)} a second were measured. Nodes that do a little all the time make "
        f"{1 / found['gather']:g} a second each: {number(one * found['gather'])} nodes.",
        f"**Records:** {number(best)} a second were measured. Of nodes that start sandboxes as fast as they can, and record two "
        f"lines each, that is {number(best / (2 * fastest))}; of {NODES:,} nodes it is {number(best / 2 / NODES)} actions a second "
        f"each.",
        "**What waits is not lost:** the log of each node is the queue, as long as it keeps it ([fleet.md](fleet.md))."]
    return "## Where it breaks first\n\n" + "\n".join(f"- {sentence}" for sentence in sentences) + "\n"


def page_of(found: dict, quiet: Quiet) -> str:
    return ("# Scale\n\nWritten by `tests/bench/scale.py --write docs/scale.md`; no figure here was typed. Sandboxes were started "
            "by an ordinary user, and\nrecords copied by `cordon audit ship`. Each figure was taken after the machine was quiet.\n\n"
            f"{machine()}\n\n{node_section(found)}\n{fleet_section(found)}\n{limits_section(found)}\n"
            f"- p95 of a bare spawn is {quiet.spread:.2f}x its median; {quiet.disturbed} of {quiet.waits} figures were taken "
            "although the machine was not quiet\n")


def measure(given, quiet: Quiet) -> dict:
    found: dict = {}
    quiet.measure_spread()
    # Not after half an hour.
    if quiet.matters and not quiet.steady:
        raise SystemExit(quiet.refused)
    world = new_world()
    shutil.copy(LOAD, harness.stage().path / "bin/bench_load")
    found["rates"] = rates(world, quiet, given.seconds)
    quiet.wait()
    held = Held(new_world())
    few = max(2, given.sandboxes // 4)
    assert held.add(few) == few, held.refusal
    time.sleep(1)
    at_few, keys_at_few = held.memory(), settled_keys(world.who.uid)
    came = few + held.add(given.sandboxes - few)
    assert came > few, held.refusal
    time.sleep(1)
    # The slope: what the first one takes once for all is left out.
    found["memory"] = (held.memory() - at_few) / (came - few)
    found["held"], found["takes"] = came, held.takes()
    found["takes"]["keys"] = (settled_keys(world.who.uid) - keys_at_few) / (came - few)
    held.end()
    found["ceilings"] = ceilings(world, found["takes"], found["memory"])
    bound = 8
    found["bound"] = (bound, *namespaces_at_a_bound(new_world(), bound))
    server = DurableServer()
    try:
        found["shipped"], sizes = {}, []
        for nodes in (1, 2, 4):
            values = [shipped(server, quiet, nodes, given.records) for _ in range(3)]
            found["shipped"][nodes] = statistics.median(value for value, _ in values)
            sizes += [size for _, size in values]
        found["size"] = statistics.median(sizes)
        found["single"] = {clients: transactions(server, quiet, clients, max(2, round(given.seconds)))
                           for clients in (1, 4, 16)}
        found["connections"] = connections_of_a_follower(server)
        found["default"] = server.default_of("max_connections")
        found["reserved"] = server.default_of("superuser_reserved_connections")
    finally:
        server.remove()
    found["gather"] = gathered_for()
    quiet.measure_spread()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each rate")
    parser.add_argument("--sandboxes", type=int, default=120, help="held at once")
    parser.add_argument("--records", type=int, default=40_000, help="of each node")
    parser.add_argument("--write", type=Path, metavar="FILE")
    given = parser.parse_args()
    quiet = Quiet(given.write is not None)
    text = page_of(measure(given, quiet), quiet)
    print(text, end="")
    if not given.write:
        return 0
    if not quiet.steady:
        print(quiet.refused, file=sys.stderr)
        return 1
    given.write.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
