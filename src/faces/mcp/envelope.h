// Envelope: one JSON-RPC 2.0 message as a value. What is not a message of the protocol becomes a
// Refused with the error its sender is owed; nothing is repaired.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tl/expected.hpp>
#include <variant>

#include "base/fd.h"
#include "config/node.h"

namespace cordon::mcp {

// ResponseSink: where the messages that belong to one request go. Any thread may call it; no call
// waits for the peer.

enum class Weight {
  Droppable,  // progress and log messages: lost when the peer does not read
  Needed,
};

class ResponseSink {
 public:
  ResponseSink() = default;
  ResponseSink(const ResponseSink&) = delete;
  ResponseSink& operator=(const ResponseSink&) = delete;
  virtual ~ResponseSink() = default;

  // A notification, or a question of the server, while the request is open.
  virtual void send(std::string message, Weight weight) = 0;
  // The one response, with its error code if it is an error. Nothing is sent after it.
  virtual void answer(std::string message, std::optional<int> error_code) = 0;
  // The request has ended without a response: it was cancelled.
  virtual void close() = 0;
};

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

// A result, or the error that takes its place.
using Reply = tl::expected<Node, RpcError>;

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
// With its id, if that is known.
Envelope refuse_long_message(std::optional<Id> id);

// Complete messages, on one line, without its end.
std::string encode_result(const Id& id, Node result);
std::string encode_error(const std::optional<Id>& id, const RpcError& error);
std::string encode_request(const std::string& id, std::string_view method, Node params);
std::string encode_notification(std::string_view method, Node params);

// LineWriter: the one writer of a pipe. Whole lines leave in the order they came; the callers never
// wait. What may be lost is dropped when the reader is slow; the rest is bounded by whoever feeds
// the server, who stops taking requests while congested() holds.

class LineWriter final : public ResponseSink {
 public:
  // `changed` is an eventfd that is written when congestion ends or the reader is gone.
  LineWriter(Fd out, int changed);
  ~LineWriter() override;

  void send(std::string message, Weight weight) override;
  void answer(std::string message, std::optional<int> error_code) override;
  void close() override {}  // on a shared pipe a request that was cancelled just stays silent

  [[nodiscard]] bool congested() const;
  [[nodiscard]] bool broken() const;  // the reader is gone
  // True if everything was written in time.
  [[nodiscard]] bool flush(std::chrono::milliseconds timeout);

 private:
  void write_all();
  [[nodiscard]] bool write_line(const std::string& line) const;
  void tell_change() const;

  const Fd out_;
  const int changed_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable empty_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  bool writing_ = false;
  bool broken_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace cordon::mcp
