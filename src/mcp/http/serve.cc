#include "mcp/http/serve.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "mcp/http/event_stream.h"
#include "mcp/http/head.h"
#include "mcp/http/patience.h"
#include "mcp/http/session_table.h"
#include "mcp/stop_signals.h"

namespace cordon::mcp {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kMostConnections = 64;
constexpr unsigned kSilenceSeconds = 30;
constexpr std::size_t kHeadBytes = std::size_t{64} << 10U;
constexpr std::size_t kStackBytes = std::size_t{1} << 20U;
// A closed connection is noticed at once; the comments keep what stands between from giving up.
constexpr milliseconds kKeepAlive{1000};
constexpr milliseconds kCallPatience{1000};

struct Free {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
  void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
};
using ResponsePointer = std::unique_ptr<MHD_Response, Free>;

int socket_of(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info != nullptr ? info->connect_fd : -1;
}

// One HTTP request while it comes in.
struct Incoming {
  HttpHead head;
  std::string body;
};

// The response of a request whose answer is not there yet.
struct Streaming {
  std::shared_ptr<EventStream> stream;
  std::shared_ptr<Session> session;
  Id id;
  int connection;
  SessionTable* table;
  std::string unsent = ":\n\n";  // takes the head of the response to the client
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

  Patience& patience() { return patience_; }
  SessionTable& sessions() { return sessions_; }

 private:
  MHD_Result begin(MHD_Connection* connection, Incoming& incoming);
  MHD_Result serve(MHD_Connection* connection, const Incoming& incoming);
  MHD_Result serve_request(MHD_Connection* connection, const Incoming& incoming, Request request,
                           Wire wire);
  MHD_Result stream(MHD_Connection* connection, std::unique_ptr<Streaming> streaming);

  Server& server_;
  const HttpRules rules_;
  Patience patience_;
  SessionTable sessions_;
};

MHD_Result queue(MHD_Connection* connection, unsigned status, std::string_view body,
                 const char* type, const char* header = nullptr, const char* value = nullptr) {
  // The library copies the bytes; its interface is older than const.
  const ResponsePointer response(MHD_create_response_from_buffer(
      body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY));
  if (!response) return MHD_NO;
  if (!body.empty()) MHD_add_response_header(response.get(), "Content-Type", type);
  if (header != nullptr) MHD_add_response_header(response.get(), header, value);
  return MHD_queue_response(connection, status, response.get());
}

MHD_Result refuse(MHD_Connection* connection, unsigned status, std::string_view reason) {
  const char* header = status == 401 ? "WWW-Authenticate" : status == 405 ? "Allow" : nullptr;
  return queue(connection, status, std::string(reason) + "\n", "text/plain", header,
               status == 401 ? "Bearer" : "POST, DELETE");
}

MHD_Result queue_json(MHD_Connection* connection, unsigned status, std::string_view body,
                      const char* session = nullptr) {
  return queue(connection, status, body, "application/json",
               session != nullptr ? "Mcp-Session-Id" : nullptr, session);
}

MHD_Result take_header(void* head, MHD_ValueKind /*kind*/, const char* name, const char* value) {
  add_header(*static_cast<HttpHead*>(head), name, value != nullptr ? value : "");
  return MHD_YES;
}

ssize_t read_stream(void* state, std::uint64_t /*position*/, char* buffer, size_t most) {
  auto& streaming = *static_cast<Streaming*>(state);
  if (streaming.unsent.empty()) {
    std::string message;
    switch (streaming.stream->next(streaming.connection, kKeepAlive, message)) {
      case EventStream::Next::Gone:
        return MHD_CONTENT_READER_END_WITH_ERROR;
      case EventStream::Next::Ended:
        return MHD_CONTENT_READER_END_OF_STREAM;
      case EventStream::Next::Quiet:
        streaming.unsent = ":\n\n";
        break;
      case EventStream::Next::Message:
        streaming.unsent = "event: message\ndata: " + message + "\n\n";
        break;
    }
  }
  const std::size_t part = std::min(most, streaming.unsent.size());
  std::memcpy(buffer, streaming.unsent.data(), part);
  streaming.unsent.erase(0, part);
  return static_cast<ssize_t>(part);
}

// Also when the client has gone: then the call has nobody left to answer to. A call that was
// answered is left alone: its id may already stand for another one.
void end_stream(void* state) {
  const std::unique_ptr<Streaming> streaming(static_cast<Streaming*>(state));
  if (streaming->stream->abandon()) streaming->session->cancel(streaming->id);
  streaming->table->closed(streaming->session);
}

MHD_Result HttpTransport::handle(void* self, MHD_Connection* connection, const char* url,
                                 const char* method, const char* /*version*/, const char* data,
                                 size_t* size, void** state) {
  auto& transport = *static_cast<HttpTransport*>(self);
  if (*state == nullptr) {
    auto incoming = std::make_unique<Incoming>();
    incoming->head.method = method;
    incoming->head.path = url;
    *state = incoming.release();
    return transport.begin(connection, *static_cast<Incoming*>(*state));
  }
  auto& incoming = *static_cast<Incoming*>(*state);
  if (*size != 0) {
    if (incoming.body.size() + *size > kMaxMessageBytes) return MHD_NO;
    incoming.body.append(data, *size);
    *size = 0;
    return MHD_YES;
  }
  transport.patience_.received(socket_of(connection));
  return transport.serve(connection, incoming);
}

void HttpTransport::completed(void* self, MHD_Connection* connection, void** state,
                              MHD_RequestTerminationCode /*code*/) {
  delete static_cast<Incoming*>(*state);
  *state = nullptr;
  static_cast<HttpTransport*>(self)->patience_.answered(socket_of(connection));
}

void HttpTransport::connection_changed(void* self, MHD_Connection* connection, void** /*state*/,
                                       MHD_ConnectionNotificationCode code) {
  Patience& patience = static_cast<HttpTransport*>(self)->patience_;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    patience.connected(socket_of(connection));
  } else {
    patience.closed(socket_of(connection));
  }
}

MHD_Result HttpTransport::begin(MHD_Connection* connection, Incoming& incoming) {
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &take_header, &incoming.head);
  if (const auto refusal = check_head(incoming.head, rules_)) {
    return refuse(connection, refusal->status, refusal->reason);
  }
  return MHD_YES;
}

MHD_Result HttpTransport::serve(MHD_Connection* connection, const Incoming& incoming) {
  const HttpHead& head = incoming.head;
  if (head.method == "DELETE") {
    if (sessions_.remove(*head.session)) return queue(connection, 204, "", "");
    return refuse(connection, 404, "unknown session");
  }
  Envelope message = decode_envelope(incoming.body);
  if (const auto* refused = std::get_if<Refused>(&message)) {
    return queue_json(connection, 400, encode_error(refused->id, refused->error));
  }
  const Wire wire = wire_of(head, message);
  if (auto* request = std::get_if<Request>(&message)) {
    return serve_request(connection, incoming, std::move(*request), wire);
  }
  // Notifications and answers: only a legacy session has anything they could be about.
  if (wire == Wire::Legacy) {
    if (!head.session) return refuse(connection, 400, "Mcp-Session-Id is missing");
    const auto session = sessions_.find(*head.session);
    if (!session) return refuse(connection, 404, "unknown session");
    server_.accept(session, std::move(message), std::make_shared<EventStream>(), wire);
  }
  return queue(connection, 202, "", "");
}

MHD_Result HttpTransport::serve_request(MHD_Connection* connection, const Incoming& incoming,
                                        Request request, Wire wire) {
  const HttpHead& head = incoming.head;
  const bool handshake = wire == Wire::Legacy && request.method == "initialize";
  std::shared_ptr<Session> session;
  if (wire == Wire::Modern) {
    if (const auto mismatch = check_mirrors(head, request)) {
      return queue_json(connection, 400, encode_error(request.id, *mismatch));
    }
    session = server_.open_session("http", nullptr);
  } else if (head.session) {
    session = sessions_.find(*head.session);
    if (!session) return refuse(connection, 404, "unknown session");
  } else if (handshake) {
    session = server_.open_session("http", nullptr);
  } else {
    return refuse(connection, 400, "Mcp-Session-Id is missing");
  }

  auto streaming = std::make_unique<Streaming>(Streaming{
      std::make_shared<EventStream>(), session, request.id, socket_of(connection), &sessions_});
  const auto stream = streaming->stream;
  server_.accept(session, std::move(request), stream, wire);
  const auto plain = stream->take_plain();
  if (!plain) return this->stream(connection, std::move(streaming));
  const unsigned status = status_of(wire, plain->error_code);
  if (!handshake || head.session || plain->error_code) {
    return queue_json(connection, status, plain->message);
  }
  const auto id = sessions_.add(session);
  if (!id) return refuse(connection, 503, "too many sessions");
  return queue_json(connection, status, plain->message, id->c_str());
}

MHD_Result HttpTransport::stream(MHD_Connection* connection, std::unique_ptr<Streaming> streaming) {
  constexpr std::size_t kBlock = std::size_t{32} << 10U;
  sessions_.open(streaming->session);
  const ResponsePointer response(MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, kBlock, &read_stream, streaming.get(), &end_stream));
  if (!response) {
    end_stream(streaming.release());
    return MHD_NO;
  }
  (void)streaming.release();  // end_stream has it now
  MHD_add_response_header(response.get(), "Content-Type", "text/event-stream");
  MHD_add_response_header(response.get(), "Cache-Control", "no-store");
  MHD_add_response_header(response.get(), "X-Accel-Buffering", "no");
  return MHD_queue_response(connection, MHD_HTTP_OK, response.get());
}

}  // namespace

Result<int> serve_http(Server& server, HttpListener listener, std::string token) {
  const Fd signals = watch_stop_signals();
  // The library closes the one it is given.
  const int socket = ::fcntl(listener.socket().get(), F_DUPFD_CLOEXEC, 0);
  HttpTransport transport(server, {listener.port(), std::move(token)});
  std::unique_ptr<MHD_Daemon, Free> daemon(MHD_start_daemon(
      MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC,
      0, nullptr, nullptr, &HttpTransport::handle, &transport,                       //
      MHD_OPTION_LISTEN_SOCKET, socket,                                              //
      MHD_OPTION_CONNECTION_LIMIT, kMostConnections,                                 //
      MHD_OPTION_CONNECTION_TIMEOUT, kSilenceSeconds,                                //
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kHeadBytes,                                //
      MHD_OPTION_THREAD_STACK_SIZE, kStackBytes,                                     //
      MHD_OPTION_STRICT_FOR_CLIENT, 1,                                               //
      MHD_OPTION_NOTIFY_COMPLETED, &HttpTransport::completed, &transport,            //
      MHD_OPTION_NOTIFY_CONNECTION, &HttpTransport::connection_changed, &transport,  //
      MHD_OPTION_END));
  if (!daemon) return fail(setup_error("cannot start the HTTP server", errno));

  for (;;) {
    constexpr int kStepMs = 500;
    pollfd wait{signals.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, kStepMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) break;
    transport.patience().end_overdue();
  }
  transport.sessions().cancel_all();
  if (!server.stop(kCallPatience)) std::_Exit(0);
  daemon.reset();
  return 0;
}

}  // namespace cordon::mcp
