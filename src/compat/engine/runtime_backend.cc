#include "compat/engine/runtime_backend.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/check.h"
#include "base/path.h"
#include "base/text.h"
#include "compat/engine/engine.h"
#include "compat/engine/runtime_mounts.h"
#include "host/host_settings.h"
#include "host/inspect.h"
#include "host/own_programs.h"
#include "policy/http_rules.h"
#include "sandbox/bundle/bundle_init.h"
#include "sandbox/bwrap/bwrap_backend.h"
#include "sandbox/bwrap/encoded_plan.h"
#include "sandbox/native/cgroup.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/process_status.h"
#include "sandbox/native/sandbox_init.h"
#include "sys/calls.h"

namespace cordon::engine {
namespace {

constexpr std::string_view kRunc = "runc";
constexpr std::string_view kCrun = "crun";
constexpr std::string_view kRunsc = "runsc";
constexpr std::array kRuntimeNames{kRunc, kCrun, kRunsc};
constexpr std::array kRuntimePlaces{"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/",
                                    "/usr/local/bin/"};
constexpr std::string_view kBundleName = "bundle";
constexpr std::string_view kStateName = "state";
constexpr std::string_view kDocument = "config.json";

Error cannot_hold(const std::string& what, const std::string& change) {
  return {.kind = ErrorKind::Unsupported,
          .what = what + " cannot be held by oci",
          .hint = change + ", or use --backend native"};
}

// What needs a mount that only Cordon's own first process makes, or has not been tried.
Result<void> refuse_unheld(const Effective& effective) {
  if (judges_requests(effective.net)) {
    return fail(cannot_hold("a rule for requests", "leave out [[http]] and --http"));
  }
  if (!effective.net.publish.empty()) {
    return fail(cannot_hold("net.publish", "leave out the list and --publish"));
  }
  if (!effective.sockets.empty()) {
    return fail(cannot_hold("net.sockets", "leave out the list and --socket"));
  }
  if (!effective.agent.name.empty()) {
    return fail(cannot_hold("[agent]", "leave out the section and --agent"));
  }
  return {};
}

// A runtime mounts by names, follows a link that is one, and covers what it leads to.
Result<void> refuse_links(const HostFacts& facts) {
  for (const Pinned& pinned : facts.pinned) {
    if (pinned.file != FileKind::Other) continue;
    return fail(cannot_hold("the link " + quote(pinned.path) + ", which leads to a protected file,",
                            "put the file itself in its place"));
  }
  for (const GitDirectory& git : facts.git) {
    for (const GitDirectory::Config& config : git.configs) {
      struct stat status {};
      if (::lstat(config.path.c_str(), &status) == 0 && !S_ISLNK(status.st_mode)) continue;
      return fail(
          cannot_hold("the link " + quote(config.path), "put the file itself in its place"));
    }
  }
  return {};
}

// A document is JSON: its names are text.
Result<void> refuse_unwritable_names(const std::vector<op::RunBundle::Entry>& entries) {
  for (const op::RunBundle::Entry& entry : entries) {
    if (entry.path == kDocument && !is_valid_utf8(entry.content)) {
      return fail(cannot_hold("a path that is not UTF-8", "rename it"));
    }
  }
  return {};
}

// Groups of version 1 are joined by the command itself, whatever a runtime does. Into those of
// version 2 it would be born, and runtimes move what they start.
Result<HostFacts> without_group(const Effective& effective, const HostFacts& facts) {
  HostFacts known = facts;
  if (facts.cgroup.version != CgroupFacts::Version::V2) return known;
  known.cgroup = {};
  constexpr const char* kWhy = " by a control group of version 2";
  if (!may_be_missing(effective, Layer::Cgroup)) {
    return fail(cannot_hold("the required layer cgroup" + std::string(kWhy),
                            "take cgroup out of layers in [require]"));
  }
  if (effective.limits.cpus_milli) {
    return fail(cannot_hold("limits.cpus" + std::string(kWhy), "leave out the limit and --cpus"));
  }
  return known;
}

struct FoundRuntime {
  std::string name;
  bwrap::Program program;
};

Result<FoundRuntime> find_named(std::string_view name) {
  for (const char* place : kRuntimePlaces) {
    const std::string path = std::string(place).append(name);
    if (::access(path.c_str(), F_OK) < 0) continue;
    CORDON_TRY(program, bwrap::open_trusted(path, std::string(name)));
    return FoundRuntime{std::string(name), std::move(program)};
  }
  return fail({.kind = ErrorKind::Unavailable,
               .what = "the OCI runtime " + std::string(name) + " is not installed",
               .hint = install_line(host_settings(), std::string(name))});
}

// gVisor's own kernel answers what runs in it. Cordon's first process could say what it was told
// there, and nothing of it would be what this host enforces.
Error unmeasurable() {
  return {.kind = ErrorKind::Unsupported,
          .what =
              "the runtime runsc cannot be held to a policy: gVisor has no Landlock and hands "
              "no filter's listener to Cordon, so that nothing inside could be read back",
          .hint =
              "write --runtime runc or --runtime crun; a bundle of cordon export oci, which "
              "promises no measurement, refuses to start in gVisor as well"};
}

Result<FoundRuntime> find_asked(const std::string& name) {
  if (name == kRunsc) return fail(unmeasurable());
  if (!name.empty()) return find_named(name);
  auto first = find_named(kRunc);
  if (first || first.error().kind != ErrorKind::Unavailable) return first;
  auto second = find_named(kCrun);
  if (second || second.error().kind != ErrorKind::Unavailable) return second;
  return fail({.kind = ErrorKind::Unavailable,
               .what = "no OCI runtime is installed: neither runc nor crun",
               .hint = install_line(host_settings(), std::string(kRunc))});
}

const op::RunBundle& bundle_of(const Plan& plan) {
  const auto found = std::ranges::find_if(plan.build, [](const Op& operation) {
    return std::holds_alternative<op::RunBundle>(operation);
  });
  CORDON_ASSERT(found != plan.build.end());
  return std::get<op::RunBundle>(*found);
}

// Made by a runtime that has root's rights, in every hierarchy, and removed by it unless it is
// killed.
std::string container_name(const std::string& run_id) { return native::kRuntimeGroup + run_id; }

std::vector<std::string> words_of(const op::RunBundle& bundle, const std::string& run_id) {
  std::vector<std::string> words{bundle.runtime, "--root", join(bundle.directory, kStateName)};
  // The limits are held by groups of Cordon's own.
  if (bundle.runtime == kCrun) words.emplace_back("--cgroup-manager=disabled");
  if (bundle.runtime == kRunc && ::geteuid() != 0) {
    words.insert(words.end(), {"--rootless", "true"});
  }
  words.insert(words.end(),
               {"run", "--preserve-fds", std::to_string(bundle::kPassedFds), "--bundle",
                join(bundle.directory, kBundleName), container_name(run_id)});
  return words;
}

struct RuntimeStart {
  int program;
  int null;
  int said;
  char* const* argv;
  std::array<int, bundle::kPassedFds> passed;
};

// Between clone and exec: no allocation.
[[noreturn]] void become_runtime_process(const RuntimeStart& start) {
  constexpr int kOutOfTheWay = 64;
  // A runtime waits for the end of its child by a signal, and the caller's mask would hide it.
  native::default_signals();
  // Groups such as docker or disk would still open host files by their group bits.
  const bool ready =
      ::setpgid(0, 0) == 0 &&
      (::geteuid() != 0 || ::syscall(SYS_setgroups, 0, nullptr) == 0 || errno == EPERM);
  const int program = ::fcntl(start.program, F_DUPFD_CLOEXEC, kOutOfTheWay);
  std::array<int, bundle::kPassedFds> high{};
  for (std::size_t i = 0; i < high.size(); ++i) {
    high[i] = ::fcntl(start.passed[i], F_DUPFD_CLOEXEC, kOutOfTheWay);
  }
  const int said = ::fcntl(start.said, F_DUPFD_CLOEXEC, kOutOfTheWay);
  if (!ready || program < 0 || ::dup2(start.null, STDIN_FILENO) < 0 ||
      ::dup2(start.null, STDOUT_FILENO) < 0 || ::dup2(said, STDERR_FILENO) < 0) {
    ::_exit(125);
  }
  for (std::size_t i = 0; i < high.size(); ++i) {
    if (::dup2(high[i], bundle::kHandedFd + static_cast<int>(i)) < 0) ::_exit(125);
  }
  char* none = nullptr;
  ::execveat(program, "", start.argv, &none, AT_EMPTY_PATH);
  ::_exit(126);
}

bwrap::EncodedPlan handed_plan(const native::Start& asked) {
  bwrap::EncodedPlan handed;
  handed.plan = *asked.prepared.plan;
  constexpr int kFirst = bundle::kFirstStreamFd;
  handed.fds = {kFirst, kFirst + 1, kFirst + 2, kFirst + 3, kFirst + 4};
  handed.outside = native::own_namespaces();
  handed.mask = native::own_umask();
  handed.terminal = asked.prepared.terminal;
  handed.rows = asked.prepared.window.ws_row;
  handed.columns = asked.prepared.window.ws_col;
  return handed;
}

// The last of what a runtime said, without the frame that runc puts around it.
std::string last_words(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  text = text.substr(text.rfind('\n') + 1);
  constexpr std::string_view kFrame = "msg=\"";
  if (const std::size_t begin = text.find(kFrame); begin != std::string_view::npos) {
    text = text.substr(begin + kFrame.size());
    text = text.substr(0, text.rfind('"'));
  }
  return sanitize(text);
}

// Empty if it cannot be read.
std::string text_of(const std::string& file) {
  constexpr std::size_t kMost = std::size_t{64} << 20U;
  const Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.valid()) return {};
  return read_all(opened.get(), kMost).value_or("");
}

class RuntimeLauncher final : public native::NamespaceLauncher {
 public:
  RuntimeLauncher(bwrap::Program program, const op::RunBundle& bundle, std::string run_id, Fd said)
      : program_(std::move(program)),
        bundle_(bundle),
        run_id_(std::move(run_id)),
        said_(std::move(said)) {}

  [[nodiscard]] Result<native::Started> start(const native::Start& asked) const override {
    asked.prepared.map_by =
        native::MapBy::FirstProcess;  // the runtime has written the maps by then
    CORDON_TRY(handed, bwrap::sealed_text(bwrap::encode(handed_plan(asked))));
    const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null.valid()) return fail(setup_error("cannot open /dev/null", errno));
    std::vector<std::string> words = words_of(bundle_, run_id_);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const native::SandboxInitFds& fds = asked.fds;
    const RuntimeStart begin{program_.file.get(),
                             null.get(),
                             said_.get(),
                             argv.data(),
                             {handed.get(), fds.in, fds.out, fds.err, fds.channel, fds.release}};
    const sys::CloneResult cloned = sys::clone_process(0, asked.cgroup);
    if (cloned.pid == 0) become_runtime_process(begin);
    if (cloned.pid < 0) return fail(setup_error("cannot start the OCI runtime", -cloned.pid));
    // Here as well: whoever is first, the group is there before anybody can want to end it.
    ::setpgid(cloned.pid, cloned.pid);
    return native::Started{cloned, true};
  }

  // With what the runtime itself said, if it said anything.
  [[nodiscard]] Error explain(Error error) const override {
    std::array<char, 4096> text{};
    const ssize_t got = ::pread(said_.get(), text.data(), text.size(), 0);
    const std::string others = "--runtime names another runtime; see also --backend native";
    if (got <= 0) {
      error.hint = bundle_.runtime + " said nothing; " + others;
      return error;
    }
    error.what = bundle_.runtime + " could not start the container: " +
                 last_words({text.data(), static_cast<std::size_t>(got)});
    error.hint = others;
    error.error_number = 0;
    return error;
  }

  // Below a grant or in a private place the command could use what a runtime adds.
  [[nodiscard]] Result<void> examine(pid_t first) const override {
    const auto is_document = [](const op::RunBundle::Entry& one) { return one.path == kDocument; };
    const auto document = std::ranges::find_if(bundle_.entries, is_document);
    CORDON_ASSERT(document != bundle_.entries.end());
    const std::string bundle = join(bundle_.directory, kBundleName);
    const std::string mounted = text_of("/proc/" + std::to_string(first) + "/mountinfo");
    const std::string of_host = text_of("/proc/self/mountinfo");
    // crun 1.8 shows no mount below a bind in a user namespace.
    if (const auto lost = missing_mount(document->content, bundle, mounted, of_host)) {
      return fail(setup_error(
          bundle_.runtime + " does not show what the host has mounted at " + quote(*lost), 0,
          "the command was not started: --runtime names another runtime; see also --backend "
          "native"));
    }
    const auto place = unasked_mount(document->content, bundle, mounted, of_host);
    if (!place) return {};
    return fail(setup_error(
        bundle_.runtime + " shows something at " + quote(*place) + " that it was not asked for", 0,
        "the command was not started: " + quote(program_.path) +
            " adds it, or the host's mounts changed meanwhile; see also --backend native"));
  }

  // The root is the directory that was made for it, and nothing else.
  [[nodiscard]] Result<Enforcement> verify(const Plan& plan, const native::Measured& measured,
                                           const native::NamespaceIds& outside) const override {
    struct stat root {};
    const std::string place = join(join(bundle_.directory, kBundleName), "rootfs");
    if (::lstat(place.c_str(), &root) < 0 || measured.root_device != root.st_dev ||
        measured.root_inode != root.st_ino) {
      return fail(setup_error("the root of the container is not that of its bundle", 0,
                              "the command was not started; run again"));
    }
    return NamespaceLauncher::verify(plan, measured, outside);
  }

 private:
  bwrap::Program program_;
  const op::RunBundle& bundle_;
  std::string run_id_;
  Fd said_;  // takes its standard error, without ever making it wait
};

// What was written of a bundle goes with the run: there is nothing for a person to remove.
Error unwritten(Error error, const std::string& directory) {
  const bool full = error.error_number == ENOSPC || error.error_number == EDQUOT;
  error.hint = full ? "make room on the disk of " + quote(parent(directory)) : "";
  return error;
}

class RuntimeBackend final : public Backend {
 public:
  explicit RuntimeBackend(std::string runtime) : runtime_(std::move(runtime)) {}

  [[nodiscard]] BackendKind kind() const override { return BackendKind::Oci; }
  [[nodiscard]] PrivateSpace private_space() const override { return PrivateSpace::Mounted; }
  [[nodiscard]] bool needs_directory() const override { return true; }

  [[nodiscard]] Result<Capabilities> probe() const override {
    CORDON_CHECK(find_asked(runtime_));
    Capabilities found;
    found.backend = kind();
    found.fs_read = found.fs_write = found.execute = true;
    found.net_block = found.net_allow = found.network_host_filtering = true;
    found.deny_paths_supported = found.environment_scrub = found.tree_kill = true;
    found.pid_limit = found.memory_limit = found.syscalls = true;
    return found;
  }

  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    CORDON_CHECK(refuse_unheld(clamped.effective()));
    CORDON_CHECK(refuse_links(facts));
    CORDON_TRY(known, without_group(clamped.effective(), facts));
    CORDON_TRY(found, find_asked(runtime_));
    CORDON_TRY(inside, own_program(caller, "cordon-inside"));
    const EngineRequest asked{clamped, known, caller, request.argv, request.cwd, {}};
    CORDON_TRY(made, plan_oci_run(asked, request, inside, {found.name, found.program.path}));
    CORDON_CHECK(refuse_unwritable_names(bundle_of(made).entries));
    CORDON_CHECK(bwrap::refuse_within_grants(found.program, made));
    CORDON_CHECK(bwrap::refuse_within_grants({inside, Fd()}, made));
    return made;
  }

  [[nodiscard]] std::vector<std::string> leftovers(const Plan& plan, const HostFacts& facts,
                                                   const std::string& run_id) const override {
    std::vector<std::string> groups = native::cgroup_directories(plan, facts.cgroup, run_id);
    const bool makes_groups = ::geteuid() == 0 && bundle_of(plan).runtime == kRunc;
    if (!makes_groups) return groups;
    for (const std::string& group : native::own_groups()) {
      groups.push_back(join(group, container_name(run_id)));
    }
    return groups;
  }

  [[nodiscard]] Result<std::unique_ptr<Building>> build(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const override {
    const op::RunBundle& bundle = bundle_of(plan);
    CORDON_TRY(program, bwrap::open_trusted(bundle.program, bundle.runtime));
    if (::mkdir(bundle.directory.c_str(), 0700) < 0) {
      return fail(setup_error("cannot make " + quote(bundle.directory), errno));
    }
    if (auto written = write_entries(join(bundle.directory, kBundleName), bundle.entries); !written)
      return fail(unwritten(std::move(written).error(), bundle.directory));
    Fd said(::memfd_create("said", MFD_CLOEXEC));
    if (!said.valid()) return fail(setup_error("cannot make a memory file", errno));
    return native::build_in(
        std::make_unique<RuntimeLauncher>(std::move(program), bundle, run_id, std::move(said)),
        plan, facts, run_id, streams);
  }

 private:
  std::string runtime_;
};

}  // namespace

bool is_runtime_name(std::string_view name) {
  return std::ranges::find(kRuntimeNames, name) != kRuntimeNames.end();
}

std::optional<std::string> installed_runtime(std::string_view name) {
  auto found = find_named(name);
  if (!found) return std::nullopt;
  return std::move(found->program.path);
}

std::unique_ptr<Backend> make_runtime_backend(std::string runtime) {
  return std::make_unique<RuntimeBackend>(std::move(runtime));
}

}  // namespace cordon::engine
