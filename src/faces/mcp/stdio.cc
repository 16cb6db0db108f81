#include "faces/mcp/stdio.h"

#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "faces/mcp/envelope.h"
#include "faces/mcp/id_scan.h"

namespace cordon::mcp {

Fd watch_stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  ::sigaddset(&set, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return fd;
}

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kEndlessLineBytes = std::size_t{64} << 20U;
constexpr int kMostFaultsInARow = 100;
constexpr milliseconds kCallTimeout{1000};
constexpr milliseconds kFlushTimeout{500};

void note(const char* text) {
  // The answer pipe is not ours to talk on; hosts collect standard error.
  std::fprintf(stderr, "cordon: mcp: %s\n", text);
}

// Readable once the parent has died. Another process may hold the other end of our pipe, and then
// no end of file tells. PR_SET_PDEATHSIG would fire when the thread that started us ends.
Fd watch_parent() {
  const pid_t parent = ::getppid();
  if (parent <= 1) return Fd();
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)));
  if (::getppid() != parent) ::raise(SIGTERM);  // blocked: the loop finds it
  return fd;
}

class StdioLoop {
 public:
  StdioLoop(Server& server, StdioPipes pipes)
      : server_(server),
        in_(std::move(pipes.in)),
        signals_(watch_stop_signals()),
        parent_(watch_parent()),
        changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        writer_(std::make_shared<LineWriter>(std::move(pipes.out), changed_.get())),
        session_(server.open_session("stdio", writer_, std::make_shared<Client>())) {}

  int run() {
    while (!ended_) step();
    session_->cancel_all();
    const bool quiet = server_.stop(kCallTimeout);
    const bool flushed = writer_->flush(kFlushTimeout);
    // A worker or the writer hangs in a call that no lock of ours can end.
    if (!quiet || !flushed) std::_Exit(status_);
    return status_;
  }

 private:
  void step() {
    // A client that does not read its answers gets no more of its requests read.
    const short input = writer_->congested() ? short{0} : short{POLLIN};
    std::array<pollfd, 4> waits = {{{signals_.get(), POLLIN, 0},
                                    {parent_.get(), POLLIN, 0},
                                    {changed_.get(), POLLIN, 0},
                                    {in_.get(), input, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0) {
      if (errno != EINTR) ended_ = true;
      return;
    }
    if (waits[2].revents != 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const ssize_t got = ::read(changed_.get(), &count, sizeof count);
    }
    const bool readable = (waits[3].revents & POLLIN) != 0;
    const bool hung_up = waits[3].revents != 0 && !readable;
    if (waits[0].revents != 0 || waits[1].revents != 0 || hung_up || writer_->broken()) {
      ended_ = true;
    } else if (readable) {
      read_input();
    }
  }

  void read_input() {
    const ssize_t got = ::read(in_.get(), block_.data(), block_.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      ended_ = true;
      return;
    }
    std::string_view bytes(block_.data(), static_cast<std::size_t>(got));
    while (!bytes.empty()) {
      const std::size_t newline = bytes.find('\n');
      const std::string_view part = bytes.substr(0, newline == bytes.npos ? newline : newline + 1);
      id_.add(part);
      splitter_.add(part, [this](const Line& line) { take(line); });
      if (newline != bytes.npos) id_.reset();
      bytes.remove_prefix(part.size());
    }
    if (splitter_.discarded() > kEndlessLineBytes) give_up("a line without end");
  }

  void take(const Line& line) {
    if (ended_) return;
    Envelope message =
        line.kind == Line::Kind::Whole ? decode_envelope(line.text) : refuse_long_message(id_.id());
    faults_ = std::holds_alternative<Refused>(message) ? faults_ + 1 : 0;
    if (faults_ > kMostFaultsInARow) return give_up("too many malformed messages in a row");
    server_.accept(session_, std::move(message), writer_, Wire::Either);
  }

  void give_up(const char* why) {
    note(why);
    status_ = 1;
    ended_ = true;
  }

  Server& server_;
  Fd in_;
  Fd signals_;
  Fd parent_;
  Fd changed_;
  std::shared_ptr<LineWriter> writer_;
  std::shared_ptr<Session> session_;
  LineSplitter splitter_{kMaxMessageBytes};
  IdScan id_;
  // Small: everything in a block is served before the loop looks at signals and congestion again.
  std::array<char, 8192> block_{};
  int faults_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<StdioPipes> take_standard_streams() {
  constexpr int kFirst = 10;
  StdioPipes pipes{Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kFirst)),
                   Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirst))};
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!pipes.in.valid() || !pipes.out.valid() || !null.valid() ||
      ::dup2(null.get(), STDIN_FILENO) < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return fail(setup_error("cannot take over the standard streams", errno));
  }
  return pipes;
}

int serve_stdio(Server& server, StdioPipes pipes) {
  return StdioLoop(server, std::move(pipes)).run();
}

}  // namespace cordon::mcp
