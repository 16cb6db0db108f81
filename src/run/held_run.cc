#include "run/held_run.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "changes/config_write_back.h"
#include "changes/held_back.h"
#include "changes/take.h"
#include "host/git/config.h"
#include "host/git/index.h"
#include "host/git/layout.h"
#include "host/inspect.h"
#include "host/path_shadow.h"
#include "host/walk.h"

namespace cordon {
namespace {

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// A handoff is told relative to where the caller was.
std::string absolute(const std::string& path, const std::string& cwd) {
  return path.starts_with('/') ? path : join(cwd, path);
}

// What was moved out of the tree, or was put back, can be taken like everything that was held.
void add_handoff(const Quarantined& one, const std::string& cwd, HeldBack& held) {
  if (one.kind.starts_with("unchecked: ")) return;
  ChangeRecord record;
  record.path = absolute(one.path, cwd);
  record.top = record.path;
  record.reason = one.kind;
  record.kept = one.moved_to;
  if (!one.original.empty()) {
    record.state = Change::State::Applied;
    record.put = fingerprint_path(record.path);
    record.replaced = one.original;
    return held.add(std::move(record));
  }
  if (one.moved_to.empty() && !one.restored) return;  // only reported
  if (one.moved_to.empty()) record.change = Change::Kind::Deleted;
  if (!one.restored) record.change = Change::Kind::Added;
  record.base = fingerprint_path(record.path);
  held.add(std::move(record));
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) {
    if (i > 0) text += ", ";
    text += sanitize(names[i]);
  }
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

std::optional<std::string> text_at(const std::string& path) {
  const Fd above(::open(std::string(parent(path)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  constexpr std::size_t kLimit = std::size_t{1024} * 1024;
  return above.valid() ? read_regular(above.get(), std::string(basename(path)), kLimit)
                       : std::nullopt;
}

// What is harmless and new goes back to the host's file, the rest is kept aside and named.
Result<void> settle_config(const CopiedConfig& config, HeldBack& held) {
  const std::string& base = config.base;
  const auto now = text_at(config.copy);
  if (now == base) return {};
  ChangeRecord record;
  record.path = record.top = config.path;
  if (!now) {
    struct stat status {};
    const bool gone = ::lstat(config.copy.c_str(), &status) != 0;
    record.change = gone ? Change::Kind::Deleted : Change::Kind::Type;
    record.reason = "git: everything";
    record.base = fingerprint_path(config.path);
    if (!gone) {
      CORDON_TRY(kept, held.keep(config.copy, config.path));
      record.kept = std::move(kept);
    }
    held.add(std::move(record));
    return {};
  }
  const auto change = judge_config_change(base, *now);
  std::string expected = base;
  std::vector<std::string> left =
      change ? change->held : std::vector<std::string>{"it cannot be read"};
  if (change && !change->written.empty()) {
    std::vector<std::string> names;
    for (const GitSetting& setting : change->written) {
      std::string name = setting_name(setting);
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    std::string text;
    CORDON_TRY(wrote, write_back_config(config.path, base, change->written, text));
    if (wrote == WroteBack::Done) {
      expected = text;
      ChangeRecord applied = record;
      applied.state = Change::State::Applied;
      applied.reason = "git: " + list_of(names);
      applied.put = fingerprint_path(config.path);
      CORDON_TRY(kept, held.keep_text(text, config.path));
      applied.kept = std::move(kept);
      CORDON_TRY(before, held.keep_text(base, config.path + ".original"));
      applied.replaced = std::move(before);
      held.add(std::move(applied));
    } else {
      left.insert(left.begin(), names.begin(), names.end());
    }
  }
  // Only the form of the text differs, or what differs has been written.
  if (left.empty()) return {};
  record.reason = "git: " + list_of(left);
  record.base = text_at(config.path) == expected ? fingerprint_path(config.path) : kUnknown;
  CORDON_TRY(kept, held.keep(config.copy, config.path));
  record.kept = std::move(kept);
  held.add(std::move(record));
  return {};
}

// What a configuration had before the run and has no more.
std::vector<GitSetting> lost_settings(const std::string& base, const std::string& text) {
  const auto before = parse_git_config(base);
  const auto after = parse_git_config(text);
  if (!before || !after) return {};
  std::set<std::string> there;
  for (const GitSetting& setting : *after) there.insert(setting_name(setting));
  std::vector<GitSetting> lost;
  for (const GitSetting& setting : *before)
    if (!there.contains(setting_name(setting))) lost.push_back(setting);
  return lost;
}

// The search has taken away a file that ran something, and left what runs nothing. Somebody outside
// had replaced it, so that the run could write it: what it had before the run comes back. A git
// that holds the lock is done in a moment. A lock that stays for two seconds is nobody's, and must
// not be a way to make a repository forget where it pushes to.
Result<void> complete_config(const CopiedConfig& config) {
  constexpr int kAttempts = 40;
  constexpr auto kPause = std::chrono::milliseconds(50);
  for (int attempt = 0; attempt <= kAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kPause);
    const auto now = text_at(config.path);
    const auto lost = now ? lost_settings(config.base, *now) : std::vector<GitSetting>();
    if (lost.empty()) return {};
    const GitLock lock = attempt < kAttempts ? GitLock::Keep : GitLock::PassOver;
    std::string text;
    CORDON_TRY(wrote, write_back_config(config.path, *now, lost, text, lock));
    if (wrote == WroteBack::Done) return {};
  }
  return fail(setup_error("the settings that a run removed cannot be put back: " +
                              quote(config.path) + " changes all the time",
                          0, "compare it with what `cordon changes list` names"));
}

// What a run made of what the repository has of a worktree that it did not see.
Result<void> settle_unseen(const CopiedObject& object, HeldBack& held) {
  if (holds_files(object.what.source)) return held.compare(object);
  // Git inside took the worktree for gone, and could not know better. Nothing of it is offered to
  // `cordon changes apply`: whoever takes everything would lose a worktree that is in use.
  ChangeRecord record;
  record.change = Change::Kind::Deleted;
  record.state = Change::State::Discarded;
  record.path = record.top = object.what.path;
  record.reason =
      std::string(kUnseenWorktree) + ": its work tree is not granted, so that it stays as it is";
  held.add(std::move(record));
  return {};
}

// Of the same, what ordinary work writes there: `git branch -m` of a branch that is checked out in
// that worktree, `git worktree lock`.
std::vector<std::string> written_for_unseen(const std::vector<ChangeRecord>& records) {
  std::vector<std::string> paths;
  for (const ChangeRecord& record : records) {
    if (record.reason != kUnseenWorktree) continue;
    const std::string_view name = std::string_view(record.path).substr(record.top.size());
    const bool removed = record.change == Change::Kind::Deleted;
    const auto kept = removed ? std::nullopt : inspect_path(record.kept);
    if (!removed && (!kept || kept->kind != FileKind::Regular)) continue;
    const bool head = name == "/HEAD" || name == "/logs/HEAD";
    if (name == "/locked" || (head && !removed)) paths.push_back(record.path);
  }
  return paths;
}

// Places in a directory on PATH to which a command that hides another one leads by a link there:
// `bin/git -> own-git`. The links are the host's, which the run could not change.
std::set<std::string> led_by_hiding(const std::string& directory, const PathShadow& shadow) {
  std::set<std::string> led;
  const Fd fd = open_canonical(directory, kOpenDirectory);
  DirectoryNames names;
  if (!fd.valid()) return led;
  names.read(fd.get());
  PathTrace trace;
  for (const DirectoryEntry& entry : names.entries()) {
    if (entry.type != EntryType::Symlink || !shadow.hides(entry.name)) continue;
    const TracedPath way = trace.to(join(directory, entry.name));
    for (const PassedPlace* place : way.passed) led.insert(place->path);
    led.insert(way.missing);
  }
  return led;
}

// What was installed into a directory on PATH and hides nothing.
std::vector<std::string> installed_commands(const std::vector<ChangeRecord>& records,
                                            const std::vector<Grant>& writable,
                                            const Caller& caller) {
  std::vector<std::string> paths;
  const PathShadow shadow(caller, writable);
  std::map<std::string, std::set<std::string>> led;  // by directory
  for (const ChangeRecord& record : records) {
    if (record.reason != name_of(HoldKind::Path) || record.path == record.top) continue;
    if (!shadow.may_be_installed_into(record.top)) continue;
    if (!led.contains(record.top)) led[record.top] = led_by_hiding(record.top, shadow);
    const auto is_on_it = [&](const std::string& place) { return contains(record.path, place); };
    const bool hides = (parent(record.path) == record.top && shadow.hides(basename(record.path))) ||
                       std::ranges::any_of(led[record.top], is_on_it);
    if (record.change == Change::Kind::Deleted || !hides) paths.push_back(record.path);
  }
  return paths;
}

// Where the configuration of a submodule, in `git`, has its work tree.
std::string work_tree_of(const std::optional<std::string>& config, const std::string& git) {
  const auto settings = config ? parse_git_config(*config) : std::nullopt;
  const auto value = settings ? last_value(*settings, "core", "", "worktree") : std::nullopt;
  return value ? place_of_pointer(*value, git) : std::string();
}

// `git mv` of a submodule writes the new place of the work tree into its configuration, and without
// that git finds none. It goes through if nothing else differs, the old place is no work tree any
// more, and the new one lies in a grant and leads back: then the run could have made a submodule
// there as well.
std::vector<std::string> moved_submodules(const std::vector<ChangeRecord>& records,
                                          const std::vector<Grant>& writable) {
  std::vector<std::string> paths;
  for (const ChangeRecord& record : records) {
    if (record.reason != "git: core.worktree" || record.change != Change::Kind::Modified ||
        record.state != Change::State::Held || basename(record.path) != "config") {
      continue;
    }
    const std::string git(parent(record.path));
    const std::string from = work_tree_of(text_at(record.path), git);
    const std::string to = work_tree_of(text_at(record.kept), git);
    if (from.empty() || to.empty() || inspect_path(join(from, ".git"))) continue;
    const auto covers = [&](const Grant& grant) { return contains(grant.path, to); };
    if (std::ranges::none_of(writable, covers)) continue;
    if (open_canonical(to, O_PATH | O_DIRECTORY).valid() && git_index_of(to) == join(git, "index"))
      paths.push_back(record.path);
  }
  return paths;
}

}  // namespace

Result<PrivateCopies> copy_held(JudgedRun& run) {
  std::vector<CopyRequest> requests;
  for (const Op& operation : run.plan.build) {
    if (const auto* copy = std::get_if<op::PrivateCopy>(&operation)) {
      requests.push_back({copy->path, copy->source, copy->kind, copy->id, copy->reason});
    }
  }
  std::vector<ConfigRequest> configs;
  for (const ConfigCopy& config : run.plan.configs) {
    configs.push_back({config.path, config.copy, config.content});
  }
  if (requests.empty() && configs.empty()) return PrivateCopies{};
  CORDON_TRY(made,
             make_private_copies(run.request.private_directory, requests, configs, run.owner));
  for (const Uncopied& one : made.uncopied) {
    for (Op& operation : run.plan.build) {
      const auto* copy = std::get_if<op::PrivateCopy>(&operation);
      if (copy == nullptr || copy->path != one.path) continue;
      operation = op::Hold{copy->path, copy->id, MountAccess::ReadOnly, copy->reason};
      break;
    }
    run.reductions.push_back({"held", one.path, "read-only: " + one.why,
                              Reduction::Because::Unenforceable, Origin::Document});
  }
  return std::move(made.copies);
}

Result<std::vector<ChangeRecord>> settle_held(const PrivateCopies& copies, Removal* removal,
                                              const std::vector<Quarantined>& handoff,
                                              const std::vector<Grant>& writable,
                                              const Caller& caller, const std::string& run_id,
                                              const PassRecords& pass) {
  const std::string place = handoff_directory(caller.state_directory);
  HeldBack held(place, run_id, caller.cwd);
  for (const Quarantined& one : handoff) add_handoff(one, caller.cwd, held);
  std::set<std::string> gone;
  if (removal != nullptr) gone = removal->finish(copies, held);
  const auto is_gone = [&](const std::string& path) {
    return std::ranges::any_of(gone, [&](const std::string& one) { return contains(one, path); });
  };
  for (const CopiedObject& object : copies.objects) {
    if (is_gone(object.what.path)) continue;
    CORDON_CHECK(object.what.reason == kUnseenWorktree ? settle_unseen(object, held)
                                                       : held.compare(object));
  }
  for (const CopiedConfig& config : copies.configs) {
    if (is_gone(config.path)) continue;
    const auto was_cleaned = [&](const Quarantined& one) {
      return (!one.moved_to.empty() || one.restored) &&
             absolute(one.path, caller.cwd) == config.path;
    };
    if (std::ranges::any_of(handoff, was_cleaned)) CORDON_CHECK(complete_config(config));
    CORDON_TRY(was_removed, put_back_config(config.path, config.base));
    if (was_removed) {
      ChangeRecord record;
      record.path = record.top = config.path;
      record.change = Change::Kind::Deleted;
      record.reason = "git: everything";
      record.base = fingerprint_path(config.path);
      held.add(std::move(record));
    }
    CORDON_CHECK(settle_config(config, held));
  }
  if (held.records().empty()) return std::vector<ChangeRecord>();
  std::vector<ChangeRecord> records = held.take();
  // What was put back and then removed with the rest is told once.
  std::erase_if(records, [&](const ChangeRecord& record) {
    return record.change == Change::Kind::Deleted && record.state == Change::State::Held &&
           is_gone(record.path);
  });
  std::ranges::stable_sort(records, {}, &ChangeRecord::path);
  Manifest manifest{run_id, now_ns(), {}};
  for (const Grant& grant : writable) manifest.places.push_back(grant.path);
  // What an attempt that was interrupted has noted already.
  CORDON_TRY(earlier, read_manifest(place, run_id));
  if (earlier) manifest.records = std::move(earlier->records);
  std::ranges::move(records, std::back_inserter(manifest.records));
  CORDON_CHECK(write_manifest(place, manifest));
  // What cannot be put there stays held.
  std::vector<std::string> installed = installed_commands(manifest.records, writable, caller);
  std::ranges::move(written_for_unseen(manifest.records), std::back_inserter(installed));
  std::ranges::move(moved_submodules(manifest.records, writable), std::back_inserter(installed));
  if (!installed.empty()) {
    (void)apply_changes(place, manifest, installed, Noting::ByCaller);
    CORDON_CHECK(write_manifest(place, manifest));
  }
  if (!pass) return std::move(manifest.records);
  const std::vector<ChangeRecord> before = manifest.records;
  for (const std::string& path : pass(manifest.records)) {
    (void)apply_changes(place, manifest, {path}, Noting::ByCaller);
  }
  if (manifest.records != before) CORDON_CHECK(write_manifest(place, manifest));
  return std::move(manifest.records);
}

void forget_passed(std::vector<Quarantined>& handoff, const std::vector<ChangeRecord>& records) {
  std::erase_if(handoff, [&](const Quarantined& one) {
    if (one.moved_to.empty()) return false;
    const auto is_its = [&](const ChangeRecord& record) {
      return !record.kept.empty() && contains(one.moved_to, record.kept);
    };
    const auto is_held = [&](const ChangeRecord& record) {
      return is_its(record) && record.state != Change::State::Applied;
    };
    return std::ranges::any_of(records, is_its) && std::ranges::none_of(records, is_held);
  });
}

void mark_moved_in_clones(std::vector<Quarantined>& handoff, const JudgedRun& run) {
  const auto is_old = [&](const std::string& git) {
    return std::ranges::any_of(run.survey.facts.git, [&](const GitDirectory& one) {
      return one.path == git || std::ranges::find(one.pinned, git, &Held::path) != one.pinned.end();
    });
  };
  std::map<std::string, std::vector<std::string>> moved;  // by the top of the work tree
  for (const Quarantined& one : handoff) {
    if (one.moved_to.empty() || one.restored) continue;
    const std::string path = absolute(one.path, run.caller.cwd);
    for (std::string_view up = parent(path); up != "/"; up = parent(up)) {
      const auto in_root = [&](const Grant& grant) { return contains(grant.path, up); };
      if (std::ranges::none_of(run.clamped.effective().write, in_root)) break;
      const std::string index = git_index_of(std::string(up));
      if (index.empty()) continue;
      // The run may have made the pointer that leads there: what it cannot write is left alone.
      const std::string git(parent(index));
      const auto covers = [&](const Grant& grant) { return contains(grant.path, git); };
      const bool may = std::ranges::any_of(run.clamped.effective().write, covers);
      std::string name = path.substr(up.size() + 1);
      // No commit deletes a hook.
      const bool tracks = !name.starts_with(".git/");
      if (may && tracks && !is_old(git)) moved[std::string(up)].push_back(std::move(name));
      break;
    }
  }
  for (const auto& [top, names] : moved) {
    const auto marked = mark_skip_worktree_in(top, names);
    if (marked) continue;
    handoff.push_back({top,
                       "unchecked: the next commit there may delete what was moved away: " +
                           message(marked.error()) + "; " + marked.error().hint,
                       {}});
  }
}

}  // namespace cordon
