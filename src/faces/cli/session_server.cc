#include "faces/cli/session_server.h"

#include <sys/signalfd.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/random_id.h"
#include "base/text.h"
#include "faces/cli/closing_lines.h"
#include "faces/cli/console.h"
#include "faces/cli/summary.h"
#include "run/caller_terminal.h"
#include "sys/sockets.h"

namespace cordon {
namespace {

// Before a request, with the three streams beside it.
struct RequestHead {
  std::uint32_t version = 1;
  std::uint32_t size = 0;
};
constexpr std::size_t kStreams = 3;
// More than the kernel takes for the words of a command, as JSON.
constexpr std::uint32_t kMostRequest = 32U << 20U;
constexpr int kAskMilliseconds = 5000;

bool read_whole(int descriptor, char* into, std::size_t size) {
  while (size > 0) {
    pollfd polled{descriptor, POLLIN, 0};
    if (::poll(&polled, 1, kAskMilliseconds) == 0) return false;
    const ssize_t got = ::read(descriptor, into, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

std::string text_of(const Node& node, const char* name) {
  const Node* member = node.find(name);
  const std::string* found = member != nullptr ? member->text() : nullptr;
  return found != nullptr ? *found : std::string();
}

bool flag_of(const Node& node, const char* name) {
  const Node* member = node.find(name);
  const auto* found = member != nullptr ? std::get_if<bool>(&member->value) : nullptr;
  return found != nullptr && *found;
}

std::optional<std::uint64_t> number_of(const Node& node, const char* name) {
  const Node* member = node.find(name);
  const auto* found = member != nullptr ? std::get_if<std::int64_t>(&member->value) : nullptr;
  if (found == nullptr || *found < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*found);
}

// One client, from its request to the answer.
class Client {
 public:
  Client(OpenSession& session, SessionPlace& place, const std::string& handle, Fd connection)
      : session_(session), place_(place), handle_(handle), connection_(std::move(connection)) {}

  void serve() {
    if (!is_same_user(connection_.get()) || !receive()) return;
    const SayTo say_to(streams_[2].get());
    const std::int32_t status = answer();
    std::string text(reinterpret_cast<const char*>(&status), sizeof status);
    // Behind the status, so that a client that knows of no report has read what it waits for.
    if (flag_of(request_, "report")) text += report_;
    write_all(connection_.get(), text);
  }

 private:
  bool receive() {
    pollfd polled{connection_.get(), POLLIN, 0};
    if (::poll(&polled, 1, kAskMilliseconds) <= 0) return false;
    RequestHead head;
    sys::Passed passed;
    const ssize_t got = sys::receive_passing(connection_.get(), &head, sizeof head, passed);
    std::array<Fd, sys::kMostPassed> came;
    for (std::size_t i = 0; i < passed.count; ++i) came[i] = Fd(passed.descriptors[i]);
    if (got != sizeof head || passed.count != kStreams || head.version != RequestHead().version ||
        head.size > kMostRequest) {
      return false;
    }
    for (std::size_t i = 0; i < kStreams; ++i) streams_[i] = std::move(came[i]);
    std::string text(head.size, '\0');
    if (!read_whole(connection_.get(), text.data(), text.size())) return false;
    auto request = read_json(text, "request");
    if (!request) return false;
    request_ = std::move(*request);
    return true;
  }

  int answer() {
    const std::string asked = text_of(request_, "ask");
    if (const auto permitted = check_handle(); !permitted) {
      if (asked == "exec") return refuse_exec(permitted.error());
      say_error(permitted.error());
      return permitted.error().exit_status;
    }
    if (asked == "exec") return exec();
    if (asked == "stop") {
      session_.stop();
      // One at a time: two people may stop it.
      static std::mutex withdrawing;
      const std::lock_guard lock(withdrawing);
      place_.withdraw();
      return 0;
    }
    say_error(usage_error("the session does not know " + quote(asked)));
    return 2;
  }

  [[nodiscard]] Result<void> check_handle() const {
    if (!is_same_handle(text_of(request_, "handle"), handle_)) {
      return fail({.kind = ErrorKind::Policy,
                   .what = "this is not the handle of session " + session_.id(),
                   .hint = "use the one that cordon session start made"});
    }
    const std::string& own = session_.terms().conversation;
    if (text_of(request_, "ask") != "exec" || own.empty()) return {};
    if (text_of(request_, "conversation") == own) return {};
    return fail({.kind = ErrorKind::Policy,
                 .what = "session " + session_.id() + " belongs to another conversation",
                 .hint = "name its own with --conversation, or start a session for this one"});
  }

  int exec() {
    ExecInput input;
    const Node* argv = request_.find("argv");
    const NodeList* words = argv != nullptr ? argv->list() : nullptr;
    for (const Node& word : words != nullptr ? *words : NodeList{}) {
      if (word.text() != nullptr) input.argv.push_back(*word.text());
    }
    const bool json = flag_of(request_, "json");
    input.cwd = text_of(request_, "cwd");
    input.wall_ms = number_of(request_, "wall_ms");
    input.describe_policy = json || flag_of(request_, "report");
    input.streams.in = Input::drawn_from(streams_[0].get());
    if (!json) {
      input.streams.out = Output::unfiltered_to(streams_[1].get(), streams_[2].get());
    }
    ::fcntl(connection_.get(), F_SETFL, O_NONBLOCK);
    input.signal_descriptor = connection_.get();
    const Report report = session_.exec(input);
    ::fcntl(connection_.get(), F_SETFL, 0);
    return tell(report);
  }

  int refuse_exec(const Error& error) {
    Report report;
    report.run_id = random_id();
    report.error = error;
    return tell(report);
  }

  int tell(const Report& report) {
    const bool json = flag_of(request_, "json");
    if (report.audit && report.audit->unrecorded) say_error(*report.audit->unrecorded);
    if (report.audit && report.audit->unkept) say_error(*report.audit->unkept);
    if (report.error) say_error(*report.error);
    if (report.outcome && !json) {
      Notices notices(Notices::usual(), report.run_id);
      say_outcome(*report.outcome, notices);
      say_changes(report.changes, report.outcome->handoff, notices);
    }
    if (flag_of(request_, "summary")) say(summary_text(report));
    const int status = report.error ? report.error->exit_status : exit_status(report.outcome->end);
    if (!json && !flag_of(request_, "report")) return status;
    report_ = report.json() + "\n";
    if (!json) return status;
    constexpr int kLost = 128 + SIGPIPE;
    const bool told = write_all(streams_[1].get(), report_);
    return status == 0 && !told ? kLost : status;
  }

  OpenSession& session_;
  SessionPlace& place_;
  const std::string& handle_;
  Fd connection_;
  std::array<Fd, kStreams> streams_;
  Node request_;
  std::string report_;
};

}  // namespace

int serve_session(OpenSession& session, SessionPlace& place, const std::string& handle) {
  std::atomic<int> clients = 0;
  for (;;) {
    pollfd polled[] = {{place.listener(), POLLIN, 0}, {session.over_descriptor(), POLLIN, 0}};
    if (::poll(polled, std::size(polled), -1) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (polled[1].revents != 0) break;
    Fd connection(::accept4(place.listener(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) continue;
    ++clients;
    std::thread([&session, &place, &handle, &clients, held = std::move(connection)]() mutable {
      Client(session, place, handle, std::move(held)).serve();
      --clients;
      clients.notify_all();
    }).detach();
  }
  const Report& report = session.report();
  // Commands that ended with the session are still being told.
  for (int left = clients; left != 0; left = clients) clients.wait(left);
  return report.error ? report.error->exit_status : 0;
}

Result<SessionAnswer> ask_session(int connection, const Node& request, int signals) {
  const std::string text = write_json(request, JsonStyle::Compact);
  RequestHead head;
  head.size = static_cast<std::uint32_t>(text.size());
  const std::array<int, kStreams> streams = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  const Error gone{.kind = ErrorKind::Unavailable,
                   .what = "the session ended before it answered",
                   .hint = "cordon session list shows the open ones"};
  if (text.size() > kMostRequest ||
      sys::send_passing(connection, &head, sizeof head, streams) < 0 ||
      !write_all(connection, text)) {
    return fail(gone);
  }
  for (;;) {
    pollfd polled[] = {{connection, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(polled, signals >= 0 ? 2 : 1, -1) < 0) continue;
    if (polled[0].revents != 0) {
      std::int32_t status = 0;
      if (::recv(connection, &status, sizeof status, MSG_WAITALL) != sizeof status) {
        return fail(gone);
      }
      SessionAnswer answer{status, {}};
      if (flag_of(request, "report")) answer.report = read_to_end(connection);
      return answer;
    }
    signalfd_siginfo info{};
    while (::read(signals, &info, sizeof info) == sizeof info) {
      const auto number = static_cast<int>(info.ssi_signo);
      if (number == SIGTSTP) {
        stop_as_by_key();
      } else if (number != SIGWINCH && number != SIGCONT) {
        ::send(connection, &info, sizeof info, MSG_NOSIGNAL);
      }
    }
  }
}

}  // namespace cordon
