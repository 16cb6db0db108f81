// Envelope: one JSON-RPC 2.0 message as a value. What is not a message of the protocol becomes a
// Refused with the error its sender is owed; nothing is repaired.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>

#include "config/node.h"

namespace cordon::mcp {

inline constexpr std::size_t kMaxMessageBytes = std::size_t{8} << 20U;
inline constexpr MessageBounds kMessageBounds{kMaxMessageBytes, 200'000};

// 1 and "1" are two ids.
using Id = std::variant<std::int64_t, std::string>;

namespace code {
inline constexpr int kParse = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternal = -32603;
inline constexpr int kLegacyResourceNotFound = -32002;
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;
}  // namespace code

struct RpcError {
  int code = code::kInternal;
  std::string message;
  std::optional<Node> data;
};

// For a request whose parameters are not as the protocol asks.
tl::unexpected<RpcError> bad_params(std::string message);

struct RpcRequest {
  Id id;
  std::string method;
  Node params;  // a map
};
struct Notification {
  std::string method;
  Node params;  // a map; an empty one if what was sent is none
};
struct Response {
  Id id;
  std::optional<Node> result;  // absent: the peer answered with an error
};
struct Refused {
  std::optional<Id> id;  // absent: the sender's id cannot be told
  RpcError error;
};
using Envelope = std::variant<RpcRequest, Notification, Response, Refused>;

Envelope decode_envelope(std::string_view text);
Envelope refuse_long_message();

// Complete messages, on one line, without its end.
std::string encode_result(const Id& id, Node result);
std::string encode_error(const std::optional<Id>& id, const RpcError& error);
std::string encode_request(const std::string& id, std::string_view method, Node params);
std::string encode_notification(std::string_view method, Node params);

}  // namespace cordon::mcp
