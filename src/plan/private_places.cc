#include "plan/private_places.h"

#include <algorithm>

#include "base/path.h"
#include "plan/command.h"

namespace cordon {
namespace {

void make_directory(const std::string& path, Plan& plan) {
  plan.build.emplace_back(op::MakeDirectory{path, 0700});
}

}  // namespace

std::vector<std::string> PrivatePlaces::all() const {
  std::vector<std::string> places;
  for (const std::string* place : {&temporary, &home, &caches})
    if (!place->empty()) places.push_back(*place);
  return places;
}

bool shows(const ShownGrants& grants, std::string_view path) {
  const auto covers = [&](const Grant& grant) { return contains(grant.path, path); };
  return std::ranges::any_of(grants.read, covers) || std::ranges::any_of(grants.write, covers);
}

PrivatePlaces plan_private_places(const Effective& effective, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request,
                                  const ShownGrants& grants, Plan& plan) {
  PrivatePlaces places;
  const bool has_home = !caller.home.empty() && !shows(grants, caller.home);
  if (effective.scratch) {
    make_directory(request.private_directory, plan);
    if (!shows(grants, "/tmp")) {
      places.temporary = join(request.private_directory, "tmp");
      make_directory(places.temporary, plan);
    }
    if (effective.home == HomeMode::Private && has_home) {
      places.home = join(request.private_directory, "home");
      make_directory(places.home, plan);
      if (!facts.git_identity.empty()) {
        plan.build.emplace_back(
            op::MakeFile{join(places.home, ".gitconfig"), facts.git_identity, 0644});
      }
    }
    plan.limits.push_back({"scratch", *effective.scratch, LimitBy::Watch});
  }
  if (effective.home == HomeMode::Persistent && has_home) places.home = request.persistent_home;
  if (effective.caches && !places.home.empty()) places.caches = request.cache_directory;
  return places;
}

void plan_command_among(const PrivatePlaces& places, const Effective& effective,
                        const Caller& caller, const PlanRequest& request, Plan& plan) {
  plan.argv = request.argv;
  plan.cwd = request.cwd;
  Caller inside = caller;
  if (!places.home.empty()) inside.home = places.home;
  plan_command(effective, inside, plan);
  const auto chosen = [&](const std::string& name) {
    return effective.env.set.contains(name) ||
           std::ranges::find(effective.env.pass, name) != effective.env.pass.end();
  };
  if (!places.temporary.empty() && !chosen("TMPDIR")) {
    std::ranges::replace(plan.environment, std::string("TMPDIR=/tmp"),
                         "TMPDIR=" + places.temporary);
  }
  if (!places.caches.empty() && !chosen("XDG_CACHE_HOME")) {
    plan.environment.push_back("XDG_CACHE_HOME=" + places.caches);
  }
}

}  // namespace cordon
