// A Seatbelt profile from an effective policy. Unproven: no profile made here was ever loaded by
// macOS; tests ask an evaluator of the generated subset and compare it with `decide`.
//
// A profile holds files and the network. Limits, the environment, private space and the end of the
// process tree are not its matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/clamp.h"
#include "policy/host_facts.h"

namespace cordon::seatbelt {

// The language of Seatbelt profiles (SBPL): strings that cannot end early, paths as the kernel of
// macOS sees them, patterns as regular expressions.

// `text` as a string literal. Refuses control bytes, which no literal can hold safely.
Result<std::string> quoted(std::string_view text);

// /etc, /tmp and /var are links into /private there, and the kernel judges what they lead to.
std::string real_path(std::string_view path);

// A regular expression literal that matches what the glob matches below `anchor`, and everything
// below that. Where it cannot be exact it matches more: it is for denies alone.
Result<std::string> deny_regex(std::string_view anchor, std::string_view glob);

enum class Style {
  DenyDefault,   // nothing but what is granted
  AllowDefault,  // everything but writing outside the grants: for whole agents
};

struct Profile {
  std::string text;
  std::vector<std::string> warnings;  // grants that the system itself makes ineffective
};

// Refuses what a profile cannot hold: lists of hosts in either style; in AllowDefault any policy
// that does not grant the whole disk for reading and the whole network.
// `own` are writable whatever is denied above them: the private places of the run.
Result<Profile> make_profile(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                             const std::vector<std::string>& own, Style style);

// AllowDefault for an agent, where it can hold the policy. It leaves the system's services open,
// the keychain's among them, so a policy that is merely broad does not get it.
Style style_for(const Effective& effective);

// `text` with its one `token` replaced. None, or more than one, is an error: a profile with a grant
// in the wrong place is worse than none.
Result<std::string> fill_token(std::string text, std::string_view token, std::string_view value);

}  // namespace cordon::seatbelt
