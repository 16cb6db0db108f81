// One attempt of one task:
//
//   begin      a file says so; an older attempt that still goes on sees it
//   run        cordon run --json, under the policy of the submission and the ceilings of this node
//   judge      the report says whether the command or the machine failed
//   end        the record, or a requeue
//
// The scheduler starts a task again when it lost the node, and a lost node may live on: two
// attempts of one task can be under way. The older one ends its command within seconds of seeing
// the newer one, and only one of them can make the record.
//
// A signal is the scheduler's: a time limit, a preemption that is started again later, or a person
// who cancelled. Only the last is known here. What the others mean is known when the scheduler no
// longer has the task, so that no record is made of them here.
#include "faces/fleet/fleet_task.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>

#include "base/path.h"
#include "base/text.h"
#include "faces/cli/console.h"
#include "faces/fleet/slurm_calls.h"
#include "faces/fleet/submission.h"

namespace cordon {
namespace {

constexpr int kTemporary = 75;  // EX_TEMPFAIL: another attempt follows
constexpr int kNothingDone = 0;
constexpr MessageBounds kReportBounds{std::size_t{256} << 20U, std::size_t{4} << 20U};

struct Attempt {
  const Submission& submission;
  std::uint64_t index;
  std::uint64_t number;  // from 1
  std::string node;
  std::string called;  // for the scheduler: JOB_INDEX
  pid_t daemon;        // of this step: whoever started this process
};

struct Ran {
  int status = 0;  // as of waitpid
  std::string report;
  std::string said;
  bool signalled = false;  // by the scheduler
  bool superseded = false;
};

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value != nullptr ? value : "";
}

std::string head_of(int file) {
  std::array<char, 2000> text{};
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  std::string found(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (!found.empty() && found.back() == '\n') found.pop_back();
  for (char& c : found)
    if (c == '\n') c = ' ';
  return found;
}

struct Command {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  Fd input;
};

// A value stands in the environment and its name alone in the words: everybody on the node can read
// the words of a process.
Result<Command> command_of(const Submission& submission, const FleetTask& task) {
  const SubmissionFacts& facts = submission.facts();
  Command command;
  command.argv = {facts.program, "run", "--json", "--policy",
                  join(submission.directory(), facts.policy)};
  if (!task.cwd.empty()) command.argv.insert(command.argv.end(), {"--cwd", task.cwd});
  for (const auto& [name, value] : task.env)
    command.argv.insert(command.argv.end(), {"--env", name});
  command.argv.emplace_back("--");
  command.argv.insert(command.argv.end(), task.argv.begin(), task.argv.end());
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    if (!task.env.contains(std::string(text.substr(0, text.find('=')))))
      command.environment.emplace_back(text);
  }
  for (const auto& [name, value] : task.env) {
    std::string text = name;
    command.environment.push_back(text.append("=").append(value));
  }
  if (task.input) {
    command.input = Fd(::memfd_create("stdin", MFD_CLOEXEC));
    int error = command.input.valid() ? write_whole(command.input.get(), *task.input) : errno;
    if (error == 0 && ::lseek(command.input.get(), 0, SEEK_SET) < 0) error = errno;
    if (error != 0) return fail(setup_error("cannot keep what the task reads", error));
  } else {
    command.input = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  return command;
}

// A child that dies with this process, however that ends: the daemon of a node that is killed takes
// this process with it, and nothing may go on then.
pid_t start_command(Command& command, int out, int err, const sigset_t& mask) {
  std::vector<char*> argv;
  for (std::string& word : command.argv) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (std::string& one : command.environment) environment.push_back(one.data());
  environment.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  constexpr int kCannotExecute = 127;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotExecute);
  ::dup2(command.input.get(), STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execve(argv.front(), argv.data(), environment.data());
  ::_exit(kCannotExecute);
}

// Reads until the command has ended. The signals of the scheduler usually reach every process of a
// task; one that reached this one alone goes on after a while.
Result<Ran> run_attempt(const Attempt& attempt, Command& command) {
  sigset_t taken;
  sigset_t before;
  ::sigemptyset(&taken);
  for (const int one : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&taken, one);
  ::sigprocmask(SIG_BLOCK, &taken, &before);
  const Fd signals(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  const Fd err(::memfd_create("err", MFD_CLOEXEC));
  int ends[2];
  if (!signals.valid() || !err.valid() || ::pipe2(ends, O_CLOEXEC) != 0)
    return fail(setup_error("cannot make what the task is watched with", errno));
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t child = start_command(command, write_end.get(), err.get(), before);
  if (child < 0) return fail(setup_error("cannot make a process", errno));
  write_end.reset();
  Ran ran;
  bool passed_on = false;
  std::array<char, 65536> part{};
  for (;;) {
    std::array<pollfd, 2> awaited{pollfd{read_end.get(), POLLIN, 0},
                                  pollfd{signals.get(), POLLIN, 0}};
    constexpr int kTick = 2000;
    const int ready = ::poll(awaited.data(), awaited.size(), kTick);
    if (ready < 0 && errno != EINTR) break;
    if (ready > 0 && awaited[1].revents != 0) {
      signalfd_siginfo info{};
      while (::read(signals.get(), &info, sizeof info) > 0) ran.signalled = true;
    }
    if (ready > 0 && awaited[0].revents != 0) {
      const ssize_t got = ::read(read_end.get(), part.data(), part.size());
      if (got == 0) break;
      if (got > 0 && ran.report.size() <= kReportBounds.bytes)
        ran.report.append(part.data(), static_cast<std::size_t>(got));
    }
    if (ready != 0) continue;
    if (ran.signalled && !passed_on) {
      passed_on = true;
      ::kill(child, SIGTERM);
    }
    // Nobody ends or counts a task whose daemon was killed.
    if (!ran.superseded && (::getppid() != attempt.daemon ||
                            !attempt.submission.is_newest(attempt.index, attempt.number) ||
                            attempt.submission.is_final(attempt.index))) {
      ran.superseded = true;
      ::kill(child, SIGTERM);
    }
  }
  while (::waitpid(child, &ran.status, 0) < 0 && errno == EINTR) {
  }
  ran.said = head_of(err.get());
  return ran;
}

struct Verdict {
  Node report;
  std::optional<Error> machine;  // what of the machine failed; absent: nothing
};

// A task that ran, or was refused for what it asks for, is over; one that this machine could not
// begin may do elsewhere.
Verdict judge_attempt(const Ran& ran) {
  const auto node = read_json_message(ran.report, kReportBounds);
  if (!node || node->map() == nullptr) {
    const std::string how = WIFSIGNALED(ran.status)
                                ? "was killed by signal " + std::to_string(WTERMSIG(ran.status))
                                : "ended with status " + std::to_string(WEXITSTATUS(ran.status));
    return {{},
            setup_error("cordon run " + how + " and gave no report" +
                            (ran.said.empty() ? "" : ": " + sanitize(ran.said)),
                        0)};
  }
  const Node* error = node->find("error");
  const Node* kind = error != nullptr ? error->find("kind") : nullptr;
  const std::string word = kind != nullptr && kind->text() != nullptr ? *kind->text() : "";
  for (const ErrorKind one : {ErrorKind::Unavailable, ErrorKind::Setup, ErrorKind::Audit}) {
    if (word != name_of(one)) continue;
    const Node* said = error->find("message");
    return {*node, Error{.kind = one,
                         .what = said != nullptr && said->text() != nullptr ? *said->text()
                                                                            : std::string(word)}};
  }
  return {*node, std::nullopt};
}

int status_for_scheduler(int status) {
  constexpr int kSignals = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignals + WTERMSIG(status);
}

Result<int> make_final(const Attempt& attempt, const Node& report, int status) {
  CORDON_CHECK(attempt.submission.end(attempt.index, attempt.number, {}));
  CORDON_TRY(won, attempt.submission.finish(attempt.index, attempt.number, report));
  return won ? status : kNothingDone;
}

// A machine that failed: elsewhere or later, as long as there are attempts.
Result<int> again_or_final(const Attempt& attempt, const Error& why, const Node& report) {
  const bool last = attempt.number >= attempt.submission.facts().attempts;
  Error told = why;
  if (!last && !attempt.submission.is_cancelled()) {
    CORDON_CHECK(attempt.submission.end(attempt.index, attempt.number,
                                        {AttemptEnd::How::Requeued, why, {}}));
    const auto requeued = slurm::requeue(attempt.called);
    if (requeued) return kTemporary;
    told.notes.push_back("the scheduler does not start it again: " + message(requeued.error()));
  }
  CORDON_CHECK(
      attempt.submission.end(attempt.index, attempt.number, {AttemptEnd::How::Final, told, {}}));
  const Node final_report = report.map() != nullptr ? report : refused_report(told);
  constexpr int kNotStarted = 125;
  CORDON_TRY(won, attempt.submission.finish(attempt.index, attempt.number, final_report));
  return won ? kNotStarted : kNothingDone;
}

// The scheduler starts a task elsewhere if the directory is missing here, and a policy that grants
// "the current directory" would grant that.
Result<void> check_place(const Submission& submission) {
  std::array<char, PATH_MAX> place{};
  if (::getcwd(place.data(), place.size()) != nullptr && submission.facts().cwd == place.data())
    return {};
  return fail(setup_error("the directory it was submitted in, " + quote(submission.facts().cwd) +
                              ", is not on this node",
                          ENOENT, "share it among the nodes"));
}

Result<int> carry_out(const Attempt& attempt) {
  const Submission& submission = attempt.submission;
  if (submission.is_final(attempt.index)) return kNothingDone;
  if (attempt.number > submission.facts().attempts) {
    const Error lost = setup_error(
        "the machine failed in each of " + std::to_string(attempt.number - 1) + " attempts", 0,
        "its attempts tell the nodes");
    CORDON_TRY(won, submission.finish(attempt.index, attempt.number - 1, refused_report(lost)));
    return won ? kTemporary : kNothingDone;
  }
  auto begun = submission.begin(attempt.index, attempt.number, attempt.node);
  if (!begun) return again_or_final(attempt, begun.error(), {});
  if (!*begun) return kNothingDone;
  if (submission.is_cancelled()) {
    const Error cancelled = setup_error("cancelled before it was started", 0);
    return make_final(attempt, refused_report(cancelled), kNothingDone);
  }
  if (auto good = check_place(submission); !good) return again_or_final(attempt, good.error(), {});
  if (auto same = submission.check_policy(); !same)
    return again_or_final(attempt, same.error(), {});
  const auto task = submission.task(attempt.index);
  if (!task) return again_or_final(attempt, task.error(), {});
  auto command = command_of(submission, *task);
  if (!command) return again_or_final(attempt, command.error(), {});
  auto ran = run_attempt(attempt, *command);
  if (!ran) return again_or_final(attempt, ran.error(), {});
  if (ran->superseded) return kNothingDone;
  const Verdict verdict = judge_attempt(*ran);
  if (ran->signalled && !submission.is_cancelled()) {
    const Error ended = setup_error("the scheduler ended it", 0);
    CORDON_CHECK(submission.end(attempt.index, attempt.number,
                                {AttemptEnd::How::Ended, ended, verdict.report}));
    return status_for_scheduler(ran->status);
  }
  if (verdict.machine && !ran->signalled)
    return again_or_final(attempt, *verdict.machine, verdict.report);
  const Node report = verdict.report.map() != nullptr
                          ? verdict.report
                          : refused_report(setup_error("cancelled while it was started", 0));
  return make_final(attempt, report, status_for_scheduler(ran->status));
}

}  // namespace

int fleet_task(std::span<const char* const> words) {
  const auto index = parse_number(variable("SLURM_ARRAY_TASK_ID"));
  const std::string job = variable("SLURM_ARRAY_JOB_ID");
  if (words.size() != 1 || !index || job.empty()) {
    say_error(usage_error("this is started by the scheduler alone", "cordon fleet submit --help"));
    return kTemporary;
  }
  const std::uint64_t restarts = parse_number(variable("SLURM_RESTART_COUNT")).value_or(0);
  const std::string called = job + "_" + std::to_string(*index);
  const auto submission = Submission::open(words.front());
  if (!submission) {
    say_error(submission.error());
    // Where the directory is not mounted nothing can be written; the scheduler counts the attempts.
    constexpr std::uint64_t kMostBlind = 2;
    if (restarts < kMostBlind) (void)slurm::requeue(called);
    return kTemporary;
  }
  const Attempt attempt{*submission,
                        *index,
                        submission->number_of_attempt(*index, restarts),
                        variable("SLURMD_NODENAME"),
                        called,
                        ::getppid()};
  const auto status = carry_out(attempt);
  if (status) return *status;
  say_error(status.error());
  // Nothing could be written, on a full disk: another attempt finds room or the scheduler ends it.
  if (attempt.number < submission->facts().attempts) (void)slurm::requeue(called);
  return kTemporary;
}

}  // namespace cordon
