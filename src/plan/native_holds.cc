// What a sandbox does not show of what is granted, and what it shows and does not let change.
//
// A grant is one bind mount of a whole tree. Whatever in it is not to be seen or not to be changed
// gets a mount of its own on top, and the kernel then does two things. Who opens the name gets what
// is mounted there. And the name itself stays: what something is mounted on can be neither renamed
// nor removed nor replaced by another file, inside, so that nobody gets at the object below by
// moving it away. The mount goes onto an object that was looked at before and is compared by device
// and inode when it is opened again, never onto whatever has the name by then.
//
//   mask          an empty file without any rights, or an empty directory: for what is denied,
//                 and for credentials
//   hold          the object over itself, read-only: for what the host runs or obeys by its name
//   pin           the object over itself, writable: for directories on the way to one of those,
//                 which could be moved away with everything in them
//   private copy  a copy over the object, writable: the command changes the copy, and what came
//                 of it is judged after the run
//   kept          no mount: git replaces a file of that name by renaming another one over it,
//                 which a mount would refuse. It is kept before the run and put back after it
//
// The order matters where one path lies in another: a mount hides what was mounted below it before.
// Grants and pins come first, parents before children, then masks, then holds, then those of git. A
// mask or a hold is only for what shows something of the host: behind a directory of the sandbox's
// own there is nothing to hide. What is granted below an object, or masked or held there, keeps it
// from becoming a private copy, which would show the one and hide the other.
//
// In a stage nothing is held: what is written there is no change of the host before somebody
// applies it, and then it is judged. Masks stay, because reading is not undone by discarding.
#include <algorithm>

#include "base/path.h"
#include "plan/native_planner.h"

namespace cordon {
namespace {

constexpr std::string_view kHeldCopy = "held-";

}  // namespace

void NativePlanner::masks() {
  for (const Masked& masked : facts_.masked) {
    // Behind a private directory there is nothing of the host to hide.
    if (!tree_.from_host(masked.path) || is_frozen(parent(masked.path))) continue;
    plan_.build.emplace_back(
        op::Mask{masked.path, masked.file, masked.id, masked.reason, lies_in_stage(masked.path)});
  }
}

bool NativePlanner::has_mounts_below(const std::string& path) const {
  const auto below = [&](const auto& entry) {
    return entry.path != path && contains(path, entry.path);
  };
  return std::ranges::any_of(facts_.masked, below) || std::ranges::any_of(facts_.pinned, below) ||
         std::ranges::any_of(facts_.held, below) || std::ranges::any_of(facts_.git, below) ||
         std::ranges::any_of(read_, below) || std::ranges::any_of(write_, below);
}

bool NativePlanner::may_be_written(const Held& held) const {
  if (!request_.private_copies || held.kind == HoldKind::Denied) return false;
  // What is granted is what was judged, and nothing in its place.
  const auto is_it = [&](const Grant& grant) { return grant.path == held.path; };
  return std::ranges::none_of(read_, is_it) && std::ranges::none_of(write_, is_it);
}

bool NativePlanner::may_be_copied(const Held& held) const {
  if (!may_be_written(held)) return false;
  // A copy would show what is masked below, and hide what is granted there.
  if (held.file == FileKind::Directory) return !has_mounts_below(held.path);
  // A program of Cordon's own, and the pointer by which git finds a repository, are to stay.
  const bool own = held.kind == HoldKind::Path && held.link.empty();
  return !own && basename(held.path) != ".git";
}

void NativePlanner::hold(const Held& held, std::string reason) {
  // Git replaces a file by another of that name, and removes the `.git` of a submodule with the
  // rest of it, which the kernel refuses for whatever is mounted on. So this one is left as it is,
  // kept before the run and put back after it.
  const bool pointer = basename(held.path) == ".git";
  if (request_.tracked.contains(held.path) &&
      (pointer ? may_be_written(held) : may_be_copied(held))) {
    plan_.keeping.paths.push_back({held.path, held.kind, KeptPath::Form::File});
    return;
  }
  if (!may_be_copied(held)) {
    plan_.build.emplace_back(
        op::Hold{held.path, held.id, MountAccess::ReadOnly, std::move(reason)});
    return;
  }
  const std::string name = std::string(kHeldCopy) + std::to_string(copies_++);
  plan_.build.emplace_back(op::PrivateCopy{join(request_.private_directory, name), held.path,
                                           held.file, held.id, std::move(reason)});
}

void NativePlanner::holds() {
  // Nothing that is written in a stage is on the host before it is applied, and then it is judged.
  if (is_staged()) return;
  for (const Held& held : facts_.held) {
    if (tree_.from_host(held.path)) hold(held, reason_of(held));
  }
  for (const Pinned& closed : facts_.closed) {
    if (!tree_.from_host(closed.path)) continue;
    plan_.build.emplace_back(
        op::Hold{closed.path, closed.id, MountAccess::ReadOnly, "cannot be searched"});
  }
}

void NativePlanner::git() {
  if (is_staged()) return;
  std::size_t number = 0;
  for (const GitDirectory& directory : facts_.git) {
    const auto is_copied = [&](const std::string& path) {
      return request_.private_copies &&
             std::ranges::any_of(directory.unseen, [&](const GitDirectory::Unseen& one) {
               return contains(one.path, path);
             });
    };
    for (const Held& pinned : directory.pinned) {
      if (is_copied(pinned.path)) continue;
      plan_.build.emplace_back(
          op::Hold{pinned.path, pinned.id, MountAccess::ReadWrite, "git directory"});
    }
    for (const Held& held : directory.held) {
      if (is_copied(held.path)) continue;
      // Pointers from one git directory to another are single files: they stay read-only.
      if (held.file == FileKind::Directory) {
        hold(held, "git");
      } else {
        plan_.build.emplace_back(op::Hold{held.path, held.id, MountAccess::ReadOnly, "git"});
      }
    }
    for (const GitDirectory::Config& config : directory.configs) {
      if (is_copied(config.path)) continue;
      const std::string name = "git/" + std::to_string(number);
      std::string copy = std::string(kGitDirectory) + "/" + std::to_string(number++);
      if (request_.private_copies) {
        // One directory for all of them: each file of its own makes its own lock beside it.
        const std::string place = join(request_.private_directory, kConfigCopies);
        plan_.configs.push_back(
            {config.path, config.id, config.content, join(place, basename(copy))});
      } else {
        plan_.build.emplace_back(op::ScratchFile{name + "/config", config.content, 0600});
        copy += "/config";
      }
      plan_.build.emplace_back(op::PrivateConfig{config.path, config.id, name, std::move(copy)});
    }
  }
  // Last, so that what a run is more likely to change has the budget of the copies first.
  if (!request_.private_copies) return;
  for (const GitDirectory& directory : facts_.git) {
    for (const GitDirectory::Unseen& one : directory.unseen) {
      hold({one.path, HoldKind::Git, FileKind::Directory, one.id}, std::string(kUnseenWorktree));
    }
  }
}

}  // namespace cordon
