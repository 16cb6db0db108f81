// decide: the verdict of an effective policy on one access, with the rule that decides. Used by
// `cordon policy explain`; the kernel decides for real.
#pragma once

#include <span>
#include <string>
#include <string_view>

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
};

// True if what is inside at `lexical` (absolute and normal, symlinks not followed) is the sandbox's
// own, so that symlinks and processes of the host say nothing about it.
bool is_of_sandbox(const Clamped& clamped, const HostFacts& facts, std::string_view lexical);
// `path` is canonical, or of the sandbox; one that does not exist yet is judged by its nearest
// parent.
Verdict decide(const Clamped& clamped, const HostFacts& facts, const Caller& caller, Access access,
               std::string_view path);
// `host` is a name or an address literal; `own` are the addresses of this host.
Verdict decide_connect(const NetRules& net, std::string_view host, std::uint16_t port,
                       std::span<const Address> own);

}  // namespace cordon
