#include "host/trust_stores.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>

namespace cordon {
namespace {

// As distributions place them and OpenSSL, GnuTLS and curl find them.
constexpr std::array<const char*, 5> kTrustStores{
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/pki/tls/cacert.pem"};

}  // namespace

std::vector<std::string> trust_stores() {
  std::vector<std::string> found;
  for (const char* place : kTrustStores) {
    std::array<char, PATH_MAX> path{};
    struct stat status {};
    if (::realpath(place, path.data()) == nullptr || ::stat(path.data(), &status) < 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    std::string file(path.data());
    if (std::ranges::find(found, file) == found.end()) found.push_back(std::move(file));
  }
  return found;
}

}  // namespace cordon
