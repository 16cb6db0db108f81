// `cordon fleet submit`: everything is judged, checked and copied before the scheduler is asked
// once, for the whole array.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <limits>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "base/text.h"
#include "compat/engine/engine.h"
#include "config/policy_document.h"
#include "faces/cli/console.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/verbs.h"
#include "faces/fleet/fleet_job.h"
#include "faces/fleet/fleet_task.h"
#include "faces/fleet/slurm_calls.h"
#include "faces/fleet/submission.h"
#include "host/resolve.h"
#include "run/judge.h"

namespace cordon {
namespace {

constexpr std::uint64_t kUsualAttempts = 3;
constexpr std::uint64_t kMostAttempts = 20;
constexpr const char* kSubmitExample = "cordon fleet submit --policy strict --tasks tasks.jsonl";

// Interrupts wait: between the call of sbatch and the note of its answer none may fall.
class HeldSignals {
 public:
  HeldSignals() {
    ::sigemptyset(&held_);
    for (const int one : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&held_, one);
    ::sigprocmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  [[nodiscard]] bool waiting() const {
    sigset_t pending;
    ::sigpending(&pending);
    for (const int one : {SIGINT, SIGTERM, SIGHUP})
      if (::sigismember(&pending, one) == 1) return true;
    return false;
  }

 private:
  sigset_t held_;
  sigset_t before_;
};

struct SubmitWords {
  std::string tasks;
  std::string out;  // absolute
  std::uint64_t attempts = kUsualAttempts;
  std::string name;
  std::optional<std::string> partition;
};

// A name that stands in words of the scheduler's programs, some of which take lists and patterns.
bool is_plain_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                              "YZ0123456789._-") == std::string_view::npos;
}

Result<SubmitWords> submit_words(const Arguments& arguments, const Caller& caller) {
  SubmitWords words;
  if (!arguments.operands.empty()) {
    return fail(
        usage_error(quote(arguments.operands.front()) + " is one word too many", kSubmitExample));
  }
  if (!arguments.has(FlagId::Tasks))
    return fail(usage_error("--tasks says what is to be run", kSubmitExample));
  words.tasks = std::string(*arguments.value(FlagId::Tasks));
  if (const auto text = arguments.value(FlagId::Attempts)) {
    const auto number = parse_number(*text);
    if (!number || *number == 0 || *number > kMostAttempts) {
      return fail(usage_error("--attempts " + quote(*text) + " is not a number from 1 to 20",
                              "--attempts 3 is usual"));
    }
    words.attempts = *number;
  }
  const std::string own = random_id();
  words.name = std::string(arguments.value(FlagId::ObjectName).value_or("cordon"));
  if (arguments.has(FlagId::Partition)) words.partition = *arguments.value(FlagId::Partition);
  for (const auto& [flag, text] :
       {std::pair{"--job-name", words.name}, {"--partition", words.partition.value_or("x")}}) {
    if (is_plain_name(text)) continue;
    return fail(usage_error(std::string(flag) + " " + quote(text) + " is no plain name",
                            "write letters, digits, '.', '_' and '-'"));
  }
  // The queue is asked by name.
  words.name += "-" + own;
  if (const auto out = arguments.value(FlagId::Out)) {
    CORDON_TRY(place, canonicalize(std::string(*out), caller.cwd, caller));
    if (place.kind != FileKind::Absent) {
      return fail(
          usage_error(quote(*out) + " is there already", "name a directory that is not there yet"));
    }
    words.out = place.path;
  } else {
    const std::string place = Submission::default_place(caller);
    CORDON_TRY(parent, open_private_directory(place));
    words.out = join(place, own);
  }
  return words;
}

// The commands could write what bounds them, and each other's records.
Result<void> check_outside(const std::string& out, const Effective& effective) {
  for (const Grant& grant : effective.write) {
    if (!contains(grant.path, out)) continue;
    return fail(usage_error(
        "the submission " + quote(out) + " would lie in the writable grant " + quote(grant.path),
        "name a directory outside of it on the shared file system with --out"));
  }
  return {};
}

// What the job begins with: enough to find programs and files, and every ceiling that the
// environment of this process names.
std::vector<std::string> job_environment(const Caller& caller) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : caller.environment) {
    const bool plain = name == "PATH" || name == "HOME" || name == "USER" || name == "LOGNAME" ||
                       name == "LANG" || name == "SHELL" || name == "SLURM_CONF" ||
                       name == "SLURM_CLUSTERS";
    const bool own = name.starts_with("CORDON_") || name.starts_with("ENTRABOT_") ||
                     name == "XDG_CONFIG_HOME" || name == "XDG_STATE_HOME";
    if (plain || own) variables.push_back(std::string(name).append("=").append(value));
  }
  return variables;
}

// One line of it is carried out where the program is missing: it tells that, and tries elsewhere.
std::string job_script(const std::string& program, const Submission& submission,
                       std::uint64_t attempts) {
  const std::string log = shell_word(join(submission.directory(), "log"));
  return "#!/bin/sh\n"
         "if [ -x " +
         shell_word(program) +
         " ]; then\n"
         "  exec " +
         shell_line(std::vector<std::string>{program, kFleetTask, submission.directory()}) +
         "\n"
         "fi\n"
         "echo \"$SLURMD_NODENAME has no \"" +
         shell_word(program) + " >>" + log +
         "/\"$SLURM_ARRAY_TASK_ID\"\n"
         "[ \"${SLURM_RESTART_COUNT:-0}\" -ge " +
         std::to_string(attempts - 1) +
         " ] ||\n"
         "  scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
         "exit 75\n";
}

class ListCopy {
 public:
  static Result<ListCopy> open(const Submission& submission) {
    ListCopy copy;
    for (const auto& [file, name] :
         {std::pair{&copy.lines_, "tasks.new"}, {&copy.rows_, "tasks.index.new"}}) {
      file->path = join(submission.directory(), name);
      file->fd = Fd(::open(file->path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!file->fd.valid()) return fail(setup_error("cannot write " + quote(file->path), errno));
    }
    return copy;
  }
  Result<void> add(std::string_view text, std::uint64_t offset) {
    CORDON_CHECK(append(lines_, std::string(text) + "\n"));
    return append(rows_, index_row(offset, text));
  }
  Result<void> close(const std::string& directory, const std::string& list) {
    for (const auto& [file, ending] : {std::pair{&lines_, ".jsonl"}, {&rows_, ".index"}}) {
      CORDON_CHECK(flush(*file));
      const std::string name = join(directory, list + ending);
      if (::fsync(file->fd.get()) < 0 || ::rename(file->path.c_str(), name.c_str()) < 0)
        return fail(setup_error("cannot write " + quote(name), errno));
    }
    return {};
  }

 private:
  struct Part {
    std::string path;
    Fd fd;
    std::string waiting;
  };
  static Result<void> append(Part& part, const std::string& text) {
    constexpr std::size_t kAtOnce = std::size_t{256} << 10U;
    part.waiting += text;
    return part.waiting.size() < kAtOnce ? Result<void>() : flush(part);
  }
  static Result<void> flush(Part& part) {
    const int error = write_whole(part.fd.get(), part.waiting);
    part.waiting.clear();
    if (error == 0) return {};
    return fail(setup_error("cannot write " + quote(part.path), error));
  }
  Part lines_;
  Part rows_;
};

struct Submitted {
  std::string job;
  std::string directory;
  std::uint64_t tasks = 0;
};

Result<Submitted> fill_and_submit(Submission& submission, const SubmitWords& words,
                                  const AskedPolicy& asked, const Caller& caller,
                                  const HeldSignals& signals) {
  CORDON_TRY(job, slurm_job(asked.policy));
  SubmissionFacts facts;
  facts.policy_hash = sha256_hex(job.policy);
  facts.policy = "policy-" + facts.policy_hash + ".toml";
  CORDON_CHECK(submission.write(facts.policy, job.policy));
  CORDON_TRY(copy, ListCopy::open(submission));
  const auto take = [&](std::string_view text, std::uint64_t offset, std::uint64_t) {
    return copy.add(text, offset);
  };
  CORDON_TRY(listing, check_tasks(words.tasks, settable_variables(asked.policy), take,
                                  [&] { return signals.waiting(); }));
  CORDON_TRY(settings, slurm::settings());
  if (listing.count > settings.array_size - 1) {
    return fail(usage_error("there are " + std::to_string(listing.count) + " tasks in " +
                                quote(words.tasks) + ", and the scheduler takes " +
                                std::to_string(settings.array_size - 1) + " at a time",
                            "submit the list in parts, or have MaxArraySize of slurm.conf raised"));
  }
  facts.list = "tasks-" + listing.hash;
  CORDON_CHECK(copy.close(submission.directory(), facts.list));
  facts.tasks = listing.count;
  facts.attempts = words.attempts;
  facts.cwd = caller.cwd;
  facts.name = words.name;
  facts.cluster = settings.cluster;
  CORDON_TRY(program, main_program());
  facts.program = std::move(program);
  CORDON_TRY(self, own_executable());
  const std::string script = join(submission.directory(), "job.sh");
  CORDON_CHECK(submission.write("job.sh", job_script(self, submission, words.attempts)));
  CORDON_CHECK(submission.describe(facts));
  std::vector<std::string> options = std::move(job.options);
  for (std::string option : {"array=0-" + std::to_string(facts.tasks - 1), "job-name=" + facts.name,
                             "chdir=" + facts.cwd, std::string("output=/dev/null"),
                             std::string("requeue"), std::string("export=ALL")})
    options.push_back(std::move(option));
  if (words.partition) options.push_back("partition=" + *words.partition);
  if (signals.waiting()) return fail(usage_error("interrupted, and nothing was submitted"));
  CORDON_TRY(id, slurm::submit(options, script, job_environment(caller)));
  return Submitted{std::move(id), submission.directory(), facts.tasks};
}

Result<Submitted> submit(const Arguments& arguments) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(words, submit_words(arguments, caller));
  CORDON_TRY(asked, asked_policy(arguments, caller));
  CORDON_TRY(judgement,
             judge_policy(asked.policy, asked.ceilings, caller, {{}, caller.cwd, Keep::Something}));
  CORDON_CHECK(check_outside(words.out, judgement.clamped.effective()));
  const HeldSignals signals;
  CORDON_TRY(submission, Submission::make(words.out));
  auto done = fill_and_submit(submission, words, asked, caller, signals);
  if (!done) {
    submission.remove();
    return fail(std::move(done).error());
  }
  if (auto noted = submission.submitted(done->job, caller); !noted) {
    // It runs, and is asked for by its directory.
    say_error(noted.error());
  }
  return done;
}

}  // namespace

int verb_fleet_submit(const Arguments& arguments) {
  const auto done = submit(arguments);
  if (!done) {
    say_error(done.error());
    return kAnswerError;
  }
  if (arguments.has(FlagId::Json)) {
    JobState state;
    state.job = done->job;
    state.directory = done->directory;
    state.tasks = done->tasks;
    state.waiting = done->tasks;
    return say_answer(job_json(state)) ? kAnswerYes : kAnswerError;
  }
  say("cordon: " + std::to_string(done->tasks) + " task(s) submitted; cordon fleet status " +
      done->job + " tells how far they are\n");
  return say_answer(done->job + "\n") ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
