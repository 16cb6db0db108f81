// HostSettings: what of this host decides whether namespaces may be made, and what a cure for their
// refusal is called here. Read from /proc and os-release; nothing is tried.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "policy/host_facts.h"

namespace cordon {

struct HostSettings {
  std::string distribution;  // ID of os-release: "debian"
  std::string family;        // ID_LIKE
  std::string pretty_name;
  std::map<std::string, std::uint64_t> sysctls;  // the ones that bear on namespaces, if present
  bool in_container = false;
  std::string container_sign;  // what tells so: "/.dockerenv"; a machine can have one left over
  bool in_chroot = false;      // as far as /proc tells
  bool filtered = false;       // a seccomp filter is already on this process
  std::uint32_t uid = 0;
  bool may_map_root = true;  // root without CAP_SETFCAP cannot be mapped into a user namespace
};

HostSettings host_settings();

// A sign that namespaces may be refused: a sysctl that refuses them to this caller, or a filter on
// this process. Four short reads and no process, so that every run can ask. No sign proves nothing
// (a chroot leaves none), and neither does a sign: whoever sees one has to try.
bool suspects_no_namespaces();

// "sudo apt install bubblewrap": how this distribution installs a package.
std::string install_line(const HostSettings& settings, const std::string& package);

// A cordon that was started inside a Cordon sandbox. No sandbox can be made there, and each call
// that would be needed fails in a way of its own; the reason is the same for all of them.

// True inside a sandbox of Cordon's. The filter there answers openat2 with ENOSYS, and the host
// name, or the private directories of the backend `landlock`, are those that only Cordon gives. A
// sign is needed beside the filter's answer, since other sandboxes refuse openat2 too.
bool is_inside_cordon(const Caller& caller);

Result<void> refuse_nesting(const Caller& caller);

}  // namespace cordon
