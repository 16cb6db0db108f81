#include "compat/safeclaw/apply/calls.h"

#include <net/if.h>

#include <ifaddrs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/text.h"

namespace cordon::apply {

namespace {

Judged<void> check_only_loopback() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) < 0) {
    return tl::unexpected(
        with_errno(Status::Policy, "cannot tell which network interfaces there are", errno));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if ((at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0) {
      return refuse(Status::Policy,
                    "the network of the policy needs an outer layer: the interface " +
                        quote(at->ifa_name) + " is up");
    }
  }
  return {};
}

}  // namespace

Judged<ListedSockets> sockets_of(const SafeClawNetwork& network) {
  switch (network.reach) {
    case SafeClawNetwork::Reach::None:
      return ListedSockets::None;
    case SafeClawNetwork::Reach::Unsaid:
      return ListedSockets::Internet;
    case SafeClawNetwork::Reach::Localhost:
    case SafeClawNetwork::Reach::Domains:
      break;
  }
  if (auto checked = check_only_loopback(); !checked) return tl::unexpected(checked.error());
  return ListedSockets::Internet;
}

namespace {

struct Successor {
  std::string_view name;
  std::string_view instead;
};
// Calls that aarch64 was born without, and what its libraries call. Sorted.
constexpr Successor kSuccessors[] = {
    {"access", "faccessat"},
    {"alarm", "setitimer"},
    {"chmod", "fchmodat"},
    {"chown", "fchownat"},
    {"creat", "openat"},
    {"dup2", "dup3"},
    {"epoll_create", "epoll_create1"},
    {"epoll_wait", "epoll_pwait"},
    {"eventfd", "eventfd2"},
    {"fork", "clone"},
    {"futimesat", "utimensat"},
    {"getdents", "getdents64"},
    {"getpgrp", "getpgid"},
    {"inotify_init", "inotify_init1"},
    {"lchown", "fchownat"},
    {"link", "linkat"},
    {"lstat", "newfstatat"},
    {"mkdir", "mkdirat"},
    {"mknod", "mknodat"},
    {"open", "openat"},
    {"pause", "ppoll"},
    {"pipe", "pipe2"},
    {"poll", "ppoll"},
    {"readlink", "readlinkat"},
    {"rename", "renameat"},
    {"rmdir", "unlinkat"},
    {"select", "pselect6"},
    {"signalfd", "signalfd4"},
    {"stat", "newfstatat"},
    {"symlink", "symlinkat"},
    {"time", "gettimeofday"},
    {"unlink", "unlinkat"},
    {"utime", "utimensat"},
    {"utimes", "utimensat"},
    {"vfork", "clone"},
};
static_assert(std::ranges::is_sorted(kSuccessors, {}, &Successor::name));

std::optional<KnownSyscall> successor(std::string_view name, Arch arch) {
  const auto* at = std::ranges::lower_bound(kSuccessors, name, {}, &Successor::name);
  if (at == std::end(kSuccessors) || at->name != name) return std::nullopt;
  const auto call = find_syscall(at->instead);
  return call && call->number(arch) ? call : std::nullopt;
}

bool holds(const std::vector<KnownSyscall>& calls, std::string_view name) {
  return std::ranges::find(calls, name, &KnownSyscall::name) != calls.end();
}

Judged<void> add_call(const std::string& name, Arch arch, NamedCalls& named) {
  auto call = find_syscall(name);
  if (!call) return refuse(Status::Seccomp, "unknown system call " + quote(name));
  if (call->standing == Standing::Never) {
    if (call->decision != Decision::Absent) {
      return refuse(Status::Seccomp, "no policy may permit the system call " + quote(name));
    }
    named.unanswered.push_back(name);
  }
  if (!call->number(arch)) {
    call = successor(name, arch);
    if (!call) {
      named.without_effect.push_back(name);
      return {};
    }
    named.renamed.push_back(name + ": " + std::string(call->name));
  }
  if (!holds(named.calls, call->name)) named.calls.push_back(*call);
  return {};
}

}  // namespace

Judged<NamedCalls> resolve_calls(std::span<const std::string> names, Arch arch) {
  NamedCalls named;
  for (const std::string& name : names) CORDON_CHECK(add_call(name, arch, named));
  if (!holds(named.calls, "execve")) {
    return refuse(Status::Seccomp, "the policy does not list execve: nothing could be started");
  }
  return named;
}

}  // namespace cordon::apply
