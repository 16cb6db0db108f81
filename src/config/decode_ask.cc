#include <array>

#include "config/decode.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 4> kAskKeys{"read", "write", "net", "expires"};
constexpr std::uint64_t kLongestMs = std::uint64_t{24} * 60 * 60 * 1000;

}  // namespace

// What may be asked for beyond a ceiling is for the operator to say, never for the run.
Result<void> refuse_ask(const Section& document) {
  const Node* ask = document.find("ask");
  if (ask == nullptr) return {};
  return fail(document.error_at_key(*ask, "[ask] is for ceilings only",
                                    "move it to the operator's ceiling"));
}

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

}  // namespace cordon
