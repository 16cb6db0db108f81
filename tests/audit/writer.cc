// Writes to an audit log through the library, so that tests can watch, kill and crowd writers.
//
//   writer DIRECTORY append COUNT   begins and closes COUNT actions
//   writer DIRECTORY forever        the same without end
//   writer DIRECTORY open           begins one action and waits to be killed
//   writer DIRECTORY recover        closes what dead writers left open
//   writer DIRECTORY canary ARG...  records a run, a refusal and a denial about these texts
//   writer DIRECTORY days FIRST LAST COUNT  COUNT actions on each day from FIRST to LAST, in days
//                                   from today; the clock goes back if LAST is less
//   writer DIRECTORY earlier COUNT  COUNT actions in an earlier start of the host, and one that
//                                   is left open unless COUNT is followed by "closed"
//   writer DIRECTORY choice CHOICE COUNT  through a Recorder; one line of input before each action
//
// Each acknowledged record is one line on standard output: "begun ID SEQ", "closed ID", "lost ID".
// A failure is "error MESSAGE", and the status 1.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "audit/recorder.h"

namespace {

using namespace cordon;
using namespace cordon::audit;

void tell(const std::string& text) {
  const std::string line = text + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::exit(3);
}

int failed(const Error& error) {
  tell("error " + std::string(name_of(error.kind)) + " " + message(error));
  return 1;
}

Caller made_up_caller() {
  Caller caller;
  caller.home = "/home/somebody";
  caller.homes = {caller.home};
  caller.cwd = "/home/somebody/project";
  caller.state_directory = "/home/somebody/.local/state/cordon";
  caller.config_directory = "/home/somebody/.config/cordon";
  return caller;
}

Pending made_up_pending(const Redactor& redactor, const std::vector<std::string>& argv) {
  Action action;
  action.backend = "native";
  action.cwd = "/home/somebody/project";
  action.argv = argv;
  return redactor.pending(action);
}

Closing made_up_closing(std::uint64_t turn) {
  Closing closing;
  closing.ending = turn % 3 == 2 ? Ending::Timeout : turn % 3 == 1 ? Ending::Exit : Ending::Success;
  if (closing.ending != Ending::Timeout) closing.exit_code = static_cast<int>(turn % 3);
  closing.duration_ms = turn;
  return closing;
}

int append(Log& log, std::uint64_t count) {
  const Pending pending = made_up_pending(log.redactor(made_up_caller()), {"true"});
  for (std::uint64_t turn = 0; turn < count; ++turn) {
    const auto receipt = log.begin(pending);
    if (!receipt) return failed(receipt.error());
    tell("begun " + receipt->event_id + " " + std::to_string(receipt->seq));
    const auto closed = log.close(*receipt, made_up_closing(turn));
    if (!closed) return failed(closed.error());
    tell("closed " + receipt->event_id);
  }
  return 0;
}

int open_one(Log& log) {
  const auto receipt = log.begin(made_up_pending(log.redactor(made_up_caller()), {"true"}));
  if (!receipt) return failed(receipt.error());
  tell("begun " + receipt->event_id + " " + std::to_string(receipt->seq));
  for (;;) ::pause();
}

int recover(Log& log) {
  const auto lost = log.close_lost();
  if (!lost) return failed(lost.error());
  for (const std::string& id : *lost) tell("lost " + id);
  return 0;
}

std::int64_t clock_offset_us = 0;

std::int64_t moved_wall_us() { return system_clock().wall_us() + clock_offset_us; }

int on_days(const std::string& directory, long first, long last, std::uint64_t count) {
  constexpr std::int64_t kDayUs = std::int64_t{86'400} * 1'000'000;
  const auto self = identify_writer();
  if (!self) return failed(self.error());
  auto log = Log::open({directory}, *self, {moved_wall_us, system_clock().boot_ms});
  if (!log) return failed(log.error());
  for (long day = first;; day += first <= last ? 1 : -1) {
    clock_offset_us = day * kDayUs;
    if (const int status = append(*log, count); status != 0 || day == last) return status;
  }
}

int in_an_earlier_start(const std::string& directory, std::uint64_t count, bool leave_open) {
  auto self = identify_writer();
  if (!self) return failed(self.error());
  self->boot_id = "00000000-0000-4000-8000-000000000001";
  auto log = Log::open({directory}, *self, system_clock());
  if (!log) return failed(log.error());
  if (const int status = append(*log, count); status != 0) return status;
  if (!leave_open) return 0;
  const auto receipt = log->begin(made_up_pending(log->redactor(made_up_caller()), {"true"}));
  if (!receipt) return failed(receipt.error());
  tell("begun " + receipt->event_id + " " + std::to_string(receipt->seq));
  return 0;
}

// Every text is put wherever a run could carry it.
int canary(Log& log, const std::vector<std::string>& texts) {
  Caller caller = made_up_caller();
  for (const std::string& text : texts) {
    caller.cwd = caller.home + "/" + text;
    caller.environment[text] = text;
    const Redactor redactor = log.redactor(caller);
    Policy policy;
    policy.name = "/home/somebody/" + text + ".toml";
    policy.env.set[text] = text;
    Effective effective;
    Grant grant;
    grant.path = caller.cwd + "/" + text;
    effective.read = {grant};
    grant.path = "/usr/" + text;
    effective.write = {grant};
    effective.env.set[text] = text;
    Ceiling ceiling;
    ceiling.id = "/home/somebody/" + text;
    ceiling.policy = policy;
    const std::vector<Ceiling> ceilings{ceiling};
    const std::vector<std::string> argv{text, "--token=" + text, text};
    Action action;
    action.tool = text + "!";
    action.tool_call_id = text + "/";
    action.backend = text + " ";
    action.cwd = caller.cwd;
    action.path = grant.path;
    action.argv = argv;
    action.policy_hash = text;
    action.policy = &policy;
    action.effective = &effective;
    action.ceilings = ceilings;
    const Pending pending = redactor.pending(action);
    const auto receipt = log.begin(pending);
    if (!receipt) return failed(receipt.error());
    Outcome outcome;
    outcome.end = Exited{0};
    outcome.out = Stream{text, text, 3};
    outcome.denials = {{text + ".", text, text + "/", 1}};
    outcome.handoff = {{text, text, text}};
    if (const auto closed = log.close(*receipt, redactor.closing(outcome, {})); !closed) {
      return failed(closed.error());
    }
    Error error = policy_error(text, text);
    error.operation = text;
    if (const auto refused = log.refuse(pending, Redactor::refusal(error)); !refused) {
      return failed(refused.error());
    }
  }
  return 0;
}

int with_choice(const std::string& directory, const std::string& choice, std::uint64_t count) {
  const AuditFailure on_failure = choice == "buffer" ? AuditFailure::Buffer
                                  : choice == "warn" ? AuditFailure::Warn
                                                     : AuditFailure::Deny;
  Recorder recorder({directory}, {on_failure, {}});
  for (std::uint64_t turn = 0; turn < count; ++turn) {
    char line[64];
    if (std::fgets(line, sizeof line, stdin) == nullptr) return 0;
    const auto redactor = recorder.redactor(made_up_caller());
    if (!redactor) {
      failed(redactor.error());
      continue;
    }
    const auto ticket = recorder.begin(made_up_pending(*redactor, {"true"}));
    if (!ticket) {
      failed(ticket.error());
      continue;
    }
    tell((ticket->unwritten ? "unwritten " : "begun ") + ticket->receipt.event_id + " 0");
    if (const auto closed = recorder.close(*ticket, made_up_closing(turn)); !closed) {
      failed(closed.error());
    } else if (!ticket->unwritten) {
      tell("closed " + ticket->receipt.event_id);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) return 2;
  const std::string& verb = words[1];
  if (verb == "choice" && words.size() == 4) {
    return with_choice(words[0], words[2], std::strtoull(words[3].c_str(), nullptr, 10));
  }
  if (verb == "days" && words.size() == 5) {
    return on_days(words[0], std::strtol(words[2].c_str(), nullptr, 10),
                   std::strtol(words[3].c_str(), nullptr, 10),
                   std::strtoull(words[4].c_str(), nullptr, 10));
  }
  if (verb == "earlier" && words.size() >= 3) {
    return in_an_earlier_start(words[0], std::strtoull(words[2].c_str(), nullptr, 10),
                               words.size() == 3);
  }
  auto log = Log::open({words[0]});
  if (!log) return failed(log.error());
  if (verb == "append" && words.size() == 3) {
    return append(*log, std::strtoull(words[2].c_str(), nullptr, 10));
  }
  if (verb == "forever") return append(*log, ~std::uint64_t{0});
  if (verb == "open") return open_one(*log);
  if (verb == "recover") return recover(*log);
  if (verb == "canary") return canary(*log, {words.begin() + 2, words.end()});
  return 2;
}
