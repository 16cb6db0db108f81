// The native plan: seven namespaces, a new root built from nothing, Landlock, seccomp, no
// capabilities. The order here is the order in which the kernel is asked.
#include <algorithm>
#include <iterator>

#include "base/path.h"
#include "base/text.h"
#include "plan/git_environment.h"
#include "plan/limits.h"
#include "plan/native_planner.h"
#include "plan/trust_files.h"
#include "policy/agents.h"
#include "policy/decide.h"
#include "policy/environment.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

constexpr std::uint64_t kRootBytes = 4ULL << 20;
constexpr std::uint64_t kPrivateConfigBytes = 16ULL << 20;
constexpr std::uint64_t kBytesPerInode = 4096;
constexpr std::uint32_t kInsideIdForRoot = 1000;

}  // namespace

Result<Plan> NativePlanner::make() {
  plan_.backend = BackendKind::Native;
  CORDON_CHECK(refuse_unenforceable());
  ShownGrants shown = shown_grants(effective_, facts_, plan_);
  read_ = std::move(shown.read);
  write_ = std::move(shown.write);
  inside_ = {caller_.uid, caller_.gid, caller_.uid == 0 ? kInsideIdForRoot : caller_.uid,
             caller_.gid == 0 ? kInsideIdForRoot : caller_.gid};
  plan_.build = {op::EnterNamespaces{effective_.net.mode != NetMode::Open}, inside_,
                 op::PrivateMounts{}, op::NewRoot{kRootBytes}};
  system();
  proc_and_devices();
  scratch();
  CORDON_CHECK(grants());
  // Before the directories that lead to grants are closed.
  links_to_grants();
  ways_to_grants();
  masks();
  holds();
  git();
  trust();
  std::ranges::sort(plan_.keeping.paths);
  if (!plan_.keeping.empty()) lose(plan_, {Loss::Protected});
  finish_build();
  landlock();
  command();
  CORDON_CHECK(confine());
  return std::move(plan_);
}

Result<void> NativePlanner::refuse_unenforceable() const {
  CORDON_CHECK(refuse_synthetic(effective_.net));
  if (!effective_.sockets.empty() && !facts_.answers_calls) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "net.sockets cannot be held by native on this kernel",
                 .hint = "local sockets need Linux 5.19"});
  }
  if (effective_.net.mode == NetMode::Open && !effective_.net.deny.empty()) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "net.deny cannot be held with network mode open by native",
                 .hint = "use --net none, or remove the deny"});
  }
  if (effective_.net.mode == NetMode::Open && !effective_.net.publish.empty()) {
    return fail(policy_error("net.publish contradicts network mode open",
                             "remove the list, or leave out --publish: the command listens "
                             "on the host's network itself"));
  }
  const auto accepted = [&](Layer layer) {
    return std::ranges::find(effective_.accept_missing, layer) != effective_.accept_missing.end();
  };
  if (!landlocked() && !accepted(Layer::Landlock)) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "this kernel has no Landlock",
                 .hint = "boot with lsm=landlock,..., or accept it in a ceiling: [require] "
                         "accept_missing = [\"landlock\"]"});
  }
  if (lacks_required_cgroup(effective_, facts_)) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "the policy requires cgroup limits and no cgroup can be made here",
                 .hint = "start as root, or delegate a cgroup (systemd-run --user --scope)"});
  }
  return {};
}

bool NativePlanner::needs_private_configs() const {
  return !is_staged() &&
         std::ranges::any_of(facts_.git, [](const GitDirectory& g) { return !g.configs.empty(); });
}

void NativePlanner::system() {
  tree_.directory("/etc");
  for (const SystemEntry& entry : facts_.system) {
    if (entry.tier == SystemEntry::Tier::Programs && grants_nothing()) continue;
    switch (entry.kind) {
      case SystemEntry::Kind::Symlink:
        tree_.symlink(entry.path, entry.target);
        break;
      case SystemEntry::Kind::Directory:
        tree_.bind_system(entry.path, FileKind::Directory);
        break;
      case SystemEntry::Kind::File:
        tree_.bind_system(entry.path, FileKind::Regular);
        break;
    }
  }
  const std::string& home = effective_.home == HomeMode::None ? "/" : caller_.home;
  for (SystemFile& file :
       system_files(inside_.inside_uid, inside_.inside_gid, caller_.user, home)) {
    tree_.file(file.path, std::move(file.content));
  }
  if (effective_.net.mode == NetMode::Open) {
    for (const std::string& path : facts_.network_files) {
      tree_.bind_system(path, FileKind::Regular);
    }
  } else {
    for (SystemFile& file : isolated_network_files(has_resolver())) {
      tree_.file(file.path, std::move(file.content));
    }
  }
}

void NativePlanner::proc_and_devices() {
  tree_.directory("/proc", 0555);
  plan_.build.emplace_back(op::MountProc{});
  for (const std::string_view path : kMaskedProcFiles) {
    plan_.build.emplace_back(op::MaskProc{std::string(path), FileKind::Regular});
  }
  for (const std::string_view path : kMaskedProcDirectories) {
    plan_.build.emplace_back(op::MaskProc{std::string(path), FileKind::Directory});
  }
  plan_.build.emplace_back(op::ReadOnlySoFar{});
  tree_.directory("/dev");
  for (const std::string_view path : kDevices) {
    tree_.file(std::string(path), {}, 0600);
    plan_.build.emplace_back(op::DeviceNode{std::string(path)});
  }
  for (const DeviceLink& link : kDeviceLinks) {
    tree_.symlink(std::string(link.path), std::string(link.target));
  }
  tree_.directory(std::string(kTerminals));
  plan_.build.emplace_back(op::MountDevpts{});
}

void NativePlanner::scratch() {
  std::uint64_t bytes = effective_.scratch.value_or(0);
  if (bytes == 0 && needs_private_configs()) bytes = kPrivateConfigBytes;
  if (bytes > 0)
    plan_.build.emplace_back(
        op::Scratch{bytes, std::max<std::uint64_t>(1024, bytes / kBytesPerInode)});
  if (effective_.scratch) {
    for (const ScratchPlace& place : kScratchPlaces) {
      if (granted(place.path)) continue;
      own_scratch(std::string(place.name), std::string(place.path), 01777);
    }
    plan_.limits.push_back({"scratch", *effective_.scratch, LimitBy::Tmpfs});
  }
  if (has_private_home()) {
    own_scratch("home", caller_.home, 0700);
    if (!facts_.gitconfig.empty()) {
      plan_.build.emplace_back(op::ScratchFile{"home/.gitconfig", facts_.gitconfig, 0644});
    }
    for (const HomeFile& file : facts_.home_files)
      tree_.file(join(caller_.home, file.name), file.content, 0644);
  }
  if (has_persistent_home()) {
    own_persistent(request_.persistent_home, caller_.home);
  }
  if (has_caches()) {
    own_persistent(request_.cache_directory, join(caller_.home, ".cache"));
  }
  if (!needs_private_configs()) return;
  if (request_.private_copies) {
    own_persistent(join(request_.private_directory, kConfigCopies), std::string(kGitDirectory));
  } else {
    own_scratch("git", std::string(kGitDirectory), 0700);
  }
}

void NativePlanner::own_scratch(const std::string& name, const std::string& path, unsigned mode) {
  tree_.scratch(name, path, mode);
  own_writable_.push_back(path);
}

void NativePlanner::own_persistent(const std::string& source, const std::string& path) {
  tree_.bind_persistent(source, path);
  own_writable_.push_back(path);
}

void NativePlanner::trust() {
  if (request_.trust_directory.empty()) return;
  tree_.bind(request_.trust_directory, std::string(kTrustInside), MountAccess::ReadOnly,
             FileKind::Directory, {});
  const auto is_hidden = [&](const std::string& path) {
    return std::ranges::any_of(facts_.masked,
                               [&](const Masked& mask) { return contains(mask.path, path); });
  };
  // For programs that read no variable.
  for (const std::string& place : facts_.trust_stores) {
    if (!tree_.from_host(place) || is_hidden(place)) continue;
    const std::string_view copy = is_java_store(place) ? kJavaTrust : kTrustBundle;
    tree_.bind(join(request_.trust_directory, copy), place, MountAccess::ReadOnly,
               FileKind::Regular, {});
  }
  note_missing_trust(request_, plan_);
}

void NativePlanner::finish_build() {
  tree_.directory(std::string(kEmptyDirectory));
  plan_.build.emplace_back(op::HostName{"cordon"});
  if (effective_.net.mode != NetMode::Open) plan_.build.emplace_back(op::LoopbackUp{});
  if (has_resolver()) plan_.build.emplace_back(op::OpenResolver{});
  if (!effective_.net.publish.empty()) {
    plan_.build.emplace_back(op::OfferSockets{effective_.net.publish});
  }
  plan_.build.emplace_back(op::PivotRoot{});
  plan_.seal.emplace_back(op::ReadOnlyRoot{});
}

void NativePlanner::allow(const std::string& path, LandlockUse use, FileKind kind) {
  // A rule reaches everything below its path, so one that an ancestor already gives is left out.
  for (const auto& [above, given] : allowed_) {
    const bool comparable = given != LandlockUse::Device && use != LandlockUse::Device;
    if (comparable && given >= use && contains(above, path)) return;
  }
  allowed_.emplace_back(path, use);
  plan_.build.emplace_back(op::LandlockAllow{path, use, kind});
}

void NativePlanner::landlock() {
  lose(plan_, landlock_losses(facts_.landlock_abi));
  if (!landlocked()) {
    plan_.missing.push_back(Layer::Landlock);
    return;
  }
  allow("/", LandlockUse::List, FileKind::Directory);
  for (const SystemEntry& entry : facts_.system) {
    if (entry.kind == SystemEntry::Kind::Directory && !contains("/etc", entry.path)) {
      allow(entry.path, LandlockUse::ReadExecute, FileKind::Directory);
    }
  }
  allow("/etc", LandlockUse::Read, FileKind::Directory);
  allow("/proc", LandlockUse::Read, FileKind::Directory);
  allow("/dev", LandlockUse::Device, FileKind::Directory);
  for (const std::string& path : own_writable_) {
    allow(path, LandlockUse::ReadWrite, FileKind::Directory);
  }
  for (const Grant& grant : write_) {
    allow(grant.path, LandlockUse::ReadWrite, grant.kind);
  }
  for (const Grant& grant : read_) {
    if (grant.path != "/") {
      allow(grant.path, LandlockUse::ReadExecute, grant.kind);
      continue;
    }
    for (const SystemEntry& entry : shown_root_entries()) {
      if (entry.kind == SystemEntry::Kind::Symlink) continue;
      const bool directory = entry.kind == SystemEntry::Kind::Directory;
      allow(entry.path, LandlockUse::ReadExecute,
            directory ? FileKind::Directory : FileKind::Regular);
    }
  }
}

void NativePlanner::command() {
  plan_.argv = request_.argv;
  plan_.cwd = request_.cwd;
  if (!tree_.exists(plan_.cwd)) {
    plan_.reductions.push_back({"cwd", request_.cwd, "/", Reduction::Because::Nonexistent});
    plan_.cwd = "/";
  }
  plan_command(effective_, caller_, plan_);
  if (has_caches()) add_cache_variables(effective_, caller_, join(caller_.home, ".cache"), plan_);
  if (!request_.trust_directory.empty()) add_trust_variables(std::string(kTrustInside), plan_);
  const bool other_objects = request_.private_copies || effective_.mode == WriteMode::Staged;
  if (other_objects && !facts_.git.empty()) add_git_stat_settings(plan_.environment);
  if (stages_part_of_repository()) {
    // An overlay is a file system of its own, at whose edge git would stop looking for the top.
    constexpr std::string_view kAcross = "GIT_DISCOVERY_ACROSS_FILESYSTEM=";
    const auto is_set = [&](const std::string& one) { return one.starts_with(kAcross); };
    if (std::ranges::none_of(plan_.environment, is_set))
      plan_.environment.push_back(std::string(kAcross) + "1");
  }
}

Result<void> NativePlanner::confine() {
  CORDON_TRY(limits, plan_limits(effective_.limits, effective_.net, facts_, caller_.uid));
  plan_.limits.insert(plan_.limits.end(), limits.planned.begin(), limits.planned.end());
  lose(plan_, limit_losses(limits.planned));
  lose(plan_, general_losses(effective_, facts_));
  for (op::ResourceLimit& limit : limits.resource_limits) {
    plan_.confine.emplace_back(std::move(limit));
  }
  plan_.confine.emplace_back(op::NoNewPrivileges{});
  if (landlocked()) plan_.confine.emplace_back(op::RestrictLandlock{facts_.landlock_abi});
  plan_.confine.emplace_back(op::CloseDescriptors{});
  plan_.confine.emplace_back(op::NewSession{});
  plan_.confine.emplace_back(op::NewKeyring{});
  plan_.confine.emplace_back(op::ChangeDirectory{plan_.cwd});
  plan_.confine.emplace_back(op::DropCapabilities{});
  const bool brokered = is_brokered();
  plan_.confine.emplace_back(
      op::InstallSeccomp{.net = effective_.net.mode,
                         .brokered = brokered,
                         .staged = brokered && is_staged() && !request_.stage_is_copy,
                         .watched = brokered && request_.watched});
  plan_.confine.emplace_back(op::Execute{plan_.argv});
  return {};
}

Result<void> refuse_synthetic(const NetRules& net) {
  const HostRule synthetic = {
      .kind = HostRule::Kind::Address4, .name = {}, .address = {198, 18}, .prefix = 15};
  const auto clashes = [&](const HostRule& rule) { return covers(synthetic, rule); };
  if (std::ranges::none_of(net.allow, clashes)) return {};
  return fail({.kind = ErrorKind::Unsupported,
               .what = "a rule for addresses of 198.18.0.0/15 cannot be held by native",
               .hint = "inside, these addresses stand for the names that are allowed"});
}

Result<Plan> make_native_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                              const PlanRequest& request) {
  return NativePlanner(clamped, facts, caller, request).make();
}

}  // namespace cordon
