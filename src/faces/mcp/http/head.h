// The rules for what stands before the body of an HTTP request, and for the headers that mirror it.
// Values in, verdicts out: nothing here touches a socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "faces/mcp/envelope.h"
#include "faces/mcp/server.h"

namespace cordon::mcp {

struct HttpHead {
  std::string method;
  std::string path;
  std::optional<std::string> host;
  std::optional<std::string> origin;
  std::optional<std::string> authorization;
  std::optional<std::string> content_type;
  std::optional<std::string> content_length;
  std::optional<std::string> accept;
  std::optional<std::string> protocol_version;
  std::optional<std::string> mcp_method;
  std::optional<std::string> mcp_name;
  std::optional<std::string> session;
  bool repeated = false;  // one of these stood there twice
};

// The field of a head that holds this header, any case; null for headers that do not matter.
std::optional<std::string>* field_of(HttpHead& head, std::string_view name);
// Takes one header line: blanks around the value are not part of it.
void add_header(HttpHead& head, std::string_view name, std::string_view value);

struct HttpRules {
  std::optional<std::uint16_t> port;  // absent: a Unix socket, which no web page can reach
  std::string token;
};

struct HttpRefusal {
  unsigned status;
  std::string_view reason;
};
// Judged before a byte of the body is read. The name a browser believes to talk to (Host) and the
// page it comes from (Origin) must be this machine: otherwise any web page could reach the server
// by letting its own name resolve to loopback. The token comes before anything about the protocol.
std::optional<HttpRefusal> check_head(const HttpHead& head, const HttpRules& rules);

// Which era a message over HTTP belongs to.
Wire wire_of(const HttpHead& head, const Envelope& message);
// A modern request repeats its version, method and name in headers, for routers that do not read
// bodies; a difference would let it pass them as something else.
std::optional<RpcError> check_mirrors(const HttpHead& head, const RpcRequest& request);

// Modern clients read the kind of an error from the status as well; legacy ones read the body only
// if the status is 200.
unsigned status_of(Wire wire, std::optional<int> error_code);

}  // namespace cordon::mcp
