// Server: answers the messages of any number of sessions from one registry. Lists and handshakes
// are answered by the thread that brings the message, and start nothing; handlers run on workers.
// Safe for concurrent use.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/node.h"
#include "faces/mcp/call.h"
#include "faces/mcp/envelope.h"
#include "faces/mcp/listing.h"
#include "faces/mcp/open_questions.h"
#include "faces/mcp/registry.h"
#include "faces/mcp/session.h"
#include "faces/mcp/work.h"
#include "faces/mcp/worker_pool.h"

namespace cordon::mcp {

struct ServerLimits {
  std::size_t workers = 8;
  std::size_t lasting_workers = 8;  // of calls that may last
  std::size_t queued_calls = 256;
  std::size_t calls_in_flight = 64;                   // of one session, waiting ones included
  std::size_t page = 100;                             // entries of a list
  std::chrono::milliseconds answer_timeout{120'000};  // for a question to a legacy client
};

// What the transport knows about the era of a message.
enum class Wire {
  Either,  // the message itself tells
  Legacy,
  Modern,
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
  [[nodiscard]] bool stop(std::chrono::milliseconds timeout);

 private:
  void take_notification(Session& session, const Notification& notification);
  void serve(Exchange exchange, Wire wire);
  tl::expected<void, RpcError> settle_era(Exchange& exchange, Wire wire) const;
  void dispatch(Exchange exchange);
  void answer(const Exchange& exchange, Reply reply) const;

  Reply discover() const;
  Reply initialize(const Exchange& exchange) const;
  Reply set_log_level(const Exchange& exchange) const;
  Reply change_subscription(const Exchange& exchange) const;

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

}  // namespace cordon::mcp
