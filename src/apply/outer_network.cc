#include "apply/outer_network.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <cerrno>
#include <memory>

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

}  // namespace cordon::apply
