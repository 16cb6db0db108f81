#include "faces/mcp/session.h"

#include <sys/eventfd.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cordon::mcp {
namespace {

constexpr std::array<std::string_view, 8> kLevelNames = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

}  // namespace

std::string_view name_of(LogLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> log_level(std::string_view name) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

Client::~Client() {
  for (const auto& known : activities_)
    if (const auto activity = known.lock()) activity->end();
}

void Client::began(const std::shared_ptr<Activity>& activity) {
  const std::lock_guard lock(mutex_);
  std::erase_if(activities_, [](const auto& known) { return known.expired(); });
  activities_.push_back(activity);
}

bool Client::is_at_work() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(activities_, [](const auto& known) {
    const auto activity = known.lock();
    return activity != nullptr && activity->goes_on();
  });
}

namespace {

constexpr std::size_t kMaxSubscriptions = 256;

}  // namespace

Session::Session(std::string principal, std::shared_ptr<ResponseSink> push,
                 std::shared_ptr<Client> client)
    : principal_(std::move(principal)), push_(std::move(push)), client_(std::move(client)) {}

bool Session::negotiate(std::string version, Node capabilities) {
  const std::lock_guard lock(mutex_);
  if (!flights_.empty()) return false;
  version_ = std::move(version);
  capabilities_ = std::move(capabilities);
  return true;
}

std::optional<std::string> Session::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

Node Session::capabilities() const {
  const std::lock_guard lock(mutex_);
  return capabilities_;
}

tl::expected<std::shared_ptr<Flight>, Session::Refusal> Session::enter(const Id& id,
                                                                       std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (flights_.contains(id)) return tl::make_unexpected(Refusal::DuplicateId);
  if (flights_.size() >= limit) return tl::make_unexpected(Refusal::TooMany);
  auto flight = std::make_shared<Flight>();
  flights_.emplace(id, flight);
  return flight;
}

bool Session::leave(const Id& id, const Flight& flight) {
  const std::lock_guard lock(mutex_);
  flights_.erase(id);
  return !flight.withheld;
}

void Session::cancel(const Id& id) {
  const std::lock_guard lock(mutex_);
  const auto found = flights_.find(id);
  if (found == flights_.end()) return;
  found->second->withheld = true;
  found->second->cancel.cancel();
}

void Session::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, flight] : flights_) {
    flight->withheld = true;
    flight->cancel.cancel();
  }
}

bool Session::idle() const {
  const std::lock_guard lock(mutex_);
  return flights_.empty();
}

std::optional<Node> Session::ask(ResponseSink& sink, std::string_view method, const Node& params,
                                 const Flight& flight, std::chrono::milliseconds timeout) {
  const auto question = std::make_shared<Question>();
  question->answered = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!question->answered.valid()) return std::nullopt;
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    // Strings of our own, so that they never meet the client's ids.
    id = "cordon-" + std::to_string(++asked_);
    questions_.emplace(Id(id), question);
  }
  sink.send(encode_request(id, method, params), Weight::Needed);

  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || flight.withheld) break;
    std::array<pollfd, 2> waits = {
        {{question->answered.get(), POLLIN, 0}, {flight.cancel.descriptor(), POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    break;
  }
  std::optional<Node> result;
  bool answered = false;
  {
    const std::lock_guard lock(mutex_);
    questions_.erase(Id(id));
    answered = question->done;
    if (!flight.withheld) result = std::move(question->result);
  }
  if (!answered) {
    // So that the client takes its dialog away: an answer would not count any more.
    Node withdrawn{NodeMap{}};
    withdrawn.set("requestId", id).set("reason", "the question is withdrawn");
    sink.send(encode_notification("notifications/cancelled", std::move(withdrawn)), Weight::Needed);
  }
  return result;
}

void Session::take_response(const Response& response) {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find(response.id);
  if (found == questions_.end()) return;
  found->second->result = response.result;
  found->second->done = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(found->second->answered.get(), &one, sizeof one);
}

void Session::set_log_level(LogLevel level) {
  const std::lock_guard lock(mutex_);
  log_level_ = level;
}

std::optional<LogLevel> Session::log_level() const {
  const std::lock_guard lock(mutex_);
  return log_level_;
}

bool Session::subscribe(const std::string& uri) {
  const std::lock_guard lock(mutex_);
  if (!subscriptions_.contains(uri) && subscriptions_.size() >= kMaxSubscriptions) return false;
  subscriptions_.insert(uri);
  return true;
}

void Session::unsubscribe(const std::string& uri) {
  const std::lock_guard lock(mutex_);
  subscriptions_.erase(uri);
}

void Session::push_if_subscribed(const std::string& uri, const std::string& message) const {
  {
    const std::lock_guard lock(mutex_);
    if (!push_ || !subscriptions_.contains(uri)) return;
  }
  push_->send(message, Weight::Droppable);
}

}  // namespace cordon::mcp
