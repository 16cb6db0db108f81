// Proposals: what of the accesses that a watched run was refused a policy could grant, as small as
// it can be said in few lines. Pure.
//
// Everything in it was chosen by the contained program: it can ask for whatever it wants by
// touching it. So nothing is granted here; a person reads the lines, and every ceiling still
// counts. Never proposed: a credential, what a ceiling does not permit, what a policy denies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cordon/outcome.h"
#include "policy/host_facts.h"

namespace cordon {

struct Proposal {
  enum class Kind { Read, Write, Host };
  Kind kind = Kind::Read;
  std::string value;         // an absolute path, or HOST:PORT
  std::uint64_t count = 0;   // how often it, or something below it, was asked for
  bool only_looked = false;  // whether it is there was asked, and never more
  bool operator==(const Proposal&) const = default;
};

// What no line can grant, and why.
struct LeftOut {
  std::string what;  // "read /home/u/.ssh/id_ed25519"
  std::string why;
  bool operator==(const LeftOut&) const = default;
};

struct Proposals {
  std::vector<Proposal> granted;  // reads, then writes, then hosts
  std::vector<LeftOut> left_out;
};

// Several files of one directory become the directory, as long as that is a directory of one
// program or project: never a home, nor what lies directly below it, and none that could hold a
// credential. Writes stay as they were asked for.
Proposals propose(const std::vector<Denial>& denials, const Caller& caller);

// What may be written may be read, and a line that lets the same path be read would take the
// writing away: true if `read` is of no use beside these.
bool is_covered_by_write(const Proposal& read, const std::vector<Proposal>& granted);

// As the value of a policy: below the home with a tilde.
std::string policy_value(const Proposal& proposal, const Caller& caller);

}  // namespace cordon
