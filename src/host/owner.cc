#include "host/owner.h"

#include <sys/stat.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/path.h"
#include "base/text.h"
#include "sys/ids.h"

namespace cordon {
namespace {

struct WritableRoot {
  const Grant* grant;
  struct stat status;
};

Result<std::vector<WritableRoot>> inspect_at(const std::vector<Grant>& writable) {
  std::vector<WritableRoot> roots;
  for (const Grant& grant : writable) {
    WritableRoot root{&grant, {}};
    if (::lstat(grant.path.c_str(), &root.status) < 0) {
      return fail(setup_error("cannot look at " + quote(grant.path), errno));
    }
    roots.push_back(root);
  }
  return roots;
}

// What the permissions leave to root without its powers.
bool writable_without_power(const struct stat& status) {
  if (status.st_uid == 0) return true;  // its own bits are its own to change
  if (status.st_gid == 0) return (status.st_mode & S_IWGRP) != 0;
  return (status.st_mode & S_IWOTH) != 0;
}

// True if this user namespace has the id: one that it lacks cannot be mapped further in, and shows
// as the overflow id.
bool has_id(const char* map, std::uint32_t id) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(map, "re"), std::fclose);
  if (!file) return false;
  unsigned inside = 0;
  unsigned outside = 0;
  unsigned count = 0;
  while (std::fscanf(file.get(), "%u %u %u", &inside, &outside, &count) == 3) {
    if (id >= inside && id - inside < count) return true;
  }
  return false;
}

std::string words(std::uint32_t uid, std::uint32_t gid) {
  return "uid " + std::to_string(uid) + ", gid " + std::to_string(gid);
}

std::string give_to(const std::string& owner, const std::string& paths) {
  return "chown -R " + owner + " " + paths;
}

// Those that another user, or another group, owns.
std::string others(const std::vector<WritableRoot>& roots, const WritableRoot& than) {
  std::string paths;
  for (const WritableRoot& root : roots) {
    if (root.status.st_uid == than.status.st_uid && root.status.st_gid == than.status.st_gid)
      continue;
    paths.append(paths.empty() ? "" : " ").append(quote(root.grant->path));
  }
  return paths;
}

// Why root's command cannot be what writes a root, and what of this can be changed.
enum class Obstacle { Owners, Backend, Power, Id };

std::string reason(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::Owners:
      return "the writable paths belong to different owners";
    case Obstacle::Backend:
      return "this backend cannot run a command of root's as another user";
    case Obstacle::Power:
      return "root has not the power to become its owner here (CAP_SETUID, CAP_SETGID)";
    case Obstacle::Id:
      return "this user namespace does not have that id";
  }
  return {};
}

// The owner can rarely read root's home, where ceilings are looked for, and never write there.
std::string start_as(const std::string& uid, const std::string& gid) {
  return "start as its owner, with a home of its own (setpriv --reuid=" + uid + " --regid=" + gid +
         " --clear-groups sh -c 'HOME=$(mktemp -d) cordon run ...')";
}

// What root's own ceiling accepts to go without, the owner has not: it is not looked for in that
// home, where it may not even be read.
std::string beside_own_ceiling(const Caller& caller) {
  const std::string own = join(caller.config_directory, "ceiling.toml");
  if (caller.config_directory.empty() || ::access(own.c_str(), F_OK) != 0) return {};
  return ", with your ceiling where it counts for all users (install -D -m 644 " + quote(own) +
         " /etc/cordon/ceiling.toml)";
}

std::string cure(const WritableRoot& root, Obstacle obstacle, const Caller& caller,
                 const std::vector<WritableRoot>& roots) {
  const std::string uid = std::to_string(root.status.st_uid);
  const std::string gid = std::to_string(root.status.st_gid);
  const std::string to_root =
      ", or give it to root (" + give_to("0:0", quote(root.grant->path)) + ")";
  switch (obstacle) {
    case Obstacle::Owners:
      return "grant only paths of one owner, or give the others to this one (" +
             give_to(uid + ":" + gid, others(roots, root)) + ")";
    case Obstacle::Backend:
      return start_as(uid, gid) + beside_own_ceiling(caller) + to_root +
             ", or use --backend native where user namespaces are permitted";
    case Obstacle::Power:
      return "start the container as its owner (--user " + uid + ":" + gid +
             ") or with that power (--cap-add SETUID --cap-add SETGID); where root has it, " +
             start_as(uid, gid);
    case Obstacle::Id:
      return "start where that id is mapped (podman run --userns=keep-id), or give it, outside of "
             "this namespace, to who started it (" +
             give_to("UID:GID", quote(root.grant->path)) + ")";
  }
  return {};
}

Error cannot_write(const WritableRoot& root, Obstacle obstacle, const Caller& caller,
                   const std::vector<WritableRoot>& roots) {
  return {.kind = ErrorKind::Unsupported,
          .what = "the command could not write " + quote(root.grant->path) + ", which belongs to " +
                  words(root.status.st_uid, root.status.st_gid) + ": " + reason(obstacle),
          .hint = cure(root, obstacle, caller, roots)};
}

}  // namespace

Result<std::optional<Owner>> owner_to_run_as(const std::vector<Grant>& writable,
                                             const Caller& caller, IdentityMapping mapping) {
  if (caller.uid != 0 || writable.empty()) return std::nullopt;
  CORDON_TRY(roots, inspect_at(writable));
  const auto theirs = [](const WritableRoot& root) { return root.status.st_uid != 0; };
  const auto first = std::ranges::find_if(roots, theirs);
  if (first == roots.end()) return std::nullopt;
  const Owner owner{first->status.st_uid, first->status.st_gid};
  const bool one = std::ranges::all_of(roots, [&](const WritableRoot& root) {
    return root.status.st_uid == owner.uid && root.status.st_gid == owner.gid;
  });
  const bool known =
      has_id("/proc/self/uid_map", owner.uid) && has_id("/proc/self/gid_map", owner.gid);
  const bool able = sys::may_change_ids() && known;
  if (one && able && mapping == IdentityMapping::AnyOwner) return owner;

  const auto closed = std::ranges::find_if(
      roots, [](const WritableRoot& root) { return !writable_without_power(root.status); });
  if (closed == roots.end()) return std::nullopt;
  if (!one) return fail(cannot_write(*closed, Obstacle::Owners, caller, roots));
  if (mapping == IdentityMapping::OnlySelf)
    return fail(cannot_write(*closed, Obstacle::Backend, caller, roots));
  return fail(cannot_write(*closed, known ? Obstacle::Power : Obstacle::Id, caller, roots));
}

}  // namespace cordon
