#include "ship/otlp_headers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "ship/target.h"

namespace cordon::ship {
namespace {

constexpr std::size_t kMostHeaderBytes = std::size_t{16} * 1024;
constexpr std::size_t kMostHeaders = 32;

// What frames the message, or decides whether the connection stays.
constexpr std::array<std::string_view, 12> kOwnHeaders{"accept",
                                                       "connection",
                                                       "content-encoding",
                                                       "content-length",
                                                       "content-type",
                                                       "expect",
                                                       "host",
                                                       "keep-alive",
                                                       "te",
                                                       "transfer-encoding",
                                                       "trailer",
                                                       "upgrade"};

bool is_in_header_name(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != std::string_view::npos;
}

bool is_in_header_value(char c) { return (c >= ' ' && c <= '~') || c == '\t'; }

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// Others who can read a token can use it, and others who can write one can redirect what it counts.
Result<std::string> private_text(const std::string& file) {
  const auto wrong = [&](const char* what, int why, const char* hint) {
    return fail(setup_error("cannot take headers from " + quote(file) + what, why, hint));
  };
  // Non-blocking: a FIFO under this name would otherwise stop the program for ever.
  const Fd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
    return wrong("", errno, "--headers-file names a file with a line NAME: VALUE for each header");
  if (!S_ISREG(status.st_mode)) return wrong(": it is no file", 0, "");
  const bool own = status.st_uid == ::geteuid() || status.st_uid == 0;
  if (!own || (status.st_mode & 037U) != 0)
    return wrong(": others can read or change it", 0, "make it yours and chmod 600 it");
  std::string text(kMostHeaderBytes + 1, '\0');
  const ssize_t got = ::pread(fd.get(), text.data(), text.size(), 0);
  if (got < 0) return wrong("", errno, "");
  text.resize(static_cast<std::size_t>(got));
  if (text.size() > kMostHeaderBytes) return wrong(": it is longer than 16 KiB", 0, "");
  return text;
}

}  // namespace

Result<void> OtlpHeaders::add(std::string_view name, std::string_view value,
                              const std::string& where) {
  if (name.empty() || !std::ranges::all_of(name, is_in_header_name) ||
      !std::ranges::all_of(value, is_in_header_value)) {
    // Either half may be the token, if it is not spelled as it should.
    return fail(usage_error("header " + std::to_string(headers_.size() + 1) + " of " + where +
                            " is none: a name has letters, digits and marks, a value no controls"));
  }
  if (std::ranges::find(kOwnHeaders, lower_case(name)) != kOwnHeaders.end()) {
    return fail(usage_error(
        "the header " + std::string(name) + " of " + where + " is not for a person to set",
        "leave it out"));
  }
  if (headers_.size() == kMostHeaders)
    return fail(usage_error(where + " has more than " + std::to_string(kMostHeaders) + " headers"));
  headers_.emplace_back(name, value);
  return {};
}

Result<void> OtlpHeaders::read_variable(std::string_view text, const std::string& where) {
  if (text.size() > kMostHeaderBytes) return fail(usage_error(where + " is longer than 16 KiB"));
  for (const std::string_view part : split(text, ',')) {
    const std::string_view one = without_blanks(part);
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      return fail(usage_error("a part of " + where + " has no =",
                              "write NAME=VALUE,NAME=VALUE, with %2C for a comma in a value"));
    }
    const std::string value = percent_decoded(without_blanks(one.substr(equals + 1)));
    CORDON_CHECK(add(without_blanks(one.substr(0, equals)), value, where));
  }
  return {};
}

Result<void> OtlpHeaders::read_lines(std::string_view text, const std::string& where) {
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view one = without_blanks(line);
    if (one.empty() || one.starts_with('#')) continue;
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos) {
      return fail(usage_error("a line of " + where + " has no colon",
                              "write one header a line: Authorization: Bearer TOKEN"));
    }
    CORDON_CHECK(add(one.substr(0, colon), without_blanks(one.substr(colon + 1)), where));
  }
  return {};
}

Result<OtlpHeaders> OtlpHeaders::read(const std::string& file,
                                      const std::map<std::string, std::string>& environment) {
  OtlpHeaders headers;
  if (!file.empty()) {
    CORDON_TRY(text, private_text(file));
    CORDON_CHECK(headers.read_lines(text, quote(file)));
    return headers;
  }
  for (const char* name : {"OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"}) {
    const auto found = environment.find(name);
    if (found == environment.end() || found->second.empty()) continue;
    CORDON_CHECK(headers.read_variable(found->second, name));
    break;
  }
  return headers;
}

std::string OtlpHeaders::text() const {
  std::string text;
  for (const auto& [name, value] : headers_) text.append(name).append(": ").append(value) += "\r\n";
  return text;
}

std::string OtlpHeaders::masked(std::string text) const {
  constexpr std::size_t kShortest = 6;  // a shorter value is a word that stands in many sentences
  const auto mask = [&](std::string_view secret) {
    if (secret.size() < kShortest) return;
    for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos; at += 3)
      text.replace(at, secret.size(), "***");
  };
  for (const auto& [name, value] : headers_) {
    mask(value);
    for (const std::string_view word : split(value, ' ')) mask(word);
  }
  return text;
}

}  // namespace cordon::ship
