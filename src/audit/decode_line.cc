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
constexpr std::size_t kHash = 17;
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

constexpr std::uint8_t kNoDigit = 0xff;
// What each byte is worth as a lower-case hexadecimal digit.
constexpr auto kDigitOf = [] {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<std::uint8_t, 256> worth{};
  worth.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    worth[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return worth;
}();

std::uint8_t digit_of(char c) { return kDigitOf[static_cast<unsigned char>(c)]; }

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : digit_of(text[i]) == kNoDigit) return false;
  }
  return true;
}

Error odd_key(std::string_view key) {
  return audit_error("\"" + std::string(key) + "\" is not as published", 0);
}

// The members of a line, in the published order.
using Members = std::array<const LineValue*, kRecordKeys.size()>;

// Those of a line that has these keys, in their order, and no other.
template <std::size_t N>
std::optional<Members> members_of(const LineValue& line,
                                  const std::array<std::string_view, N>& keys) {
  if (line.kind != LineValue::Kind::Map) return std::nullopt;
  Members members{};
  std::size_t count = 0;
  for (const LineValue& member : line) {
    if (count == N || member.key != keys[count]) return std::nullopt;
    members[count++] = &member;
  }
  return count == N ? std::optional(members) : std::nullopt;
}

Result<std::string_view> text_at(const Members& members, std::size_t at) {
  const LineValue& value = *members[at];
  if (value.kind != LineValue::Kind::Text || value.text.empty()) {
    return fail(odd_key(kRecordKeys[at]));
  }
  return value.text;
}

Result<std::string_view> text_or_null_at(const Members& members, std::size_t at) {
  if (members[at]->kind == LineValue::Kind::Null) return std::string_view();
  return text_at(members, at);
}

Result<std::uint64_t> number_at(const Members& members, std::size_t at) {
  const LineValue& value = *members[at];
  if (value.kind != LineValue::Kind::Integer || value.number < 0) {
    return fail(odd_key(kRecordKeys[at]));
  }
  return static_cast<std::uint64_t>(value.number);
}

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

Result<void> read_head(const Members& members, Record& record) {
  CORDON_TRY(version, number_at(members, 0));
  if (version != 1) return fail(odd_key("v"));
  CORDON_TRY(seq, number_at(members, 1));
  if (seq == 0) return fail(odd_key("seq"));
  record.seq = seq;
  CORDON_TRY(event_id, text_at(members, 2));
  if (!is_uuid(event_id)) return fail(odd_key("event_id"));
  record.event_id = event_id;
  CORDON_TRY(timestamp, text_at(members, 3));
  const auto moment = parse_moment(timestamp);
  if (!moment) return fail(odd_key("timestamp"));
  record.wall_us = *moment;
  record.timestamp = timestamp;
  CORDON_TRY(boot_id, text_at(members, 4));
  if (!is_uuid(boot_id)) return fail(odd_key("boot_id"));
  record.boot_id = boot_id;
  CORDON_TRY(boot_ms, number_at(members, 5));
  record.boot_ms = boot_ms;
  CORDON_TRY(word, text_at(members, 6));
  const auto phase = phase_named(word);
  if (!phase) return fail(odd_key("phase"));
  record.phase = *phase;
  CORDON_TRY(prev, text_at(members, 7));
  const auto digest = digest_from_hex(prev);
  if (!digest) return fail(odd_key("prev"));
  record.prev = *digest;
  return {};
}

Result<void> read_content(const Members& members, Record& record) {
  CORDON_CHECK(text_or_null_at(members, 8));
  CORDON_TRY(action, text_at(members, 9));
  record.action = action;
  CORDON_TRY(resource, text_or_null_at(members, 10));
  record.resource = resource;
  CORDON_TRY(outcome, text_at(members, 11));
  record.outcome = outcome;
  CORDON_TRY(reason, text_or_null_at(members, 12));
  record.reason = reason;
  if (!outcome_fits(record)) return fail(odd_key("outcome"));
  CORDON_TRY(type, text_at(members, 13));
  if (type != "agent" && type != "delegated-human" && type != "none") {
    return fail(odd_key("attribution_type"));
  }
  CORDON_CHECK(text_at(members, 14));
  record.metadata = members[kMetadata];
  if (record.metadata->kind != LineValue::Kind::Map) return fail(odd_key("metadata"));
  return {};
}

}  // namespace

Result<Record> decode_line(std::string_view line) {
  Record record;
  CORDON_CHECK(decode_line(line, record));
  return record;
}

Result<void> decode_line(std::string_view line, Record& record) {
  record = Record{.json = std::move(record.json)};
  if (line.size() >= kLongestLine) return fail(audit_error("the line is too long", 0));
  // The tail has a fixed form, because the hash is that of the bytes in front of it.
  if (line.size() < kTailLength || !line.ends_with("\"}") ||
      line.substr(line.size() - kTailLength, kBeforeHash.size()) != kBeforeHash) {
    return fail(audit_error("the line does not end with its hash", 0));
  }
  if (!record.json.read(line)) return fail(audit_error("the line is not JSON", 0));
  auto members = members_of(record.json.root(), kRecordKeys);
  const bool has_mac = members.has_value();
  if (!has_mac) members = members_of(record.json.root(), kOlderKeys);
  if (!members) return fail(audit_error("the keys are not as published", 0));
  CORDON_CHECK(read_head(*members, record));
  CORDON_CHECK(read_content(*members, record));
  const auto hash = digest_from_hex(line.substr(line.size() - kHashLength - 2, kHashLength));
  if (!hash) return fail(odd_key("hash"));
  record.hash = (*members)[has_mac ? kHash : kMac]->text;
  const std::string_view hashed = line.substr(0, line.size() - kTailLength);
  if (has_mac) {
    // As fixed as the tail: it is made of the bytes in front of it.
    if (hashed.size() < kMacLength || !hashed.ends_with('"') ||
        hashed.substr(hashed.size() - kMacLength, kBeforeMac.size()) != kBeforeMac) {
      return fail(odd_key("mac"));
    }
    record.mac = digest_from_hex(hashed.substr(hashed.size() - kHashLength - 1, kHashLength));
    if (!record.mac) return fail(odd_key("mac"));
  }
  record.digest = sha256(hashed);
  record.intact = record.digest == *hash;
  return {};
}

bool is_keyed(const Key& key, std::string_view line, const Record& record) {
  return is_keyed(Hmac(key), line, record);
}

bool is_keyed(const Hmac& key, std::string_view line, const Record& record) {
  if (!record.mac || line.size() < kTailLength + kMacLength) return false;
  const Digest expected =
      keyed(key, "line", line.substr(0, line.size() - kTailLength - kMacLength));
  // In time that does not depend on where they differ.
  unsigned difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference |= static_cast<unsigned>(expected[i] ^ (*record.mac)[i]);
  }
  return difference == 0;
}

std::optional<Digest> digest_from_hex(std::string_view text) {
  if (text.size() != kHashLength) return std::nullopt;
  Digest digest{};
  unsigned seen = 0;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const unsigned high = digit_of(text[2 * i]);
    const unsigned low = digit_of(text[2 * i + 1]);
    seen |= high | low;
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return seen < 16 ? std::optional(digest) : std::nullopt;
}

std::optional<std::int64_t> number_in(const LineValue& metadata, std::string_view key) {
  const LineValue* value = metadata.find(key);
  if (value == nullptr || value->kind != LineValue::Kind::Integer) return std::nullopt;
  return value->number;
}

std::optional<std::string_view> text_in(const LineValue& metadata, std::string_view key) {
  const LineValue* value = metadata.find(key);
  if (value == nullptr || value->kind != LineValue::Kind::Text) return std::nullopt;
  return value->text;
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
