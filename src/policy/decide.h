// decide: the verdict of an effective policy on one access, with the rule that decides. Used by
// `cordon policy explain`; the kernel decides for real.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cordon/outcome.h"
#include "policy/address.h"
#include "policy/clamp.h"
#include "policy/host_facts.h"

namespace cordon {

enum class Access { Read, Write, Execute };

struct Verdict {
  bool allowed = false;
  std::string rule;    // the rule that decides, as a person would find it: `write "/home/u/p"`
  std::string reason;  // one clause: why that rule decides
  std::string change;  // what would help the person who may make the change; empty if allowed
  HintRule kind = HintRule::Absent;  // of the rule that refuses
};

// True if what is inside at `lexical` (absolute and normal, symlinks not followed) is the sandbox's
// own, so that symlinks and processes of the host say nothing about it.
bool is_of_sandbox(const Clamped& clamped, const HostFacts& facts, std::string_view lexical);
// `path` is canonical, or of the sandbox; one that does not exist yet is judged by its nearest
// parent.
Verdict decide(const Clamped& clamped, const HostFacts& facts, const Caller& caller, Access access,
               std::string_view path);
// Why something is held, in a few words: its kind, and the name that leads there if it has none.
std::string reason_of(const Held& held);
inline constexpr std::string_view kLeadsHere = " leads here";
// `host` is a name or an address literal; `own` are the addresses of this host.
Verdict decide_connect(const NetRules& net, std::string_view host, std::uint16_t port,
                       std::span<const Address> own);

// The part of decide() about what a sandbox has of its own, where no grant shows the host's.

// The verdict of a private place, of /proc, of a device, of a file written for the sandbox, or of a
// directory that only leads to something; nothing if `path` is none of these.
std::optional<Verdict> decide_own(const Effective& effective, const HostFacts& facts,
                                  const Caller& caller, Access access, std::string_view path);

// What every sandbox has of its own, whatever is granted: the plan builds it and explain tells it,
// both from these lists.

// What a grant of "/" does not replace. There is no /sys inside unless a grant names it.
inline constexpr std::array<std::string_view, 6> kOwnDirectories = {"/proc", "/dev", "/sys",
                                                                    "/etc",  "/tmp", "/run"};

// What /proc shows of the machine rather than of the sandbox.
inline constexpr std::array<std::string_view, 18> kMaskedProcFiles = {
    "/proc/kcore",         "/proc/kmsg",        "/proc/kallsyms",      "/proc/keys",
    "/proc/key-users",     "/proc/kpagecount",  "/proc/kpageflags",    "/proc/kpagecgroup",
    "/proc/timer_list",    "/proc/sched_debug", "/proc/latency_stats", "/proc/vmallocinfo",
    "/proc/slabinfo",      "/proc/iomem",       "/proc/ioports",       "/proc/config.gz",
    "/proc/sysrq-trigger", "/proc/cmdline"};
inline constexpr std::array<std::string_view, 6> kMaskedProcDirectories = {
    "/proc/acpi", "/proc/scsi", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/device-tree"};

inline constexpr std::array<std::string_view, 6> kDevices = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};

struct DeviceLink {
  std::string_view path;
  std::string_view target;
};
inline constexpr std::array<DeviceLink, 5> kDeviceLinks = {{{"/dev/fd", "/proc/self/fd"},
                                                            {"/dev/stdin", "/proc/self/fd/0"},
                                                            {"/dev/stdout", "/proc/self/fd/1"},
                                                            {"/dev/stderr", "/proc/self/fd/2"},
                                                            {"/dev/ptmx", "pts/ptmx"}}};
inline constexpr std::string_view kTerminals = "/dev/pts";

// Written for each sandbox, whatever the host has there.
inline constexpr std::array<std::string_view, 4> kWrittenFiles = {
    "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hostname"};
// The host's own in network mode open, else written too.
inline constexpr std::array<std::string_view, 2> kNetworkFiles = {"/etc/hosts", "/etc/resolv.conf"};

// Password hashes, host keys and the like: what is there of it is masked wherever a grant covers
// it, so that no grant opens one. An ordinary user cannot read most of them; root, and a careless
// mode, can.
inline constexpr auto kMachineSecrets = std::to_array<std::string_view>({
    "/etc/NetworkManager/system-connections",
    "/etc/docker",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/machine-id",
    "/etc/openvpn",
    "/etc/pki/tls/private",
    "/etc/ppp",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
    "/run/secrets",
    "/var/backups",
    "/var/lib/docker",
    "/var/lib/sss",
    "/var/spool/cron",
});
// The one that `path` is or lies in, by name; empty if there is none.
std::string_view machine_secret(std::string_view path);
inline constexpr std::string_view kMachineSecret = "machine secret";

// Programs expect it; without a scratch space it is empty.
inline constexpr std::string_view kEmptyDirectory = "/run";

// Part of the scratch space, where no grant shows the host's.
struct ScratchPlace {
  std::string_view name;
  std::string_view path;
};
inline constexpr std::array<ScratchPlace, 4> kScratchPlaces = {
    {{"tmp", "/tmp"}, {"vartmp", "/var/tmp"}, {"shm", "/dev/shm"}, {"run", "/run"}}};

constexpr bool lists(std::span<const std::string_view> places, std::string_view path) {
  return std::find(places.begin(), places.end(), path) != places.end();
}

// True of what lies in a directory of the system: what commands read there is the host's or
// Cordon's own, and what is written there is changed outside.
bool is_system_place(std::string_view path);
// True if the sandbox has what lies directly below "/" at `path` of its own.
bool is_own(std::string_view path, const HostFacts& facts);
// True if a grant of `granted` shows the host's object at `path`.
bool shows(std::string_view granted, std::string_view path, const HostFacts& facts);

}  // namespace cordon
