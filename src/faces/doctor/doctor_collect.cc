#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "compat/backends.h"
#include "config/node.h"
#include "cordon/probe.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "faces/doctor/doctor_check.h"
#include "host/host_settings.h"
#include "host/resolve.h"
#include "host/survey.h"
#include "host/writable.h"
#include "policy/clamp.h"
#include "run/gate.h"
#include "run/line.h"
#include "run/policy_source.h"
#include "sys/landlock.h"
#include "sys/sockets.h"

namespace cordon {
namespace {

// The check of an MXC executor, where one is installed. Without a pin it only cannot be used, so
// that nothing here fails.

Check warn(std::string message, std::string cure) {
  return {CheckCategory::Config, "mxc-executor", CheckStatus::Warn, std::move(message),
          std::move(cure)};
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "unknown" : sanitize(text);
}

}  // namespace

Check judge_executor(const mxc::ExecutorAccount& executor) {
  const std::string place = quote(executor.path) + " (" + executor.tier + ")";
  if (executor.why) return warn(message(*executor.why), executor.why->hint);
  if (!executor.pin || executor.pin->is_zero()) {
    return warn(place + ", SHA256 " + executor.sha256 + ": not pinned",
                "if you know where it came from, write into " + quote(executor.pins) +
                    ": version = 1, [executors." + executor.key + "], sha256 = \"" +
                    executor.sha256 + "\", version, commit, origin");
  }
  const mxc::Pin& pin = *executor.pin;
  if (pin.sha256 != executor.sha256) {
    return warn(place + " is not the pinned one: SHA256 expected " + pin.sha256 + ", actual " +
                    executor.sha256,
                "install the pinned release again");
  }
  return {CheckCategory::Config, "mxc-executor", CheckStatus::Pass,
          place + ", version " + sanitize(pin.version) + ", commit " + or_unknown(pin.commit) +
              ", origin " + or_unknown(pin.origin) + ", SHA256 " + pin.sha256,
          ""};
}

namespace {

// What doctor runs inside its sandboxes. Each attempt is harmless anywhere; its exit status is 0 if
// it succeeded and the errno of the refused call otherwise.

int attempt_read(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char byte = 0;
  if (!file.valid() || ::read(file.get(), &byte, 1) < 0) return errno;
  return 0;
}

int attempt_write(const std::string& path) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid() || ::write(file.get(), "x", 1) < 0) return errno;
  return 0;
}

int attempt_connect(const std::string& port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(parse_number(port).value_or(0)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(socket.get(), generic, sizeof address) < 0 ? errno : 0;
}

// How long they stay where no limit met them: who counts them from time to time is to see them.
constexpr useconds_t kStay = 900'000;

// As many children as asked for, alive at one time, and for so long.
int attempt_fork(const std::string& count, useconds_t stay) {
  const std::uint64_t wanted = parse_number(count).value_or(0);
  const pid_t parent = ::getpid();
  std::vector<pid_t> children;
  int error = 0;
  for (std::uint64_t i = 0; i < wanted && error == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      // Killed with the one that counts them, were that killed.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() == parent) ::pause();
      ::_exit(0);
    }
    if (child < 0) {
      error = errno;
    } else {
      children.push_back(child);
    }
  }
  if (error == 0 && stay > 0) ::usleep(stay);
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return error;
}

// A grandchild in a session of its own that holds a lock on the file until it is killed. It writes
// to the file once it has the lock.
int attempt_linger(const std::string& path) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid() || ::flock(file.get(), LOCK_EX) < 0 || ::write(file.get(), "x", 1) < 0) {
      ::_exit(1);
    }
    for (;;) ::pause();
  }
  for (;;) ::pause();
}

}  // namespace

int doctor_inside(const std::vector<std::string>& words) {
  constexpr int kUsage = 2;
  if (words.size() != 2) return kUsage;
  if (words[0] == "read") return attempt_read(words[1]);
  if (words[0] == "write") return attempt_write(words[1]);
  if (words[0] == "connect") return attempt_connect(words[1]);
  if (words[0] == "fork") return attempt_fork(words[1], 0);
  if (words[0] == "crowd") return attempt_fork(words[1], kStay);
  if (words[0] == "linger") return attempt_linger(words[1]);
  return kUsage;
}

namespace {

// A directory with a granted part and a part outside of every grant; removed at the end.
class ProbeDirectory {
 public:
  explicit ProbeDirectory(const std::string& below) : path_(join(below, "cordon-doctor.XXXXXX")) {
    made_ = ::mkdtemp(path_.data()) != nullptr && ::mkdir(granted("").c_str(), 0700) == 0 &&
            ::mkdir(outside("").c_str(), 0700) == 0 && plant(granted("known")) &&
            plant(outside("secret"));
    if (!made_) why_not_ = errno;
  }
  ~ProbeDirectory() {
    for (const char* name : {"known", "written", "lock"}) ::unlink(granted(name).c_str());
    for (const char* name : {"secret", "written"}) ::unlink(outside(name).c_str());
    ::rmdir(granted("").c_str());
    ::rmdir(outside("").c_str());
    ::rmdir(path_.c_str());
  }
  ProbeDirectory(const ProbeDirectory&) = delete;
  ProbeDirectory& operator=(const ProbeDirectory&) = delete;

  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] int why_not() const { return why_not_; }
  [[nodiscard]] std::string granted(std::string_view name) const { return below("granted", name); }
  [[nodiscard]] std::string outside(std::string_view name) const { return below("outside", name); }

 private:
  [[nodiscard]] std::string below(std::string_view part, std::string_view name) const {
    const std::string directory = join(path_, part);
    return name.empty() ? directory : join(directory, name);
  }
  static bool plant(const std::string& path) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return file.valid() && ::write(file.get(), "planted", 7) == 7;
  }

  std::string path_;
  bool made_ = false;
  int why_not_ = 0;
};

struct ProbeRun {
  std::vector<std::string> words;
  NetAccess net;
  std::uint64_t pids = 64;
  std::uint64_t wall_ms = 10'000;
};

class ProbeRunner {
 public:
  ProbeRunner(const Caller& caller, const ProbeDirectory& stage) : caller_(caller), stage_(stage) {}

  [[nodiscard]] Report run(const ProbeRun& attempt) const {
    auto policy = Policy::preset("strict");
    RunInput input;
    input.policy = std::move(*policy);
    input.policy.fs.write.push_back({stage_.granted(""), {}});
    input.policy.fs.read.push_back({caller_.executable, {}});
    input.policy.net.mode = attempt.net;
    input.policy.limits.pids = attempt.pids;
    input.policy.limits.wall_ms = attempt.wall_ms;
    input.argv = {caller_.executable, std::string(kInsideVerb)};
    input.argv.insert(input.argv.end(), attempt.words.begin(), attempt.words.end());
    input.cwd = stage_.granted("");
    input.backends = every_backend(caller_);
    input.asker.action = "doctor";
    return run_contained(input, caller_);
  }

 private:
  const Caller& caller_;
  const ProbeDirectory& stage_;
};

// Ended by who counts the processes from time to time.
bool is_over_processes(const Report& report) {
  const auto* limit = report.outcome ? std::get_if<OverLimit>(&report.outcome->end) : nullptr;
  return limit != nullptr && limit->reason == "pids";
}

std::string told(const Report& report) {
  if (report.error) return message(*report.error);
  const int status = exit_status(report.outcome->end);
  if (status == 0) return "succeeded";
  if (is_over_processes(report)) return "the end of the run";
  const char* name = ::strerrorname_np(status);
  return name != nullptr ? name : "status " + std::to_string(status);
}

bool succeeded(const Report& report) {
  return report.outcome && std::holds_alternative<Exited>(report.outcome->end) &&
         exit_status(report.outcome->end) == 0;
}

bool refused(const Report& report) {
  if (is_over_processes(report)) return true;
  return report.outcome && std::holds_alternative<Exited>(report.outcome->end) &&
         exit_status(report.outcome->end) != 0;
}

void explain_failure(Check& check, const Report& report) {
  const std::string otherwise =
      report.error ? "every probe of this host passes and a run is refused: please report the line "
                     "above and what --json prints"
                   : "do not rely on this host";
  check.cure = report.error ? cure_of(*report.error, otherwise) : otherwise;
  if (report.error) check.evidence = Evidence::NotStarted;
}

// The attempt must be refused and its control must succeed; anything else is no containment, or no
// evidence of it.
Check refusal_check(const std::string& name, const Report& attempt, const Report& control,
                    std::string what) {
  Check check{CheckCategory::Security, name, CheckStatus::Pass, std::move(what), {}};
  if (refused(attempt) && succeeded(control)) {
    check.message += ": refused with " + told(attempt);
    return check;
  }
  check.status = CheckStatus::Fail;
  check.message += ": " + told(attempt) + "; the control: " + told(control);
  const Report& worse = attempt.error ? attempt : control;
  explain_failure(check, worse);
  return check;
}

Check fork_check(const ProbeRunner& theatre) {
  constexpr std::uint64_t kFew = 16;
  ProbeRun many{{"crowd", "64"}};
  many.pids = kFew;
  ProbeRun few{{"fork", "8"}};
  few.pids = kFew;
  const Report bomb = theatre.run(many);
  Check check =
      refusal_check("live-fork-limit", bomb, theatre.run(few), "64 forks under a limit of 16");
  if (check.status != CheckStatus::Pass) return check;
  const auto holder = bomb.enforcement.limits.find("pids");
  if (holder != bomb.enforcement.limits.end()) check.message += ", held by " + holder->second;
  return check;
}

bool lock_is_free(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

// The lingering grandchild wrote to the file, so it lived; its lock is free, so it is dead.
Check tree_kill_check(const ProbeRunner& theatre, const ProbeDirectory& stage) {
  ProbeRun attempt{{"linger", stage.granted("lock")}};
  bool lived = false;
  Report report;
  // A host that stands still for a moment may not come to start it in half a second.
  for (const unsigned wall_ms : {500U, 5000U}) {
    attempt.wall_ms = wall_ms;
    report = theatre.run(attempt);
    struct stat status {};
    lived = ::stat(stage.granted("lock").c_str(), &status) == 0 && status.st_size > 0;
    if (lived) break;
  }
  const bool timed_out = report.outcome && std::holds_alternative<TimedOut>(report.outcome->end);
  Check check{CheckCategory::Security,
              "live-tree-kill",
              CheckStatus::Pass,
              "a detached grandchild was gone after the time limit",
              {}};
  if (lived && timed_out && lock_is_free(stage.granted("lock"))) return check;
  check.status = CheckStatus::Fail;
  check.message = !timed_out ? "the time limit did not end the run: " + told(report)
                  : lived    ? "a detached grandchild outlived the run"
                             : "the detached grandchild did not start";
  explain_failure(check, report);
  return check;
}

Check write_check(const ProbeRunner& theatre, const ProbeDirectory& stage) {
  Check check =
      refusal_check("live-write-outside", theatre.run({{"write", stage.outside("written")}}),
                    theatre.run({{"write", stage.granted("written")}}), "writing beside the grant");
  const bool escaped = ::access(stage.outside("written").c_str(), F_OK) == 0;
  const bool arrived = ::access(stage.granted("written").c_str(), F_OK) == 0;
  if (check.status == CheckStatus::Pass && (escaped || !arrived)) {
    check.status = CheckStatus::Fail;
    check.message = escaped ? "a file appeared outside of the grant"
                            : "a file written inside the grant did not arrive";
    check.cure = "do not rely on this host";
  }
  return check;
}

Check connect_check(const ProbeRunner& theatre) {
  const sys::LoopbackListener listener;
  ProbeRun open{{"connect", std::to_string(listener.port())}};
  open.net = share_the_hosts_network();
  return refusal_check("live-connect", theatre.run({{"connect", std::to_string(listener.port())}}),
                       theatre.run(open), "connecting to the host's loopback");
}

}  // namespace

std::vector<Check> live_checks(const Caller& caller) {
  const auto temporary = caller.environment.find("TMPDIR");
  const bool usable = temporary != caller.environment.end() && temporary->second.starts_with('/');
  const std::string place = usable ? temporary->second : "/tmp";
  const ProbeDirectory stage(place);
  if (!stage.made()) {
    return {{CheckCategory::Security, "live-probes", CheckStatus::Fail,
             message(setup_error("cannot make a directory for the probes in " + place,
                                 stage.why_not())),
             "make " + place + " writable, or set TMPDIR to a directory that is"}};
  }
  const ProbeRunner theatre(caller, stage);
  return {
      write_check(theatre, stage),
      refusal_check("live-read-secret", theatre.run({{"read", stage.outside("secret")}}),
                    theatre.run({{"read", stage.granted("known")}}), "reading a planted secret"),
      connect_check(theatre), fork_check(theatre), tree_kill_check(theatre, stage)};
}

namespace {

// A program found on PATH is a stranger: its version is asked for inside a sandbox.
std::string contained_version(const std::string& path, const Caller& caller) {
  auto policy = Policy::preset("strict");
  if (path.empty() || !policy) return {};
  RunInput input;
  input.argv = {path, "--version"};
  input.policy = std::move(*policy);
  input.policy.fs.read.push_back({"@system", {}});
  input.policy.fs.read.push_back({path, {}});
  input.cwd = "/";
  input.backends = every_backend(caller);
  input.asker.action = "doctor";
  const Report report = run_contained(input, caller);
  if (!report.outcome || !report.outcome->out || exit_status(report.outcome->end) != 0) return {};
  const std::string text = report.outcome->out->text();
  return sanitize(std::string_view(text).substr(0, text.find('\n')));
}

// Starts the gate for a host that is never asked for, and ends it: its program, what that needs,
// its confinement on this kernel and the certificates are there, or the error says what is not.
// Answers with the file of the certificates.
Result<std::string> try_gate(const Caller& caller) {
  CORDON_TRY(policy, Policy::preset("strict"));
  CORDON_TRY(host, parse_http_host("gate.invalid"));
  HttpRule rule;
  rule.host = host;
  rule.allow = {{"GET", "/"}};
  policy.fs = {};
  policy.net.mode = NetMode::Allow;
  policy.net.http = {rule};
  CORDON_TRY(resolved, resolve(policy, caller));
  CORDON_TRY(clamped, clamp(resolved, {}));
  CORDON_TRY(store, Gate::trust_store(caller));
  CORDON_TRY(gate, Gate::start(clamped.effective(), caller));
  (void)gate->end();
  return store;
}

}  // namespace

HostAccount collect_account(const Caller& caller) {
  HostAccount account{host_settings()};
  utsname names{};
  if (::uname(&names) == 0) {
    account.system = names.sysname;
    account.machine = names.machine;
    account.release = names.release;
  }
  account.in_cordon = is_inside_cordon(caller);
  account.probes = native::probe_kernel();
  account.seccomp_actions = native::seccomp_actions();
  account.landlock_abi = sys::landlock_abi();
  account.landlock_errata = sys::landlock_errata();
  account.cgroup = cgroup_facts();
  account.idle_group = idle_group();
  for (const char* name : {"git", "bwrap"}) {
    const std::string path = on_path(name, caller);
    account.tools.push_back({name, path, contained_version(path, caller)});
  }
  for (const char* name : {"runc", "crun"}) {
    const auto path = installed_oci_runtime(name);
    if (path) account.tools.push_back({name, *path, contained_version(*path, caller)});
  }
  account.executor = mxc::examine_executor(caller);
  if (const auto probed = probe(BackendKind::Bwrap); !probed) account.bwrap_error = probed.error();
  const auto trusted = try_gate(caller);
  if (trusted) {
    account.trust_store = *trusted;
  } else {
    account.gate_error = trusted.error();
  }
  account.shared_logins = shared_logins(caller);
  const auto ceilings = load_ceilings({}, caller);
  if (ceilings) {
    account.ceilings = ceilings->size();
    for (const FoundAgent& agent : find_agents(caller)) {
      if (const AgentNeeds* needs = find_agent(agent.name))
        account.agents.push_back({agent.name, key_place(*needs, *ceilings, caller)});
    }
  } else {
    account.ceiling_error = ceilings.error();
  }
  account.state_directory = caller.state_directory;
  if (caller.state_directory.empty()) {
    account.state_error = setup_error("there is no home directory", 0, "set HOME");
  } else if (const auto opened = open_private_directory(caller.state_directory); !opened) {
    account.state_error = opened.error();
  }
  return account;
}

}  // namespace cordon
