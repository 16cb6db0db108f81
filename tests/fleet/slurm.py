"""A Slurm of the test's own: munged, slurmctld and two nodes on this host, each by its process, with key, sockets,
ports and state in a directory of the test. Root's daemons start the tasks as an ordinary user; as anybody else the
whole cluster is theirs."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from support import apart, harness

LONG = 120
PERSON = harness.Person("user", harness.ORDINARY_UID, () if os.geteuid() != 0 else (
    "setpriv", f"--reuid={harness.ORDINARY_UID}", f"--regid={harness.ORDINARY_UID}", "--clear-groups", "--inh-caps=-all"))
# The daemons ask what accounts are called; the one of the ordinary user is in a table that only they see.
WITH_ACCOUNT = () if os.geteuid() != 0 else (
    "unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"')
NODES = ("n1", "n2")
TASKS_AT_ONCE = 2


class Cluster:
    def __init__(self, **settings: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="cordon-slurm.", dir="/var/tmp"))
        self.directory.chmod(0o755)
        self.ports = apart.own_ports(harness.ORDINARY_UID)[500:510]
        self.conf = self.directory / "slurm.conf"
        self.accounts = self.directory / "passwd"
        owner = "root" if os.geteuid() == 0 else PERSON.name
        self.accounts.write_text(f"root:x:0:0::/root:/bin/sh\n{PERSON.name}:x:{PERSON.uid}:{PERSON.uid}::/:/bin/sh\n")
        if os.geteuid() != 0:
            import pwd
            owner = pwd.getpwuid(os.geteuid()).pw_name
        for name in ("munge", "state", *NODES):
            (self.directory / name).mkdir(mode=0o755)
        key = self.directory / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.settings = {
            "ClusterName": "test", "SlurmctldHost": f"{socket.gethostname()}(127.0.0.1)", "SlurmctldPort": self.ports[0],
            "SlurmUser": owner, "SlurmdUser": owner, "AuthType": "auth/munge",
            "AuthInfo": f"socket={self.directory}/munge/socket", "CredType": "cred/munge",
            "StateSaveLocation": self.directory / "state", "SlurmdSpoolDir": f"{self.directory}/%n",
            "SlurmctldPidFile": self.directory / "state/pid", "SlurmdPidFile": f"{self.directory}/%n/pid",
            "ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none", "SwitchType": "switch/none",
            "MpiDefault": "none", "ReturnToService": 2, "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU", "JobCompType": "jobcomp/none",
            "AccountingStorageType": "accounting_storage/none", "JobAcctGatherType": "jobacct_gather/none",
            "SlurmdTimeout": 10, "KillWait": 2, "MessageTimeout": 10, "MaxArraySize": 2001, "MaxJobCount": 10000,
            "SchedulerParameters": "batch_sched_delay=0,sched_min_interval=50000,default_queue_depth=1000", **settings}
        lines = [f"{key}={value}" for key, value in self.settings.items()]
        for name, port in zip(NODES, self.ports[1:]):
            lines.append(f"NodeName={name} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port} "
                         f"CPUs={TASKS_AT_ONCE} RealMemory=8000 State=UNKNOWN")
        lines.append(f"PartitionName=all Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP")
        self.conf.write_text("\n".join(lines) + "\n")
        self.processes: dict[str, subprocess.Popen] = {}
        try:
            self.begin("munged", "/usr/sbin/munged", "-F", f"--socket={self.directory}/munge/socket",
                       f"--key-file={key}", f"--pid-file={self.directory}/munge/pid",
                       f"--log-file={self.directory}/munge/log", f"--seed-file={self.directory}/munge/seed",
                       "--num-threads=2")
            assert harness.wait_until((self.directory / "munge/socket").exists, LONG), self.log("munged")
            self.begin("slurmctld", "/usr/sbin/slurmctld", "-D", "-c", "-f", self.conf)
            for name in NODES:
                self.begin_node(name)
            assert harness.wait_until(lambda: self.idle(*NODES), LONG, 0.05), self.logs()
        except BaseException:
            self.remove()
            raise

    def begin(self, called: str, *words) -> None:
        prefix = [*WITH_ACCOUNT, *([str(self.accounts)] if WITH_ACCOUNT else [])]
        with (self.directory / f"{called}.log").open("ab") as log:
            self.processes[called] = subprocess.Popen(
                [*prefix, *map(str, words)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
                start_new_session=True, env={"PATH": harness.BASE_PATH + ":/usr/sbin", "LC_ALL": "C.UTF-8"})

    def begin_node(self, name: str) -> None:
        self.begin(name, "/usr/sbin/slurmd", "-D", "-N", name, "-f", self.conf)

    @property
    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.conf)}

    def ask(self, *words) -> str:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LONG, check=False,
                              env={"PATH": harness.BASE_PATH, **self.environment})
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def idle(self, *names: str) -> bool:
        done = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %T"], capture_output=True, text=True, timeout=LONG,
                              check=False, env={"PATH": harness.BASE_PATH, **self.environment})
        return done.returncode == 0 and set(done.stdout.splitlines()) >= {f"{name} idle" for name in names}

    def log(self, called: str) -> str:
        return (self.directory / f"{called}.log").read_text(errors="replace")[-4000:]

    def logs(self) -> str:
        return "\n".join(f"== {called}\n{self.log(called)}" for called in self.processes)

    def stop(self, called: str, number: int = signal.SIGTERM) -> None:
        process = self.processes.pop(called)
        if process.poll() is None:
            process.send_signal(number)
        try:
            process.wait(LONG)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def remove(self) -> None:
        for called in reversed(list(self.processes)):
            self.stop(called)
        shutil.rmtree(self.directory, ignore_errors=True)
