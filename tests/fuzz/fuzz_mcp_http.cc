// An HTTP request as the library hands it over: header lines, an empty line, a body. No head passes
// without the token and a loopback host, and no modern request without its mirrors.
#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "faces/mcp/http/head.h"
#include "faces/mcp/http/listener.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  using namespace cordon::mcp;
  const HttpRules rules{std::uint16_t{8080}, "0123456789abcdef0123456789abcdef"};
  const std::string text(data, data + size);
  HttpHead head;
  head.method = "POST";
  head.path = "/mcp";
  std::string_view rest(text);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    add_header(head, line.substr(0, colon), line.substr(colon + 1));
  }
  if (!check_head(head, rules)) {
    require_that(head.authorization && head.authorization->ends_with(rules.token));
    require_that(head.host && (head.host->starts_with("127.0.0.1") || head.host->starts_with("[") ||
                               (head.host->front() | 0x20) == 'l'));
    require_that(!head.repeated);
  }
  const Envelope message = decode_envelope(rest);
  const Wire wire = wire_of(head, message);
  require_that(wire != Wire::Either);
  if (const auto* request = std::get_if<RpcRequest>(&message)) {
    if (!check_mirrors(head, *request)) {
      require_that(head.mcp_method == request->method && head.protocol_version.has_value());
    }
  }
  const auto address = parse_http_address(rest);
  if (address && address->kind == HttpAddress::Kind::Unix) {
    require_that(address->path.starts_with('/'));
  }
  return 0;
}
