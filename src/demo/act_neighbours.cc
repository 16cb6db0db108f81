#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "demo/acts.h"
#include "demo/host_processes.h"

namespace cordon::demo {
namespace {

constexpr std::string_view kPlantedNote = "PLANTED-NOTE-e2d7";

// Another contained run, which keeps a note in its /tmp and lives until it is dismissed.
class Neighbour {
 public:
  explicit Neighbour(Stage& stage)
      : note_("/tmp/neighbour-" + stage.home().token()),
        up_(stage.home().at("Downloads/neighbour-up")),
        dismissed_(stage.home().at("Downloads/neighbour-may-go")) {
    const std::string script =
        R"(echo "$1" > "$2"; : > "$3"; while [ ! -e "$4" ]; do sleep 0.05; done; cat "$2")";
    Attempt attempt{
        {"/bin/sh", "-c", script, "sh", std::string(kPlantedNote), note_, up_, dismissed_},
        {},
        {"~/Downloads"},
        {}};
    thread_ = std::thread([this, &stage, attempt = std::move(attempt)] {
      report_ = stage.run_beside(attempt, cancel_);
    });
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  ~Neighbour() {
    cancel_.cancel();
    if (thread_.joinable()) thread_.join();
    for (const std::string& path : {up_, dismissed_, note_}) ::unlink(path.c_str());
  }

  // Where it keeps its note, as it sees it.
  [[nodiscard]] const std::string& note() const { return note_; }
  // A process of it, as the host counts them; nothing if it does not come up.
  [[nodiscard]] std::optional<std::string> process() const {
    constexpr int kLooks = 100;
    constexpr std::chrono::milliseconds kPause{50};
    for (int i = 0; i < kLooks; ++i, std::this_thread::sleep_for(kPause)) {
      if (::access(up_.c_str(), F_OK) != 0) continue;
      const auto found = processes_with(up_);
      if (!found || found->empty()) return std::nullopt;
      return found->front();
    }
    return std::nullopt;
  }
  // Lets it end. Whether it was undisturbed: then the last thing it did was to read its note.
  bool dismiss() {
    const int made = ::creat(dismissed_.c_str(), 0600);
    if (made >= 0) ::close(made);
    thread_.join();
    return report_.outcome && exit_status(report_.outcome->end) == 0 &&
           report_.outcome->out->head.find(kPlantedNote) != std::string::npos;
  }

 private:
  const std::string note_;
  const std::string up_;
  const std::string dismissed_;
  Cancel cancel_;
  Report report_;
  std::thread thread_;
};

Scenario not_up(std::string title) {
  Scenario scenario;
  scenario.title = std::move(title);
  scenario.expected = Expected::Blocked;
  scenario.attempt.argv = {"/bin/sh"};
  scenario.sight = {false, "not run: there was no neighbour"};
  return scenario;
}

Scenario read_its_note(Stage& stage) {
  const std::string title = "read what a neighbour keeps in /tmp";
  Neighbour neighbour(stage);
  if (!neighbour.process()) return not_up(title);
  return stage.play(title, {{"/bin/cat", neighbour.note()}, {}, {}, {}}, Expected::Blocked,
                    [&](const Report& report) {
                      const bool silent = nothing_leaked(report, kPlantedNote);
                      if (!neighbour.dismiss()) {
                        return Sight{false, "the neighbour has no note: nothing was shown"};
                      }
                      return Sight{silent, silent ? "the neighbour still had it and read it itself"
                                                  : "the note was printed"};
                    });
}

Scenario end_it(Stage& stage) {
  const std::string title = "kill a process of a neighbour";
  Neighbour neighbour(stage);
  const auto process = neighbour.process();
  if (!process) return not_up(title);
  return stage.play(
      title, {{"/bin/sh", "-c", R"(kill -9 "$1")", "sh", *process}, {}, {}, {}}, Expected::Blocked,
      [&](const Report&) {
        const bool whole = neighbour.dismiss();
        return Sight{whole, whole ? "it lived on and ended by itself" : "the neighbour was ended"};
      });
}

}  // namespace

Scenarios play_neighbours(Stage& stage) { return {read_its_note(stage), end_it(stage)}; }

}  // namespace cordon::demo
