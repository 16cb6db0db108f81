#include "faces/mcp/http/transport.h"

#include <sys/eventfd.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "faces/mcp/call.h"
#include "faces/mcp/server.h"
#include "faces/mcp/session.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kDropBytes = std::size_t{256} << 10U;

}  // namespace

EventStream::EventStream() : changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void EventStream::send(std::string message, Weight weight) {
  const std::lock_guard lock(mutex_);
  if (ended_ || (weight == Weight::Droppable && queued_bytes_ > kDropBytes)) return;
  add(std::move(message));
}

void EventStream::answer(std::string message, std::optional<int> error_code) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  plain_ = queue_.empty();
  error_code_ = error_code;
  ended_ = true;
  add(std::move(message));
}

void EventStream::close() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  tell();
}

bool EventStream::abandon() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(ended_, true);
}

void EventStream::add(std::string message) {
  queued_bytes_ += message.size();
  queue_.push_back(std::move(message));
  tell();
}

void EventStream::tell() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(changed_.get(), &one, sizeof one);
}

std::optional<EventStream::Plain> EventStream::take_plain() {
  const std::lock_guard lock(mutex_);
  if (!ended_ || !plain_) return std::nullopt;
  return Plain{std::move(queue_.front()), error_code_};
}

EventStream::Next EventStream::next(int connection, std::chrono::milliseconds timeout,
                                    std::string& message) {
  const auto take = [&]() -> Next {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return ended_ ? Next::Ended : Next::Quiet;
    message = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= message.size();
    return Next::Message;
  };
  if (const Next now = take(); now != Next::Quiet) return now;
  std::array<pollfd, 2> waits = {{{changed_.get(), POLLIN, 0}, {connection, POLLRDHUP, 0}}};
  if (::poll(waits.data(), waits.size(), static_cast<int>(timeout.count())) < 0) {
    return errno == EINTR ? Next::Quiet : Next::Gone;
  }
  if (waits[1].revents != 0) return Next::Gone;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(changed_.get(), &count, sizeof count);
  return take();
}

namespace {

constexpr std::size_t kMostSessions = 64;
constexpr std::size_t kMostClients = 64;
// The notification that ends the handshake is the first; from the second on a client does
// something.
constexpr std::uint64_t kAtWork = 2;

}  // namespace

std::optional<std::string> SessionTable::add(const std::shared_ptr<Session>& session) {
  auto id = random_token();
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostSessions) {
    auto victim = known_.end();
    for (auto at = known_.begin(); at != known_.end(); ++at) {
      if (!at->session->idle() || at->session->client()->is_at_work()) continue;
      // Last used first, so the later one of equals was idle longer.
      if (victim == known_.end() || at->requests <= victim->requests) victim = at;
    }
    if (victim == known_.end()) return std::nullopt;
    known_.erase(victim);
  }
  if (id) known_.push_front({*id, session});
  return id;
}

std::shared_ptr<Client> SessionTable::client_named(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const bool room = clients_.contains(name) || clients_.size() < kMostClients;
  auto& client = clients_[room ? name : std::string()];
  const bool named = room && !name.empty();
  if (!client)
    client = std::make_shared<Client>(named ? Client::Behind::One : Client::Behind::Anybody);
  return client;
}

std::shared_ptr<Session> SessionTable::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(known_, [&](const Entry& e) { return e.id == id; });
  if (found == known_.end()) return nullptr;
  if (found->requests < kAtWork) ++found->requests;
  known_.splice(known_.begin(), known_, found);
  return found->session;
}

bool SessionTable::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(known_, [&](const Entry& e) { return e.id == id; });
  if (found == known_.end()) return false;
  found->session->cancel_all();
  known_.erase(found);
  return true;
}

void SessionTable::open(const std::shared_ptr<Session>& session) {
  const std::lock_guard lock(mutex_);
  open_.push_back(session);
}

void SessionTable::closed(const std::shared_ptr<Session>& session) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(open_, session);
  if (found != open_.end()) open_.erase(found);
}

void SessionTable::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& session : open_) session->cancel_all();
}

namespace {

// A closed connection is noticed at once; the comments keep what stands between from giving up.
constexpr std::chrono::milliseconds kKeepAlive{1000};

struct Free {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using ResponsePointer = std::unique_ptr<MHD_Response, Free>;

int socket_of(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info != nullptr ? info->connect_fd : -1;
}

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

// What a modern request says about who sends it. It has no session: without a name all such clients
// count as one.
std::string name_of_client(const RpcRequest& request) {
  const Node* meta = request.params.find("_meta");
  const Node* info = meta != nullptr ? meta->find(meta::kClientInfo) : nullptr;
  const std::string* name = info != nullptr ? text_member(*info, "name") : nullptr;
  return name != nullptr ? *name : std::string();
}

MHD_Result take_header(void* head, MHD_ValueKind /*kind*/, const char* name, const char* value) {
  add_header(*static_cast<HttpHead*>(head), name, value != nullptr ? value : "");
  return MHD_YES;
}

}  // namespace

// One HTTP request while it comes in.
struct HttpTransport::Incoming {
  HttpHead head;
  std::string body;
};

// The response of a request whose answer is not there yet.
struct HttpTransport::Streaming {
  std::shared_ptr<EventStream> stream;
  std::shared_ptr<Session> session;
  Id id;
  int connection;
  SessionTable* table;
  std::string unsent = ":\n\n";  // takes the head of the response to the client
};

ssize_t HttpTransport::read_stream(void* state, std::uint64_t /*position*/, char* buffer,
                                   size_t most) {
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
  std::ranges::copy_n(streaming.unsent.begin(), static_cast<std::ptrdiff_t>(part), buffer);
  streaming.unsent.erase(0, part);
  return static_cast<ssize_t>(part);
}

// Also when the client has gone: then the call has nobody left to answer to. A call that was
// answered is left alone: its id may already stand for another one.
void HttpTransport::end_stream(void* state) {
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
  transport.deadlines_.received(socket_of(connection));
  return transport.serve(connection, incoming);
}

void HttpTransport::completed(void* self, MHD_Connection* connection, void** state,
                              MHD_RequestTerminationCode /*code*/) {
  delete static_cast<Incoming*>(*state);
  *state = nullptr;
  static_cast<HttpTransport*>(self)->deadlines_.answered(socket_of(connection));
}

void HttpTransport::connection_changed(void* self, MHD_Connection* connection, void** /*state*/,
                                       MHD_ConnectionNotificationCode code) {
  RequestDeadlines& deadlines = static_cast<HttpTransport*>(self)->deadlines_;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    deadlines.connected(socket_of(connection));
  } else {
    deadlines.closed(socket_of(connection));
  }
}

MHD_Result HttpTransport::begin(MHD_Connection* connection, Incoming& incoming) {
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &take_header, &incoming.head);
  if (const auto refusal = check_head(incoming.head, rules_)) {
    return refuse(connection, refusal->status, refusal->reason);
  }
  deadlines_.known(socket_of(connection));
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
  if (auto* request = std::get_if<RpcRequest>(&message)) {
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
                                        RpcRequest request, Wire wire) {
  const HttpHead& head = incoming.head;
  const bool handshake = wire == Wire::Legacy && request.method == "initialize";
  std::shared_ptr<Session> session;
  if (wire == Wire::Modern) {
    if (const auto mismatch = check_mirrors(head, request)) {
      return queue_json(connection, 400, encode_error(request.id, *mismatch));
    }
    const std::string name = name_of_client(request);
    session = server_.open_session("http " + name, nullptr, sessions_.client_named(name));
  } else if (head.session) {
    session = sessions_.find(*head.session);
    if (!session) return refuse(connection, 404, "unknown session");
  } else if (handshake) {
    session = server_.open_session("http", nullptr, std::make_shared<Client>());
  } else {
    return refuse(connection, 400, "Mcp-Session-Id is missing");
  }

  auto streaming = std::make_unique<Streaming>(Streaming{
      std::make_shared<EventStream>(), session, request.id, socket_of(connection), &sessions_});
  const auto stream = streaming->stream;
  server_.accept(session, std::move(request), stream, wire);
  const auto plain = stream->take_plain();
  if (!plain) return queue_stream(connection, std::move(streaming));
  const unsigned status = status_of(wire, plain->error_code);
  if (!handshake || head.session || plain->error_code) {
    return queue_json(connection, status, plain->message);
  }
  const auto id = sessions_.add(session);
  if (!id) return refuse(connection, 503, "too many sessions");
  return queue_json(connection, status, plain->message, id->c_str());
}

MHD_Result HttpTransport::queue_stream(MHD_Connection* connection,
                                       std::unique_ptr<Streaming> streaming) {
  constexpr std::size_t kBlock = std::size_t{32} << 10U;
  streaming->table->open(streaming->session);
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

}  // namespace cordon::mcp
