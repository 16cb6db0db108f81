// One line of the log: composed by the writer, decoded by every reader. The hash of a line is the
// SHA-256 of its own bytes before `,"hash":"`, so the chain needs no canonical form of JSON. The
// mac is keyed and made of the bytes before `,"mac":"`: whoever has no key can compute hashes, and
// so write a chain that agrees with itself, but no line of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "audit/record.h"
#include "base/result.h"
#include "base/sha256.h"
#include "config/node.h"

namespace cordon::audit {

// The key of this installation: 32 random bytes in audit/key. Keyed hashes of short values cannot
// be guessed from the log, and differ from one installation to the next.

using Key = std::array<std::uint8_t, 32>;

// HMAC-SHA-256 of `use`, a zero byte and the bytes: a hash made for one use means nothing in
// another.
Digest keyed(const Key& key, std::string_view use, std::string_view bytes);

Result<Key> random_key();
// Reads the 32 bytes of `name`, or makes them, owner-only and durable. `directory` is locked by the
// caller. Refuses a file that is not a regular one of this user alone.
enum class IfMissing { Refuse, Make };
Result<Key> load_key(int directory, const char* name, IfMissing missing);

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

struct Record {
  std::uint64_t seq = 0;
  std::string event_id;
  std::string timestamp;
  std::int64_t wall_us = 0;
  std::string boot_id;
  std::uint64_t boot_ms = 0;
  Phase phase = Phase::Note;
  std::string prev;  // hexadecimal
  std::string action;
  std::string resource;  // empty: null
  std::string outcome;   // "pending", "success", "failure"
  std::string reason;    // empty: null
  Node metadata;
  std::string hash;     // as written
  bool intact = false;  // the hash is that of the bytes
  Digest digest{};      // of the bytes
  std::string mac;      // as written; empty in lines of releases that wrote none
};

// Whether the line was written with this key. `record` is what it was decoded to.
bool is_keyed(const Key& key, std::string_view line, const Record& record);

// `line` without its newline. An error says what is not as published; a wrong hash is none.
Result<Record> decode_line(std::string_view line);

std::optional<Digest> digest_from_hex(std::string_view text);

// A number or text of the metadata; nothing if it is absent or null.
std::optional<std::int64_t> number_in(const Node& metadata, std::string_view key);
std::optional<std::string> text_in(const Node& metadata, std::string_view key);

// A random UUID of version 7: its order is that of time.
Result<std::string> new_event_id(std::int64_t wall_us);

}  // namespace cordon::audit
