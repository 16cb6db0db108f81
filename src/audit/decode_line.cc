#include "audit/decode_line.h"

#include <algorithm>
#include <array>
#include <limits>

namespace cordon::audit {
namespace {

constexpr std::array<std::string_view, 18> kRecordKeys{
    "v",        "seq",     "event_id", "timestamp",        "boot_id",
    "boot_ms",  "phase",   "prev",     "agent_id",         "action",
    "resource", "outcome", "reason",   "attribution_type", "attribution_layer",
    "metadata", "mac",     "hash"};
constexpr std::size_t kMetadata = 15;
constexpr std::size_t kMac = 16;
// Releases before the mac wrote all the others.
constexpr auto kOlderKeys = [] {
  std::array<std::string_view, kRecordKeys.size() - 1> keys;
  std::ranges::copy_if(kRecordKeys, keys.begin(),
                       [](std::string_view key) { return key != kRecordKeys[kMac]; });
  return keys;
}();
constexpr std::string_view kBeforeMac = ",\"mac\":\"";
constexpr std::string_view kBeforeHash = ",\"hash\":\"";
constexpr std::size_t kHashLength = 64;
constexpr std::size_t kTailLength = kBeforeHash.size() + kHashLength + 2;
constexpr std::size_t kMacLength = kBeforeMac.size() + kHashLength + 1;

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_hex(std::string_view text, std::size_t length) {
  return text.size() == length && std::ranges::all_of(text, is_hex_digit);
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex_digit(text[i])) return false;
  }
  return true;
}

Error odd_key(std::string_view key) {
  return audit_error("\"" + std::string(key) + "\" is not as published", 0);
}

// The members of a line, looked at in the published order. Each text is taken out.
class Members {
 public:
  explicit Members(NodeMap& map) : map_(map) {}

  Result<std::string> text(std::size_t at) {
    auto* found = std::get_if<std::string>(&map_[at].second.value);
    if (found == nullptr || found->empty()) return fail(odd_key(kRecordKeys[at]));
    return std::move(*found);
  }
  Result<std::string> text_or_null(std::size_t at) {
    if (std::holds_alternative<std::nullptr_t>(map_[at].second.value)) return std::string();
    return text(at);
  }
  Result<std::uint64_t> number(std::size_t at) const {
    const auto* found = std::get_if<std::int64_t>(&map_[at].second.value);
    if (found == nullptr || *found < 0) return fail(odd_key(kRecordKeys[at]));
    return static_cast<std::uint64_t>(*found);
  }
  Node& node(std::size_t at) { return map_[at].second; }

 private:
  NodeMap& map_;
};

bool outcome_fits(const Record& record) {
  switch (record.phase) {
    case Phase::Pending:
      return record.outcome == "pending" && record.reason.empty();
    case Phase::Note:
      return record.outcome == "success" && record.reason.empty();
    case Phase::Closing:
      return record.outcome == "success"
                 ? record.reason.empty()
                 : record.outcome == "failure" && ending_with_reason(record.reason).has_value();
  }
  return false;
}

Result<void> read_head(Members& members, Record& record) {
  CORDON_TRY(version, members.number(0));
  if (version != 1) return fail(odd_key("v"));
  CORDON_TRY(seq, members.number(1));
  if (seq == 0) return fail(odd_key("seq"));
  record.seq = seq;
  CORDON_TRY(event_id, members.text(2));
  if (!is_uuid(event_id)) return fail(odd_key("event_id"));
  record.event_id = std::move(event_id);
  CORDON_TRY(timestamp, members.text(3));
  const auto moment = parse_moment(timestamp);
  if (!moment) return fail(odd_key("timestamp"));
  record.wall_us = *moment;
  record.timestamp = std::move(timestamp);
  CORDON_TRY(boot_id, members.text(4));
  if (!is_uuid(boot_id)) return fail(odd_key("boot_id"));
  record.boot_id = std::move(boot_id);
  CORDON_TRY(boot_ms, members.number(5));
  record.boot_ms = boot_ms;
  CORDON_TRY(word, members.text(6));
  const auto phase = phase_named(word);
  if (!phase) return fail(odd_key("phase"));
  record.phase = *phase;
  CORDON_TRY(prev, members.text(7));
  if (!is_hex(prev, kHashLength)) return fail(odd_key("prev"));
  record.prev = std::move(prev);
  return {};
}

Result<void> read_content(Members& members, Record& record) {
  CORDON_CHECK(members.text_or_null(8));
  CORDON_TRY(action, members.text(9));
  record.action = std::move(action);
  CORDON_TRY(resource, members.text_or_null(10));
  record.resource = std::move(resource);
  CORDON_TRY(outcome, members.text(11));
  record.outcome = std::move(outcome);
  CORDON_TRY(reason, members.text_or_null(12));
  record.reason = std::move(reason);
  if (!outcome_fits(record)) return fail(odd_key("outcome"));
  CORDON_TRY(type, members.text(13));
  if (type != "agent" && type != "delegated-human" && type != "none") {
    return fail(odd_key("attribution_type"));
  }
  CORDON_CHECK(members.text(14));
  Node& metadata = members.node(kMetadata);
  if (metadata.map() == nullptr) return fail(odd_key("metadata"));
  record.metadata = std::move(metadata);
  return {};
}

}  // namespace

Result<Record> decode_line(std::string_view line) {
  if (line.size() >= kLongestLine) return fail(audit_error("the line is too long", 0));
  // The tail has a fixed form, because the hash is that of the bytes in front of it.
  if (line.size() < kTailLength || !line.ends_with("\"}") ||
      line.substr(line.size() - kTailLength, kBeforeHash.size()) != kBeforeHash) {
    return fail(audit_error("the line does not end with its hash", 0));
  }
  std::optional<Node> read = read_json_line(line);
  if (!read) return fail(audit_error("the line is not JSON", 0));
  NodeMap* map = std::get_if<NodeMap>(&read->value);
  const auto has_keys = [&](const auto& keys) {
    return map != nullptr && std::ranges::equal(*map, keys, {}, &NodeMap::value_type::first);
  };
  const bool has_mac = has_keys(kRecordKeys);
  if (!has_mac && !has_keys(kOlderKeys)) {
    return fail(audit_error("the keys are not as published", 0));
  }
  Members members(*map);
  Record record;
  CORDON_CHECK(read_head(members, record));
  CORDON_CHECK(read_content(members, record));
  record.hash = std::string(line.substr(line.size() - kHashLength - 2, kHashLength));
  if (!is_hex(record.hash, kHashLength)) return fail(odd_key("hash"));
  const std::string_view hashed = line.substr(0, line.size() - kTailLength);
  if (has_mac) {
    // As fixed as the tail: it is made of the bytes in front of it.
    if (hashed.size() < kMacLength || !hashed.ends_with('"') ||
        hashed.substr(hashed.size() - kMacLength, kBeforeMac.size()) != kBeforeMac) {
      return fail(odd_key("mac"));
    }
    record.mac = std::string(hashed.substr(hashed.size() - kHashLength - 1, kHashLength));
    if (!is_hex(record.mac, kHashLength)) return fail(odd_key("mac"));
  }
  record.digest = sha256(hashed);
  record.intact = to_hex(record.digest) == record.hash;
  return record;
}

bool is_keyed(const Key& key, std::string_view line, const Record& record) {
  const auto mac = digest_from_hex(record.mac);
  if (!mac || line.size() < kTailLength + kMacLength) return false;
  const Digest expected =
      keyed(key, "line", line.substr(0, line.size() - kTailLength - kMacLength));
  // In time that does not depend on where they differ.
  unsigned difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference |= static_cast<unsigned>(expected[i] ^ (*mac)[i]);
  }
  return difference == 0;
}

std::optional<Digest> digest_from_hex(std::string_view text) {
  if (!is_hex(text, kHashLength)) return std::nullopt;
  const auto value = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(value(text[2 * i]) * 16 + value(text[2 * i + 1]));
  }
  return digest;
}

std::optional<std::int64_t> number_in(const Node& metadata, std::string_view key) {
  const Node* node = metadata.find(key);
  const auto* number = node == nullptr ? nullptr : std::get_if<std::int64_t>(&node->value);
  if (number == nullptr) return std::nullopt;
  return *number;
}

std::optional<std::string> text_in(const Node& metadata, std::string_view key) {
  const Node* node = metadata.find(key);
  if (node == nullptr || node->text() == nullptr) return std::nullopt;
  return *node->text();
}

}  // namespace cordon::audit
