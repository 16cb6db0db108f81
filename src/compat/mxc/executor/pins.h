// Pins: which executor an operator trusts, by its digest. They are the operator's data
// (pins.toml beside the ceilings), never the program's: Cordon only reads them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/host_facts.h"

namespace cordon::mxc {

struct Pin {
  std::string sha256;   // 64 lower-case digits
  std::string version;  // of the executor: "0.8.0"
  std::string commit;   // of its source; empty: not known
  std::string origin;   // where it came from, in the operator's words; empty: not said
  bool operator==(const Pin&) const = default;

  // All zeros stand for "not pinned yet" and match nothing.
  [[nodiscard]] bool is_zero() const;
};

struct Pins {
  std::string file;                // where they were read from; empty: there is no such file
  std::map<std::string, Pin> pin;  // by "linux-arm64"
};

// The decoding alone. Unknown keys, malformed digests and missing versions are errors with their
// place.
Result<Pins> parse_pins(std::string_view text, const std::string& file);

// The system's file if there is one, else the caller's own. It and the directories above it belong
// to root or the caller, and nobody else may write them.
Result<Pins> read_pins(const Caller& caller);
// Where an operator would write them: the caller's own file.
std::string pins_path(const Caller& caller);

// The pin of this host; Unavailable if there is none, with another text for one of zeros.
Result<Pin> pin_for(const Pins& pins, const std::string& key, const Caller& caller);

// An error of kind Untrusted.
Error untrusted(std::string what, std::string hint);

// Refuses a path that others than root and the caller could change: by its own owner and mode, or
// by those of a directory on the way. Kind Untrusted.
Result<void> check_way(const std::string& path, const Caller& caller);

}  // namespace cordon::mxc
