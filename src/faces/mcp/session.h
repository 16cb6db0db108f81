// Session: what the server remembers of one client: the version they settled on, the calls in
// flight and the questions it was asked. Safe for concurrent use.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "cordon/runner.h"
#include "faces/mcp/envelope.h"

namespace cordon::mcp {

// The two eras of the protocol. Modern: every request stands alone and names its version in _meta.
// Legacy: a handshake settles a version for the connection.

enum class Era { Legacy, Modern };

inline constexpr std::string_view kModernVersion = "2026-07-28";
// Newest first. 2025-03-26 is left out: it alone obliges a server to take batches.
inline constexpr std::array<std::string_view, 3> kLegacyVersions = {"2025-11-25", "2025-06-18",
                                                                    "2024-11-05"};

namespace meta {
inline constexpr std::string_view kVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
}  // namespace meta

enum class LogLevel { Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency };
std::string_view name_of(LogLevel level);
std::optional<LogLevel> log_level(std::string_view name);

// Client: who stands behind a session, and what goes on for it between its calls. Nobody else sees
// or stops that, and it ends when the client is gone. Safe for concurrent use.
//
// A legacy client over HTTP is whoever brings its session's random id. A modern request has no
// session: the name that it gives stands for the client, and those that give none count as one.

// Something that goes on, such as a process.
class Activity {
 public:
  Activity() = default;
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  virtual ~Activity() = default;
  [[nodiscard]] virtual bool goes_on() const = 0;
  virtual void end() = 0;
};

class Client {
 public:
  // Who it stands for.
  enum class Behind { One, Anybody };

  Client() = default;
  explicit Client(Behind behind) : behind_(behind) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  void began(const std::shared_ptr<Activity>& activity);
  // True while anything goes on.
  [[nodiscard]] bool is_at_work() const;
  // False: requests of several may come from it, and what one of them is let do the others would
  // be.
  [[nodiscard]] bool is_alone() const { return behind_ == Behind::One; }

 private:
  const Behind behind_ = Behind::One;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Activity>> activities_;
};

// One call that a handler works on or that waits for a worker.
struct Flight {
  Cancel cancel;
  std::atomic<bool> withheld = false;  // cancelled: its answer is not sent
};

class Session {
 public:
  // `principal` says who may use what this session was given; `push` takes notifications that
  // belong to no request, and may be null. Sessions that share a `client` see the same processes.
  Session(std::string principal, std::shared_ptr<ResponseSink> push,
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
  std::optional<Node> ask(ResponseSink& sink, std::string_view method, const Node& params,
                          const Flight& flight, std::chrono::milliseconds timeout);
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
  const std::shared_ptr<ResponseSink> push_;
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
