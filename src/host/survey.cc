// The survey
//
// A plan is made of values alone, so whatever it has to know of this host is looked up here, once,
// between the clamp and the plan. What comes of it is of two kinds: HostFacts, the objects to mask,
// hold, pin and bind, each with its identity; and a TreeSnapshot, by which the search after the run
// tells what was there before (post_run_scan.cc). The trees were written by earlier runs, or are
// written by one that goes on now, and whoever wrote them knows this order. Each step is against
// something that one can have left:
//
//   The clock           is read before anything is looked at. To a younger run in the same trees,
//                       what changed later and is not in this snapshot was made by this run.
//   Known names         are looked up, not searched for: credential stores, secrets of the machine,
//                       Cordon's own files and programs. A store that is a link is hidden at its
//                       target, which may lie in a grant when the link does not. Each name is
//                       noted for the pins.
//   The walk            finds what has no known place: protected names, git directories, what
//                       patterns deny (tree_survey.cc).
//   Second names        by bind mounts: a mask lies on one mount's view of an object, and another
//                       view shows it. The table of mounts says where to look, the identity of both
//                       names decides. After the walk, since what that masks has such names too.
//   Pins                keep the way to every noted name, so the next run's look-up ends where this
//                       one's did. After all steps that note names.
//   Hard links          are searched for last: whatever is masked or held by now may have some
//                       (hard_links.cc).
//   The outermost       of what lies inside each other is kept. Then follow the directories in
//                       which something must not appear (frozen.cc), and what git has of worktrees
//                       that the run does not see (git/unseen_worktrees.h).
//   The bound           of 4096 mounts: a run that leaves a million files called `.env` makes the
//                       next one refuse with a reason, and not start for an hour.
//
// No step believes a failure. A name that is absent, or closed to the caller, is closed to the
// command too; any other error (a full table of descriptors, a bad disk) may stand for a file that
// would be left open, so one that LookFailures noted refuses the run (ADR 0017).
//
// Nothing stands still meanwhile, and nothing has to. What is written down is identity: device and
// inode, and the time of birth where a number could be used again. Whoever builds the sandbox opens
// each object anew, through no link, and compares; a swap ends the start (ESTALE). A run that
// begins at the same time could plant what this one takes for old, so the survey is made again if
// another run's note appeared while it was made (run/shared_tree.h).
//
// A question is answered from a survey of the way to its paths alone (survey_ways). It leaves the
// hard links out, and no run may start from it.
#include "host/survey.h"

#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "host/credentials.h"
#include "host/frozen.h"
#include "host/git/config.h"
#include "host/git/unseen_worktrees.h"
#include "host/hard_links.h"
#include "host/home_settings.h"
#include "host/known_directories.h"
#include "host/known_hosts.h"
#include "host/mount_table.h"
#include "host/own_programs.h"
#include "host/resolve.h"
#include "host/system_entries.h"
#include "host/tree_survey.h"
#include "host/trust_stores.h"
#include "policy/decide.h"
#include "policy/http_rules.h"
#include "sys/landlock.h"
#include "sys/notify.h"

namespace cordon {
namespace {

constexpr std::size_t kMaxMounts = 4096;

void add_machine(HostFacts& facts) {
  facts.landlock_abi = sys::landlock_abi();
  facts.answers_calls = sys::can_answer_calls() && !attaching_is_forbidden();
  struct sysinfo info {};
  if (::sysinfo(&info) == 0)
    facts.memory_bytes = std::uint64_t{info.totalram} * std::uint64_t{info.mem_unit};
  cpu_set_t processors;
  if (::sched_getaffinity(0, sizeof processors, &processors) == 0)
    facts.processors = static_cast<unsigned>(std::max(1, CPU_COUNT(&processors)));
}

bool covered(const Effective& effective, std::string_view path) {
  const auto covers = [&](const Grant& grant) { return contains(grant.path, path); };
  return std::any_of(effective.read.begin(), effective.read.end(), covers) ||
         std::any_of(effective.write.begin(), effective.write.end(), covers);
}

void mask_credentials(const Effective& effective, const Caller& caller, TreeSurvey& trees) {
  const auto reaches = [&](const Grant& grant) { return may_hold_store(grant.path, caller); };
  const bool all = std::any_of(effective.read.begin(), effective.read.end(), reaches) ||
                   std::any_of(effective.write.begin(), effective.write.end(), reaches);
  const StoreScope scope = all ? StoreScope::All : StoreScope::Links;
  for (const CredentialStore& store : find_credential_stores(caller, scope)) {
    // A link cannot be mounted over; what it leads to can.
    const bool link = store.target.has_value() || store.name.file == FileKind::Other;
    const Masked* object = store.target ? &*store.target : (link ? nullptr : &store.name);
    if (covered(effective, store.name.path)) trees.name(store.name.path);
    if (object == nullptr || !covered(effective, object->path)) continue;
    trees.name(object->path);
    if (const auto seen = inspect_path(object->path))
      trees.mask(object->path, *seen, object->reason);
  }
}

// The secrets of the machine's services. Looked for only where a grant reaches beyond /usr and
// homes.
void mask_machine_secrets(const Effective& effective, TreeSurvey& trees) {
  const auto reaches = [](const Grant& grant) {
    for (const std::string_view top : {"/etc", "/var", "/run"})
      if (contains(grant.path, top) || contains(top, grant.path)) return true;
    return false;
  };
  if (std::none_of(effective.read.begin(), effective.read.end(), reaches) &&
      std::none_of(effective.write.begin(), effective.write.end(), reaches))
    return;
  for (const std::string_view path : machine_secrets()) {
    if (!covered(effective, path)) continue;
    const std::string place(path);
    trees.name(place);
    if (const auto seen = inspect_path(place); seen && !seen->symlink)
      trees.mask(place, *seen, std::string(kMachineSecret));
  }
}

// Cordon's own files: what would widen the next run or forge the record of this one.
void protect_own_files(const Effective& effective, const Caller& caller, TreeSurvey& trees,
                       TreeSnapshot& snapshot) {
  for (const std::string* own :
       {&caller.config_directory, &caller.state_directory, &caller.runtime_directory}) {
    // A link on the way may lead into a grant that the name itself is not in.
    struct stat status {};
    if (!own->empty()) trees.name(*own);
    if (own->empty() || ::stat(own->c_str(), &status) != 0) continue;
    const Result<Canonical> place = canonicalize(*own, "/", caller);
    if (!place || place->kind == FileKind::Absent || !covered(effective, place->path)) continue;
    if (const auto seen = inspect_path(place->path))
      trees.mask(place->path, *seen, "cordon's own files");
  }
  const GrantPaths grants(effective);
  for (const std::string& program : own_programs(caller)) {
    trees.name(program);
    const auto seen = inspect_path(program);
    if (seen && seen->symlink) trees.hold_target(program, HoldKind::Path);
    if (!seen || seen->kind != FileKind::Regular) continue;
    // Read-only by a grant of its own, it is still the one that belongs there.
    snapshot.protected_objects.insert(*seen);
    if (grants.is_writable(program) && !grants.covers_grant(program))
      trees.hold(program, *seen, HoldKind::Path);
  }
}

// Everything that no grant shows, by the name that it is known by.
std::vector<std::string> hidden_objects(const Caller& caller, const HostFacts& facts) {
  std::vector<std::string> paths;
  for (const Masked& entry : facts.masked) paths.push_back(entry.path);
  for (const CredentialStore& store : find_credential_stores(caller, StoreScope::All))
    paths.push_back(store.target ? store.target->path : store.name.path);
  for (const std::string_view secret : machine_secrets()) paths.emplace_back(secret);
  for (const std::string* own :
       {&caller.config_directory, &caller.state_directory, &caller.runtime_directory}) {
    if (own->empty()) continue;
    const Result<Canonical> place = canonicalize(*own, "/", caller);
    if (place && place->kind != FileKind::Absent) paths.push_back(place->path);
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

// True for what is read-only, or a copy, under this name anyway.
bool is_held(const HostFacts& facts, const std::string& path) {
  const auto covers = [&](const auto& entry) { return contains(entry.path, path); };
  return std::ranges::any_of(facts.held, covers) ||
         std::ranges::any_of(facts.git, [&](const GitDirectory& git) {
           return std::ranges::any_of(git.held, covers) || std::ranges::any_of(git.configs, covers);
         });
}

// Everything that a run may not change, by the name that the host's tools know it by, in the homes
// too: what lies there is out of every grant until a mount shows it in one.
std::vector<std::string> held_objects(const Effective& effective, const Caller& caller,
                                      const HostFacts& facts) {
  std::vector<std::string> paths;
  for (const Held& held : facts.held) paths.push_back(held.path);
  for (const GitDirectory& git : facts.git) {
    for (const Held& held : git.held) paths.push_back(held.path);
    for (const GitDirectory::Config& config : git.configs) paths.push_back(config.path);
  }
  for (std::string& place : held_in_homes(caller, effective.protect))
    paths.push_back(std::move(place));
  return paths;
}

// A bind mount shows a credential store, or Cordon's own files, under a second name. Both names
// lead to one object, and that is what is compared: the table of mounts only says where to look.
Result<void> protect_second_names(const Effective& effective, const Caller& caller,
                                  TreeSurvey& trees, HostFacts& facts) {
  CORDON_TRY(mounts, MountTable::read());
  if (!mounts.shows_anything_twice()) return {};
  const GrantPaths grants(effective);
  const auto is_shown = [&](const std::string& path) {
    const auto in_system = [&](const SystemEntry& entry) {
      return entry.kind == SystemEntry::Kind::Directory && contains(entry.path, path);
    };
    return grants.is_granted(path) || grants.covers_grant(path) ||
           std::ranges::any_of(facts.system, in_system);
  };
  const auto each = [&](const std::string& object, const auto& act) {
    for (const SecondName& name : mounts.second_names(object)) {
      if (!is_shown(name.path)) continue;
      const auto first = inspect_path(name.original);
      const auto second = inspect_path(name.path);
      if (first && second && first->id == second->id) act(name, *second);
    }
  };
  for (const std::string& object : hidden_objects(caller, facts))
    each(object, [&](const SecondName& name, const FileInfo& seen) {
      trees.mask(name.path, seen, "another name of " + quote(name.original));
    });
  for (const std::string& program : own_programs(caller))
    each(program, [&](const SecondName& name, const FileInfo& seen) {
      if (grants.is_writable(name.path)) trees.hold(name.path, seen, HoldKind::Path);
    });
  const auto has_mount = [&](const Grant& grant) { return mounts.has_point_in(grant.path); };
  if (std::ranges::none_of(effective.write, has_mount)) return {};
  // What is held under its own name would be written under the other.
  for (const std::string& object : held_objects(effective, caller, facts))
    each(object, [&](const SecondName& name, const FileInfo& seen) {
      if (grants.is_writable(name.path) && !is_held(facts, name.path))
        trees.hold(name.path, seen, HoldKind::Denied, name.original);
    });
  return {};
}

Result<LinkedFiles> linked_masked(const HostFacts& facts, const Caller& caller) {
  LinkedFiles linked;
  struct stat state {};
  const bool has_state = ::stat(caller.state_directory.c_str(), &state) == 0;
  for (const Masked& entry : facts.masked) {
    // It holds homes and caches of earlier runs, which made what is in them themselves.
    if (has_state && entry.id == looked(state).id) continue;
    CORDON_CHECK(linked.add(entry.path, entry.file));
  }
  return linked;
}

Result<LinkedFiles> linked_held(const HostFacts& facts) {
  LinkedFiles linked;
  for (const Held& entry : facts.held) CORDON_CHECK(linked.add(entry.path, entry.file));
  for (const GitDirectory& git : facts.git) {
    for (const Held& entry : git.held) CORDON_CHECK(linked.add(entry.path, entry.file));
    for (const GitDirectory::Config& config : git.configs)
      CORDON_CHECK(linked.add(config.path, FileKind::Regular));
  }
  return linked;
}

// The other names of a masked or held file get the same.
Result<void> protect_other_names(const Effective& effective, const Caller& caller, Survey& out) {
  CORDON_TRY(masked, linked_masked(out.facts, caller));
  CORDON_TRY(held, linked_held(out.facts));
  const GrantPaths grants(effective);
  std::vector<const Grant*> roots = grants.writable_roots();
  if (!held.objects().empty()) {
    CORDON_TRY(names, find_other_names(roots, held.objects()));
    for (const OtherName& name : names)
      if (!is_held(out.facts, name.path))
        out.facts.held.push_back({name.path, HoldKind::Denied, FileKind::Regular, name.id});
  }
  if (!masked.objects().empty()) {
    for (const Grant* grant : grants.readable_roots()) roots.push_back(grant);
    CORDON_TRY(names, find_other_names(roots, masked.objects()));
    for (const OtherName& name : names)
      out.facts.masked.push_back({name.path, FileKind::Regular, name.id,
                                  "another name of " + quote(masked.objects().at(name.id))});
  }
  return {};
}

std::size_t mounts_for(const HostFacts& facts) {
  std::size_t count =
      facts.masked.size() + facts.held.size() + facts.pinned.size() + facts.closed.size();
  for (const Frozen& frozen : facts.frozen) count += frozen.entries.size();
  for (const GitDirectory& git : facts.git)
    count += git.pinned.size() + git.held.size() + git.configs.size();
  return count;
}

Error too_many_mounts(const HostFacts& facts) {
  const std::size_t count = mounts_for(facts);
  const std::string bound = "more than " + std::to_string(kMaxMounts);
  const auto largest = std::ranges::max_element(
      facts.frozen, {}, [](const Frozen& frozen) { return frozen.entries.size(); });
  if (largest != facts.frozen.end() && largest->entries.size() > count / 2)
    return policy_error(quote(largest->path) + " has " + std::to_string(largest->entries.size()) +
                            " entries, " + bound +
                            ". Each is mounted by itself, because something could appear among "
                            "them that must not be seen: a credential store or a denied path",
                        "grant the directories in it that the command needs");
  return policy_error(
      std::to_string(count) + " paths would have to be masked or held, " + bound +
          (facts.held.empty() ? std::string() : ": " + quote(facts.held.front().path) + " is one"),
      "deny a directory instead of its files, or grant a smaller tree");
}

// `ways`: null: the whole of every tree.
Result<Survey> survey_trees(const Clamped& clamped, const Caller& caller,
                            std::span<const OlderRun> older,
                            const std::span<const std::string>* ways) {
  const Effective& effective = clamped.effective();
  const LookFailures failures;
  Survey out;
  out.whole = ways == nullptr;
  out.snapshot.began_ns = change_clock();
  out.snapshot.protect = effective.protect;
  add_machine(out.facts);
  out.facts.cgroup = cgroup_facts();
  // A policy that grants nothing has nothing to be looked through, and no home for an identity.
  const bool grants_nothing = effective.read.empty() && effective.write.empty();
  out.facts.system =
      system_entries(grants_nothing && !effective.scratch ? SystemEntry::Tier::Loader
                                                          : SystemEntry::Tier::Programs);
  if (effective.net.mode == NetMode::Open) out.facts.network_files = network_files();
  if (judges_requests(effective.net)) {
    out.facts.trust_stores = trust_stores();
    for (std::string& store : java_trust_stores()) {
      out.facts.trust_stores.push_back(std::move(store));
    }
  }
  if (grants_nothing && effective.home == HomeMode::None) return out;
  const UserGit user = read_user_git_config(caller);
  if (effective.home == HomeMode::Private) {
    out.facts.home_files = home_settings(caller, user, effective);
    if (effective.net.ssh_agent) {
      std::string known = known_hosts_for(caller, effective.net);
      if (!known.empty()) out.facts.home_files.push_back({".ssh/known_hosts", std::move(known)});
    }
  }
  out.facts.gitconfig = copied_git_settings(std::span<const GitSetting>(user.settings));

  TreeSurvey trees(effective, caller, user, older, out);
  if (ways != nullptr) trees.only_towards(*ways);
  mask_credentials(effective, caller, trees);
  mask_machine_secrets(effective, trees);
  const auto whole = [](const Grant& grant) { return grant.path == "/"; };
  if (std::any_of(effective.read.begin(), effective.read.end(), whole))
    out.facts.root_entries = root_entries();
  protect_own_files(effective, caller, trees, out.snapshot);
  CORDON_CHECK(trees.run());
  CORDON_CHECK(protect_second_names(effective, caller, trees, out.facts));
  trees.pin_ways(clamped.named());
  if (ways == nullptr) CORDON_CHECK(protect_other_names(effective, caller, out));
  CORDON_CHECK(failures.check());
  drop_covered(out.facts);
  find_frozen(effective, caller, out.facts);
  find_unseen_worktrees(effective, out.facts);
  if (mounts_for(out.facts) > kMaxMounts) return fail(too_many_mounts(out.facts));
  return out;
}

}  // namespace

Result<Survey> survey(const Clamped& clamped, const Caller& caller,
                      std::span<const OlderRun> older) {
  return survey_trees(clamped, caller, older, nullptr);
}

Result<Survey> survey_ways(const Clamped& clamped, const Caller& caller,
                           std::span<const OlderRun> older, std::span<const std::string> paths) {
  return survey_trees(clamped, caller, older, &paths);
}

}  // namespace cordon
