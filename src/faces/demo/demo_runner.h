// DemoRunner: the scratch home, the ceiling in it, and contained runs there, by the same line of
// calls as every other run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/policy.h"
#include "cordon/runner.h"
#include "faces/demo/uncontained.h"
#include "policy/host_facts.h"
#include "run/line.h"

namespace cordon::demo {

// The processes of the host, as somebody outside of every sandbox sees them.

// Those, whatever their namespace, that carry the word in their command line. Nothing if this
// process itself is not to be seen: then the list is not to be believed.
std::optional<std::vector<std::string>> processes_with(const std::string& word);

// One scenario: what was asked for, what the design says becomes of it, and what did. A verdict is
// never taken from the boundary's own word: the host is looked at afterwards.

// How the command is to end.
enum class Expected {
  Allowed,  // it succeeds
  Blocked,  // it runs and fails
  Stopped,  // it runs until a limit ends it
};
std::string_view name_of(Expected expected);

// What a contained command asks for.
struct Attempt {
  std::vector<std::string> argv;
  std::vector<std::string> read;
  std::vector<std::string> write;
  std::optional<std::uint64_t> wall_ms;  // absent: as long as the ceiling permits
  // The scenario's title says better than the command what is attempted.
  bool best_told_by_title = false;
};

// What the host looks like afterwards.
struct Observation {
  bool as_designed = false;
  std::string what;
  bool conclusive = true;  // false: nothing was shown, neither that it holds nor that it does not
};

// The same attempt without a boundary, in the same home.
struct Unbounded {
  std::optional<Report> report;  // absent: it was not run
  std::string seen;              // on the host afterwards, or why it was not run

  // It was run, and nothing hindered it.
  [[nodiscard]] bool succeeded() const;
};

struct Scenario {
  std::string title;
  Attempt attempt;
  Expected expected = Expected::Allowed;
  std::optional<Report> report;  // absent: nothing was run
  Observation sight;
  std::optional<Unbounded> without = {};  // absent: not compared

  // The command was started, ended as expected, and the host agrees. A refusal to start it is no
  // containment: nothing was shown. No more is it shown by a command that fails without Cordon too.
  [[nodiscard]] bool behaved() const;
  // It ended as expected.
  [[nodiscard]] bool ended_well() const;
  // False if it was compared, and failed where nothing hindered it.
  [[nodiscard]] bool has_control() const;
  // How it ended, in a few words.
  [[nodiscard]] std::string verdict() const;
};

// A home made for one demonstration: documents, a key, a diary, and a ceiling of its own. Nothing
// of the user's is in it, and it is removed with everything that was done to it.

class ScratchHome {
 public:
  // In Cordon's own state directory, which every sandbox hides: anywhere else a contained command
  // could leave a home with forged notes for the next demonstration to act on. Also removes what
  // one that was killed left there, its cgroups included.
  static Result<ScratchHome> make(const Caller& caller);
  ScratchHome(ScratchHome&& other) noexcept;
  ScratchHome& operator=(ScratchHome&&) = delete;
  ScratchHome(const ScratchHome&) = delete;
  ScratchHome& operator=(const ScratchHome&) = delete;
  ~ScratchHome();

  // A word that no other process carries in its command line.
  [[nodiscard]] const std::string& token() const { return name_; }
  [[nodiscard]] std::string at(std::string_view path) const;  // below the home
  // The document as it was in the beginning.
  [[nodiscard]] bool restore_report() const;
  // Who lives there: the same user with this home, and a variable that holds a secret.
  [[nodiscard]] Caller resident(Caller caller) const;

  // Texts that are planted, to be looked for where they must not appear.
  static constexpr std::string_view kReport = "report: all quiet";
  static constexpr std::string_view kDiary = "PLANTED-DIARY-7f1c";
  static constexpr std::string_view kKey = "PLANTED-KEY-93ab";
  static constexpr std::string_view kPassword = "DB_PASSWORD=PLANTED-c04d";
  static constexpr const char* kVariable = "DEMO_API_KEY";
  static constexpr std::string_view kVariableValue = "PLANTED-VARIABLE-55e2";

 private:
  ScratchHome(Fd parent, Fd directory, std::string parent_path, std::string name);
  [[nodiscard]] Result<void> furnish() const;

  Fd parent_;
  Fd directory_;  // holds a lock while this process lives
  std::string parent_path_;
  std::string name_;
};

class DemoRunner {
 public:
  struct Options {
    std::string inside_verb;  // makes this program an attempt: INSIDE-VERB ATTEMPT ARG
    int signal_descriptor = -1;
    bool compare = false;  // each attempt is run a second time, without a boundary
  };
  static Result<DemoRunner> open(const Caller& caller, Options options);

  // After a signal nothing is started any more.
  Report run(const Attempt& attempt);
  // Beside another run, from another thread, until it ends or is cancelled.
  [[nodiscard]] Report run_beside(const Attempt& attempt, const Cancel& cancel) const;
  // The signal that asks for an end, if one came.
  [[nodiscard]] std::optional<int> interrupted();
  // The command that is this program itself, inside.
  [[nodiscard]] std::vector<std::string> own_attempt(std::string what, std::string argument) const;

  using Look = std::function<Observation(const Report&)>;
  // Runs the attempt, then looks. `look` is called only if the command was started.
  Scenario contain(std::string title, Attempt attempt, Expected expected, const Look& look);
  // Runs it without a boundary and looks, if that is wanted.
  void compare(Scenario& scenario, const Attempt& attempt, const Look& look);
  // One after the other.
  Scenario play(std::string title, Attempt attempt, Expected expected, const Look& look);
  [[nodiscard]] bool compares() const { return options_.compare; }
  // The end of a command that runs without a boundary, or of the time the ceiling gives it.
  Report wait_for(Uncontained& command);

  [[nodiscard]] const ScratchHome& home() const { return home_; }
  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] const Ceiling& ceiling() const { return ceiling_; }
  // A path as a person of this home would write it.
  [[nodiscard]] std::string shown(const std::string& path) const;

 private:
  [[nodiscard]] RunInput input_for(const Attempt& attempt) const;
  DemoRunner(ScratchHome home, Caller caller, Ceiling ceiling, Options options);

  ScratchHome home_;
  Caller caller_;
  Ceiling ceiling_;
  Options options_;
  std::optional<int> interrupted_;
};

// Where attempts leave something outside of the home, each with the home's name at its end: what a
// demonstration that was killed left there is found by that.
inline constexpr std::string_view kTemporaryNote = "/tmp/note-";
inline constexpr std::string_view kNeighbourNote = "/tmp/other-";
inline constexpr std::string_view kDrop = "/var/tmp/drop-";

// Content of a file of the host; empty if it cannot be read.
std::string content_of(const std::string& path);
// True if neither stream of the command holds the text.
bool nothing_leaked(const Report& report, std::string_view secret);
// As designed if the secret is in its place for whoever may see it, and the command did not print
// it.
Observation kept_secret(const Report& report, const std::string& place, std::string_view secret);

}  // namespace cordon::demo
