#include "mcp/full/process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace cordon::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How soon a waiting call notices that it was cancelled.
constexpr milliseconds kLookAgain{25};

std::uint64_t ms_between(steady_clock::time_point from, steady_clock::time_point to) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(to - from).count());
}

}  // namespace

Process::Process(Order order)
    : id_(std::move(order.id)),
      name_(std::move(order.name)),
      request_(std::move(order.request)),
      out_(order.directory, order.bounds),
      err_(order.directory, order.bounds) {
  request_.input.cancel = cancel_;
  request_.input.terminate = terminate_;
  request_.input.streams.out =
      Output::heard_by([this](OutputFrom from, std::string_view bytes) { hear(from, bytes); });
}

Result<std::shared_ptr<Process>> Process::start(Order order) {
  const Input input = order.input;
  const std::shared_ptr<Process> made(new Process(std::move(order)));
  if (input == Input::Open) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
    made->request_.input.streams.input_pipe = std::make_shared<Fd>(ends[0]);
    made->input_ = Fd(ends[1]);
    // Of our end alone: the flag belongs to the open file, and each end is one of its own.
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  }
  // Signals belong to the thread that serves.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    made->thread_ = std::thread([process = made.get()] { process->run(); });
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return fail(setup_error("cannot start a thread", error.code().value()));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

Process::~Process() {
  cancel_.cancel();
  if (thread_.joinable()) thread_.join();
}

void Process::run() {
  auto report = std::make_shared<const Report>(run_contained(request_.input, request_.caller));
  // If it never came to a start nobody took the pipe over.
  request_.input.streams.input_pipe.reset();
  close_input();
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
  ended_ = steady_clock::now();
  changed_.notify_all();
}

void Process::hear(OutputFrom from, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  (from == OutputFrom::Out ? out_ : err_).add(bytes);
  changed_.notify_all();
}

ProcessStatus Process::status_now() const {
  ProcessStatus status;
  status.id = id_;
  status.name = name_;
  status.running = report_ == nullptr;
  status.age_ms = ms_between(started_, steady_clock::now());
  status.out_bytes = out_.bytes();
  status.err_bytes = err_.bytes();
  status.report = report_;
  return status;
}

ProcessStatus Process::status() const {
  const std::lock_guard lock(mutex_);
  return status_now();
}

OutputStore::Piece Process::read(OutputFrom from, std::uint64_t offset, std::uint64_t most) const {
  const std::lock_guard lock(mutex_);
  return (from == OutputFrom::Out ? out_ : err_).read(offset, most);
}

void Process::wait(const Call& call, milliseconds patience,
                   const std::function<bool(const ProcessStatus&)>& enough) const {
  const auto deadline = steady_clock::now() + patience;
  std::unique_lock lock(mutex_);
  while (report_ == nullptr && !call.cancelled() && steady_clock::now() < deadline) {
    const ProcessStatus now = status_now();
    lock.unlock();
    if (enough(now)) return;
    lock.lock();
    if (report_ != nullptr || out_.bytes() != now.out_bytes || err_.bytes() != now.err_bytes) {
      continue;
    }
    changed_.wait_until(lock, std::min(deadline, steady_clock::now() + kLookAgain));
  }
}

Process::Written Process::write(std::string_view bytes, milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  const std::lock_guard lock(input_mutex_);
  Written written;
  if (!input_.valid()) {
    written.taken = status().running ? Taken::Closed : Taken::Ended;
    return written;
  }
  while (!bytes.empty()) {
    const ssize_t done = ::write(input_.get(), bytes.data(), bytes.size());
    if (done > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
      written.bytes += static_cast<std::size_t>(done);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE) input_.reset();
    written.taken = errno == EAGAIN ? Taken::Part : Taken::Closed;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    if (errno != EAGAIN || left.count() <= 0) return written;
    pollfd room{input_.get(), POLLOUT, 0};
    ::poll(&room, 1, static_cast<int>(left.count()));
    written.taken = Taken::All;
  }
  return written;
}

void Process::close_input() {
  const std::lock_guard lock(input_mutex_);
  input_.reset();
}

}  // namespace cordon::mcp
