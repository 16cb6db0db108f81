#include "egress/path_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string_view>

#include "base/path.h"
#include "sys/calls.h"

namespace cordon {
namespace {

// The command chooses the names: neither memory nor the time to judge them is its own.
constexpr std::size_t kMostPaths = 4096;
constexpr int kMostLinks = 40;  // as the kernel
// As long as a path without a link could be. What follows is taken as written.
constexpr int kMostSteps = 4096;

enum class FollowLast { No, Yes };

struct Wanted {
  Access access = Access::Read;
  FollowLast follow = FollowLast::Yes;
  bool looked = false;
  bool of_name = false;
  bool anew = false;
};

Wanted wanted_by(const WaitingCall& call, const sys::PathCall& known, sys::PathUse use) {
  const int flags = known.flags == sys::kNoArgument
                        ? 0
                        : call.argument_as_int(static_cast<std::size_t>(known.flags));
  const auto unless = [&](int flag) {
    return (flags & flag) != 0 ? FollowLast::No : FollowLast::Yes;
  };
  switch (use) {
    case sys::PathUse::Look:
      return {Access::Read, unless(AT_SYMLINK_NOFOLLOW), true};
    case sys::PathUse::LookAtLink:
      return {Access::Read, FollowLast::No, true};
    case sys::PathUse::Open: {
      const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
      const bool looked = (flags & O_PATH) != 0;
      return {writes && !looked ? Access::Write : Access::Read, unless(O_NOFOLLOW), looked};
    }
    case sys::PathUse::Ask:
      return {(flags & W_OK) != 0 ? Access::Write : Access::Read, FollowLast::Yes, true};
    case sys::PathUse::Execute:
      return {Access::Execute, FollowLast::Yes, false};
    case sys::PathUse::Change:
      return {Access::Write, unless(AT_SYMLINK_NOFOLLOW), false};
    case sys::PathUse::ChangeLink:
      return {Access::Write, FollowLast::No, false};
    case sys::PathUse::Make:
      return {Access::Write, FollowLast::No, false, true, true};
    case sys::PathUse::Put:
    case sys::PathUse::Remove:
      return {Access::Write, FollowLast::No, false, true};
  }
  return {};
}

Fd open_inside(int root, const std::string& path, FollowLast follow) {
  const int flags = O_PATH | O_CLOEXEC | (follow == FollowLast::No ? O_NOFOLLOW : 0);
  return Fd(sys::openat2(root, path.c_str(), static_cast<std::uint64_t>(flags), 0,
                         sys::kResolveInRoot | sys::kResolveNoMagicLinks));
}

// Where a link leads; empty if it is none.
std::string target_of(int root, const std::string& path) {
  const Fd link = open_inside(root, path, FollowLast::No);
  std::array<char, PATH_MAX> target;
  const ssize_t size =
      link.valid() ? ::readlinkat(link.get(), "", target.data(), target.size()) : -1;
  if (size <= 0 || static_cast<std::size_t>(size) == target.size()) return {};
  return {target.data(), static_cast<std::size_t>(size)};
}

// What the kernel looks for when it follows a path that leads nowhere: component by component, as
// it does, with what is not there taken as written.
class Way {
 public:
  Way(int root, FollowLast follow) : root_(root), follow_(follow) {}

  std::string to(std::string_view path) {
    walk(path);
    return reached_.empty() ? "/" : std::move(reached_);
  }

 private:
  void walk(std::string_view path) {
    if (path.starts_with('/')) reached_.clear();
    while (!path.empty()) {
      const std::size_t end = path.find('/');
      const std::string_view name = path.substr(0, end);
      path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
      step(name, path.find_first_not_of('/') == std::string_view::npos);
    }
  }
  void step(std::string_view name, bool last) {
    if (name.empty() || name == ".") return;
    if (name == "..") {
      reached_.erase(reached_.empty() ? 0 : reached_.rfind('/'));
      return;
    }
    const std::string here = reached_;
    reached_.append("/").append(name);
    if (last && depth_ == 0 && follow_ == FollowLast::No) return;
    if (++steps_ > kMostSteps || links_ == kMostLinks) return;
    const std::string target = target_of(root_, reached_);
    if (target.empty()) return;
    ++links_;
    reached_ = here;
    ++depth_;
    walk(target);
    --depth_;
  }

  const int root_;
  const FollowLast follow_;
  std::string reached_;  // empty: the root
  int links_ = 0;
  int steps_ = 0;
  int depth_ = 0;
};

// The sandbox's own, and of these names the supervisor would see other processes than the caller.
bool is_kernels(std::string_view path) { return contains("/proc", path) || contains("/dev", path); }

}  // namespace

int PathWatch::root_of(const WaitingCall& call) {
  const std::lock_guard lock(mutex_);
  if (!root_.valid()) (void)open_root_of(call, root_);
  return root_.get();
}

void PathWatch::note(WaitingCall& call) {
  const sys::PathCall* known = sys::find_path_call(call.number());
  if (known == nullptr) return;
  for (const sys::PathArgument& argument : known->paths) {
    if (argument.path != sys::kNoArgument) note(call, *known, argument);
  }
}

void PathWatch::note(WaitingCall& call, const sys::PathCall& known,
                     const sys::PathArgument& argument) {
  const int directory = argument.directory == sys::kNoArgument
                            ? AT_FDCWD
                            : call.argument_as_int(static_cast<std::size_t>(argument.directory));
  std::string name;
  if (read_name_of(call, directory, static_cast<std::size_t>(argument.path), name) != 0) return;
  const int root = root_of(call);
  if (root < 0) return;
  const Wanted wanted = wanted_by(call, known, argument.use);
  WatchedPath asked{wanted.access, {}, false, false, wanted.looked, wanted.of_name, wanted.anew};
  if (!is_kernels(name)) {
    const Fd found = open_inside(root, name, wanted.follow);
    asked.there = found.valid();
    if (asked.there) asked.path = name_of_descriptor(found.get());
  }
  // What covers a masked file has no name of its own any more.
  const bool unnamed = !asked.path.starts_with('/') || asked.path.ends_with(" (deleted)");
  if (unnamed) asked.path = Way(root, wanted.follow).to(name);
  asked.place =
      asked.there || open_inside(root, std::string(parent(asked.path)), FollowLast::No).valid();
  if (!is_kernels(asked.path) && refuses_(asked)) add(asked);
}

void PathWatch::add(const WatchedPath& asked) {
  const std::lock_guard lock(mutex_);
  const auto [place, first] = places_.try_emplace({asked.access, asked.path}, refused_.size());
  if (first && refused_.size() == kMostPaths) {
    places_.erase(place);
    ++untold_;
    return;
  }
  if (first) {
    refused_.push_back({asked.access, asked.path, 0, true, false, true});
  }
  RefusedPath& known = refused_[place->second];
  known.of_name = known.of_name || asked.of_name;
  known.anew = known.anew && asked.anew;
  ++known.count;
  known.only_looked = known.only_looked && asked.looked;
}

std::vector<RefusedPath> PathWatch::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

std::uint64_t PathWatch::untold() const {
  const std::lock_guard lock(mutex_);
  return untold_;
}

}  // namespace cordon
