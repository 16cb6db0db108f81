// The tables that only a ceiling has: [ask], [audit] and [keep] are for the operator to say, never
// for the run.
#include <algorithm>
#include <array>

#include "config/decode.h"
#include "config/node.h"
#include "config/section.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 4> kAskKeys{"read", "write", "net", "expires"};
constexpr std::uint64_t kLongestMs = std::uint64_t{24} * 60 * 60 * 1000;

}  // namespace

Result<AskRules> decode_ask(const Section& document, const std::string& base) {
  CORDON_TRY(section, document.member("ask", kAskKeys));
  AskRules ask;
  CORDON_CHECK(append_paths(section, "read", PathUse::Read, base, ask.read));
  CORDON_CHECK(append_paths(section, "write", PathUse::Write, base, ask.write));
  CORDON_TRY(net, decode_rules(section, "net"));
  ask.net = std::move(net);
  CORDON_TRY(expires, section.duration("expires"));
  if (expires && *expires > kLongestMs) {
    return fail(section.error_at(*section.find("expires"),
                                 section.title("expires") + " is longer than a day",
                                 "write at most 24h: who needs it for good changes the ceiling"));
  }
  ask.expires_ms = expires;
  return ask;
}

namespace {

constexpr std::array<std::string_view, 3> kAuditKeys{"on_failure", "keep_days", "keep_size"};
constexpr std::array<std::string_view, 2> kKeepKeys{"days", "size"};
constexpr std::array kChoices{AuditFailure::Deny, AuditFailure::Buffer, AuditFailure::Warn};

}  // namespace

Result<void> refuse_of_ceilings(const Section& document) {
  for (const char* key : {"audit", "keep", "ask"}) {
    const Node* table = document.find(key);
    if (table == nullptr) continue;
    return fail(document.error_at_key(*table, "[" + std::string(key) + "] is for ceilings only",
                                      "move it to the operator's ceiling"));
  }
  return {};
}

namespace {

Result<AuditFailure> decode_on_failure(const Section& section) {
  CORDON_TRY(word, section.text("on_failure"));
  if (!word) return AuditFailure::Deny;
  std::array<std::string_view, kChoices.size()> names;
  for (std::size_t i = 0; i < kChoices.size(); ++i) {
    names[i] = name_of(kChoices[i]);
    if (*word->text == names[i]) return kChoices[i];
  }
  std::string hint = suggestion(*word->text, names);
  if (hint.empty()) hint = "write deny, buffer or warn";
  return fail(section.error_at(*word->node,
                               "unknown " + section.title("on_failure") + ": " + shown(*word->text),
                               std::move(hint)));
}

}  // namespace

Result<AuditRules> decode_audit(const Section& document) {
  CORDON_TRY(section, document.member("audit", kAuditKeys));
  AuditRules rules;
  CORDON_TRY(on_failure, decode_on_failure(section));
  rules.on_failure = on_failure;
  CORDON_TRY(days, section.count("keep_days"));
  rules.keep.days = days;
  CORDON_TRY(bytes, section.size("keep_size"));
  rules.keep.bytes = bytes;
  return rules;
}

Result<KeepBounds> decode_keep(const Section& document) {
  CORDON_TRY(section, document.member("keep", kKeepKeys));
  CORDON_TRY(days, section.count("days"));
  CORDON_TRY(bytes, section.size("size"));
  return KeepBounds{days, bytes};
}

}  // namespace cordon
