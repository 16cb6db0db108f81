#include "host/trust_stores.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/fd.h"

namespace cordon {
namespace {

// As distributions place them and OpenSSL, GnuTLS and curl find them.
constexpr std::array<const char*, 5> kTrustStores{
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/pki/tls/cacert.pem"};

// Where distributions keep the one that their JDKs link to.
constexpr std::array<const char*, 3> kJavaStores{"/etc/ssl/certs/java/cacerts",
                                                 "/etc/pki/java/cacerts",
                                                 "/etc/pki/ca-trust/extracted/java/cacerts"};

std::vector<std::string> files_at(std::span<const char* const> places) {
  std::vector<std::string> found;
  for (const char* place : places) {
    std::array<char, PATH_MAX> path{};
    struct stat status {};
    if (::realpath(place, path.data()) == nullptr || ::stat(path.data(), &status) < 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    std::string file(path.data());
    if (std::ranges::find(found, file) == found.end()) found.push_back(std::move(file));
  }
  return found;
}

bool is_of_java(const std::string& path) {
  constexpr std::string_view kBeginning("\xfe\xed\xfe\xed\0\0\0\2", 8);
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::array<char, kBeginning.size()> begun{};
  return ::read(file.get(), begun.data(), begun.size()) == static_cast<ssize_t>(begun.size()) &&
         std::string_view(begun.data(), begun.size()) == kBeginning;
}

}  // namespace

std::vector<std::string> trust_stores() { return files_at(kTrustStores); }

std::vector<std::string> java_trust_stores() {
  std::vector<std::string> found = files_at(kJavaStores);
  std::erase_if(found, [](const std::string& path) { return !is_of_java(path); });
  return found;
}

}  // namespace cordon
