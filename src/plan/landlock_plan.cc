// The landlock plan: no namespaces and no mounts. Files are held by Landlock alone, processes by
// its scopes, the network by the filter. Landlock only ever adds up what is granted, so what would
// have to be hidden inside a grant is refused. What is protected or read-only in a writable one is
// kept and put back (policy/protected_names.h), which is the loss `protected`.
#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "plan/keeping_plan.h"
#include "plan/limits.h"
#include "plan/plan.h"
#include "plan/tree.h"
#include "plan/trust_files.h"
#include "policy/decide.h"

namespace cordon {
namespace {

// The host's own: there is no mount to put others in their place.
constexpr std::array<std::string_view, 4> kAccountFiles = {"/etc/passwd", "/etc/group",
                                                           "/etc/nsswitch.conf", "/etc/hostname"};

Error unsupported(std::string what, std::string hint) {
  return {.kind = ErrorKind::Unsupported, .what = std::move(what), .hint = std::move(hint)};
}

class LandlockPlanner {
 public:
  LandlockPlanner(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                  const PlanRequest& request)
      : clamped_(clamped),
        effective_(clamped.effective()),
        facts_(facts),
        caller_(caller),
        request_(request) {}

  Result<Plan> make() {
    plan_.backend = BackendKind::Landlock;
    CORDON_CHECK(refuse_host());
    CORDON_CHECK(refuse_network());
    grants_ = shown_grants(effective_, facts_, plan_);
    CORDON_CHECK(refuse_exceptions());
    plan_.missing.push_back(Layer::Namespaces);
    lose(plan_, namespace_losses(effective_.net.mode));
    plan_.keeping = keeping_for(effective_, facts_);
    if (!plan_.keeping.empty()) lose(plan_, {Loss::Protected});
    plan_.build.emplace_back(op::ScopeProcesses{});
    places_ = plan_private_places(effective_, facts_, caller_, request_, grants_, plan_);
    CORDON_CHECK(landlock());
    plan_command_among(places_, effective_, caller_, request_, plan_);
    leave_out_system_git();
    trust();
    CORDON_CHECK(confine());
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool accepted(Layer layer) const {
    return std::ranges::find(effective_.accept_missing, layer) != effective_.accept_missing.end();
  }
  [[nodiscard]] bool grants_nothing() const {
    return effective_.read.empty() && effective_.write.empty() && !effective_.scratch;
  }
  // The selected grant that covers `path`, or none.
  static const Grant* covering(const std::vector<Grant>& grants, std::string_view path) {
    const auto found = std::ranges::find_if(
        grants, [&](const Grant& grant) { return contains(grant.path, path); });
    return found == grants.end() ? nullptr : &*found;
  }
  Result<void> refuse_host() const;
  Result<void> refuse_network() const;
  // Refuses what lies inside a grant and would have to be taken out of it.
  Result<void> refuse_exceptions() const;
  Result<void> refuse_broad() const;
  Result<void> landlock();
  void allow(std::string path, LandlockUse use, FileKind kind, FileId id = {});
  void allow_reading(const std::string& path, FileKind kind, FileId id);
  void allow_optional(std::string_view path, LandlockUse use);
  // /etc/gitconfig is no file that a sandbox shows. Where mounts hide it git finds none; here it is
  // there and refused, and git takes a configuration that it may not read for a fatal error.
  void leave_out_system_git();
  // The certificates of a run with rules for requests, by variables alone: nothing covers the
  // host's.
  void trust();
  Result<void> confine();

  const Clamped& clamped_;
  const Effective& effective_;
  const HostFacts& facts_;
  const Caller& caller_;
  const PlanRequest& request_;
  Plan plan_;
  ShownGrants grants_;
  PrivatePlaces places_;
};

Result<void> LandlockPlanner::refuse_host() const {
  if (facts_.landlock_abi < kAbiWithScopes || !facts_.answers_calls) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "backend landlock needs Landlock ABI 6, this kernel has " +
                         std::to_string(facts_.landlock_abi),
                 .hint = "use Linux 6.12 or newer with lsm=landlock,..."});
  }
  if (!accepted(Layer::Namespaces)) {
    return fail(unsupported(
        "backend landlock goes without namespaces: names, sizes and times of every file and the "
        "numbers of the host's processes can be seen inside",
        "accept that in every ceiling that counts: [require] accept_missing = [\"namespaces\"]"));
  }
  if (lacks_required_cgroup(effective_, facts_)) {
    return fail(unsupported("the policy requires cgroup limits and no cgroup can be made here",
                            "start as root, or delegate a cgroup (systemd-run --user --scope)"));
  }
  return {};
}

Result<void> LandlockPlanner::refuse_network() const {
  const NetRules& net = effective_.net;
  CORDON_CHECK(refuse_synthetic(net));
  if (net.mode == NetMode::Open && !net.deny.empty()) {
    return fail(unsupported("net.deny cannot be held with network mode open by landlock",
                            "use --net none, or remove the deny"));
  }
  if (!net.publish.empty()) {
    return fail(unsupported(
        "net.publish cannot be held by landlock: it needs a network of the sandbox's own",
        "remove the list"));
  }
  return {};
}

Result<void> LandlockPlanner::refuse_broad() const {
  for (const std::vector<Grant>* grants : {&grants_.read, &grants_.write}) {
    for (const Grant& grant : *grants) {
      for (const std::string_view reserved : {"/proc", "/dev", "/sys"}) {
        if (!contains(reserved, grant.path) && !contains(grant.path, reserved)) continue;
        return fail(unsupported("landlock cannot leave " + std::string(reserved) +
                                    " out of the grant " + quote(grant.written),
                                "grant the directories that the command needs"));
      }
    }
  }
  return {};
}

Result<void> LandlockPlanner::refuse_exceptions() const {
  constexpr const char* kHint = "grant the directories beside it instead of the one above";
  CORDON_CHECK(refuse_broad());
  for (const Masked& mask : facts_.masked) {
    if (!shows(grants_, mask.path)) continue;
    std::string hint = "move it out of what is granted; or ";
    if (mask.reason.starts_with("deny ")) {
      hint +=
          "let the command read it, and take it out of the deny of each policy and ceiling; or ";
    }
    return fail(unsupported(
        "landlock cannot hide " + quote(mask.path) + " (" + mask.reason + ") inside a grant",
        hint + kHint));
  }
  for (const Pinned& pinned : facts_.pinned) {
    if (covering(grants_.write, pinned.path) == nullptr ||
        leads_to_kept(pinned, clamped_, facts_, caller_))
      continue;
    return fail(unsupported("landlock cannot keep " + quote(pinned.path) +
                                " from being renamed: a policy or Cordon itself goes by its name",
                            kHint));
  }
  return {};
}

void LandlockPlanner::allow(std::string path, LandlockUse use, FileKind kind, FileId id) {
  plan_.build.emplace_back(op::LandlockAllow{std::move(path), use, kind, id});
}

void LandlockPlanner::allow_optional(std::string_view path, LandlockUse use) {
  plan_.build.emplace_back(op::LandlockAllow{std::string(path), use, FileKind::Regular, {}, true});
}

Result<void> LandlockPlanner::landlock() {
  for (const SystemEntry& entry : facts_.system) {
    if (entry.tier == SystemEntry::Tier::Programs && grants_nothing()) continue;
    if (entry.kind == SystemEntry::Kind::Symlink) continue;
    const bool directory = entry.kind == SystemEntry::Kind::Directory;
    const bool settings = contains("/etc", entry.path);
    allow(entry.path, settings ? LandlockUse::Read : LandlockUse::ReadExecute,
          directory ? FileKind::Directory : FileKind::Regular);
  }
  for (const std::string_view path : kAccountFiles) allow_optional(path, LandlockUse::Read);
  switch (effective_.net.mode) {
    case NetMode::None:
      break;
    case NetMode::Allow:
      // Any name server that is listed there is answered for by Cordon. Without the file some
      // libraries give up. The host's own table of names would bypass the rules for names.
      allow_optional("/etc/resolv.conf", LandlockUse::Read);
      break;
    case NetMode::Open:
      for (const std::string_view path : kNetworkFiles) allow_optional(path, LandlockUse::Read);
      break;
  }
  for (const std::string_view path : kDevices) allow_optional(path, LandlockUse::Device);
  for (const std::string& place : places_.all())
    allow(place, LandlockUse::ReadWrite, FileKind::Directory);
  for (const Grant& grant : grants_.write) {
    allow(grant.path, LandlockUse::ReadWrite, grant.kind, grant.id);
  }
  for (const Grant& grant : grants_.read) allow_reading(grant.path, grant.kind, grant.id);
  return {};
}

// A rule is tied to an object, so what appears in a frozen directory later has none.
void LandlockPlanner::allow_reading(const std::string& path, FileKind kind, FileId id) {
  const auto same = [&](const Frozen& one) { return one.path == path; };
  const auto frozen = std::ranges::find_if(facts_.frozen, same);
  if (frozen == facts_.frozen.end()) return allow(path, LandlockUse::ReadExecute, kind, id);
  allow(path, LandlockUse::List, kind, id);
  for (const Frozen::Entry& entry : frozen->entries) {
    if (entry.target.empty()) allow_reading(join(path, entry.name), entry.file, entry.id);
  }
}

void LandlockPlanner::leave_out_system_git() {
  for (const std::string_view name : {"GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM"}) {
    const std::string prefix = std::string(name) + "=";
    const bool chosen = std::ranges::any_of(plan_.environment, [&](const std::string& variable) {
      return variable.starts_with(prefix);
    });
    if (!chosen) plan_.environment.push_back(prefix + "1");
  }
}

void LandlockPlanner::trust() {
  if (request_.trust_directory.empty()) return;
  allow(request_.trust_directory, LandlockUse::Read, FileKind::Directory);
  for (const std::string& place : facts_.trust_stores) {
    if (is_java_store(place)) continue;  // programs in Java are told theirs by an option
    plan_.reductions.push_back({"trust", place, std::nullopt, Reduction::Because::Unenforceable});
  }
  note_missing_trust(request_, plan_);
  add_trust_variables(request_.trust_directory, plan_);
}

Result<void> LandlockPlanner::confine() {
  CORDON_TRY(limits, plan_limits(effective_.limits, effective_.net, facts_, caller_.uid));
  plan_.limits.insert(plan_.limits.end(), limits.planned.begin(), limits.planned.end());
  lose(plan_, limit_losses(limits.planned));
  lose(plan_, general_losses(effective_, facts_));
  for (op::ResourceLimit& limit : limits.resource_limits) {
    plan_.confine.emplace_back(std::move(limit));
  }
  plan_.confine.emplace_back(op::NoNewPrivileges{});
  plan_.confine.emplace_back(op::RestrictLandlock{facts_.landlock_abi});
  plan_.confine.emplace_back(op::CloseDescriptors{});
  plan_.confine.emplace_back(op::NewSession{});
  plan_.confine.emplace_back(op::NewKeyring{});
  plan_.confine.emplace_back(op::ChangeDirectory{plan_.cwd});
  plan_.confine.emplace_back(op::DropCapabilities{caller_.may_empty_bounding_set});
  plan_.confine.emplace_back(op::InstallSeccomp{.net = effective_.net.mode,
                                                .brokered = true,
                                                .shares_host = true,
                                                .watched = request_.watched});
  plan_.confine.emplace_back(op::Execute{plan_.argv});
  return {};
}

}  // namespace

Result<Plan> make_landlock_plan(const Clamped& clamped, const HostFacts& facts,
                                const Caller& caller, const PlanRequest& request) {
  return LandlockPlanner(clamped, facts, caller, request).make();
}

}  // namespace cordon
