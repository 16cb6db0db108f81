#include "faces/mcp/envelope.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace cordon::mcp {
namespace {

constexpr std::size_t kMaxIdBytes = 1024;

Refused refuse(int code, std::string message, std::optional<Id> id = std::nullopt) {
  return {std::move(id), {code, std::move(message), std::nullopt}};
}

std::optional<Id> id_of(const Node& node) {
  if (const auto* number = std::get_if<std::int64_t>(&node.value)) return Id(*number);
  if (const std::string* text = node.text(); text != nullptr && text->size() <= kMaxIdBytes) {
    return Id(*text);
  }
  return std::nullopt;
}

Node node_of(const Id& id) {
  return std::visit([](const auto& value) { return Node(value); }, id);
}

Envelope decode_response(const Node& message, const std::optional<Id>& id) {
  const Node* result = message.find("result");
  const bool has_error = message.find("error") != nullptr;
  if (!id || (result != nullptr) == has_error) {
    return refuse(code::kInvalidRequest, "neither a request nor a response", id);
  }
  return Response{*id, result != nullptr ? std::optional<Node>(*result) : std::nullopt};
}

Node envelope() {
  Node message{NodeMap{}};
  message.set("jsonrpc", "2.0");
  return message;
}

std::string line(const Node& message) { return write_json(message, JsonStyle::Compact); }

}  // namespace

tl::unexpected<RpcError> bad_params(std::string message) {
  return tl::make_unexpected(RpcError{code::kInvalidParams, std::move(message), std::nullopt});
}

Envelope decode_envelope(std::string_view text) {
  auto read = read_json_message(text, kMessageBounds);
  if (!read) {
    const bool syntax = read.error().kind == MessageFault::Kind::Syntax;
    return refuse(syntax ? code::kParse : code::kInvalidRequest,
                  (syntax ? "parse error: " : "invalid request: ") + read.error().what);
  }
  const Node& message = *read;
  if (message.list() != nullptr) {
    return refuse(code::kInvalidRequest, "batches are not part of this protocol");
  }
  if (message.map() == nullptr) return refuse(code::kInvalidRequest, "a message is an object");

  std::optional<Id> id;
  const Node* id_node = message.find("id");
  if (id_node != nullptr) {
    id = id_of(*id_node);
    if (!id) {
      return refuse(code::kInvalidRequest,
                    "id must be an integer of 64 bits or a string of at most 1024 bytes");
    }
  }
  const Node* version = message.find("jsonrpc");
  if (version == nullptr || version->text() == nullptr || *version->text() != "2.0") {
    return refuse(code::kInvalidRequest, "jsonrpc must be \"2.0\"", id);
  }
  const Node* method = message.find("method");
  if (method == nullptr) return decode_response(message, id);
  if (method->text() == nullptr || message.find("result") != nullptr ||
      message.find("error") != nullptr) {
    return refuse(code::kInvalidRequest, "neither a request nor a response", id);
  }
  const Node* params = message.find("params");
  const bool usable = params == nullptr || params->map() != nullptr;
  Node given = params != nullptr && usable ? *params : Node(NodeMap{});
  if (!id) return Notification{*method->text(), std::move(given)};
  if (!usable) return refuse(code::kInvalidParams, "params must be an object", id);
  return RpcRequest{*id, *method->text(), std::move(given)};
}

Envelope refuse_long_message(std::optional<Id> id) {
  return refuse(code::kInvalidRequest,
                "message is too large: a line may have " + std::to_string(kMaxMessageBytes) +
                    " bytes; send the content in parts",
                std::move(id));
}

std::string encode_result(const Id& id, Node result) {
  Node message = envelope();
  message.set("id", node_of(id)).set("result", std::move(result));
  return line(message);
}

std::string encode_error(const std::optional<Id>& id, const RpcError& error) {
  Node body{NodeMap{}};
  body.set("code", error.code).set("message", error.message);
  if (error.data) body.set("data", *error.data);
  Node message = envelope();
  if (id) message.set("id", node_of(*id));
  message.set("error", std::move(body));
  return line(message);
}

std::string encode_request(const std::string& id, std::string_view method, Node params) {
  Node message = envelope();
  message.set("id", id).set("method", method).set("params", std::move(params));
  return line(message);
}

std::string encode_notification(std::string_view method, Node params) {
  Node message = envelope();
  message.set("method", method).set("params", std::move(params));
  return line(message);
}

namespace {

constexpr std::size_t kDropBytes = std::size_t{1} << 20U;
constexpr std::size_t kCongestedBytes = std::size_t{4} << 20U;

}  // namespace

LineWriter::LineWriter(Fd out, int changed) : out_(std::move(out)), changed_(changed) {
  // The thread has every signal blocked: a reader that is gone is an error of write, not the end
  // of the process.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { write_all(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LineWriter::send(std::string message, Weight weight) {
  const std::lock_guard lock(mutex_);
  if (broken_ || (weight == Weight::Droppable && queued_bytes_ > kDropBytes)) return;
  message.push_back('\n');
  queued_bytes_ += message.size();
  queue_.push_back(std::move(message));
  wake_.notify_one();
}

void LineWriter::answer(std::string message, std::optional<int> /*error_code*/) {
  send(std::move(message), Weight::Needed);
}

bool LineWriter::congested() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_ > kCongestedBytes;
}

bool LineWriter::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

bool LineWriter::flush(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, timeout, [&] { return broken_ || (queue_.empty() && !writing_); });
}

void LineWriter::write_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_ || broken_) return;
    const std::string line = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    const bool written = write_line(line);
    lock.lock();
    writing_ = false;
    const bool was_congested = queued_bytes_ > kCongestedBytes;
    queued_bytes_ -= line.size();
    if (!written) {
      broken_ = true;
      queue_.clear();
      queued_bytes_ = 0;
    }
    if (queue_.empty()) empty_.notify_all();
    if (broken_ || (was_congested && queued_bytes_ <= kCongestedBytes)) tell_change();
    if (broken_) return;
  }
}

bool LineWriter::write_line(const std::string& line) const {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(out_.get(), line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

void LineWriter::tell_change() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(changed_, &one, sizeof one);
}

}  // namespace cordon::mcp
