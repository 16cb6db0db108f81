#include "sandbox/session/exec_child.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "sandbox/native/native_backend.h"
#include "sys/sockets.h"

namespace cordon::session {
namespace {

constexpr int kEndMilliseconds = 5000;

class ExecChild final : public Child {
 public:
  ExecChild(Fd channel, pid_t init, ExecStart start)
      : channel_(std::move(channel)), init_(init), start_(std::move(start)) {}
  ~ExecChild() override = default;
  ExecChild(const ExecChild&) = delete;
  ExecChild& operator=(const ExecChild&) = delete;

  [[nodiscard]] int event_descriptor() const override { return channel_.get(); }
  // The bounds of memory and processes are the session's.
  [[nodiscard]] bool bounds_memory() const override { return false; }
  void watch_memory() override {}
  [[nodiscard]] PolledFor memory_news() const override { return {}; }
  bool memory_killed() override { return false; }
  ChildEvent event() override;
  void signal(int number) override { order({ExecOrder::Kind::Signal, number, 0}); }
  void kill_and_wait() override;
  [[nodiscard]] pid_t init_process() const override { return init_; }
  [[nodiscard]] std::uint64_t ipc_memory() const override { return 0; }
  std::vector<Denial> denials() override { return {}; }
  [[nodiscard]] std::optional<std::uint64_t> peak_memory() const override { return std::nullopt; }
  [[nodiscard]] Usage tree_usage() const override { return usage_; }

 private:
  void order(const ExecOrder& order) const {
    ::send(channel_.get(), &order, sizeof order, MSG_NOSIGNAL);
  }
  [[nodiscard]] Error not_started(const ExecMessage& message) const;

  Fd channel_;
  pid_t init_;
  ExecStart start_;
  bool over_ = false;
  Usage usage_;
};

Error ExecChild::not_started(const ExecMessage& message) const {
  if (message.at_cwd == 0) {
    return native::command_error(start_.argv.front(), {start_.argv.front()}, start_.cwd,
                                 message.error);
  }
  return {.kind = ErrorKind::Policy,
          .what = "the command cannot start in " + quote(start_.cwd),
          .hint = "name a directory that the session may enter",
          .error_number = message.error};
}

ChildEvent ExecChild::event() {
  ExecMessage message;
  const ssize_t got = ::recv(channel_.get(), &message, sizeof message, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return ChildRuns{};
  over_ = true;
  if (got != static_cast<ssize_t>(sizeof message)) return ChildLost{};
  if (message.kind == ExecMessage::Kind::Failed) return not_started(message);
  usage_ = {message.cpu_us / 1000, message.max_rss_bytes};
  return ChildEnd{message.wait_status, usage_};
}

void ExecChild::kill_and_wait() {
  if (over_) return;
  order({ExecOrder::Kind::End, 0, 0});
  while (!over_) {
    pollfd polled{channel_.get(), POLLIN, 0};
    const int ready = ::poll(&polled, 1, kEndMilliseconds);
    if (ready > 0) (void)event();
    // One that forks faster than it is killed: it goes with the sandbox.
    if (ready == 0) start_.end_session.cancel();
  }
}

Result<Fd> words_of(const ExecStart& start, std::uint64_t& size) {
  std::string bytes = start.cwd + '\0';
  for (const std::string& variable : start.environment) bytes.append(variable).push_back('\0');
  bytes.push_back('\0');
  for (const std::string& word : start.argv) bytes.append(word).push_back('\0');
  Fd memory(::memfd_create("words", MFD_CLOEXEC));
  std::string_view rest(bytes);
  while (memory.valid() && !rest.empty()) {
    const ssize_t written = ::write(memory.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!memory.valid() || !rest.empty() || ::lseek(memory.get(), 0, SEEK_SET) != 0) {
    return fail(setup_error("cannot hand the command over", errno));
  }
  size = bytes.size();
  return memory;
}

}  // namespace

Result<std::unique_ptr<Child>> start_in_session(int spawner, const ExecStart& start,
                                                const CommandStreams& streams, pid_t init) {
  int channel[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0) {
    return fail(setup_error("cannot make a socket pair", errno));
  }
  Fd ours(channel[0]);
  const Fd theirs(channel[1]);
  ExecOrder order;
  CORDON_TRY(words, words_of(start, order.size));
  const int memory = words.get();
  if (sys::send_passing(ours.get(), &order, sizeof order, {&memory, 1}) < 0) {
    return fail(setup_error("cannot hand the command over", errno));
  }
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto or_null = [&](int fd) { return fd >= 0 ? fd : null.get(); };
  const SpawnOrder spawn;
  const std::array<int, kSpawnDescriptors> passed = {theirs.get(), or_null(streams.in),
                                                     or_null(streams.out), or_null(streams.err)};
  if (sys::send_passing(spawner, &spawn, sizeof spawn, passed) < 0) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "the session has ended",
                 .hint = "start another one: cordon session start",
                 .error_number = errno});
  }
  return std::make_unique<ExecChild>(std::move(ours), init, start);
}

}  // namespace cordon::session
