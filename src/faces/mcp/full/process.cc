#include "faces/mcp/full/process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <vector>

#include "base/random_id.h"
#include "base/text.h"
#include "faces/mcp/tools/excerpt.h"

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
      carry_out_(std::move(order.carry_out)),
      out_(order.directory, order.bounds),
      err_(order.directory, order.bounds) {
  request_.input.cancel = cancel_;
  request_.input.terminate = terminate_;
  request_.input.streams.out =
      Output::heard_by([this](OutputFrom from, std::string_view bytes) { hear(from, bytes); });
  request_.input.tell_started = [this] {
    const std::lock_guard lock(mutex_);
    is_started_ = true;
    changed_.notify_all();
  };
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
  auto report = std::make_shared<const Report>(carry_out_(request_));
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
  status.started = is_started_;
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

void Process::wait(const Call& call, milliseconds deadlines,
                   const std::function<bool(const ProcessStatus&)>& enough) const {
  const auto deadline = steady_clock::now() + deadlines;
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

Process::Written Process::write(std::string_view bytes, milliseconds deadlines) {
  const auto deadline = steady_clock::now() + deadlines;
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

// All at once: their ends need not wait for each other.
ProcessTable::~ProcessTable() {
  for (const Entry& entry : entries_) entry.process->kill();
}

Result<std::shared_ptr<Process>> ProcessTable::start(Process::Order order,
                                                     const std::shared_ptr<Client>& client) {
  // Unguessable, as far as that matters: they are good in this server alone.
  order.id = "p-" + random_id();
  std::vector<Entry> forgotten;  // end after the lock
  const std::lock_guard lock(mutex_);
  // Of a client that is gone nobody can read any more what they wrote.
  const auto orphaned = std::ranges::stable_partition(
      entries_, [](const Entry& entry) { return !entry.client.expired(); });
  std::ranges::move(orphaned, std::back_inserter(forgotten));
  entries_.erase(orphaned.begin(), orphaned.end());
  const auto count = [&](const auto& matches) {
    return static_cast<std::size_t>(std::ranges::count_if(entries_, matches));
  };
  const auto ended = [&](const Entry& entry) { return entry.is_of(client) && !entry.running(); };
  const auto own = [&](const Entry& entry) { return entry.is_of(client) && entry.running(); };
  const auto any = [](const Entry& entry) { return entry.running(); };
  if (count(own) >= bounds_.running || count(any) >= bounds_.running_of_all) {
    return fail(usage_error("too many processes are running",
                            "stop one with stop_process, or wait until one ends"));
  }
  if (count(ended) >= bounds_.kept) {
    const auto oldest = std::ranges::find_if(entries_, ended);
    forgotten.push_back(std::move(*oldest));
    entries_.erase(oldest);
  }
  CORDON_TRY(process, Process::start(std::move(order)));
  entries_.push_back({process, client});
  client->began(process);
  return process;
}

std::shared_ptr<Process> ProcessTable::find(const std::string& id,
                                            const std::shared_ptr<Client>& client) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.process->id() == id && entry.is_of(client);
  });
  return found != entries_.end() ? found->process : nullptr;
}

std::vector<std::shared_ptr<Process>> ProcessTable::list(
    const std::shared_ptr<Client>& client) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Process>> own;
  for (const Entry& entry : entries_)
    if (entry.is_of(client)) own.push_back(entry.process);
  return own;
}

std::vector<std::shared_ptr<Process>> ProcessTable::list_all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Process>> all;
  for (const Entry& entry : entries_) all.push_back(entry.process);
  return all;
}

namespace {

constexpr std::size_t kSearched = std::size_t{256} << 10U;  // by one call that looks for lines
constexpr std::size_t kReach = std::size_t{64} << 10U;      // of tail_lines

// The bytes without a character that is not complete yet.
std::string_view whole_characters(std::string_view bytes) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t back = 1; back < kLongest && back <= bytes.size(); ++back) {
    const Utf8Step step = utf8_step(bytes.substr(bytes.size() - back));
    if (step.cut_short) return bytes.substr(0, bytes.size() - back);
    if (step.code_point) break;
  }
  return bytes;
}

// A page ends with a line where that costs no more than half of it: a secret that stands in one
// line is then not torn apart, out of the mask's sight.
std::string_view whole_lines(std::string_view bytes) {
  const std::size_t end = bytes.rfind('\n');
  return end != std::string_view::npos && end + 1 >= bytes.size() / 2 ? bytes.substr(0, end + 1)
                                                                      : bytes;
}

// A page is cut where there is room, not where a secret ends: what stands before and behind it is
// looked at too. A private key is longer than any token.
constexpr std::size_t kContextBefore = std::size_t{16} << 10U;
constexpr std::size_t kContextBehind = std::size_t{4} << 10U;

// The bytes of a page with what stands around them.
class Observation {
 public:
  Observation(std::string before, std::string_view bytes, const SecretMask& mask)
      : before_(before.size()),
        all_(std::move(before) + std::string(bytes)),
        mask_(mask),
        spans_(mask.spans(all_)) {}

  [[nodiscard]] std::string_view bytes() const { return std::string_view(all_).substr(before_); }
  // What a model may read of `part`, which is one of bytes().
  [[nodiscard]] SecretMask::Masked show(std::string_view part) const {
    const auto begin = static_cast<std::size_t>(part.data() - all_.data());
    auto shown = SecretMask::part(all_, spans_, begin, begin + part.size());
    // Escaping can bring together what was apart.
    auto clean = mask_.mask(sanitize_lines(shown.text));
    clean.count += shown.count;
    return clean;
  }

 private:
  std::size_t before_;
  std::string all_;
  const SecretMask& mask_;
  std::vector<SecretMask::Span> spans_;
};

struct Shown {
  std::string text;
  std::size_t taken = 0;  // bytes of the stream
  std::size_t masked = 0;
};

Shown show(std::string_view bytes, const Observation& sight, std::size_t room) {
  while (!bytes.empty()) {
    auto masked = sight.show(bytes);
    const std::size_t cost = json_cost(masked.text);
    if (cost <= room) return {std::move(masked.text), bytes.size(), masked.count};
    const std::size_t fewer = std::min(bytes.size() - 1, bytes.size() * room / cost);
    bytes = whole_lines(whole_characters(bytes.substr(0, fewer)));
  }
  return {};
}

Shown show_matching(std::string_view bytes, const Observation& sight, const PageRequest& request) {
  Shown shown;
  while (!bytes.empty()) {
    std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos && !request.ended && bytes.size() < kReach) break;
    end = end == std::string_view::npos ? bytes.size() : end + 1;
    const std::string_view line = bytes.substr(0, end);
    if (line.find(request.only_with) != std::string_view::npos) {
      auto masked = sight.show(line);
      std::string text(masked.text);
      const std::size_t room = request.room - json_cost(shown.text);
      if (json_cost(text) > room) {
        if (!shown.text.empty()) break;
        text = beginning_of(text, room);  // a line longer than any page
      }
      shown.text += text;
      shown.masked += masked.count;
    }
    shown.taken += end;
    bytes.remove_prefix(end);
  }
  return shown;
}

// What stands right before `place`, as far as it is kept.
std::string context_before(const Process& process, OutputFrom from, std::uint64_t place) {
  const std::uint64_t length = std::min<std::uint64_t>(place, kContextBefore);
  if (length == 0) return {};
  auto piece = process.read(from, place - length, length);
  return piece.begin + piece.bytes.size() == place ? std::move(piece.bytes) : std::string();
}

}  // namespace

OutputPage output_page(const Process& process, const SecretMask& mask, const PageRequest& request) {
  const bool searches = !request.only_with.empty();
  const std::size_t most = searches ? kSearched : request.room;
  const auto piece = process.read(request.from, request.offset, most + kContextBehind);
  const Observation sight(context_before(process, request.from, piece.begin), piece.bytes, mask);
  OutputPage page;
  page.missing = piece.begin - request.offset;
  std::string_view bytes = sight.bytes().substr(0, most);
  if (!request.ended || bytes.size() == request.room) bytes = whole_characters(bytes);
  if (!searches && bytes.size() == request.room) bytes = whole_lines(bytes);
  Shown shown = searches ? show_matching(bytes, sight, request) : show(bytes, sight, request.room);
  page.text = std::move(shown.text);
  page.masked = shown.masked;
  page.next = piece.begin + shown.taken;
  return page;
}

std::uint64_t last_lines(const Process& process, OutputFrom from, std::uint64_t bytes,
                         std::uint64_t lines) {
  const std::uint64_t begin = bytes > kReach ? bytes - kReach : 0;
  const auto piece = process.read(from, begin, kReach);
  std::string_view text = piece.bytes;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (std::uint64_t line = 0; line < lines; ++line) {
    const std::size_t end = text.rfind('\n');
    if (end == std::string_view::npos) return piece.begin;
    text = text.substr(0, end);
  }
  return piece.begin + text.size() + 1;
}

}  // namespace cordon::mcp
