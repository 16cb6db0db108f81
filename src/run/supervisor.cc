#include "run/supervisor.h"

#include <sys/signalfd.h>
#include <sys/wait.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "run/caller_terminal.h"
#include "run/lost_output.h"
#include "run/memory_watch.h"
#include "run/relay.h"
#include "run/streams.h"

namespace cordon {
namespace {

constexpr std::uint64_t kGraceMilliseconds = 1000;
// How long a tree that no group bounds is left alone: about as long as it takes to fill what is
// left. Two processors touch some 4 GiB of memory and fork some ten thousand times in a second.
constexpr std::uint64_t kShortestWatchMs = 10;
constexpr std::uint64_t kLongestWatchMs = 100;
constexpr std::uint64_t kBytesPerMs = 4ULL << 20;
constexpr std::uint64_t kTasksPerMs = 10;
constexpr std::uint64_t kGitLookMilliseconds = 20;
constexpr std::uint64_t kMemoryWatchMilliseconds = 20;
constexpr std::uint64_t kTerminalLookMilliseconds = 200;
constexpr std::uint64_t kScratchLookMilliseconds = 250;

class Loop {
 public:
  Loop(Child& child, Streams& streams, const SuperviseRequest& request)
      : child_(child),
        streams_(streams),
        request_(request),
        started_(monotonic_ms()),
        first_calls_(request.first_calls) {
    if (request.wall_ms) wall_deadline_ = started_ + *request.wall_ms;
    if (request.git_watch != nullptr && request.git_watch->watches()) {
      next_git_look_ = started_ + kGitLookMilliseconds;
    }
    if (child.bounds_memory()) next_memory_watch_ = started_ + kMemoryWatchMilliseconds;
    if (request.watched_memory || request.watched_tasks) {
      tree_.emplace(child.init_process());
      next_watch_ = started_ + kShortestWatchMs;
    }
    if (request.scratch) {
      scratch_.emplace(request.scratch->directory);
      next_scratch_look_ = started_ + kScratchLookMilliseconds;
    }
    take_terminal();
  }

  Result<Outcome> run() {
    while (!end_ && !not_started_) {
      wait();
      check_clocks();
    }
    const std::uint64_t ended = monotonic_ms();
    // A command that ended took everything with it; what else ended the run left it alive.
    if (!usage_) {
      if (request_.before_kill) request_.before_kill();
      child_.kill_and_wait();
    }
    if (not_started_) return fail(std::move(*not_started_));
    const bool left = usage_ && request_.leaves_processes;
    streams_.drain(left ? Streams::Left::Some : Streams::Left::None);
    terminal_.restore();
    Outcome outcome;
    outcome.duration_ms = ended - started_;
    // A killed command reported nothing itself; the kernel's account of the tree is then the one.
    outcome.usage = usage_.value_or(child_.tree_usage());
    outcome.out = streams_.take_out();
    outcome.err = streams_.take_err();
    outcome.denials = child_.denials();
    outcome.denials.insert(outcome.denials.end(), denials_.begin(), denials_.end());
    if (const auto peak = child_.peak_memory()) {
      outcome.usage.max_rss_bytes = std::max(outcome.usage.max_rss_bytes, *peak);
    }
    const bool oom = std::ranges::any_of(outcome.denials, [](const Denial& denial) {
      return denial.what == "memory" && denial.layer == "cgroup";
    });
    const auto* signaled = std::get_if<Signaled>(&*end_);
    if (oom && signaled != nullptr && signaled->signal == SIGKILL) end_ = OverLimit{"oom"};
    outcome.end = *end_;
    if (const int error = streams_.lost_output(); error != 0) {
      outcome.denials.push_back(lost_output(error));
      outcome.end = end_with_lost_output(*end_);
    }
    return outcome;
  }

 private:
  enum class Source {
    Child,
    Memory,
    Signal,
    Cancel,
    Terminate,
    PollHook,
    FirstCall,
    Sent,
    RelayRead,
    RelayWrite
  };
  struct Watched {
    Source source;
    std::size_t relay;
  };

  void add(int fd, short events, Source source, std::size_t relay = 0) {
    if (fd < 0) return;
    polled_.push_back({fd, events, 0});
    watched_.push_back({source, relay});
  }

  void wait() {
    polled_.clear();
    watched_.clear();
    add(child_.event_descriptor(), POLLIN, Source::Child);
    const PolledFor memory = child_.memory_news();
    add(memory.descriptor, memory.events, Source::Memory);
    add(request_.signal_descriptor, POLLIN, Source::Signal);
    if (request_.cancel) add(request_.cancel->descriptor(), POLLIN, Source::Cancel);
    if (request_.terminate && cancelled_by_ == 0) {
      add(request_.terminate->descriptor(), POLLIN, Source::Terminate);
    }
    for (const int one : first_calls_) add(one, POLLIN, Source::FirstCall);
    if (request_.sent) add(request_.over_sent, POLLIN, Source::Sent);
    if (request_.poll_hook != nullptr && !poll_hook_done_) {
      add(request_.poll_hook->descriptor, POLLIN, Source::PollHook);
    }
    std::vector<Relay>& relays = streams_.relays();
    for (std::size_t i = 0; i < relays.size(); ++i) {
      if (relays[i].wants_write()) {
        add(relays[i].to(), POLLOUT, Source::RelayWrite, i);
      } else if (relays[i].wants_read() && (foreground_ || relays[i].from() != STDIN_FILENO)) {
        add(relays[i].from(), POLLIN, Source::RelayRead, i);
      }
    }
    if (::poll(polled_.data(), polled_.size(), timeout()) < 0) return;
    for (std::size_t i = 0; i < polled_.size(); ++i) {
      if (polled_[i].revents != 0) handle(watched_[i], polled_[i].revents);
    }
  }

  [[nodiscard]] int timeout() const {
    std::optional<std::uint64_t> next;
    for (const auto& deadline : {wall_deadline_, kill_deadline_, next_watch_, next_git_look_,
                                 next_memory_watch_, next_terminal_look_, next_scratch_look_}) {
      if (deadline && (!next || *deadline < *next)) next = deadline;
    }
    if (!next) return -1;
    const std::uint64_t now = monotonic_ms();
    return *next <= now ? 0 : static_cast<int>(std::min<std::uint64_t>(*next - now, INT_MAX));
  }

  void handle(const Watched& watched, short events) {
    switch (watched.source) {
      case Source::Child:
        child_event();
        break;
      case Source::Memory:
        memory_event();
        break;
      case Source::Signal:
        signals();
        break;
      case Source::Cancel:
        finish(request_.when_ended);
        break;
      case Source::Terminate:
        cancelled_by_ = SIGTERM;
        child_.signal(SIGTERM);
        break;
      case Source::FirstCall:
        // Anything else than a call: the last process that could make one is gone.
        if ((events & POLLIN) != 0) request_.on_first_call();
        first_calls_.fill(-1);
        break;
      case Source::Sent:
        denials_.push_back({"sent", "killed at the sent limit", "watch", 1});
        finish(OverLimit{"sent"});
        break;
      case Source::PollHook:
        act_on_poll_hook();
        break;
      case Source::RelayRead:
        relay_read(streams_.relays()[watched.relay]);
        break;
      case Source::RelayWrite:
        relay_write(streams_.relays()[watched.relay]);
        break;
    }
  }

  void act_on_poll_hook() {
    const PollHook::Next next = request_.poll_hook->act();
    poll_hook_done_ = next != PollHook::Next::Again;
    if (next == PollHook::Next::EndTheRun) finish(request_.when_ended);
  }

  void finish(End end) {
    if (!end_) end_ = std::move(end);
  }

  void child_event() {
    const ChildEvent event = child_.event();
    if (std::holds_alternative<ChildRuns>(event)) return;
    if (std::holds_alternative<ChildStopped>(event)) return suspend();
    if (const auto* error = std::get_if<Error>(&event)) {
      not_started_ = *error;
      return;
    }
    const auto* ended = std::get_if<ChildEnd>(&event);
    if (ended != nullptr) usage_ = ended->usage;
    if (cancelled_by_ != 0) {
      finish(Cancelled{cancelled_by_});
    } else if (ended == nullptr) {
      finish(Signaled{SIGKILL});
    } else if (WIFSIGNALED(ended->wait_status)) {
      finish(Signaled{WTERMSIG(ended->wait_status)});
    } else {
      finish(Exited{WEXITSTATUS(ended->wait_status)});
    }
  }

  void memory_event() {
    if (child_.memory_killed()) memory_exceeded("cgroup");
    if (child_.memory_news().descriptor < 0) {
      next_memory_watch_ = monotonic_ms() + kMemoryWatchMilliseconds;
    }
  }

  // The kernel's own kill may take one process only; the bound is the tree's.
  void memory_exceeded(const char* layer) {
    if (std::string_view(layer) == "watch") {
      denials_.push_back({"memory", "killed at the memory limit", layer, 1});
    }
    finish(OverLimit{"oom"});
  }

  void signals() {
    signalfd_siginfo info{};
    for (;;) {
      const ssize_t got = ::read(request_.signal_descriptor, &info, sizeof info);
      // The other end of a connection, over which somebody else's signals come, is closed.
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        return finish(Cancelled{SIGHUP});
      }
      if (got != static_cast<ssize_t>(sizeof info)) return;
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGWINCH) {
        if (streams_.terminal_master() >= 0) copy_window_size(streams_.terminal_master());
      } else if (number == SIGTSTP) {
        suspend();
      } else if (number == SIGCONT) {
        take_terminal();
      } else if (cancelled_by_ != 0) {
        finish(Cancelled{cancelled_by_});
      } else {
        end_by(number);
      }
    }
  }

  // The whole tree gets the signal, and has a moment to end.
  void end_by(int number) {
    if (cancelled_by_ != 0) return;
    cancelled_by_ = number;
    child_.signal(number);
    kill_deadline_ = monotonic_ms() + kGraceMilliseconds * 9 / 10;
  }

  // Stops with the terminal in order, and takes it back when continued.
  void suspend() {
    terminal_.restore();
    child_.signal(SIGSTOP);
    stop_as_by_key();
    child_.signal(SIGCONT);
    take_terminal();
  }

  // A job in the background leaves the terminal alone until it is in the foreground: there is no
  // event for that, unless it was stopped.
  void take_terminal() {
    foreground_ = in_foreground();
    next_terminal_look_.reset();
    if (!foreground_) next_terminal_look_ = monotonic_ms() + kTerminalLookMilliseconds;
    if (streams_.terminal_master() < 0) return;
    copy_window_size(streams_.terminal_master());
    if (foreground_) {
      terminal_.enter();
    } else {
      terminal_.forget();
    }
  }

  void look_at_git() {
    if (!request_.git_watch->commondir_appeared()) return;
    denials_.push_back({"git", "commondir appeared in a git directory", "watch", 1});
    finish(Cancelled{0});
  }

  void look_at_scratch(std::uint64_t now) {
    if (scratch_->look() > request_.scratch->bytes) {
      denials_.push_back({"scratch", "killed at the scratch limit", "watch", 1});
      finish(OverLimit{"scratch"});
    }
    // A tree that is made slow to look at gets the greater part of the time all the same.
    const std::uint64_t looked = monotonic_ms();
    next_scratch_look_ = looked + std::max(kScratchLookMilliseconds, (looked - now) * 4);
  }

  void relay_read(Relay& relay) {
    if (!relay.wants_read()) return;
    relay.read_some();
    streams_.settle(relay);
    if (relay.done()) return;
    if (request_.output_total && streams_.output_bytes() > *request_.output_total) {
      denials_.push_back({"output", "killed at the output limit", "relay", 1});
      finish(OverLimit{"output"});
    }
  }

  void relay_write(Relay& relay) {
    if (!relay.wants_write()) return;
    const bool had_terminal = streams_.terminal_master() >= 0;
    relay.write_some();
    streams_.settle(relay);
    // A program that ignores the hang-up would go on writing to a terminal that is gone.
    if (had_terminal && streams_.terminal_master() < 0) end_by(SIGHUP);
  }

  void check_clocks() {
    const std::uint64_t now = monotonic_ms();
    if (wall_deadline_ && now >= *wall_deadline_) finish(TimedOut{*request_.wall_ms});
    if (next_terminal_look_ && now >= *next_terminal_look_) take_terminal();
    if (kill_deadline_ && now >= *kill_deadline_) finish(Cancelled{cancelled_by_});
    if (next_git_look_ && now >= *next_git_look_) {
      look_at_git();
      next_git_look_ = now + kGitLookMilliseconds;
    }
    if (next_memory_watch_ && now >= *next_memory_watch_) {
      child_.watch_memory();
      next_memory_watch_.reset();
      memory_event();
    }
    if (next_scratch_look_ && now >= *next_scratch_look_) look_at_scratch(now);
    if (next_watch_ && now >= *next_watch_) look_at_tree(now);
  }

  void look_at_tree(std::uint64_t now) {
    TreeUse use = tree_->look();
    use.bytes += child_.ipc_memory();
    if (request_.watched_memory && use.bytes > *request_.watched_memory) memory_exceeded("watch");
    if (request_.watched_tasks && use.tasks > *request_.watched_tasks) {
      denials_.push_back({"pids", "killed at the process limit", "watch", 1});
      finish(OverLimit{"pids"});
    }
    // A tree that is made slow to look at gets the greater part of the time all the same.
    const std::uint64_t looked = monotonic_ms();
    const std::uint64_t pause =
        std::min(until_full(use.bytes, request_.watched_memory, kBytesPerMs),
                 until_full(use.tasks, request_.watched_tasks, kTasksPerMs));
    next_watch_ = looked + std::max(pause, (looked - now) * 4);
  }

  // In how many milliseconds a tree that takes as fast as it can is at the bound.
  static std::uint64_t until_full(std::uint64_t used, const std::optional<std::uint64_t>& most,
                                  std::uint64_t per_ms) {
    if (!most || used >= *most) return kLongestWatchMs;
    return std::clamp((*most - used) / per_ms, kShortestWatchMs, kLongestWatchMs);
  }

  Child& child_;
  Streams& streams_;
  const SuperviseRequest& request_;
  RawTerminal terminal_;
  bool foreground_ = true;
  std::uint64_t started_;
  std::optional<std::uint64_t> wall_deadline_;
  std::optional<std::uint64_t> kill_deadline_;
  std::optional<MemoryWatch> tree_;
  std::optional<std::uint64_t> next_watch_;
  std::optional<ScratchWatch> scratch_;
  std::optional<std::uint64_t> next_scratch_look_;
  std::optional<std::uint64_t> next_git_look_;
  std::optional<std::uint64_t> next_memory_watch_;
  std::array<int, 3> first_calls_;
  bool poll_hook_done_ = false;
  std::optional<std::uint64_t> next_terminal_look_;
  int cancelled_by_ = 0;
  std::optional<End> end_;
  std::optional<Error> not_started_;
  std::optional<Usage> usage_;
  std::vector<Denial> denials_;
  std::vector<pollfd> polled_;
  std::vector<Watched> watched_;
};

}  // namespace

Result<Outcome> supervise(Child& child, Streams& streams, const SuperviseRequest& request) {
  return Loop(child, streams, request).run();
}

sigset_t supervised_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT}) {
    ::sigaddset(&set, signal);
  }
  return set;
}

}  // namespace cordon
