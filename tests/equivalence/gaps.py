"""Why a column is not like native: the only part of the matrix that people write.

What differs and is not here fails the check, and so does what is here and does not differ.
"""

from dataclasses import dataclass

from contract_rows import row_name


@dataclass(frozen=True)
class Refusal:
    names: str  # words of Cordon's refusal
    why: str
    person: str | None = None  # refused to this one alone


NO_EXCEPTIONS = "nothing can be taken out of a grant"
NO_NETWORK = "no network of its own"
PUT_BACK = "they are put back when the command has ended"
NO_BROKER = "no broker inside"
NO_HOSTS = "a profile knows no hosts"
NO_LOOPBACK = "no loopback"
NOT_REPORTED = "only the program hears that it was reached"
READ_ONLY_CONFIG = "it is read-only instead of a private copy"
METADATA = "existence, size, owner, mode and times can be looked up"
HOME_ELSEWHERE = "`HOME` leads elsewhere"
TMPDIR_ELSEWHERE = "`TMPDIR` leads elsewhere, `/tmp` is out of reach"
HOSTS_OWN = "they are the host's"

ALLOW_ROWS = ("`net.mode = \"allow\"`", "`net.deny`", "`limits.connections`", "`limits.sent`",
              row_name("agent"))

REFUSALS = {
    ("landlock", "a grant of `/`"): Refusal("cannot leave /proc out", NO_EXCEPTIONS),
    ("landlock", "`fs.deny` of what is there"): Refusal("cannot hide", NO_EXCEPTIONS),
    ("landlock", "credential stores under a grant"): Refusal("cannot hide", NO_EXCEPTIONS),
    ("landlock", "`net.publish`"): Refusal("net.publish", NO_NETWORK),
    ("mxc", "a grant of `/`"):
        Refusal("you may not read it", "the executor wants to read all that is in `/`", "user"),
    ("mxc", "`net.publish`"): Refusal("net.publish", NO_BROKER),
    ("mxc", "`net.sockets`"): Refusal("net.sockets", NO_BROKER),
    ("seatbelt", "`net.publish`"): Refusal("publish ports", "a profile has no ports"),
    ("seatbelt", "`net.sockets`"): Refusal("lists of sockets", "a profile lists no sockets"),
    **{("mxc", row): Refusal("network mode allow", NO_BROKER) for row in ALLOW_ROWS},
    **{("seatbelt", row): Refusal("lists of hosts", NO_HOSTS) for row in ALLOW_ROWS},
}

# Of a column and a row: what is not so, and why.
GAPS = {
    ("landlock", "a read-only path inside a writable one"): {"it is not written": PUT_BACK},
    ("landlock", "protected names that are there"): {"they are not written": PUT_BACK},
    ("landlock", "private home"): {"it lies at its usual path": HOME_ELSEWHERE},
    ("landlock", "private temporary directory"): {"it lies at its usual path": TMPDIR_ELSEWHERE},
    ("landlock", "`fs.scratch`"):
        {"the program is told": "looked at four times a second; past it the run is killed"},
    ("landlock", "metadata of what is not granted"): {"it is not looked up": METADATA},
    ("landlock", "accounts and the host's name"):
        {"the host's are unknown": HOSTS_OWN, "the host's name is unknown": HOSTS_OWN},
    ("landlock", "`net.mode = \"none\"`"): {"programs inside reach each other": NO_LOOPBACK},
    ("landlock", "local sockets inside"):
        {"programs inside reach each other": "none can be connected to by its name"},
    ("landlock", "processes of the host"):
        {"numbers in use are not found out": "which numbers are in use can be found out"},
    ("landlock", "System V shared memory"): {"programs have their own": "there is none"},
    ("landlock", "the kernel's tables in `/proc`"):
        {"one's own are read": "nothing in `/proc` can be read"},
    ("mxc", "git's configuration"): {"settings can be made inside": READ_ONLY_CONFIG},
    ("mxc", "`fs.scratch`"): {"the report says so": NOT_REPORTED},
    ("mxc", "local sockets inside"):
        {"programs inside reach each other": "none can be connected to"},
    ("mxc", "`limits.cpu`"): {"the report says so": NOT_REPORTED},
    ("mxc", "`limits.file_size`"): {"the report says so": NOT_REPORTED},
    ("mxc", "the kernel's tables in `/proc`"):
        {"the keys are not": "`/proc/keys` and others are as the host's permissions have them"},
    ("mxc", "the suspend key"): {"it stops the command": "it does nothing"},
    ("mxc", "exit status"):
        {"a signal is told by its name": "a signal shows as 128 and its number"},
    ("seatbelt", "git's configuration"): {"settings can be made inside": READ_ONLY_CONFIG},
    ("seatbelt", "`net.mode = \"none\"`"): {"programs inside reach each other": NO_LOOPBACK},
}

# Rows of the contract's table.
CONTRACT_GAPS = {
    "landlock": {
        "stat-outside": METADATA,
        "own-loopback": NO_LOOPBACK,
        "route-netlink": "no netlink",
        "write-private-home": HOME_ELSEWHERE,
        "write-private-tmp": TMPDIR_ELSEWHERE,
        "write-private-shm": "`/dev/shm` is out of reach",
    },
    "seatbelt": {
        "own-loopback": NO_LOOPBACK,
        "read-passwd": "`/etc/passwd` is not read",
        "write-private-home": "no private home",
        "write-private-tmp": "no private temporary directory",
    },
}
for column, gaps in CONTRACT_GAPS.items():
    # A profile refuses the lists of hosts that this preset has.
    listed = ("agent",) if column == "landlock" else ()
    for preset in ("strict", "workspace", "readonly", "build", *listed):
        # There is no private space under strict that could be missing.
        GAPS[column, row_name(preset)] = {
            probe: why for probe, why in gaps.items()
            if preset != "strict" or not probe.startswith("write-private")}
GAPS["landlock", row_name("agent")]["internet-udp"] = (
    "whatever is sent to a name server is answered by Cordon")
