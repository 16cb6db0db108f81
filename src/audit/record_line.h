// One line of the log as the writer composes it. The hash of a line is the
// SHA-256 of its own bytes before `,"hash":"`, so the chain needs no canonical form of JSON. The
// mac is keyed and made of the bytes before `,"mac":"`: whoever has no key can compute hashes, and
// so write a chain that agrees with itself, but no line of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "audit/key.h"
#include "audit/record.h"
#include "base/result.h"
#include "base/sha256.h"
#include "config/node.h"

namespace cordon::audit {

inline constexpr std::size_t kLongestLine = std::size_t{64} * 1024;  // with its newline

// The part that does not depend on where in the chain the record lands: made outside of the lock.
struct Body {
  Phase phase = Phase::Note;
  std::string event_id;
  std::int64_t wall_us = 0;
  std::uint64_t boot_ms = 0;
  std::string members;  // the JSON members behind "prev", without braces
};

// Which process wrote a pending record: what recovery asks the kernel about. A process that started
// after `boot_ms` of the record is another one under a reused number.
struct Writer {
  std::string boot_id;
  std::uint64_t pid = 0;
  std::uint64_t pid_namespace = 0;
  bool operator==(const Writer&) const = default;
};

std::string pending_members(const Pending& pending, const Writer& writer);
// `of` is the pending record that is closed; a refusal without one carries what was asked for.
std::string closing_members(const Receipt& of, const Closing& closing);
std::string refusal_members(const Pending& pending, const Closing& closing);
std::string note_members(std::string_view action, Node metadata);

struct Link {
  std::uint64_t seq = 0;
  Digest hash{};  // zeros before the first record
  bool operator==(const Link&) const = default;
};

struct Composed {
  std::string line;  // with its newline
  Digest hash{};
};
Composed compose(const Body& body, const Link& previous, std::uint64_t seq,
                 std::string_view boot_id, const Key& key);

// A random UUID of version 7: its order is that of time.
Result<std::string> new_event_id(std::int64_t wall_us);

}  // namespace cordon::audit
