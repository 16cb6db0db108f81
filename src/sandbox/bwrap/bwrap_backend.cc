#include "sandbox/bwrap/bwrap_backend.h"

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/own_programs.h"
#include "sandbox/bwrap/arguments.h"
#include "sandbox/bwrap/encoded_plan.h"
#include "sandbox/bwrap/program.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/probe.h"
#include "sandbox/native/process_status.h"
#include "sys/calls.h"

namespace cordon::bwrap {
namespace {

constexpr const char* kInside = "cordon-inside";

Error failed(const char* what) {
  return setup_error(std::string("cannot ") + what + " a memory file", errno);
}

Result<Fd> memory_file(const char* name, unsigned kind) {
  Fd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kind));
  // Kernels before 6.3 do not know the word for "executable" and need none.
  if (!file.valid() && errno == EINVAL) {
    file = Fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!file.valid()) return fail(failed("make"));
  return file;
}

Result<void> seal(const Fd& file) {
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return fail(failed("rewind"));
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) < 0) return fail(failed("seal"));
  return {};
}

Result<Fd> sealed_copy(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return fail(setup_error("cannot open " + quote(path), errno));
  const std::optional<FileInfo> seen = inspect_fd(file.get());
  const bool trusted = seen && seen->kind == FileKind::Regular &&
                       (seen->owner == 0 || seen->owner == ::geteuid()) &&
                       (seen->mode & kOthersMayWrite) == 0;
  if (!trusted) {
    return fail({.kind = ErrorKind::Untrusted,
                 .what = quote(path) + " may have been written by others",
                 .hint = "it is to belong to you or to root, and nobody else may write it"});
  }
  constexpr unsigned kExecutable = 0x10;
  CORDON_TRY(copy, memory_file(kInside, kExecutable));
  for (std::uint64_t left = seen->size; left > 0;) {
    const ssize_t put = ::sendfile(copy.get(), file.get(), nullptr, left);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail(setup_error("cannot copy " + quote(path), put < 0 ? errno : EIO));
    left -= static_cast<std::uint64_t>(put);
  }
  CORDON_CHECK(seal(copy));
  return copy;
}

}  // namespace

Result<Fd> sealed_text(std::string_view content) {
  CORDON_TRY(file, memory_file("cordon", 0));
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t put = ::write(file.get(), content.data() + done, content.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(failed("write"));
    done += static_cast<std::size_t>(put);
  }
  CORDON_CHECK(seal(file));
  return file;
}

Result<Program> sealed_inside() {
  const std::optional<std::string> self = read_link(AT_FDCWD, "/proc/self/exe");
  if (!self) return fail(setup_error("cannot tell where this program lies", errno));
  for (const std::string& place : own_places(parent(*self), kInside)) {
    if (::access(place.c_str(), F_OK) < 0) continue;
    const std::string path = PathTrace().to(place).end;
    if (path.empty()) return fail(setup_error("cannot look at the way to " + quote(place), errno));
    CORDON_TRY(copy, sealed_copy(path));
    return Program{path, std::move(copy)};
  }
  return fail({.kind = ErrorKind::Unavailable,
               .what = std::string("cannot find ") + kInside,
               .hint = "it belongs beside cordon: install it, or build it with ./cordon"});
}

namespace {

// Descriptors keep their numbers from here to the first process; the three standard ones of
// bubblewrap are its own.
constexpr int kFirstFree = STDERR_FILENO + 1;

struct Streams {
  Fd in, out, err;
};

// The command's streams may have the numbers that bubblewrap's own are to have.
Result<Streams> out_of_the_way(const native::SandboxInitFds& fds) {
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

EncodedPlan handover_of(const native::Start& asked, const Streams& streams) {
  EncodedPlan encoded_plan;
  encoded_plan.plan = *asked.prepared.plan;
  encoded_plan.fds = {streams.in.get(), streams.out.get(), streams.err.get(), asked.fds.channel,
                      asked.fds.release};
  encoded_plan.outside = native::own_namespaces();
  encoded_plan.mask = native::own_umask();
  encoded_plan.terminal = asked.prepared.terminal;
  encoded_plan.rows = asked.prepared.window.ws_row;
  encoded_plan.columns = asked.prepared.window.ws_col;
  return encoded_plan;
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
  const EncodedPlan encoded_plan = handover_of(asked, streams);
  CORDON_TRY(handed, sealed_text(encode(encoded_plan)));
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return fail(setup_error("cannot open /dev/null", errno));
  kept.insert(kept.end(),
              {words.get(), handed.get(), inside_.get(), encoded_plan.fds.in, encoded_plan.fds.out,
               encoded_plan.fds.err, encoded_plan.fds.channel, encoded_plan.fds.release});
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

namespace {

constexpr std::chrono::seconds kStartTimeout{5};

// Really starts the first process in namespaces of bubblewrap's and lets it mount something.
Result<void> try_sandbox_init(const Program& program) {
  CORDON_TRY(inside, sealed_inside());
  const std::string descriptor = "/proc/self/fd/" + std::to_string(inside.file.get());
  CORDON_TRY(answer,
             ask(program,
                 {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
                  "--unshare-cgroup", "--unshare-net", "--hostname", "cordon", "--as-pid-1",
                  "--cap-add", "ALL", "--tmpfs", "/", "--proc", "/proc", "--", descriptor, "try"},
                 {inside.file.get()}, kStartTimeout));
  if (WIFEXITED(answer.wait_status) && WEXITSTATUS(answer.wait_status) == 0) return {};
  return fail({.kind = ErrorKind::Unavailable,
               .what = "what bubblewrap starts on this host may not finish its root",
               .hint = "user namespaces, or capabilities in them, are refused to it here, as by "
                       "AppArmor's profile bwrap-userns-restrict; use --backend native"});
}

class Bwrap final : public native::GroupedBackend {
 public:
  [[nodiscard]] BackendKind kind() const override { return BackendKind::Bwrap; }
  [[nodiscard]] PrivateSpace private_space() const override { return PrivateSpace::Mounted; }

  [[nodiscard]] Result<Capabilities> probe() const override {
    CORDON_TRY(program, find_program());
    CORDON_CHECK(check_options(program));
    CORDON_CHECK(try_sandbox_init(program));
    // The rest is native's, and so is what it needs of the kernel: but not the namespaces, which
    // may be permitted to bubblewrap alone.
    const std::vector<native::Probe> probes = native::probe_layers();
    for (const native::Probe& probe : probes) {
      if (!probe.ok && native::is_required(probe)) return fail(native::refusal_of(probe));
    }
    return native::capabilities_of(kind(), probes);
  }

  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    CORDON_TRY(made, make_native_plan(clamped, facts, caller, request));
    made.backend = kind();
    return made;
  }

  [[nodiscard]] Result<std::unique_ptr<Building>> build(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const override {
    CORDON_TRY(program, find_program());
    CORDON_CHECK(refuse_within_grants(program, plan));
    CORDON_CHECK(check_options(program));
    CORDON_TRY(inside, sealed_inside());
    CORDON_CHECK(refuse_within_grants(inside, plan));
    CORDON_TRY(bubblewrap, Bubblewrap::make(std::move(program), std::move(inside.file)));
    return native::build_in(std::make_unique<Bubblewrap>(std::move(bubblewrap)), plan, facts,
                            run_id, streams);
  }
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<Bwrap>(); }

}  // namespace cordon::bwrap
