// A head as a client can send it, up to what would be sent on: whatever is accepted can be read in
// one way only. What goes on is written anew, and read again it is the same request for the same
// path.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "gate/process/request_rules.h"
#include "gate/process/secrets.h"
#include "require_that.h"
#include "web/message_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace cordon;

gate::CompiledRule fuzzed_rule() {
  gate::Rule rule;
  rule.id = "api";
  rule.host = "api.example.com";
  rule.allow = {{"*", "/v1/**"}};
  rule.deny = {{"*", "/v1/admin/**"}};
  rule.websocket = true;
  rule.secret = "key";
  return gate::compile(rule).value();
}

bool is_mark(char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); }

void require_one_reading(const gate::Judged& judged) {
  require_that(is_request_method(judged.method));
  require_that(judged.path.starts_with("/v1") && judged.target.starts_with(judged.path));
  require_that(!(lower_case(judged.path) + "/").starts_with("/v1/admin/"));
  std::string head = judged.method + " " + judged.target + " HTTP/1.1\r\nHost: api.example.com\r\n";
  for (const gate::Field& field : judged.fields) {
    // Also for a program that is given it as a variable.
    std::string read = lower_case(field.name);
    for (char& c : read)
      if (is_mark(c)) c = '-';
    for (const char* name :
         {"host", "content-length", "transfer-encoding", "connection", "upgrade", "authorization",
          "x-api-key", "cookie", "x-http-method-override", "x-forwarded-host"})
      require_that(read != name);
    head += field.name + ": " + field.value + "\r\n";
  }
  head += "\r\n";
  require_that(gate::head_size(head) == head.size() && !gate::ambiguity_of(head));
  gate::MessageReader again(gate::MessageReader::Of::Request);
  const auto step = again.put(head);
  require_that(!step.fault && again.is_whole() && again.framing() == gate::Framing::None);
  require_that(again.head().target == judged.target &&
               again.head().fields.size() == judged.fields.size() + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gate::CompiledRule rule = fuzzed_rule();
  static const std::vector<gate::KnownPlaceholder> placeholders = {
      {"key", "authorization", "cordon-placeholder-1"}};
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto end = gate::head_size(bytes);
  if (!end || *end > gate::kMostHead || gate::ambiguity_of(bytes.substr(0, *end))) return 0;
  gate::MessageReader request(gate::MessageReader::Of::Request);
  if (request.put(bytes.substr(0, *end)).fault || !request.has_head()) return 0;
  bytes.remove_prefix(*end);
  gate::Judged judged;
  for (const auto mode : {gate::ClientMode::Plain, gate::ClientMode::Tls})
    if (!gate::judge(request, rule, mode, placeholders, judged)) require_one_reading(judged);
  // The body, and what a server that echoes it all would show.
  gate::EchoMask mask({"sk-live-0123456789"});
  std::string shown;
  while (!request.is_whole()) {
    const auto step = request.put(bytes);
    if (step.fault || step.consumed == 0) break;
    shown += mask.pass(step.piece);
    bytes.remove_prefix(step.consumed);
  }
  shown += mask.finish();
  require_that(shown.find("sk-live-0123456789") == std::string::npos);
  return 0;
}
