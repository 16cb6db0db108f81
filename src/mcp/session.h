// Session: what the server remembers of one client: the version they settled on, the calls in
// flight and the questions it was asked. Safe for concurrent use.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/fd.h"
#include "cordon/runner.h"
#include "mcp/client.h"
#include "mcp/envelope.h"
#include "mcp/era.h"
#include "mcp/outlet.h"

namespace cordon::mcp {

// One call that a handler works on or that waits for a worker.
struct Flight {
  Cancel cancel;
  std::atomic<bool> withheld = false;  // cancelled: its answer is not sent
};

class Session {
 public:
  // `principal` says who may use what this session was given; `push` takes notifications that
  // belong to no request, and may be null. Sessions that share a `client` see the same processes.
  Session(std::string principal, std::shared_ptr<Outlet> push,
          std::shared_ptr<Client> client = std::make_shared<Client>());

  [[nodiscard]] const std::string& principal() const { return principal_; }
  [[nodiscard]] const std::shared_ptr<Client>& client() const { return client_; }

  // The legacy handshake. A second one is refused while calls are in flight.
  [[nodiscard]] bool negotiate(std::string version, Node capabilities);
  [[nodiscard]] std::optional<std::string> version() const;
  [[nodiscard]] Node capabilities() const;

  enum class Refusal { DuplicateId, TooMany };
  tl::expected<std::shared_ptr<Flight>, Refusal> enter(const Id& id, std::size_t limit);
  // Ends a flight; true if its answer is owed. A cancellation that comes later finds nothing, so
  // there is exactly one of answer and silence.
  [[nodiscard]] bool leave(const Id& id, const Flight& flight);
  void cancel(const Id& id);
  void cancel_all();
  [[nodiscard]] bool idle() const;

  // Sends a request to the client and waits for its result. Nothing: it answered with an error,
  // did not answer in time, or the call was cancelled; in the last two cases it is told so.
  std::optional<Node> ask(Outlet& outlet, std::string_view method, const Node& params,
                          const Flight& flight, std::chrono::milliseconds patience);
  void take_response(const Response& response);  // stray and late ones are dropped

  void set_log_level(LogLevel level);
  [[nodiscard]] std::optional<LogLevel> log_level() const;

  // False: too many subscriptions.
  [[nodiscard]] bool subscribe(const std::string& uri);
  void unsubscribe(const std::string& uri);
  void push_if_subscribed(const std::string& uri, const std::string& message) const;

 private:
  struct Question {
    Fd answered;
    bool done = false;
    std::optional<Node> result;  // absent: an error
  };

  const std::string principal_;
  const std::shared_ptr<Outlet> push_;
  const std::shared_ptr<Client> client_;
  mutable std::mutex mutex_;
  std::optional<std::string> version_;
  Node capabilities_{NodeMap{}};
  std::map<Id, std::shared_ptr<Flight>> flights_;
  std::map<Id, std::shared_ptr<Question>> questions_;
  std::uint64_t asked_ = 0;
  std::optional<LogLevel> log_level_;
  std::set<std::string> subscriptions_;
};

}  // namespace cordon::mcp
