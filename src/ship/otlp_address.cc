#include "ship/otlp_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cordon::ship {
namespace {

constexpr std::string_view kTlsScheme = "otlp+https://";
constexpr std::string_view kPlainScheme = "otlp+http://";
constexpr std::string_view kForm = "write otlp+https://HOST:PORT, or otlp+https://HOST:PORT/PATH";

Error no_otlp_address(std::string what) { return usage_error(std::move(what), std::string(kForm)); }

bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

// What may stand in a request as it is.
bool is_in_path(char c) {
  constexpr std::string_view kMarks = "/-._~!$&'()*+,;=:%";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kMarks.find(c) != std::string_view::npos;
}

bool is_version_6(const std::string& host) {
  std::array<unsigned char, 16> parsed{};
  return ::inet_pton(AF_INET6, host.c_str(), parsed.data()) == 1;
}

// Judged by its letters; what a name leads to is judged once more when it is connected.
bool names_this_host(const std::string& host) {
  std::array<unsigned char, 4> parsed{};
  constexpr unsigned char kLoopback = 127;
  if (::inet_pton(AF_INET, host.c_str(), parsed.data()) == 1) return parsed[0] == kLoopback;
  return host == "::1" || host == "localhost";
}

// The host and port of "HOST:PORT" or "[ADDRESS]:PORT".
Result<void> take_authority(std::string_view authority, OtlpAddress& address) {
  constexpr std::size_t kLongestName = 253;
  const std::size_t colon = authority.rfind(':');
  const bool bracketed = authority.starts_with('[');
  if (colon == std::string_view::npos || (bracketed && authority[colon - 1] != ']')) {
    return fail(no_otlp_address(
        "the address of the receiver names no port: 4318 is the usual one, 443 behind a proxy"));
  }
  std::string_view host = authority.substr(0, colon);
  if (bracketed) host = host.substr(1, host.size() - 2);
  address.host = lower_case(host);
  if (host.empty() || host.size() > kLongestName ||
      (bracketed ? !is_version_6(address.host) : !std::ranges::all_of(host, is_in_name)))
    return fail(no_otlp_address("the address of the receiver names no host"));
  const auto port = parse_number(authority.substr(colon + 1));
  if (!port || *port == 0 || *port > 65535)
    return fail(no_otlp_address("the port of the receiver is no number from 1 to 65535"));
  address.port = static_cast<std::uint16_t>(*port);
  return {};
}

Result<void> check_otlp_secrets(std::string_view rest) {
  // A password may hold a slash: an @ anywhere is refused.
  if (rest.find('@') != std::string_view::npos) {
    return fail(usage_error(
        "the address of the receiver holds a user or a password, which everybody on this host can "
        "read",
        "leave it out: a token goes into OTEL_EXPORTER_OTLP_HEADERS, or into a file that "
        "--headers-file names"));
  }
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return fail(usage_error(
        "the address of the receiver has a query, which may hold a token, and everybody on this "
        "host can read it",
        "leave it out: a token goes into OTEL_EXPORTER_OTLP_HEADERS, or into a file that "
        "--headers-file names"));
  }
  return {};
}

}  // namespace

std::string OtlpAddress::authority() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string OtlpAddress::shown() const {
  return std::string(way == Way::Tls ? kTlsScheme : kPlainScheme) + authority() + path;
}

bool is_otlp(std::string_view address) {
  return address.starts_with("otlp") || address.starts_with("http://") ||
         address.starts_with("https://");
}

Result<OtlpAddress> read_otlp_address(std::string_view text, WithoutTls without_tls) {
  constexpr std::size_t kLongestPath = 1024;
  const bool tls = text.starts_with(kTlsScheme);
  if (!tls && !text.starts_with(kPlainScheme)) {
    return fail(no_otlp_address(
        "the address of the receiver does not begin with otlp+https:// or otlp+http://"));
  }
  std::string_view rest = text.substr(tls ? kTlsScheme.size() : kPlainScheme.size());
  CORDON_CHECK(check_otlp_secrets(rest));
  OtlpAddress address;
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  CORDON_CHECK(take_authority(rest.substr(0, slash), address));
  address.path = rest.substr(slash);
  if (address.path.size() <= 1) address.path = "/v1/logs";
  if (address.path.size() > kLongestPath || !std::ranges::all_of(address.path, is_in_path))
    return fail(no_otlp_address("the path of the receiver holds what no path holds"));
  if (tls) return address;
  const bool here = names_this_host(address.host);
  if (!here && without_tls == WithoutTls::Refused) {
    return fail(usage_error(
        "over otlp+http:// whoever is on the way to " + address.host +
            " can read the records and answer in its place",
        "write otlp+https://" + address.authority() +
            ", or name a receiver of this host (127.0.0.1, [::1], localhost); --without-tls gives "
            "that protection up"));
  }
  address.way = here ? OtlpAddress::Way::PlainHere : OtlpAddress::Way::PlainAnywhere;
  return address;
}

}  // namespace cordon::ship
