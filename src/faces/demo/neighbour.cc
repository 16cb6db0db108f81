#include "faces/demo/neighbour.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace cordon::demo {

Neighbour::Neighbour(DemoRunner& runner, Boundary boundary)
    : runner_(runner),
      note_(std::string(kNeighbourNote) + runner.home().token()),
      up_(runner.home().at("Downloads/neighbour-up")),
      dismissed_(runner.home().at("Downloads/neighbour-may-go")) {
  const std::string script =
      R"(echo "$1" > "$2"; : > "$3"; while [ ! -e "$4" ]; do sleep 0.05; done; cat "$2")";
  Attempt attempt{{"/bin/sh", "-c", script, "sh", std::string(kNote), note_, up_, dismissed_},
                  {},
                  {"~/Downloads"},
                  {}};
  if (boundary == Boundary::None) {
    file_.emplace(note_);
    if (file_->made()) uncontained_.emplace(attempt.argv, runner.caller().environment);
    return;
  }
  thread_ = std::thread([this, &runner, attempt = std::move(attempt)] {
    report_ = runner.run_beside(attempt, cancel_);
  });
}

Neighbour::~Neighbour() {
  cancel_.cancel();
  if (thread_.joinable()) thread_.join();
  for (const std::string& path : {up_, dismissed_, note_}) ::unlink(path.c_str());
}

std::optional<std::string> Neighbour::process() const {
  constexpr int kLooks = 100;
  constexpr std::chrono::milliseconds kPause{50};
  // kill(1) takes a negative number for a group, and -1 for everything.
  const bool started = uncontained_ && uncontained_->process() > 0;
  if (!thread_.joinable() && !started) return std::nullopt;
  for (int i = 0; i < kLooks; ++i, std::this_thread::sleep_for(kPause)) {
    if (::access(up_.c_str(), F_OK) != 0) continue;
    // Never one that merely has the same word in its command line: it is to be killed.
    if (started) return std::to_string(uncontained_->process());
    const auto found = processes_with(up_);
    if (!found || found->empty()) return std::nullopt;
    return found->front();
  }
  return std::nullopt;
}

bool Neighbour::dismiss() {
  const int made = ::creat(dismissed_.c_str(), 0600);
  if (made >= 0) ::close(made);
  if (uncontained_) report_ = runner_.wait_for(*uncontained_);
  if (thread_.joinable()) thread_.join();
  return report_.outcome && exit_status(report_.outcome->end) == 0 &&
         report_.outcome->out->head.find(kNote) != std::string::npos;
}

}  // namespace cordon::demo
