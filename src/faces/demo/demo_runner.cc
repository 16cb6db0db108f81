#include "faces/demo/demo_runner.h"

#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "compat/backends.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/resolve.h"
#include "host/tree_copy.h"
#include "host/walk.h"
#include "run/policy_source.h"
#include "run/recovery.h"
#include "run/run_note.h"

namespace cordon::demo {
namespace {

constexpr std::size_t kLongestCommandLine = std::size_t{1024} * 1024;

}  // namespace

std::optional<std::vector<std::string>> processes_with(const std::string& word) {
  const Fd processes(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DirectoryNames names;
  if (!processes.valid() || !names.read(processes.get())) return std::nullopt;
  std::vector<std::string> found;
  bool complete = false;
  for (const DirectoryEntry& entry : names.entries()) {
    if (!parse_number(entry.name)) continue;
    const std::string place = join(entry.name, "cmdline");
    const Fd line(::openat(processes.get(), place.c_str(), O_RDONLY | O_CLOEXEC));
    const auto text = line.valid() ? read_all(line.get(), kLongestCommandLine) : std::nullopt;
    if (!text) continue;
    if (entry.name == std::to_string(::getpid())) complete = true;
    if (text->find(word) != std::string::npos) found.emplace_back(entry.name);
  }
  if (!complete) return std::nullopt;
  return found;
}

namespace {

bool ended_as(const End& end, Expected expected) {
  const auto* exited = std::get_if<Exited>(&end);
  switch (expected) {
    case Expected::Allowed:
      return exited != nullptr && exited->code == 0;
    case Expected::Blocked:
      return exited != nullptr && exited->code != 0;
    case Expected::Stopped:
      return std::holds_alternative<TimedOut>(end);
  }
  return false;
}

}  // namespace

std::string_view name_of(Expected expected) {
  switch (expected) {
    case Expected::Allowed:
      return "allowed";
    case Expected::Blocked:
      return "blocked";
    case Expected::Stopped:
      return "stopped";
  }
  return "";
}

bool Unbounded::succeeded() const {
  return report && report->outcome && ended_as(report->outcome->end, Expected::Allowed);
}

bool Scenario::ended_well() const {
  return report && report->outcome && ended_as(report->outcome->end, expected);
}

bool Scenario::has_control() const {
  return expected != Expected::Blocked || !without || without->succeeded();
}

bool Scenario::behaved() const {
  if (!sight.as_designed || !has_control()) return false;
  return attempt.argv.empty() || ended_well();
}

std::string Scenario::verdict() const {
  if (attempt.argv.empty()) return sight.as_designed ? "as designed" : "not as designed";
  if (!report) return "not run";
  if (report->error) return "refused to start: " + message(*report->error);
  for (const Expected candidate : {Expected::Allowed, Expected::Blocked, Expected::Stopped}) {
    if (!ended_as(report->outcome->end, candidate)) continue;
    return std::string(name_of(candidate)) + ", exit status " +
           std::to_string(exit_status(report->outcome->end));
  }
  return "ended with status " + std::to_string(exit_status(report->outcome->end));
}

namespace {

constexpr std::string_view kPrefix = "cordon-demo.";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// What the operator of the demonstration permits.
constexpr std::string_view kCeiling = R"(version = 1

[fs]
read = ["~/Documents"]
write = ["~/Downloads"]
deny = [".env"]
scratch = "16M"

[net]
mode = "none"

[limits]
wall = "10s"
memory = "256M"
pids = 32
)";

Caller living_in(const std::string& home, Caller caller) {
  caller.home = home;
  caller.homes = {home};
  caller.cwd = home;
  caller.config_directory = join(home, ".config/cordon");
  caller.state_directory = join(home, ".local/state/cordon");
  caller.runtime_directory = join(caller.state_directory, "run");
  caller.environment = {{"HOME", home}, {"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  return caller;
}

bool is_locked(const Fd& directory) { return ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0; }

// Of a killed demonstration, whose processes may still be on their way out: a run that is not
// tidied up yet is left to the next start, and of these runs nobody else knows.
void recover_lost(const Caller& resident) {
  constexpr int kLooks = 150;
  constexpr timespec kBetween{0, 20'000'000};
  for (int look = 0; look < kLooks; ++look) {
    (void)recover_runs(resident);
    if (note_names(resident).names.empty()) return;
    ::nanosleep(&kBetween, nullptr);
  }
}

// A demonstration that was killed could not remove its home. Its own state lies in there, with the
// notes of its cgroups. They can be believed: no sandbox can write where they lie.
void remove_lost(const Fd& parent, const std::string& parent_path, const Caller& caller) {
  DirectoryNames names;
  if (!names.read(parent.get())) return;
  std::vector<std::string> found;
  for (const DirectoryEntry& entry : names.entries()) {
    if (entry.name.starts_with(kPrefix)) found.emplace_back(entry.name);
  }
  for (const std::string& name : found) {
    const Fd directory(::openat(parent.get(), name.c_str(), kDirectory));
    struct stat status {};
    if (!directory.valid() || ::fstat(directory.get(), &status) < 0) continue;
    if (status.st_uid != caller.uid || (status.st_mode & 077) != 0) continue;
    if (is_locked(directory)) continue;
    recover_lost(living_in(join(join(parent_path, name), "home"), caller));
    for (const std::string_view place : {kTemporaryNote, kNeighbourNote, kDrop}) {
      ::unlink((std::string(place) + name).c_str());
    }
    remove_tree(parent.get(), name);
  }
}

// Between making a directory and locking it another demonstration may have taken it for lost.
Result<std::string> make_locked(const Fd& parent, const std::string& parent_path, Fd& directory) {
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    std::string path = join(parent_path, std::string(kPrefix) + "XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) break;
    std::string name(basename(path));
    directory = Fd(::openat(parent.get(), name.c_str(), kDirectory));
    struct stat status {};
    if (directory.valid() && !is_locked(directory) && ::fstat(directory.get(), &status) == 0 &&
        status.st_nlink > 0) {
      return name;
    }
  }
  return fail(setup_error("cannot make a directory in " + quote(parent_path), errno,
                          "set XDG_STATE_HOME to a directory this user can write"));
}

}  // namespace

ScratchHome::ScratchHome(Fd parent, Fd directory, std::string parent_path, std::string name)
    : parent_(std::move(parent)),
      directory_(std::move(directory)),
      parent_path_(std::move(parent_path)),
      name_(std::move(name)) {}

ScratchHome::ScratchHome(ScratchHome&& other) noexcept = default;

ScratchHome::~ScratchHome() {
  if (directory_.valid()) remove_tree(parent_.get(), name_);
}

Result<ScratchHome> ScratchHome::make(const Caller& caller) {
  const std::string written = join(caller.state_directory, "demo");
  CORDON_TRY(parent, open_private_directory(caller.state_directory.empty() ? "" : written));
  CORDON_TRY(place, canonicalize_existing(written, "/", caller));
  remove_lost(parent, place.path, caller);
  Fd directory;
  CORDON_TRY(name, make_locked(parent, place.path, directory));
  ScratchHome home(std::move(parent), std::move(directory), place.path, std::move(name));
  CORDON_CHECK(home.furnish());
  return home;
}

Result<void> ScratchHome::furnish() const {
  struct Thing {
    std::string_view directory;
    std::string name;
    std::string_view content;
  };
  const std::array things{
      Thing{"Documents", "report.txt", kReport}, Thing{"Documents", ".env", kPassword},
      Thing{"Downloads", "readme.txt", "hello"}, Thing{"Private", "diary.txt", kDiary},
      Thing{".ssh", "id_ed25519", kKey},         Thing{".config/cordon", "ceiling.toml", kCeiling},
  };
  for (const Thing& thing : things) {
    CORDON_TRY(directory, open_private_directory(at(thing.directory)));
    if (const int error =
            put_file(directory.get(), thing.name, std::string(thing.content) + "\n", 0600);
        error != 0) {
      return fail(setup_error("cannot write " + quote(at(thing.directory)), error));
    }
  }
  for (const auto& [link, target] :
       {std::pair{"Downloads/shortcut", "Private"}, std::pair{"Downloads/papers", "Documents"}}) {
    if (::symlink(at(target).c_str(), at(link).c_str()) < 0) {
      return fail(setup_error("cannot link " + quote(at(link)), errno));
    }
  }
  return {};
}

std::string ScratchHome::at(std::string_view path) const {
  return join(join(join(parent_path_, name_), "home"), path);
}

bool ScratchHome::restore_report() const {
  const std::string text = std::string(kReport) + "\n";
  const Fd file(
      ::open(at("Documents/report.txt").c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC));
  return file.valid() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Caller ScratchHome::resident(Caller caller) const {
  Caller resident = living_in(join(join(parent_path_, name_), "home"), std::move(caller));
  resident.environment[kVariable] = kVariableValue;
  return resident;
}

namespace {

constexpr std::size_t kLargest = std::size_t{1024} * 1024;

// Where a ceiling of the demonstration lies; others do not count, since nothing outside of its own
// home is granted.
Result<Ceiling> own_ceiling(const Caller& caller) {
  return Ceiling::from_file(join(caller.config_directory, "ceiling.toml"));
}

}  // namespace

DemoRunner::DemoRunner(ScratchHome home, Caller caller, Ceiling ceiling, Options options)
    : home_(std::move(home)),
      caller_(std::move(caller)),
      ceiling_(std::move(ceiling)),
      options_(std::move(options)) {}

Result<DemoRunner> DemoRunner::open(const Caller& caller, Options options) {
  CORDON_TRY(home, ScratchHome::make(caller));
  Caller resident = home.resident(caller);
  CORDON_TRY(ceiling, own_ceiling(resident));
  return DemoRunner(std::move(home), std::move(resident), std::move(ceiling), std::move(options));
}

std::optional<int> DemoRunner::interrupted() {
  signalfd_siginfo info{};
  while (!interrupted_ && ::read(options_.signal_descriptor, &info, sizeof info) == sizeof info) {
    const int number = static_cast<int>(info.ssi_signo);
    // A window of another size and a job that goes on are no reason to end.
    if (number != SIGWINCH && number != SIGCONT) interrupted_ = number;
  }
  return interrupted_;
}

RunInput DemoRunner::input_for(const Attempt& attempt) const {
  RunInput input;
  input.argv = attempt.argv;
  input.policy = make_preset("strict", preset_host());
  input.policy.name = "demo";
  for (const std::string& path : attempt.read) input.policy.fs.read.push_back({path, {}});
  for (const std::string& path : attempt.write) input.policy.fs.write.push_back({path, {}});
  // Exactly the bounds of the ceiling, so that only paths can be reduced.
  input.policy.fs.scratch = ceiling_.policy.fs.scratch;
  input.policy.limits.pids = ceiling_.policy.limits.pids;
  input.policy.limits.memory = ceiling_.policy.limits.memory;
  input.policy.limits.wall_ms = attempt.wall_ms ? attempt.wall_ms : ceiling_.policy.limits.wall_ms;
  input.ceilings = {ceiling_};
  input.cwd = "/";
  input.backends = every_backend(caller_);
  if (attempt.argv.front() == caller_.executable) input.helper = caller_.executable;
  return input;
}

Report DemoRunner::run_beside(const Attempt& attempt, const Cancel& cancel) const {
  RunInput input = input_for(attempt);
  input.cancel = cancel;
  return run_contained(input, caller_);
}

Report DemoRunner::run(const Attempt& attempt) {
  if (interrupted()) {
    Report report;
    report.error = setup_error("the demonstration was interrupted", 0);
    return report;
  }
  RunInput input = input_for(attempt);
  input.signal_descriptor = options_.signal_descriptor;
  Report report = run_contained(input, caller_);
  const auto* cancelled = report.outcome ? std::get_if<Cancelled>(&report.outcome->end) : nullptr;
  if (cancelled != nullptr) interrupted_ = cancelled->signal;
  return report;
}

std::vector<std::string> DemoRunner::own_attempt(std::string what, std::string argument) const {
  return {caller_.executable, options_.inside_verb, std::move(what), std::move(argument)};
}

Report DemoRunner::wait_for(Uncontained& command) {
  constexpr std::uint64_t kLongestMs = 10'000;
  return command.wait(ceiling_.policy.limits.wall_ms.value_or(kLongestMs),
                      options_.signal_descriptor, [this] { return interrupted(); });
}

void DemoRunner::compare(Scenario& scenario, const Attempt& attempt, const Look& look) {
  if (!options_.compare || interrupted()) return;
  Uncontained command(attempt.argv, caller_.environment);
  Unbounded without{wait_for(command), {}};
  without.seen =
      without.report->outcome ? look(*without.report).what : message(*without.report->error);
  scenario.without = std::move(without);
}

Scenario DemoRunner::play(std::string title, Attempt attempt, Expected expected, const Look& look) {
  Scenario scenario = contain(std::move(title), std::move(attempt), expected, look);
  compare(scenario, scenario.attempt, look);
  return scenario;
}

Scenario DemoRunner::contain(std::string title, Attempt attempt, Expected expected,
                             const Look& look) {
  Scenario scenario{std::move(title), std::move(attempt), expected, {}, {}};
  scenario.report = run(scenario.attempt);
  scenario.sight = scenario.report->outcome
                       ? look(*scenario.report)
                       : Observation{false, "nothing was shown: the command was not started"};
  return scenario;
}

std::string DemoRunner::shown(const std::string& path) const {
  if (!contains(caller_.home, path)) return path;
  return "~" + path.substr(caller_.home.size());
}

std::string content_of(const std::string& path) {
  return read_regular(AT_FDCWD, path, kLargest).value_or("");
}

bool nothing_leaked(const Report& report, std::string_view secret) {
  for (const std::optional<Stream>* stream : {&report.outcome->out, &report.outcome->err}) {
    if (!*stream || (*stream)->truncated()) return false;
    if ((*stream)->head.find(secret) != std::string::npos) return false;
  }
  return true;
}

Observation kept_secret(const Report& report, const std::string& place, std::string_view secret) {
  const bool there = content_of(place).find(secret) != std::string::npos;
  const bool silent = nothing_leaked(report, secret);
  return {there && silent, !there   ? "the secret is not in its place: nothing was shown"
                           : silent ? "the secret is in its place and was not printed"
                                    : "the secret was printed"};
}

}  // namespace cordon::demo
