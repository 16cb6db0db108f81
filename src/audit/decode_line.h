// One line of the log as a reader sees it. It is decoded by the same rules whoever wrote it, so
// what is not as published is found here and nowhere later.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/key.h"
#include "audit/record_line.h"
#include "base/result.h"
#include "base/sha256.h"
#include "config/node.h"

namespace cordon::audit {

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

}  // namespace cordon::audit
