#include "faces/mcp/http/head.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "faces/mcp/call.h"

namespace cordon::mcp {
namespace {

constexpr std::string_view kEndpoint = "/mcp";

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower_case(x) == lower_case(y); });
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// "localhost", "127.0.0.1:8080": a loopback name, and our port if it names one.
bool is_this_server(std::string_view authority, std::uint16_t port, bool port_required) {
  for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (authority.size() < name.size() ||
        !same_ignoring_case(authority.substr(0, name.size()), name)) {
      continue;
    }
    const std::string_view rest = authority.substr(name.size());
    if (rest.empty()) return !port_required;
    return rest == ":" + std::to_string(port);
  }
  return false;
}

bool is_trusted_origin(std::string_view origin, std::optional<std::uint16_t> port) {
  constexpr std::string_view kScheme = "http://";
  return port && origin.starts_with(kScheme) &&
         is_this_server(origin.substr(kScheme.size()), *port, *port != 80);
}

bool has_token(const std::optional<std::string>& authorization, const std::string& token) {
  constexpr std::string_view kScheme = "bearer ";
  if (!authorization || authorization->size() != kScheme.size() + token.size()) return false;
  const std::string_view given(*authorization);
  if (!same_ignoring_case(given.substr(0, kScheme.size()), kScheme)) return false;
  // The time it takes must not tell how much of a guess was right.
  return CRYPTO_memcmp(given.data() + kScheme.size(), token.data(), token.size()) == 0;
}

bool names_type(std::string_view list, std::string_view type) {
  for (std::string_view entry : split(list, ',')) {
    if (same_ignoring_case(trimmed(entry.substr(0, entry.find(';'))), type)) return true;
  }
  return false;
}

std::optional<HttpRefusal> check_post(const HttpHead& head) {
  if (!head.content_type || !names_type(*head.content_type, "application/json")) {
    return HttpRefusal{415, "send application/json"};
  }
  if (!head.accept || !names_type(*head.accept, "application/json") ||
      !names_type(*head.accept, "text/event-stream")) {
    return HttpRefusal{406, "accept application/json and text/event-stream"};
  }
  if (head.content_length) {
    const auto length = parse_number(*head.content_length);
    if (!length) return HttpRefusal{400, "malformed Content-Length"};
    if (*length > kMaxMessageBytes) return HttpRefusal{413, "the message is too large"};
  }
  return std::nullopt;
}

// Names that do not fit into a header are sent as =?base64?...?=.
bool mirrors(const std::optional<std::string>& header, const std::string& value) {
  return header && (*header == value || *header == "=?base64?" + base64(value) + "?=");
}

RpcError mismatch(std::string message) {
  return {code::kHeaderMismatch, std::move(message), std::nullopt};
}

const std::string* version_in_body(const RpcRequest& request) {
  const Node* meta = request.params.find("_meta");
  return meta != nullptr ? text_member(*meta, meta::kVersion) : nullptr;
}

}  // namespace

std::optional<std::string>* field_of(HttpHead& head, std::string_view name) {
  using Field = std::optional<std::string> HttpHead::*;
  static constexpr std::array<std::pair<std::string_view, Field>, 10> kFields = {{
      {"host", &HttpHead::host},
      {"origin", &HttpHead::origin},
      {"authorization", &HttpHead::authorization},
      {"content-type", &HttpHead::content_type},
      {"content-length", &HttpHead::content_length},
      {"accept", &HttpHead::accept},
      {"mcp-protocol-version", &HttpHead::protocol_version},
      {"mcp-method", &HttpHead::mcp_method},
      {"mcp-name", &HttpHead::mcp_name},
      {"mcp-session-id", &HttpHead::session},
  }};
  for (const auto& [known, field] : kFields) {
    if (same_ignoring_case(name, known)) return &(head.*field);
  }
  return nullptr;
}

void add_header(HttpHead& head, std::string_view name, std::string_view value) {
  std::optional<std::string>* field = field_of(head, name);
  if (field == nullptr) return;
  if (*field) head.repeated = true;
  *field = std::string(trimmed(value));
}

std::optional<HttpRefusal> check_head(const HttpHead& head, const HttpRules& rules) {
  if (head.repeated) return HttpRefusal{400, "a header stands there twice"};
  if (rules.port && (!head.host || !is_this_server(*head.host, *rules.port, false))) {
    return HttpRefusal{403, "this Host is not served"};
  }
  if (head.origin && !is_trusted_origin(*head.origin, rules.port)) {
    return HttpRefusal{403, "this Origin is not served"};
  }
  if (!has_token(head.authorization, rules.token)) return HttpRefusal{401, "a token is needed"};
  if (head.path != kEndpoint) return HttpRefusal{404, "there is only /mcp"};
  if (head.method == "POST") return check_post(head);
  if (head.method == "DELETE" && head.session) return std::nullopt;
  return HttpRefusal{405, "use POST"};
}

Wire wire_of(const HttpHead& head, const Envelope& message) {
  const auto& version = head.protocol_version;
  const bool legacy_header =
      !version ||
      std::ranges::find(kLegacyVersions, std::string_view(*version)) != kLegacyVersions.end();
  const auto* request = std::get_if<RpcRequest>(&message);
  const bool modern_body = request != nullptr && version_in_body(*request) != nullptr;
  return legacy_header && !modern_body ? Wire::Legacy : Wire::Modern;
}

std::optional<RpcError> check_mirrors(const HttpHead& head, const RpcRequest& request) {
  if (!head.protocol_version) return mismatch("MCP-Protocol-Version is missing");
  const std::string* version = version_in_body(request);
  if (version != nullptr && *version != *head.protocol_version) {
    return mismatch("MCP-Protocol-Version differs from the body");
  }
  if (!head.mcp_method || *head.mcp_method != request.method) {
    return mismatch("Mcp-Method is missing or differs from the body");
  }
  const std::string* name = nullptr;
  if (request.method == "tools/call" || request.method == "prompts/get") {
    name = text_member(request.params, "name");
  } else if (request.method == "resources/read") {
    name = text_member(request.params, "uri");
  }
  if (name != nullptr && !mirrors(head.mcp_name, *name)) {
    return mismatch("Mcp-Name is missing or differs from the body");
  }
  return std::nullopt;
}

unsigned status_of(Wire wire, std::optional<int> error_code) {
  if (!error_code || wire == Wire::Legacy) return 200;
  if (*error_code == code::kMethodNotFound) return 404;
  return *error_code == code::kInternal ? 500 : 400;
}

}  // namespace cordon::mcp
