// HttpTransport: the callbacks that the HTTP library makes for each connection and request, each on
// the connection's own thread.
#pragma once

#include <microhttpd.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/fd.h"
#include "faces/mcp/envelope.h"
#include "faces/mcp/http/head.h"
#include "faces/mcp/http/listener.h"
#include "faces/mcp/server.h"
#include "faces/mcp/session.h"

namespace cordon::mcp {

// EventStream: the messages of one request on their way to one HTTP response.

class EventStream final : public ResponseSink {
 public:
  EventStream();

  void send(std::string message, Weight weight) override;
  void answer(std::string message, std::optional<int> error_code) override;
  void close() override;
  // Closes it for the client's part; true if the answer was still to come.
  [[nodiscard]] bool abandon();

  // The answer, if it came before anything else: then no stream is needed.
  struct Plain {
    std::string message;
    std::optional<int> error_code;
  };
  std::optional<Plain> take_plain();

  // What the connection's thread does next. Waits for a message, the end, or `timeout`.
  enum class Next {
    Gone,   // the client has closed the connection
    Ended,  // everything was taken
    Quiet,  // nothing happened
    Message,
  };
  Next next(int connection, std::chrono::milliseconds timeout, std::string& message);

 private:
  void tell() const;
  void add(std::string message);

  Fd changed_;
  std::mutex mutex_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  std::optional<int> error_code_;
  bool plain_ = false;
  bool ended_ = false;
};

// SessionTable: the sessions of HTTP clients. Legacy clients have one by a random id; a modern
// request has one of its own for as long as it is open, and its client is told by the name that it
// gives. Safe for concurrent use.

class SessionTable {
 public:
  // Legacy sessions. When there are too many, one is forgotten and its client is told to begin
  // anew: of those with the fewest requests the one that was idle longest, so that a flood of
  // handshakes displaces handshakes and no client at its work. One with a call in flight or a
  // process that goes on stays. Nothing: all do, or the system gives no random bytes.
  std::optional<std::string> add(const std::shared_ptr<Session>& session);
  std::shared_ptr<Session> find(const std::string& id);  // null if unknown
  bool remove(const std::string& id);                    // cancels its calls
  // The modern client of this name. Past a bound new names share one client.
  std::shared_ptr<Client> client_named(const std::string& name);

  // Sessions with a request open, whatever their era: they are cancelled at the end.
  void open(const std::shared_ptr<Session>& session);
  void closed(const std::shared_ptr<Session>& session);
  void cancel_all();

 private:
  struct Entry {
    std::string id;
    std::shared_ptr<Session> session;
    std::uint64_t requests = 0;  // after the handshake; no more than matters are counted
  };

  std::mutex mutex_;
  std::list<Entry> known_;  // last used first
  std::list<std::shared_ptr<Session>> open_;
  std::map<std::string, std::shared_ptr<Client>> clients_;
};

class HttpTransport {
 public:
  HttpTransport(Server& server, HttpRules rules) : server_(server), rules_(std::move(rules)) {}

  static MHD_Result handle(void* self, MHD_Connection* connection, const char* url,
                           const char* method, const char* version, const char* data, size_t* size,
                           void** state);
  static void completed(void* self, MHD_Connection* connection, void** state,
                        MHD_RequestTerminationCode code);
  static void connection_changed(void* self, MHD_Connection* connection, void** state,
                                 MHD_ConnectionNotificationCode code);

  RequestDeadlines& deadlines() { return deadlines_; }
  SessionTable& sessions() { return sessions_; }

 private:
  struct Incoming;   // a request while it comes in
  struct Streaming;  // a response whose answer is not there yet
  static ssize_t read_stream(void* state, std::uint64_t position, char* buffer, size_t most);
  static void end_stream(void* state);

  MHD_Result begin(MHD_Connection* connection, Incoming& incoming);
  MHD_Result serve(MHD_Connection* connection, const Incoming& incoming);
  MHD_Result serve_request(MHD_Connection* connection, const Incoming& incoming, RpcRequest request,
                           Wire wire);
  static MHD_Result queue_stream(MHD_Connection* connection, std::unique_ptr<Streaming> streaming);

  Server& server_;
  const HttpRules rules_;
  RequestDeadlines deadlines_;
  SessionTable sessions_;
};

}  // namespace cordon::mcp
