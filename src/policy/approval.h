// What a person approved while a server runs, put into a ceiling: never past the ceiling's own
// [ask], and never round what is protected or denied. Nothing that the ceiling permits gets lost.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/cure.h"
#include "policy/effective.h"

namespace cordon {

// One thing that a person approved. It stands beside the ceilings of a call, and of each ceiling
// counts what its [ask] covers: by itself it permits nothing, and no document holds one.
struct Approval {
  enum class Kind { Read, Write, Net };
  std::string id;
  Kind kind = Kind::Read;
  std::string path;  // canonical
  FileId object;     // what was there when it was approved; another one is not meant
  HostRule host;     // of Kind::Net
  bool operator==(const Approval&) const = default;
};

// The path lists of [ask] after the host has resolved them.
struct ResolvedAsk {
  std::vector<Grant> read;
  std::vector<Grant> write;
};

// `place` is an object that was looked at just now. An approval that [ask] covers only in part is
// not taken at all; a closer rule of the ceiling below the place keeps deciding there.
void admit_path(ResolvedCeiling& ceiling, const ResolvedAsk& ask, PathMode wish,
                const Grant& place);
void admit_host(Ceiling& ceiling, const HostRule& host);

// Those that a clamped policy makes use of, each once; one that might be used counts.
std::vector<std::string> approvals_used(std::span<const Approval> approved,
                                        const Effective& effective);

}  // namespace cordon
