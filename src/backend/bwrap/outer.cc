#include "backend/bwrap/outer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "backend/bwrap/arguments.h"
#include "backend/bwrap/handover.h"
#include "backend/bwrap/sealed.h"
#include "backend/native/process_status.h"
#include "base/text.h"
#include "sys/calls.h"

namespace cordon::bwrap {
namespace {

// Descriptors keep their numbers from here to the first process; the three standard ones of
// bubblewrap are its own.
constexpr int kFirstFree = STDERR_FILENO + 1;

struct Streams {
  Fd in, out, err;
};

// The command's streams may have the numbers that bubblewrap's own are to have.
Result<Streams> out_of_the_way(const native::FirstProcessFds& fds) {
  Streams moved{Fd(::fcntl(fds.in, F_DUPFD_CLOEXEC, kFirstFree)),
                Fd(::fcntl(fds.out, F_DUPFD_CLOEXEC, kFirstFree)),
                Fd(::fcntl(fds.err, F_DUPFD_CLOEXEC, kFirstFree))};
  if (!moved.in.valid() || !moved.out.valid() || !moved.err.valid()) {
    return fail(setup_error("cannot copy a descriptor", errno));
  }
  return moved;
}

struct Execution {
  int program;
  int null;
  int said;
  char* const* argv;
  const std::vector<int>& kept;
  bool drop_groups;
};

// Between clone and exec: no allocation.
[[noreturn]] void become_sandbox(const Execution& execution) {
  // Groups such as docker or disk would still open host files by their group bits, and bubblewrap
  // keeps them.
  const bool ready = ::setpgid(0, 0) == 0 &&
                     (!execution.drop_groups || ::syscall(SYS_setgroups, 0, nullptr) == 0) &&
                     ::dup2(execution.null, STDIN_FILENO) >= 0 &&
                     ::dup2(execution.null, STDOUT_FILENO) >= 0 &&
                     ::dup2(execution.said, STDERR_FILENO) >= 0;
  if (!ready) ::_exit(125);
  for (const int fd : execution.kept) {
    if (fd < kFirstFree || ::fcntl(fd, F_SETFD, 0) < 0) ::_exit(125);
  }
  char* none = nullptr;
  ::execveat(execution.program, "", execution.argv, &none, AT_EMPTY_PATH);
  ::_exit(126);
}

Handover handover_of(const native::Start& asked, const Streams& streams) {
  Handover handover;
  handover.plan = *asked.prepared.plan;
  handover.fds = {streams.in.get(), streams.out.get(), streams.err.get(), asked.fds.channel,
                  asked.fds.release};
  handover.outside = native::own_namespaces();
  handover.terminal = asked.prepared.terminal;
  handover.rows = asked.prepared.window.ws_row;
  handover.columns = asked.prepared.window.ws_col;
  return handover;
}

}  // namespace

Result<Bubblewrap> Bubblewrap::make(Program program, Fd inside) {
  Fd said(::memfd_create("said", MFD_CLOEXEC));
  if (!said.valid()) return fail(setup_error("cannot make a memory file", errno));
  return Bubblewrap(std::move(program), std::move(inside), std::move(said));
}

Result<native::Started> Bubblewrap::start(const native::Start& asked) const {
  // That is root with other groups than its own; here it drops them itself, before bubblewrap.
  const bool drop_groups = asked.prepared.map_by == native::MapBy::Supervisor;
  asked.prepared.map_by = native::MapBy::FirstProcess;  // bubblewrap has written the maps by then
  std::vector<int> kept;
  for (const Fd& pin : asked.pins) kept.push_back(pin.get());
  CORDON_TRY(words, sealed_text(arguments(*asked.prepared.plan, kept)));
  CORDON_TRY(streams, out_of_the_way(asked.fds));
  const Handover handover = handover_of(asked, streams);
  CORDON_TRY(handed, sealed_text(encode(handover)));
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return fail(setup_error("cannot open /dev/null", errno));
  kept.insert(kept.end(),
              {words.get(), handed.get(), inside_.get(), handover.fds.in, handover.fds.out,
               handover.fds.err, handover.fds.channel, handover.fds.release});
  // Nothing of the policy is on a command line: anybody can read those.
  std::array<std::string, 6> text{"bwrap",
                                  "--args",
                                  std::to_string(words.get()),
                                  "--",
                                  "/proc/self/fd/" + std::to_string(inside_.get()),
                                  std::to_string(handed.get())};
  std::array<char*, text.size() + 1> argv{};
  for (std::size_t i = 0; i < text.size(); ++i) argv[i] = text[i].data();
  const Execution execution{program_.file.get(), null.get(), said_.get(),
                            argv.data(),         kept,       drop_groups};
  const sys::CloneResult cloned = sys::clone_process(0, asked.cgroup);
  if (cloned.pid == 0) become_sandbox(execution);
  if (cloned.pid < 0) return fail(setup_error("cannot start bubblewrap", -cloned.pid));
  // Here as well: whoever is first, the group is there before anybody can want to end it.
  ::setpgid(cloned.pid, cloned.pid);
  return native::Started{cloned, true};
}

Error Bubblewrap::explain(Error error) const {
  std::array<char, 512> text{};
  const ssize_t got = ::pread(said_.get(), text.data(), text.size(), 0);
  if (got <= 0) return error;
  const std::string_view all(text.data(), static_cast<std::size_t>(got));
  error.what = "bubblewrap could not build the sandbox: " + sanitize(all.substr(0, all.find('\n')));
  error.hint = "cordon doctor shows what this host permits; see also --backend native";
  error.error_number = 0;
  return error;
}

}  // namespace cordon::bwrap
