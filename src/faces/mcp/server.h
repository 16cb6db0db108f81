// Server: answers the messages of any number of sessions from one registry. Lists and handshakes
// are answered by the thread that brings the message, and start nothing; handlers run on workers.
// Safe for concurrent use.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/node.h"
#include "faces/mcp/call.h"
#include "faces/mcp/envelope.h"
#include "faces/mcp/registry.h"
#include "faces/mcp/session.h"

namespace cordon::mcp {

// OpenQuestions: what the server must remember while a modern client finds out an answer. The
// client is given a random token, the "requestState", and sends it back with the answers in a new
// request. The state itself stays here, so there is nothing in the token to forge or to read. It is
// good once, for the same person, the same call and the same arguments, for two minutes.

struct OpenQuestion {
  std::string principal;
  std::string subject;  // method and name of what was called
  std::string arguments_digest;
  std::vector<std::string> keys;  // the questions that were asked
  NodeMap answers;                // what earlier rounds brought
};

// Equal for equal arguments, whatever the order of members.
std::string digest_of(const Node& arguments);

class OpenQuestions {
 public:
  // Nothing: the answers so far are too large to be kept, or the system gives no random bytes. When
  // too many are open the oldest is forgotten.
  std::optional<std::string> keep(OpenQuestion question);
  // Nothing: unknown, used, expired, or asked by or about something else.
  std::optional<OpenQuestion> take(std::string_view token, std::string_view principal,
                                   std::string_view subject, std::string_view arguments_digest);

 private:
  struct Entry {
    std::string token;
    std::chrono::steady_clock::time_point expires;
    OpenQuestion question;
  };

  std::mutex mutex_;
  std::deque<Entry> entries_;  // oldest first
};

// 256 random bits in hexadecimal digits; nothing if the system gives none.
std::optional<std::string> random_token();

// WorkerPool: a bounded number of threads and a bounded queue before them. Threads are started when
// work comes, so a server that is only asked for its lists has none.

class WorkerPool {
 public:
  WorkerPool(std::size_t threads, std::size_t queue);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();  // waits for all work

  // False: the queue is full, or the pool was stopped.
  [[nodiscard]] bool submit(std::function<void()> work);
  // Takes no more work and drops what has not begun. True if all that had begun ended in time.
  [[nodiscard]] bool stop(std::chrono::milliseconds deadlines);

 private:
  void work();
  void start_thread();

  const std::size_t max_threads_;
  const std::size_t max_queue_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable quiet_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  std::size_t busy_ = 0;
  bool stopped_ = false;
};

struct ServerInfo {
  std::string name;
  std::string title;
  std::string version;
  std::string instructions;  // clients cut them at 2 KB
};

struct ServerLimits {
  std::size_t workers = 8;
  std::size_t lasting_workers = 8;  // of calls that may last
  std::size_t queued_calls = 256;
  std::size_t calls_in_flight = 64;                    // of one session, waiting ones included
  std::size_t page = 100;                              // entries of a list
  std::chrono::milliseconds answer_patience{120'000};  // for a question to a legacy client
};

// What the transport knows about the era of a message.
enum class Wire {
  Either,  // the message itself tells
  Legacy,
  Modern,
};

// A result, or the error that takes its place.
using Reply = tl::expected<Node, RpcError>;

// One request on its way through the server.
struct Exchange {
  std::shared_ptr<Session> session;
  std::shared_ptr<ResponseSink> sink;
  RpcRequest request;
  Era era = Era::Legacy;
  Node client_capabilities;
  Node meta;  // a map, or null
};

class Server {
 public:
  Server(ServerInfo info, Registry registry, ServerLimits limits);

  // `push` takes what belongs to no request; null if the transport has no place for it.
  std::shared_ptr<Session> open_session(std::string principal, std::shared_ptr<ResponseSink> push,
                                        std::shared_ptr<Client> client);
  void accept(const std::shared_ptr<Session>& session, Envelope message,
              const std::shared_ptr<ResponseSink>& sink, Wire wire);
  // Tells the sessions that subscribed to this resource.
  void resource_changed(const std::string& uri);

  // Takes no more calls; true if those that had begun ended in time. Their sessions must have
  // been cancelled before.
  [[nodiscard]] bool stop(std::chrono::milliseconds deadlines);

 private:
  // The part of a request that a worker does.
  struct Work {
    std::string subject;  // what answers to questions are bound to
    Node arguments;
    std::function<Reply(Call&)> run;
    std::function<Reply()> busy;  // the answer when there is no room
    bool lasts = false;           // Tool::lasts
  };

  void take_notification(Session& session, const Notification& notification);
  void serve(Exchange exchange, Wire wire);
  tl::expected<void, RpcError> settle_era(Exchange& exchange, Wire wire) const;
  void dispatch(Exchange exchange);
  void answer(const Exchange& exchange, Reply reply) const;

  Reply discover() const;
  Reply initialize(const Exchange& exchange) const;
  Reply set_log_level(const Exchange& exchange) const;
  Reply change_subscription(const Exchange& exchange) const;

  tl::expected<Work, RpcError> plan_tool(const Exchange& exchange) const;
  tl::expected<Work, RpcError> plan_prompt(const Exchange& exchange) const;
  tl::expected<Work, RpcError> plan_read(const Exchange& exchange) const;
  tl::expected<Work, RpcError> plan_completion(const Exchange& exchange) const;
  void start(Exchange exchange, Work work);
  tl::expected<NodeMap, RpcError> earlier_answers(const Exchange& exchange, const Work& work);
  void run(const Exchange& exchange, const Work& work, const NodeMap& answers,
           const std::shared_ptr<Flight>& flight);
  Reply input_required(const Exchange& exchange, const Work& work, const Call& call,
                       const NodeMap& answers);
  NodeMap ask_now(const Exchange& exchange, const Call& call, const Flight& flight) const;

  const ServerInfo info_;
  const Registry registry_;
  const ServerLimits limits_;
  OpenQuestions questions_;
  std::mutex sessions_mutex_;
  std::vector<std::weak_ptr<Session>> sessions_;
  // Last: their threads use the rest.
  WorkerPool pool_;
  WorkerPool lasting_;
};

// The registry as the protocol shows it: lists, capabilities, identity.

Node server_info(const ServerInfo& info);
Node server_capabilities(const Registry& registry, Era era);

// True for "tools/list" and its siblings.
bool is_list(std::string_view method);
// One page. The cursor is opaque to clients and good for any session: lists do not change.
Reply list_page(const Registry& registry, std::string_view method, const Node& params,
                std::size_t page);

}  // namespace cordon::mcp
