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
#include "config/json_line.h"
#include "config/node.h"

namespace cordon::audit {

// Its texts are those of `json`, which holds them for as long as the record is there.
struct Record {
  std::uint64_t seq = 0;
  std::string_view event_id;
  std::string_view timestamp;
  std::int64_t wall_us = 0;
  std::string_view boot_id;
  std::uint64_t boot_ms = 0;
  Phase phase = Phase::Note;
  Digest prev{};
  std::string_view action;
  std::string_view resource;  // empty: null
  std::string_view outcome;   // "pending", "success", "failure"
  std::string_view reason;    // empty: null
  const LineValue* metadata = nullptr;
  std::string_view hash;      // as written
  bool intact = false;        // the hash is that of the bytes
  Digest digest{};            // of the bytes
  std::optional<Digest> mac;  // as written; nothing in lines of releases that wrote none
  JsonLine json;
};

// Whether the line was written with this key. `record` is what it was decoded to.
bool is_keyed(const Key& key, std::string_view line, const Record& record);
bool is_keyed(const Hmac& key, std::string_view line, const Record& record);

// `line` without its newline. An error says what is not as published; a wrong hash is none.
Result<Record> decode_line(std::string_view line);
// The same, with the memory of a record that is not needed any more.
Result<void> decode_line(std::string_view line, Record& record);

std::optional<Digest> digest_from_hex(std::string_view text);

// A number or text of the metadata; nothing if it is absent or null.
std::optional<std::int64_t> number_in(const LineValue& metadata, std::string_view key);
std::optional<std::string_view> text_in(const LineValue& metadata, std::string_view key);
// The same of a document.
std::optional<std::int64_t> number_in(const Node& metadata, std::string_view key);
std::optional<std::string> text_in(const Node& metadata, std::string_view key);

}  // namespace cordon::audit
