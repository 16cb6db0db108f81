#include "faces/cli/changes_asked.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <span>

#include "base/path.h"
#include "base/text.h"
#include "changes/last_run.h"
#include "changes/lost_list.h"
#include "changes/stage.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "run/policy_source.h"

namespace cordon {
namespace {

struct Selection {
  std::string run;  // empty: the last one
  std::vector<std::string> paths;
};

Selection select(const Arguments& arguments, const std::string& cwd) {
  Selection selection;
  std::span<const std::string_view> rest(arguments.operands);
  if (!arguments.ended_flags && !rest.empty() &&
      (rest.front() == "last" || is_run_id(rest.front()))) {
    if (rest.front() != "last") selection.run = std::string(rest.front());
    rest = rest.subspan(1);
  }
  bool ended = arguments.ended_flags;
  for (const std::string_view word : rest) {
    if (word == "--" && !ended) {
      ended = true;
      continue;
    }
    selection.paths.push_back(word.starts_with('/') ? normalize(word) : normalize(join(cwd, word)));
  }
  return selection;
}

// Links on the way are followed as when the run was judged; the last name need not exist.
std::string canonical(const std::string& path, const Caller& caller) {
  const auto above = canonicalize(std::string(parent(path)), "/", caller);
  if (!above || above->kind != FileKind::Directory) return path;
  return path == "/" ? path : join(above->path, basename(path));
}

}  // namespace

std::string continued_by(const Manifest& manifest, const Caller& caller) {
  if (manifest.mode != WriteMode::Staged) return {};
  if (parent(manifest.stage) != stage_directories(caller.state_directory)) return {};
  std::string owner = Stage::run_of(manifest.stage);
  return owner == manifest.run_id ? std::string() : owner;
}

Result<void> refuse_continued(const std::optional<Manifest>& manifest, const Caller& caller) {
  const std::string other = manifest ? continued_by(*manifest, caller) : std::string();
  if (other.empty()) return {};
  return fail({.kind = ErrorKind::Unsupported,
               .what = "run " + other + " went on in the stage of run " + manifest->run_id +
                       " and has all its changes",
               .hint = "name that run: cordon changes list " + other});
}

namespace {

// What is listed is what `apply` takes: a run of which only something was lost is the last one
// where no other is.
Result<void> find_last(AskedChanges& asked, AskedFor purpose) {
  const std::string& state = asked.caller.state_directory;
  CORDON_TRY(held, find_last_run(asked.handoff, asked.caller));
  if (!held.here && purpose == AskedFor::Showing) {
    CORDON_TRY(lost, find_last_run(lost_directory(state), asked.caller));
    if (lost.here || !held.elsewhere) held = std::move(lost);
  }
  asked.elsewhere = std::move(held.elsewhere);
  if (!held.here) return {};
  if (purpose == AskedFor::Taking) {
    asked.manifest = std::move(held.here);
    return {};
  }
  CORDON_TRY(whole, read_with_lost(state, held.here->run_id));
  asked.manifest = std::move(whole);
  return {};
}

Result<void> find_named(AskedChanges& asked, AskedFor purpose) {
  const std::string& state = asked.caller.state_directory;
  CORDON_TRY(manifest, purpose == AskedFor::Taking ? read_manifest(asked.handoff, asked.run)
                                                   : read_with_lost(state, asked.run));
  if (!manifest) {
    CORDON_TRY(lost, read_with_lost(state, asked.run));
    manifest = std::move(lost);
  }
  asked.manifest = std::move(manifest);
  return {};
}

}  // namespace

Result<AskedChanges> ask_changes(const Arguments& arguments, AskedFor purpose) {
  CORDON_TRY(caller, identify_caller());
  AskedChanges asked;
  const Selection selection = select(arguments, caller.cwd);
  for (const std::string& path : selection.paths) asked.paths.push_back(canonical(path, caller));
  asked.handoff = handoff_directory(caller.state_directory);
  asked.run = selection.run;
  asked.caller = std::move(caller);
  CORDON_CHECK(asked.run.empty() ? find_last(asked, purpose) : find_named(asked, purpose));
  CORDON_CHECK(refuse_continued(asked.manifest, asked.caller));
  if (purpose == AskedFor::Showing) {
    if (auto unnoted = find_unnoted(asked.caller.state_directory))
      asked.unnoted = *std::move(unnoted);
  }
  return asked;
}

std::vector<ChangeRecord> selected(const AskedChanges& asked) {
  std::vector<ChangeRecord> records;
  if (!asked.manifest) return records;
  for (const ChangeRecord& record : asked.manifest->records)
    if (is_selected(record, asked.paths)) records.push_back(record);
  return records;
}

std::string removal_day(const AskedChanges& asked, const std::string& run_id) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  constexpr std::uint64_t kDaySeconds = 86'400;
  constexpr std::uint64_t kMostDays = 1'000'000;
  const auto ceilings = load_ceilings({}, asked.caller);
  const auto touched = manifest_time_ns(asked.handoff, run_id);
  if (!ceilings || !touched) return {};
  // No ceiling shortens what another one keeps (run/state_upkeep.h).
  std::optional<std::uint64_t> days;
  for (const Ceiling& ceiling : *ceilings) days = std::max(days, ceiling.keep.days);
  if (!days || *days > kMostDays) return {};
  const auto kept = static_cast<time_t>(std::max<std::uint64_t>(*days, 1) * kDaySeconds);
  const time_t end = *touched / kSecondNs + kept;
  std::tm parts{};
  std::array<char, 16> text{};
  if (::localtime_r(&end, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts) == 0) {
    return {};
  }
  return text.data();
}

std::string changes_json(const AskedChanges& asked) {
  NodeList list;
  const std::vector<ChangeRecord> records = selected(asked);
  for (const Change& change : changes_of(records, asked.caller.cwd)) {
    Node node{NodeMap{}};
    node.set("path", change.path);
    node.set("change", name_of(change.change));
    node.set("state", name_of(change.state));
    node.set("reason", change.reason);
    list.push_back(std::move(node));
  }
  Node node{NodeMap{}};
  node.set("schema", "cordon.changes/1");
  node.set("run", asked.manifest ? Node(asked.manifest->run_id) : Node());
  const WriteMode mode = asked.manifest ? asked.manifest->mode : WriteMode::Live;
  node.set("mode", name_of(mode));
  node.set("changes", std::move(list));
  const std::string day = asked.manifest ? removal_day(asked, asked.manifest->run_id) : "";
  node.set("removed_on", day.empty() ? Node() : Node(day));
  NodeList unnoted;
  for (const Unnoted& one : asked.unnoted) {
    Node entry{NodeMap{}};
    entry.set("run", one.run_id);
    entry.set("path", one.path.empty() ? Node() : Node(one.path));
    entry.set("kept", one.kept);
    unnoted.push_back(std::move(entry));
  }
  node.set("unnoted", std::move(unnoted));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

int answer_nothing(const Arguments& arguments, const AskedChanges& asked) {
  if (arguments.has(FlagId::Json)) {
    return say_answer(changes_json(asked)) ? kAnswerNo : kAnswerError;
  }
  if (!asked.manifest && asked.elsewhere) {
    const std::string& run = asked.elsewhere->run_id;
    const std::string place = place_of(*asked.elsewhere);
    say("cordon: no run that worked in " + quote(asked.caller.cwd) +
        " has held anything back; the last one elsewhere is run " + run +
        (place.empty() ? "" : ", in " + quote(place)) + "\nhint: name it: cordon changes list " +
        run + "\n");
  } else if (!asked.manifest) {
    say(asked.run.empty()
            ? "cordon: no run has held anything back\n"
            : "cordon: run " + asked.run + " has nothing that is kept; cordon changes list names " +
                  "the newest run that has\n");
  } else {
    std::string places;
    for (const std::string& path : asked.paths) {
      places += (places.empty() ? ": none of its changes lies at " : ", ") + quote(path);
    }
    say("cordon: nothing to do for run " + asked.manifest->run_id + places + "\n");
  }
  return kAnswerNo;
}

int answer_error(const Error& error) {
  say_error(error);
  return kAnswerError;
}

}  // namespace cordon
