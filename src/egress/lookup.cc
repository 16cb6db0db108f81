#include "egress/lookup.h"

#include <netdb.h>
#include <nss.h>
#include <resolv.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "egress/endpoint.h"

namespace cordon {
namespace {

constexpr auto kKept = std::chrono::seconds(10);
constexpr std::size_t kMostKept = 1024;

// The resolver's state belongs to the thread. Without search domains an allowed name cannot turn
// into another one, and no other name is asked for; two short tries keep the caller from hanging.
void set_up_this_thread() {
  if (::res_init() != 0) return;
  _res.options &= ~static_cast<unsigned long>(RES_DNSRCH | RES_DEFNAMES);
  _res.retrans = 3;
  _res.retry = 2;
}

std::vector<Address> ask(const std::string& name) {
  // Other sources are modules that a static program cannot load safely. Once: it holds for the
  // whole process.
  [[maybe_unused]] static const int configured = ::__nss_configure_lookup("hosts", "files dns");
  set_up_this_thread();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(first, ::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next) {
    sockaddr_storage bytes{};
    std::memcpy(&bytes, entry->ai_addr, std::min<std::size_t>(entry->ai_addrlen, sizeof bytes));
    const auto endpoint = read_endpoint(bytes, entry->ai_addrlen);
    if (endpoint && std::ranges::find(addresses, endpoint->address) == addresses.end()) {
      addresses.push_back(endpoint->address);
    }
  }
  return addresses;
}

}  // namespace

std::vector<Address> Lookup::addresses_of(const std::string& name) {
  const auto now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(name);
    if (known != known_.end() && now < known->second.until) return known->second.addresses;
  }
  std::vector<Address> addresses = ask(name);
  if (addresses.empty()) return addresses;
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKept) known_.clear();
  known_[name] = {addresses, now + kKept};
  return addresses;
}

}  // namespace cordon
