#include "run/why.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/path.h"
#include "base/text.h"
#include "plan/view.h"
#include "run/answers.h"
#include "run/mentions.h"

namespace cordon {
namespace {

// Each is judged anew, with everything that might permit it tried; a command can ask for more.
constexpr std::size_t kMostJudged = 100;
constexpr std::size_t kMostAdvised = 20;

bool is_refused(const Plan& plan, const WatchedPath& asked) {
  // To see that something is there needs no right to it.
  if (asked.looked && asked.there && asked.access == Access::Read) return false;
  const View view = view_of(plan, asked.path);
  const bool writes = asked.access == Access::Write;
  switch (view.shown) {
    case Shown::Process:
    case Shown::Device:
      return false;
    case Shown::Nothing:
    case Shown::Masked:
      return true;
    case Shown::Private:
    case Shown::Kept:
      return writes ? !view.writable || !asked.place : !asked.there;
    case Shown::Made:
      return writes || !asked.there || !(view.may_read || view.may_list);
    case Shown::Host:
    case Shown::Staged:
    case Shown::Copy:
    case Shown::Config:
      if (writes) return !view.writable || !view.may_write;
      if (asked.looked) return false;
      return asked.access == Access::Execute ? !view.may_execute : !view.may_read && !view.may_list;
  }
  return false;
}

bool is_on_host(const std::string& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0;
}

// What the access is to on the host: names are made and removed in their directory.
std::string object_of(const RefusedPath& asked) {
  const bool of_directory =
      asked.access == Access::Write && (asked.of_name || !is_on_host(asked.path));
  return of_directory ? std::string(parent(asked.path)) : asked.path;
}

// Whether the caller could do it outside.
bool would_succeed(const RefusedPath& asked, const std::string& object) {
  if (asked.access == Access::Write && asked.anew && is_on_host(asked.path)) return false;
  constexpr std::array<int, 3> kModes{R_OK, W_OK, X_OK};
  return ::faccessat(AT_FDCWD, object.c_str(), kModes[static_cast<std::size_t>(asked.access)],
                     AT_EACCESS) == 0;
}

Question::Access question_of(Access access) {
  switch (access) {
    case Access::Read:
      return Question::Access::Read;
    case Access::Write:
      return Question::Access::Write;
    case Access::Execute:
      return Question::Access::Execute;
  }
  return Question::Access::Read;
}

// Which layer stands in the way: where the mounts show it and let it be written, only Landlock can.
std::string layer_of(const Plan& plan, const RefusedPath& asked) {
  const View view = view_of(plan, asked.path);
  const bool shown = view.shown == Shown::Host || view.shown == Shown::Staged;
  const bool by_landlock = shown && (asked.access != Access::Write || view.writable);
  return by_landlock ? "landlock" : "mounts";
}

Denial denial_of(const JudgedRun& run, const RefusedPath& asked, const Explanation& explained) {
  const std::string access(name_of(explained.access));
  std::string detail = asked.path;
  if (asked.only_looked) detail += " (only looked for)";
  return {access, std::move(detail), layer_of(run.plan, asked), asked.count, asked.path,
          access, explained.rule,    explained.change,          false};
}

}  // namespace

Result<Explanation> explain_hidden_place(const RunInput& input, const std::string& place,
                                         const Caller& caller) {
  CORDON_TRY(hidden, explain_access(input, {Question::Access::Read, place}, caller));
  hidden.access = Question::Access::Write;
  RunInput changed = input;
  changed.policy.fs.write.push_back({place, "/", Origin::Option});
  const auto granted = explain_access(changed, {Question::Access::Write, place}, caller);
  const std::string option = "--write " + quote(place);
  if (!granted) {
    // A ceiling does not permit it, and the refusal of the option says what would.
    constexpr std::string_view kElse = "leave the option out, or ";
    const std::string& cure = granted.error().hint;
    hidden.change = cure.starts_with(kElse) ? cure.substr(kElse.size()) + "; " + option : "";
  } else {
    hidden.change = granted->allowed && granted->then != "gone" ? option : std::string();
  }
  return hidden;
}

PathWatch::Refuses refused_by(const Plan& plan) {
  // Threads of the broker may outlive the run.
  return [kept = std::make_shared<const Plan>(plan)](const WatchedPath& asked) {
    if (!is_refused(*kept, asked)) return false;
    // Programs look for thousands of names that are nowhere: these take no room from the others.
    const RefusedPath refused{asked.access, asked.path, 1, asked.looked, asked.of_name, asked.anew};
    return would_succeed(refused, object_of(refused));
  };
}

std::vector<Denial> path_denials(const RunInput& input, const JudgedRun& run,
                                 const std::vector<RefusedPath>& refused, std::uint64_t untold) {
  std::vector<Denial> denials;
  std::uint64_t others = untold;
  for (const RefusedPath& asked : refused) {
    const std::string object = object_of(asked);
    if (!would_succeed(asked, object)) continue;
    if (denials.size() == kMostJudged) {
      others += asked.count;
      continue;
    }
    auto explained = explain_access(input, {question_of(asked.access), object}, run.caller);
    if (explained && explained->inside && explained->then == "gone") {
      explained = explain_hidden_place(input, object, run.caller);
    }
    if (!explained) {
      others += asked.count;
      continue;
    }
    // What succeeds inside and is held back at the end is told as a change.
    if (explained->inside) continue;
    denials.push_back(denial_of(run, asked, *explained));
  }
  // Whether the host has them nobody has looked.
  if (others > 0) {
    denials.push_back({"file", "not judged", "watch", others, {}, {}, {}, {}, false});
  }
  return denials;
}

void advise_connections(const RunInput& input, const JudgedRun& run, std::vector<Denial>& denials) {
  const Mentions mentions = mentions_in(input.argv, {}, run.request.cwd, run.caller);
  std::size_t asked = 0;
  for (Denial& denial : denials) {
    if (denial.access != "connect" || denial.what == "udp" || !denial.change.empty() ||
        asked++ >= kMostAdvised) {
      continue;
    }
    // The port of a name that was asked for is a guess, unless the command line names it.
    const std::string_view name = std::string_view(denial.path).substr(0, denial.path.rfind(':'));
    const auto meant = std::ranges::find(mentions.hosts, name, &MentionedHost::host);
    if (denial.what == "resolve" && meant != mentions.hosts.end()) {
      denial.path = meant->host + ":" + std::to_string(meant->port);
    }
    const auto explained =
        explain_access(input, {Question::Access::Connect, denial.path}, run.caller);
    if (explained && !explained->allowed) denial.change = explained->change;
  }
}

void advise_requests(const RunInput& input, const JudgedRun& run,
                     std::vector<Gate::Refused>& refused) {
  std::size_t asked = 0;
  for (Gate::Refused& one : refused) {
    // One that was refused for its form, its host or its number needs another change.
    const std::string by_rule = ": " + one.method + " " + one.path + " is outside what is granted";
    if (one.path.empty() || one.denial.detail.find(by_rule) == std::string::npos) continue;
    if (asked++ >= kMostAdvised) continue;
    const auto explained = explain_access(
        input, {Question::Access::Request, one.method + " https://" + one.denial.path + one.path},
        run.caller);
    if (explained && !explained->allowed) one.denial.change = explained->change;
  }
}

}  // namespace cordon
