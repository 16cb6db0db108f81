#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/doctor_check.h"
#include "run/contained_run.h"
#include "sys/loopback_listener.h"

namespace cordon {
namespace {

// A directory with a granted part and a part outside of every grant; removed at the end.
class ProbeDirectory {
 public:
  explicit ProbeDirectory(const std::string& below) : path_(join(below, "cordon-doctor.XXXXXX")) {
    made_ = ::mkdtemp(path_.data()) != nullptr && ::mkdir(granted("").c_str(), 0700) == 0 &&
            ::mkdir(outside("").c_str(), 0700) == 0 && plant(granted("known")) &&
            plant(outside("secret"));
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
};

struct ProbeRun {
  std::vector<std::string> words;
  NetAccess net;
  std::uint64_t pids = 64;
  std::uint64_t wall_ms = 10'000;
};

class Theatre {
 public:
  Theatre(const Caller& caller, const ProbeDirectory& stage) : caller_(caller), stage_(stage) {}

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
    return run_contained(input, caller_);
  }

 private:
  const Caller& caller_;
  const ProbeDirectory& stage_;
};

std::string told(const Report& report) {
  if (report.error) return message(*report.error);
  const int status = exit_status(report.outcome->end);
  if (status == 0) return "succeeded";
  const char* name = ::strerrorname_np(status);
  return name != nullptr ? name : "status " + std::to_string(status);
}

bool succeeded(const Report& report) {
  return report.outcome && std::holds_alternative<Exited>(report.outcome->end) &&
         exit_status(report.outcome->end) == 0;
}

bool refused(const Report& report) {
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

Check fork_check(const Theatre& theatre) {
  constexpr std::uint64_t kFew = 16;
  ProbeRun many{{"fork", "64"}};
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
Check tree_kill_check(const Theatre& theatre, const ProbeDirectory& stage) {
  ProbeRun attempt{{"linger", stage.granted("lock")}};
  attempt.wall_ms = 500;
  const Report report = theatre.run(attempt);
  struct stat status {};
  const bool lived = ::stat(stage.granted("lock").c_str(), &status) == 0 && status.st_size > 0;
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

Check write_check(const Theatre& theatre, const ProbeDirectory& stage) {
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

Check connect_check(const Theatre& theatre) {
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
  const ProbeDirectory stage(usable ? temporary->second : "/tmp");
  if (!stage.made()) {
    return {{CheckCategory::Security, "live-probes", CheckStatus::Fail,
             "cannot make a directory for the probes", "make /tmp writable, or set TMPDIR"}};
  }
  const Theatre theatre(caller, stage);
  return {
      write_check(theatre, stage),
      refusal_check("live-read-secret", theatre.run({{"read", stage.outside("secret")}}),
                    theatre.run({{"read", stage.granted("known")}}), "reading a planted secret"),
      connect_check(theatre), fork_check(theatre), tree_kill_check(theatre, stage)};
}

}  // namespace cordon
